"""The `_meta` keys that the protocol owns.

Layer: L1; imports nothing of this package.
Source: MCP 2026-07-28, basic, "_meta"; 2025-11-25, basic/utilities/tasks.
"""

from __future__ import annotations

__all__ = (
    "CLIENT_CAPABILITIES_KEY",
    "CLIENT_INFO_KEY",
    "LOG_LEVEL_KEY",
    "MODEL_IMMEDIATE_RESPONSE_KEY",
    "PROGRESS_TOKEN_KEY",
    "PROTOCOL_VERSION_KEY",
    "RELATED_TASK_KEY",
    "SERVER_INFO_KEY",
    "SUBSCRIPTION_ID_KEY",
)

PROGRESS_TOKEN_KEY = "progressToken"
PROTOCOL_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CLIENT_CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
CLIENT_INFO_KEY = "io.modelcontextprotocol/clientInfo"
LOG_LEVEL_KEY = "io.modelcontextprotocol/logLevel"
SERVER_INFO_KEY = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_ID_KEY = "io.modelcontextprotocol/subscriptionId"
RELATED_TASK_KEY = "io.modelcontextprotocol/related-task"
MODEL_IMMEDIATE_RESPONSE_KEY = "io.modelcontextprotocol/model-immediate-response"
