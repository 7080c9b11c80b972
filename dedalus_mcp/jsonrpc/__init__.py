"""The JSON-RPC 2.0 engine: messages, codec, correlation, and the peer that runs them."""
