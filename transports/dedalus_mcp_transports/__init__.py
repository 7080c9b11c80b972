"""The transports that come with `dedalus_mcp`; each stands where a third party's would."""
