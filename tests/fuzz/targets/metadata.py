"""The documents of OAuth: any bytes are a document, or a named error that shows no secret.

What a document names is looked at before anything is sent there: any text is an address that may be asked, or an error.

    the status of a token endpoint
    a document
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from dedalus_mcp.client.auth.device_code import DeviceAuthorization
from dedalus_mcp.client.auth.failures import AuthConfigError, DiscoveryError, TokenError
from dedalus_mcp.client.auth.metadata import (
    AuthorizationServerMetadata,
    ClientInformation,
    Document,
    ResourceMetadata,
    TokenResponse,
    decode,
)
from dedalus_mcp.client.auth.reach import Reach
from dedalus_mcp.client.auth.token_endpoint import ClientCredentials, authenticated, read_token
from dedalus_mcp.client.auth.well_known import (
    canonical,
    is_within,
    origin,
    resource_metadata_urls,
    server_metadata_urls,
)
from tests.fuzz.judging import allowed

__all__ = ("target",)

SERVER = "https://mcp.example/mcp"
REACHES = (Reach(SERVER), Reach("http://localhost:8000/mcp"), Reach(SERVER, trusted_hosts=["as.example"]))
KINDS = (ResourceMetadata, AuthorizationServerMetadata, ClientInformation, DeviceAuthorization, TokenResponse)
LONGEST = 1000


def target(data: bytes) -> None:
    """Read a document as each of its kinds, and follow what it names."""
    status, _, body = data.partition(b"\n")
    with allowed(TokenError, longest=LONGEST):
        token = read_token(200 if status == b"200" else 400, body, SERVER)
        assert token.access_token not in repr(token) or len(token.access_token) < 8
    for kind in KINDS:
        with allowed(DiscoveryError, longest=LONGEST):
            document = decode(kind, body, SERVER)
            repr(document)
            for value in _texts(document):
                _follow(value)
            if isinstance(document, AuthorizationServerMetadata):
                _prove(document)


def _texts(document: Document) -> Iterator[str]:
    for name in document.__struct_fields__:
        value: str | tuple[str, ...] | None = getattr(document, name)
        yield from value if isinstance(value, tuple) else (value,) if isinstance(value, str) else ()


def _follow(url: str) -> None:
    is_within(url, SERVER)
    is_within(SERVER, url)
    for reach in REACHES:
        with allowed(DiscoveryError, longest=LONGEST):
            checked = reach.check(url, "it")
            reach.must_resolve(checked)
            for place in (canonical(url), origin(url), *resource_metadata_urls(url), *server_metadata_urls(url)):
                assert urlsplit(place).scheme in ("http", "https")


def _prove(server: AuthorizationServerMetadata) -> None:
    with allowed(AuthConfigError, longest=LONGEST):
        authenticated({}, ClientCredentials("client", "secret"), server)
