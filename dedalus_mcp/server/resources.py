"""The resources of a server and their templates: registered, listed, read.

Layer: L4.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, Protocol

from dedalus_mcp.errors import (
    INVALID_PARAMS,
    MAX_URI,
    RESOURCE_NOT_FOUND,
    InvalidArguments,
    McpError,
    ResourceNotFound,
)
from dedalus_mcp.schema.arguments import summary
from dedalus_mcp.schema.signature import label
from dedalus_mcp.server import changes
from dedalus_mcp.server.catalogue import Catalogue
from dedalus_mcp.server.changes import SubscriptionBus
from dedalus_mcp.server.contents import contents_of
from dedalus_mcp.server.functions import Function
from dedalus_mcp.server.hints import hinted
from dedalus_mcp.server.specs import ResourceSpec, ResourceTemplateSpec
from dedalus_mcp.server.uri_templates import UriTemplate
from dedalus_mcp.threads import Threads
from dedalus_mcp.types import (
    Completion,
    CompletionArgument,
    CompletionContext,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
)

__all__ = ("LentResource", "LentTemplate", "Reader", "Resources")

logger = logging.getLogger("dedalus_mcp")


class Reader(Protocol):
    """Reads resources of another server."""

    async def read(self, uri: str) -> ReadResourceResult:
        """Read one: see `Resources.read`."""
        ...

    def watched(self, uri: str) -> AbstractAsyncContextManager[None]:
        """Let that server tell of the changes of one: see `Resources.watched`."""
        ...


class LentResource(Reader, Protocol):
    """A resource of another server."""

    @property
    def definition(self) -> Resource:
        """The resource as clients see it here."""
        ...


class LentTemplate(Reader, Protocol):
    """A resource template of another server."""

    @property
    def definition(self) -> ResourceTemplate:
        """The template as clients see it here."""
        ...

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of its variables; none where they are not known."""
        ...

    def match(self, uri: str) -> dict[str, str] | None:
        """Return the values of the variables in a URI; None if it is none of the template's."""
        ...

    async def complete(self, argument: CompletionArgument, context: CompletionContext | None) -> Completion:
        """Suggest values for one of its variables: see `Completions.complete`."""
        ...


class _Resource:
    """One resource, ready to be read."""

    __slots__ = ("definition", "function", "hint")

    def __init__(self, fn: Callable[..., Any], spec: ResourceSpec, max_stream: int) -> None:
        self.hint = spec.hint
        self.function = Function(fn, inline=spec.inline, max_stream=max_stream)
        _check_parameters(fn, self.function, None)
        self.definition = Resource(
            uri=spec.uri,
            name=spec.name if spec.name is not None else spec.uri,
            title=spec.title,
            description=spec.description if spec.description is not None else summary(fn) or None,
            mimeType=spec.mime_type,
            size=spec.size,
            annotations=spec.annotations,
            icons=spec.icons,
            meta=spec.meta,
        )


class _Template:
    """One resource template, ready to be matched and read."""

    __slots__ = ("definition", "function", "hint", "template")

    def __init__(self, fn: Callable[..., Any], spec: ResourceTemplateSpec, max_stream: int) -> None:
        self.hint = spec.hint
        self.function = Function(fn, inline=spec.inline, max_stream=max_stream)
        self.template = UriTemplate(spec.uri_template, any_path=spec.any_path)
        _check_parameters(fn, self.function, self.template)
        self.definition = ResourceTemplate(
            uriTemplate=spec.uri_template,
            name=spec.name if spec.name is not None else getattr(fn, "__name__", spec.uri_template),
            title=spec.title,
            description=spec.description if spec.description is not None else summary(fn) or None,
            mimeType=spec.mime_type,
            annotations=spec.annotations,
            icons=spec.icons,
            meta=spec.meta,
        )

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of its variables."""
        return (*self.template.path, *self.template.query)

    def match(self, uri: str) -> dict[str, str] | None:
        """Return the values of the variables in a URI; None if it is none of the template's."""
        return self.template.match(uri)


class Resources:
    """The resources of a server.

    Args:
        owner: The name of the server.
        threads: Where plain `def` functions run.
        bus: Hears of every change of the lists.
        max_stream: Bytes or characters of what comes piece by piece, at most.

    Attributes:
        catalogue: The resources, by URI.
        templates: The templates, by their text.
        unlisted: Who may have resources that stand in no list, asked in this order: see `show_unlisted`.
    """

    def __init__(self, owner: str, threads: Threads, bus: SubscriptionBus, max_stream: int) -> None:
        self.catalogue: Catalogue[_Resource, LentResource] = Catalogue("resource", "uri", owner)
        self.templates: Catalogue[_Template, LentTemplate] = Catalogue("resource template", "uriTemplate", owner)
        self.unlisted: list[Reader] = []
        self._showings: list[tuple[Resources, Reader]] = []
        self._threads = threads
        self._bus = bus
        self._max_stream = max_stream
        self._by_uri = self.catalogue.own

    def __len__(self) -> int:
        return len(self.catalogue) + len(self.templates)

    @property
    def offered(self) -> bool:
        """Whether there are resources or templates, or were: clients that have been told so still ask."""
        return self.catalogue.offered or self.templates.offered

    @property
    def definitions(self) -> list[Resource]:
        """The resources as clients see them, in the order of registration."""
        return list(self.catalogue.listed.items)

    @property
    def template_definitions(self) -> list[ResourceTemplate]:
        """The templates, likewise."""
        return list(self.templates.listed.items)

    @property
    def uris(self) -> list[str]:
        """The URIs of the resources, sorted."""
        return sorted(self.catalogue)

    def add(self, fn: Callable[..., Any], spec: ResourceSpec) -> None:
        """Register a resource; one of the same URI is replaced.

        Raises:
            TypeError: The function takes something.
            ValueError: The resource of an included server has that URI, here or in a server that includes this one.
        """
        resource = _Resource(fn, spec, self._max_stream)
        if self.catalogue.add(spec.uri, resource):
            logger.warning("resource %r is registered twice: the last one counts", spec.uri)
        self._changed()

    def remove(self, uri: str) -> None:
        """Remove a resource.

        Raises:
            KeyError: The server has none of that URI itself.
        """
        self.catalogue.remove(uri)
        self._changed()

    def add_template(self, fn: Callable[..., Any], spec: ResourceTemplateSpec) -> None:
        """Register a template; one of the same text is replaced.  Where two match, the first one counts.

        Raises:
            TypeError: The function's parameters are not the template's variables.
            ValueError: The template is none; or that of an included server has the same text, here or in a server
                that includes this one.
        """
        template = _Template(fn, spec, self._max_stream)
        if self.templates.add(spec.uri_template, template):
            logger.warning("resource template %r is registered twice: the last one counts", spec.uri_template)
        self._changed()

    def remove_template(self, uri_template: str) -> None:
        """Remove a template.

        Raises:
            KeyError: The server has none of that text itself.
        """
        self.templates.remove(uri_template)
        self._changed()

    def add_unlisted(self, reader: Reader) -> None:
        """Ask a reader for whatever stands in no list, once all before it have nothing."""
        self.unlisted.append(reader)
        for borrower, ours in self._showings:
            borrower.add_unlisted(ours)

    def show_unlisted(self, borrower: Resources, ours: Reader) -> None:
        """Let another server ask `ours`, which reads here, as soon as there may be something that stands in no list."""
        self._showings.append((borrower, ours))
        if self.unlisted:
            borrower.add_unlisted(ours)

    def check(self, uri: str) -> None:
        """Return if `read` would find something to ask.

        Raises:
            ResourceNotFound: There is no such resource.
        """
        self._find(uri)

    def variables(self, uri: str) -> tuple[str, ...]:
        """Return the variables of the template that reads `uri`; none of a resource without one.

        Raises:
            ResourceNotFound: `uri` is neither a template nor the URI of a resource.
        """
        template = self.templates.get(uri)
        if template is None:
            self._find(uri)
            return ()
        return template.variables

    async def read(self, uri: str) -> ReadResourceResult:
        """Read a resource: the one of exactly that URI, else the first template that it fits.

        Raises:
            ResourceNotFound: There is none, or its function says so; then `data` names the URI, unless it is given.
            McpError: -32602, a value in the URI does not fit its parameter; -32603, it gives too much; or
                the function raised it.
            LookupError: The function takes a context, and there is none.
            ValueError: It returned what no contents can be made of.
            Exception: What the function raised.
        """
        place = self._find(uri)
        if not isinstance(place, tuple):
            return await place.read(uri)
        found, given = place
        try:
            values = found.function.arguments.decode(given)
        except InvalidArguments as error:
            raise McpError(
                INVALID_PARAMS, f"Invalid arguments in resource URI: {error}", {"uri": uri[:MAX_URI]}
            ) from None
        try:
            value = await found.function.run(values, self._threads)
        except ResourceNotFound as error:
            if error.data is not None:
                raise
            raise ResourceNotFound.of(uri) from error
        return hinted(contents_of(value, uri, found.definition.mimeType), found.hint)

    @asynccontextmanager
    async def watched(self, uri: str) -> AsyncGenerator[None]:
        """Let whoever has a resource tell of its changes; nothing is to be done for the server's own.

        Raises:
            ResourceNotFound: There is none.
            McpError: The server that has it does not tell of it.
        """
        place = self._find(uri)
        if isinstance(place, tuple):
            yield
            return
        async with place.watched(uri):
            yield

    def _changed(self) -> None:
        self._bus.publish(changes.RESOURCES)

    def _find(self, uri: str) -> tuple[_Resource | _Template, dict[str, str]] | Reader:
        """Return what reads a resource, with what its URI says; or whoever reads it elsewhere."""
        resource = self._by_uri.get(uri)
        if resource is not None:
            return resource, {}
        if (lent := self.catalogue.lent.get(uri)) is not None:
            return lent
        for template in self.templates.values():
            values = template.match(uri)
            if values is not None:
                return (template, values) if isinstance(template, _Template) else template
        if self.unlisted:
            return _Anywhere(self.unlisted)
        raise ResourceNotFound.of(uri)


class _Anywhere:
    """Reads what stands in no list: the first who has it does."""

    def __init__(self, readers: Sequence[Reader]) -> None:
        self._readers = readers

    async def read(self, uri: str) -> ReadResourceResult:
        *others, last = self._readers
        for reader in others:
            try:
                return await reader.read(uri)
            except McpError as error:
                if error.code not in (RESOURCE_NOT_FOUND, INVALID_PARAMS):  # the latter on 2026-07-28
                    raise
        return await last.read(uri)

    @asynccontextmanager
    async def watched(self, uri: str) -> AsyncGenerator[None]:
        async with AsyncExitStack() as stack:
            *others, last = self._readers
            for reader in others:
                try:
                    await stack.enter_async_context(reader.watched(uri))
                except McpError:  # whatever the reason, the next may have it
                    continue
                yield
                return
            await stack.enter_async_context(last.watched(uri))
            yield


def _check_parameters(fn: Callable[..., Any], function: Function, template: UriTemplate | None) -> None:
    """Hold the parameters of a function against what a URI says.

    Raises:
        TypeError: They differ; the text says where.
    """
    always = () if template is None else template.path
    maybe = () if template is None else template.query
    schema = function.arguments.schema
    if alone := [name for name in (*always, *maybe) if name not in schema["properties"]]:
        legal = ", ".join(schema["properties"]) or "none"
        raise TypeError(f"{label(fn)}(): the URI has {', '.join(alone)}, which are no parameters; it has {legal}")
    if missing := [name for name in schema["required"] if name not in always]:
        cure = "give it a default" if set(missing) & set(maybe) else "put it into the URI template"
        raise TypeError(f"{label(fn)}(): not every URI has {', '.join(missing)}; {cure}")
