"""A server that has nothing of its own: it hands on what another server offers."""
