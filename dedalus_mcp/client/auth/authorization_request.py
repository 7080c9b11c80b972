"""Sending a user to the authorization server, and what comes back with them, without I/O.

    AuthorizationRequest.to(server, ...) ──▶ url ──▶ the user's browser ──▶ answer ──▶ code_in(answer) ──▶ code

An answer counts only if it is from the server that was asked (`iss`) and for this request (`state`);
before both are clear, nothing else in it is looked at.

Layer: L4; no I/O.
Source: OAuth 2.1, 4.1; RFC 9207, 2.4; MCP 2026-07-28, basic/authorization, "Authorization response validation".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hmac import compare_digest
from secrets import token_urlsafe
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from dedalus_mcp.client.auth.failures import AuthError, TokenError, said
from dedalus_mcp.client.auth.metadata import AuthorizationServerMetadata
from dedalus_mcp.client.auth.pkce import METHOD, code_challenge, code_verifier

__all__ = ("AuthorizationRequest", "is_for")

MAX_ANSWER = 16 * 1024
"""Characters of the URL that a user comes back with."""

MAX_CODE = 64
STATE_BYTES = 32


@dataclass(frozen=True, slots=True, repr=False)
class AuthorizationRequest:
    """One request for a user's consent.

    Attributes:
        url: The page to open.
        redirect_uri: Where the user comes back.
        state: What marks the answer to this request.
        verifier: What proves to the server that the code was meant for us.
        issuer: Who is asked, as its metadata say (AUTH-37).
        has_iss: Whether its answers say who they are from.
    """

    url: str
    redirect_uri: str
    state: str
    verifier: str
    issuer: str
    has_iss: bool

    @classmethod
    def to(
        cls,
        server: AuthorizationServerMetadata,
        endpoint: str,
        *,
        client_id: str,
        redirect_uri: str,
        more: Mapping[str, str],
    ) -> AuthorizationRequest:
        """Make a request to a server.

        Args:
            server: The server.
            endpoint: Its authorization endpoint.
            client_id: Who asks.
            redirect_uri: Where the user is to come back.
            more: What is asked for: `scope`, `resource`.
        """
        state, verifier = token_urlsafe(STATE_BYTES), code_verifier()
        query = {
            "response_type": "code",
            "client_id": client_id,
            "redirect_uri": redirect_uri,
            "state": state,
            "code_challenge": code_challenge(verifier),
            "code_challenge_method": METHOD,
            **more,
        }
        parts = urlsplit(endpoint)
        whole = "&".join(filter(None, (parts.query, urlencode(query))))  # its own query stays (RFC 6749, 3.1)
        return cls(
            url=urlunsplit(parts._replace(query=whole)),
            redirect_uri=redirect_uri,
            state=state,
            verifier=verifier,
            issuer=server.issuer,
            has_iss=bool(server.authorization_response_iss_parameter_supported),
        )

    def code_in(self, answer: str) -> str:
        """Return the code that a user came back with.

        Args:
            answer: The URL, whole.

        Raises:
            TokenError: The server, or the user, said no.
            AuthError: It is no answer to this request, and nothing in it is heeded.
        """
        fields = _fields(answer)
        issuer = fields.get("iss")
        if issuer is None and self.has_iss:
            raise AuthError(
                f"an answer that does not say that it is from {said(self.issuer)}, as it should, is not used"
            )
        if issuer is not None and issuer != self.issuer:  # as they are written (AUTH-38)
            raise AuthError(f"an answer of {said(issuer)} to a request to {said(self.issuer)} is not used")
        if not is_for(fields, self.state):
            raise AuthError(f"an answer to another request than this to {said(self.issuer)} is not used")
        if "error" in fields:
            raise self._refused(fields)
        if not fields.get("code"):
            raise TokenError(f"the answer of {said(self.issuer)} holds no code")
        return fields["code"]

    def _refused(self, fields: Mapping[str, str]) -> TokenError:
        code = "".join(each for each in fields["error"] if each.isprintable())[:MAX_CODE]
        description = said(fields["error_description"]) if "error_description" in fields else None
        text = f"{said(self.issuer)} did not authorize this client: {code}"
        return TokenError(text if description is None else f"{text}, {description}", code, description)


def is_for(fields: Mapping[str, str], state: str) -> bool:
    """Whether an answer with these fields is one to the request with this state."""
    return compare_digest(fields.get("state", "").encode(), state.encode())


def _fields(answer: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(urlsplit(answer[:MAX_ANSWER]).query, keep_blank_values=True, max_num_fields=64)
    except ValueError:
        raise AuthError("what the user came back with is no URL") from None
    fields = dict(pairs)
    if len(fields) < len(pairs):  # which of them would be meant?
        raise AuthError("the user came back with an answer that says something twice")
    return fields
