"""The client side."""
