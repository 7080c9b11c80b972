"""The resources of a server and their templates: registered, listed, read.

Layer: L4.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from dedalus_mcp.errors import INVALID_PARAMS, MAX_URI, InvalidArguments, McpError, ResourceNotFound
from dedalus_mcp.schema.arguments import summary
from dedalus_mcp.schema.signature import label
from dedalus_mcp.server import changes
from dedalus_mcp.server.changes import SubscriptionBus
from dedalus_mcp.server.contents import contents_of
from dedalus_mcp.server.functions import Function
from dedalus_mcp.server.hints import hinted
from dedalus_mcp.server.pages import Places
from dedalus_mcp.server.specs import ResourceSpec, ResourceTemplateSpec
from dedalus_mcp.server.uri_templates import UriTemplate
from dedalus_mcp.threads import Threads
from dedalus_mcp.types import ReadResourceResult, Resource, ResourceTemplate

__all__ = ("Resources",)

logger = logging.getLogger("dedalus_mcp")


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


class Resources:
    """The resources of a server.

    Args:
        threads: Where plain `def` functions run.
        bus: Hears of every change of the lists.
        max_stream: Bytes or characters of what comes piece by piece, at most.

    Attributes:
        offered: Whether there are resources or templates, or were: clients that have been told so still ask.
        places: The order of the resources, for pages of the list.
        template_places: The order of the templates.
    """

    def __init__(self, threads: Threads, bus: SubscriptionBus, max_stream: int) -> None:
        self.offered = False
        self.places = Places("uri")
        self.template_places = Places("uriTemplate")
        self._threads = threads
        self._bus = bus
        self._max_stream = max_stream
        self._by_uri: dict[str, _Resource] = {}
        self._templates: dict[str, _Template] = {}

    def __len__(self) -> int:
        return len(self._by_uri) + len(self._templates)

    @property
    def definitions(self) -> list[Resource]:
        """The resources as clients see them, in the order of registration."""
        return [resource.definition for resource in self._by_uri.values()]

    @property
    def template_definitions(self) -> list[ResourceTemplate]:
        """The templates, likewise."""
        return [template.definition for template in self._templates.values()]

    @property
    def uris(self) -> list[str]:
        """The URIs of the resources, sorted."""
        return sorted(self._by_uri)

    def add(self, fn: Callable[..., Any], spec: ResourceSpec) -> None:
        """Register a resource; one of the same URI is replaced.

        Raises:
            TypeError: The function takes something.
        """
        resource = _Resource(fn, spec, self._max_stream)
        if spec.uri in self._by_uri:
            logger.warning("resource %r is registered twice: the last one counts", spec.uri)
        self._by_uri[spec.uri] = resource
        self.places.add(spec.uri)
        self._changed()

    def remove(self, uri: str) -> None:
        """Remove a resource.

        Raises:
            KeyError: There is none of that URI.
        """
        del self._by_uri[uri]
        self.places.remove(uri)
        self._changed()

    def add_template(self, fn: Callable[..., Any], spec: ResourceTemplateSpec) -> None:
        """Register a template; one of the same text is replaced.  Where two match, the first one counts.

        Raises:
            TypeError: The function's parameters are not the template's variables.
            ValueError: The template is none.
        """
        template = _Template(fn, spec, self._max_stream)
        if spec.uri_template in self._templates:
            logger.warning("resource template %r is registered twice: the last one counts", spec.uri_template)
        self._templates[spec.uri_template] = template
        self.template_places.add(spec.uri_template)
        self._changed()

    def remove_template(self, uri_template: str) -> None:
        """Remove a template.

        Raises:
            KeyError: There is none of that text.
        """
        del self._templates[uri_template]
        self.template_places.remove(uri_template)
        self._changed()

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
        template = self._templates.get(uri)
        if template is None:
            self._find(uri)
            return ()
        return (*template.template.path, *template.template.query)

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
        found, given = self._find(uri)
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

    def _changed(self) -> None:
        self.offered = True
        self._bus.publish(changes.RESOURCES)

    def _find(self, uri: str) -> tuple[_Resource | _Template, dict[str, str]]:
        resource = self._by_uri.get(uri)
        if resource is not None:
            return resource, {}
        for template in self._templates.values():
            values = template.template.match(uri)
            if values is not None:
                return template, values
        raise ResourceNotFound.of(uri)


def _check_parameters(fn: Callable[..., Any], function: Function, template: UriTemplate | None) -> None:
    """Hold the parameters of a function against what a URI says.

    Raises:
        TypeError: They differ; the text says where.
    """
    always = () if template is None else template.path
    maybe = () if template is None else template.query
    schema = function.arguments.schema
    if alone := [name for name in (*always, *maybe) if name not in schema["properties"]]:
        raise TypeError(f"{label(fn)}(): the URI has {', '.join(alone)}, which are no parameters")
    if missing := [name for name in schema["required"] if name not in always]:
        cure = "give it a default" if set(missing) & set(maybe) else "put it into the URI template"
        raise TypeError(f"{label(fn)}(): not every URI has {', '.join(missing)}; {cure}")
