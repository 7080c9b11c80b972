"""The arguments of a handler: a published schema and a decoder, made once from its signature.

    raw bytes ──one typed decode──▶ keyword arguments            nearly always
        └──failed──▶ argument by argument, leniently ──▶ keyword arguments, or
                                                         InvalidArguments that names all

The rules: a value that fits is passed as it is.  Where an argument takes no string, a
string of JSON is read ("5" for an `int`), unless `strict`.  An integral float is an integer.
Unknown arguments are refused.  `*args` and `**kwargs` are refused at registration: what a
client may send must be in the schema.

Layer: L1; imports `errors` and the rest of this package.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Mapping
from types import UnionType
from typing import Annotated, Any, TypeAlias, Union, get_args, get_origin

import msgspec
from msgspec import UNSET

from dedalus_mcp.errors import InvalidArguments
from dedalus_mcp.schema.annotations import fit
from dedalus_mcp.schema.defaults import complete
from dedalus_mcp.schema.docstrings import split
from dedalus_mcp.schema.faults import legal, quote, worst
from dedalus_mcp.schema.foreign import decode
from dedalus_mcp.schema.loosen import loosen
from dedalus_mcp.schema.plain import plain
from dedalus_mcp.schema.publish import publish, publish_all, typed
from dedalus_mcp.schema.reasons import reasons
from dedalus_mcp.schema.shapes import has_more, is_object
from dedalus_mcp.schema.signature import Parameter, docstring, label, parameters

__all__ = ("Arguments", "summary")

MAX_LOOKED_AT = 100_000
"""Parts of an argument that is brought closer to its schema, or whose faults are looked for: a model writes no more."""

_UNKNOWN = 20  # unknown arguments that are named; all are refused

Injected: TypeAlias = Callable[[Any, Any], bool]


def summary(fn: Callable[..., Any]) -> str:
    """Return the docstring of `fn` without its sections on parameters, returns and raises."""
    return split(docstring(fn), ())[0]


class _Argument(Parameter):
    """A parameter that is the client's: `kind` is what msgspec decodes, `schema` describes it."""

    __slots__ = ("kind", "schema")

    def __init__(self, parameter: Parameter, kind: Any) -> None:
        super().__init__(parameter.name, parameter.annotation, parameter.default, positional=parameter.positional)
        self.kind = kind
        self.schema: dict[str, Any] = {}


_SCALARS = (str, int, float, bool, Any)


def _nothing(annotation: Any, default: Any) -> bool:
    return False


class Arguments:
    """What clients may pass to one callable.  `decode` may run in any thread.

    Attributes:
        schema: The JSON Schema of the arguments (2020-12): self-contained, an object.
        injected: The parameters that are not the client's, with their annotations.
        defaults: The defaults of all parameters that have one, injected ones too.
    """

    def __init__(self, fn: Callable[..., Any], *, injected: Injected, strict: bool) -> None:
        everyone = parameters(fn)
        if everyone and everyone[0].name == "self" and everyone[0].annotation is Any:
            raise TypeError(f"{label(fn)}(): nobody gives 'self'; register the method of an object, not of its class")
        self._fn = fn
        self._strict = strict
        self._positional = [one.name for one in everyone if one.positional]
        self.defaults: dict[str, Any] = {one.name: one.default for one in everyone if one.default is not UNSET}
        self.injected: dict[str, Any] = {
            one.name: one.annotation for one in everyone if injected(one.annotation, one.default)
        }
        self._own = [_argument(fn, one) for one in everyone if one.name not in self.injected]
        self._struct, self._aliases = _struct(self._own)
        plain_names = {alias: name for name, alias in self._aliases.items()}
        self._made = [plain_names.get(one.name, one.name) for one in self._own if one.kind not in _SCALARS]
        try:
            self._decoder = msgspec.json.Decoder(self._struct, dec_hook=decode)
            schemas, self._definitions = publish_all({one.name: one.kind for one in self._own})
        except (NameError, TypeError) as error:
            raise _blamed(fn, self._own, error) from error
        for one in self._own:
            one.schema = schemas[one.name]
        self.schema: dict[str, Any] = self._published()

    @classmethod
    def of(cls, fn: Callable[..., Any], *, injected: Injected = _nothing, strict: bool = False) -> Arguments:
        """Read the signature of any callable.

        Args:
            fn: A function, method, partial or callable object, sync or async.
            injected: Tells from annotation and default (UNSET if none) whether a parameter is
                somebody else's than the client's: it is in no schema then.
            strict: Never read JSON out of strings.

        Raises:
            TypeError: The signature cannot be published; the text names function and parameter.
        """
        return cls(fn, injected=injected, strict=strict)

    def decode(self, raw: bytes | msgspec.Raw | Mapping[str, Any] | msgspec.UnsetType | None) -> dict[str, Any]:
        """Return the keyword arguments for the callable, with the defaults of those not given.

        Args:
            raw: The JSON object as it came, or a mapping; nothing and null mean ``{}``.

        Raises:
            InvalidArguments: With one problem or more for every argument at fault.
        """
        if raw is None or raw is UNSET:
            raw = b"{}"
        try:
            if isinstance(raw, bytes | msgspec.Raw):
                struct = self._decoder.decode(raw)
            else:
                struct = msgspec.convert(raw, self._struct, dec_hook=decode)
        except (msgspec.MsgspecError, RecursionError):
            return self._leniently(raw)
        values = msgspec.structs.asdict(struct)
        for name in self._made:
            complete(values[name])
        return {self._aliases.get(name, name): value for name, value in values.items()} if self._aliases else values

    def call(self, values: dict[str, Any]) -> Any:
        """Call the function with values by name, from `decode` and for `injected`."""
        if not self._positional:
            return self._fn(**values)
        named = dict(values)
        return self._fn(*[named.pop(name) for name in self._positional], **named)

    def _published(self) -> dict[str, Any]:
        texts = split(docstring(self._fn), {one.name for one in self._own})[1]
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {one.name: _property(one, texts.get(one.name)) for one in self._own},
            "required": [one.name for one in self._own if one.default is UNSET],
            "additionalProperties": False,
        }
        return {**schema, "$defs": self._definitions} if self._definitions else schema

    def _leniently(self, raw: Any) -> dict[str, Any]:
        given = _mapping(raw)
        legal_names = [one.name for one in self._own]
        problems = [
            f"{quote(name)}: no such argument; legal: {', '.join(legal_names) or 'none'}"
            for name in itertools.islice((name for name in given if name not in legal_names), _UNKNOWN)
        ]
        values: dict[str, Any] = {}
        for one in self._own:
            try:
                if one.name in given:
                    values[one.name] = self._fitted(one, given[one.name])
                elif one.default is UNSET:
                    problems.append(f"{one.name}: required, expected {legal(one.schema, self._definitions)}")
                else:
                    values[one.name] = one.default
            except InvalidArguments as error:
                problems += error.problems
            except RecursionError:
                problems.append(f"{one.name}: nested too deeply")
        if problems:
            raise InvalidArguments(*problems)
        return values

    def _fitted(self, one: _Argument, value: Any) -> Any:
        try:
            return msgspec.convert(value, one.kind, dec_hook=decode)
        except msgspec.ValidationError as error:
            if has_more(value, MAX_LOOKED_AT):
                raise self._refusal(one, error) from None
            value = loosen(value, one.schema, self._definitions, strings=not self._strict)
        try:
            return msgspec.convert(value, one.kind, dec_hook=decode)
        except msgspec.ValidationError as error:
            raise self._refusal(one, error, *worst(value, one.schema, self._definitions, one.name)) from None

    def _refusal(self, one: _Argument, error: msgspec.ValidationError, *found: str) -> InvalidArguments:
        legally = f"{one.name}: expected {legal(one.schema, self._definitions)}"
        return InvalidArguments(*found or reasons(error, one.name) or [legally])


def _argument(fn: Callable[..., Any], parameter: Parameter) -> _Argument:
    try:
        return _Argument(parameter, fit(parameter.annotation))
    except (NameError, TypeError) as error:
        raise _refusal(fn, parameter, error) from error


def _refusal(fn: Callable[..., Any], parameter: Parameter, error: Exception) -> TypeError:
    return TypeError(f"{label(fn)}(): parameter '{parameter.name}' cannot be published: {error}")


def _blamed(fn: Callable[..., Any], own: list[_Argument], error: Exception) -> TypeError:
    """Return the error for the first argument that fails when it is taken alone."""
    failures = ((one, alone) for one in own if (alone := _failure(one)) is not None)
    return _refusal(fn, *next(failures, (own[0], error)))


def _failure(one: _Argument) -> Exception | None:
    try:
        msgspec.json.Decoder(one.kind, dec_hook=decode)
        publish(one.kind)
    except (NameError, TypeError) as error:
        return error
    return None


def _struct(own: list[_Argument]) -> tuple[type[msgspec.Struct], dict[str, str]]:
    """Make the struct that is decoded, and the names of those fields that needed another."""
    aliases = {f"argument_{index}": one.name for index, one in enumerate(own) if one.name.startswith("__")}
    names = {name: alias for alias, name in aliases.items()}
    fields = [
        (names.get(one.name, one.name), one.kind)
        if one.default is UNSET
        else (names.get(one.name, one.name), one.kind, msgspec.field(default_factory=_giver(one.default)))
        for one in own
    ]
    struct = msgspec.defstruct("Arguments", fields, kw_only=True, rename=aliases, forbid_unknown_fields=True)
    return struct, aliases


def _giver(default: Any) -> Callable[[], Any]:
    return lambda: default  # the very object, as a call without the argument would have


def _property(one: _Argument, text: str | None) -> dict[str, Any]:
    schema = _without_null(one.schema) if one.default is None else dict(one.schema)
    if text is not None and not _described(one.kind):
        schema["description"] = text
    if one.default is not UNSET and one.default is not None:
        with contextlib.suppress(ValueError):  # a default without a JSON form is nobody else's business
            schema["default"] = plain(one.default, one.name)
    return schema


def _described(kind: Any) -> bool:
    """Whether the annotation itself has a description: it is better than the docstring's."""
    if any(getattr(extra, "description", None) is not None for extra in getattr(kind, "__metadata__", ())):
        return True
    members = get_args(kind) if get_origin(kind) in {Annotated, Union, UnionType} else ()
    return any(_described(member) for member in members)


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema without its null: `T | None = None` is an optional T to most clients."""
    if None in schema.get("enum", ()):
        return typed({**schema, "enum": [value for value in schema["enum"] if value is not None]})
    branches = [branch for branch in schema.get("anyOf", ()) if branch != {"type": "null"}]
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    return {**branches[0], **rest} if len(branches) == 1 else {**rest, "anyOf": branches} if branches else dict(schema)


def _mapping(raw: Any) -> Mapping[str, Any]:
    """Return the arguments as JSON has them.

    Raises:
        InvalidArguments: They are no JSON object.
    """
    if is_object(raw):
        return raw
    try:
        given = msgspec.json.decode(raw)
    except msgspec.DecodeError:
        raise InvalidArguments("arguments: not valid JSON") from None
    except RecursionError:
        raise InvalidArguments("arguments: nested too deeply") from None
    if given is None:
        return {}
    if not is_object(given):
        raise InvalidArguments("arguments: expected an object")
    return given
