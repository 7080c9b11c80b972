"""The tables of methods against what each revision has."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dedalus_mcp import types
from dedalus_mcp.types import methods
from dedalus_mcp.types.method import Method, NotificationMethod
from tests.types.published import LETTERS

# Who may send what in which revisions: from the client, from the server.
REQUESTS = {
    "initialize": ("ABCD", ""),
    "ping": ("ABCD", "ABCD"),
    "server/discover": ("E", ""),
    "tools/list": ("ABCDE", ""),
    "tools/call": ("ABCDE", ""),
    "resources/list": ("ABCDE", ""),
    "resources/templates/list": ("ABCDE", ""),
    "resources/read": ("ABCDE", ""),
    "resources/subscribe": ("ABCD", ""),
    "resources/unsubscribe": ("ABCD", ""),
    "subscriptions/listen": ("E", ""),
    "prompts/list": ("ABCDE", ""),
    "prompts/get": ("ABCDE", ""),
    "completion/complete": ("ABCDE", ""),
    "logging/setLevel": ("ABCD", ""),
    "tasks/get": ("D", "D"),
    "tasks/result": ("D", "D"),
    "tasks/list": ("D", "D"),
    "tasks/cancel": ("D", "D"),
    "roots/list": ("", "ABCD"),
    "sampling/createMessage": ("", "ABCD"),
    "elicitation/create": ("", "CD"),
}
NOTIFICATIONS = {
    "notifications/initialized": ("ABCD", ""),
    "notifications/cancelled": ("ABCDE", "ABCDE"),
    "notifications/progress": ("ABCD", "ABCDE"),
    "notifications/message": ("", "ABCDE"),
    "notifications/resources/updated": ("", "ABCDE"),
    "notifications/resources/list_changed": ("", "ABCDE"),
    "notifications/tools/list_changed": ("", "ABCDE"),
    "notifications/prompts/list_changed": ("", "ABCDE"),
    "notifications/roots/list_changed": ("ABCD", ""),
    "notifications/elicitation/complete": ("", "D"),
    "notifications/tasks/status": ("D", "D"),
    "notifications/subscriptions/acknowledged": ("", "E"),
}


def senders(method: Method[Any, Any] | NotificationMethod[Any]) -> tuple[str, str]:
    client, server = (
        "".join(letter for letter, revision in LETTERS.items() if revision in sends)
        for sends in (method.client_sends, method.server_sends)
    )
    return client, server


def test_every_revision_has_its_requests_and_no_others() -> None:
    assert {name: senders(method) for name, method in methods.REQUESTS.items()} == REQUESTS


def test_every_revision_has_its_notifications_and_no_others() -> None:
    assert {name: senders(method) for name, method in methods.NOTIFICATIONS.items()} == NOTIFICATIONS


def test_the_calls_that_carry_rounds_and_the_asks_in_them() -> None:
    carrying = {name for name, method in methods.REQUESTS.items() if method.carries_rounds}
    embedded = {name for name, method in methods.REQUESTS.items() if method.embedded}

    assert carrying == {"tools/call", "prompts/get", "resources/read"}
    assert embedded == {"elicitation/create", "sampling/createMessage", "roots/list"}


def test_what_goes_into_the_name_header() -> None:
    named = {name: method.named_by for name, method in methods.REQUESTS.items() if method.named_by}

    assert named == {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
    for name, member in named.items():
        assert member in methods.REQUESTS[name].params.__struct_fields__


@pytest.mark.parametrize("method", [*methods.REQUESTS.values(), *methods.NOTIFICATIONS.values()], ids=repr)
def test_params_are_required_exactly_where_a_member_is(method: Method[Any, Any] | NotificationMethod[Any]) -> None:
    if method.params_required:
        with pytest.raises(msgspec.ValidationError, match="missing required field"):
            method.decode_params()
    else:
        assert method.decode_params() == method.params()


@pytest.mark.parametrize("union", [types.ClientRequest, types.ServerRequest], ids=["client", "server"])
def test_the_unions_of_requests_hold_what_each_side_sends(union: Any) -> None:
    side = 0 if union is types.ClientRequest else 1
    sent = {cls.__struct_config__.tag for cls in union.__args__}

    assert sent == {name for name, senders in REQUESTS.items() if senders[side]}


@pytest.mark.parametrize("union", [types.ClientNotification, types.ServerNotification], ids=["client", "server"])
def test_the_unions_of_notifications_hold_what_each_side_sends(union: Any) -> None:
    side = 0 if union is types.ClientNotification else 1
    sent = {cls.__struct_config__.tag for cls in union.__args__}

    assert sent == {name for name, senders in NOTIFICATIONS.items() if senders[side]}
