"""A Model Context Protocol runtime, server and client, on its own JSON-RPC 2.0 engine."""

__version__ = "0.8.0"
