"""`@tool`, `@prompt`, `@resource` and `@resource_template`: on every kind of function, which stays what it was."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import pytest

from dedalus_mcp.server.decorators import prompt, resource, resource_template, tool
from dedalus_mcp.server.server import MCPServer
from dedalus_mcp.server.specs import PromptSpec, ResourceSpec, ResourceTemplateSpec, ToolSpec, extract_spec
from dedalus_mcp.types import Annotations, Icon, PromptArgument, TextContent, ToolAnnotations

ICON = Icon(src="https://example.com/a.png")


def collected(*functions: Any) -> MCPServer:
    server = MCPServer("test")
    server.collect(*functions)
    return server


async def text_of(server: MCPServer, name: str, **arguments: Any) -> str:
    result = await server.invoke_tool(name, **arguments)
    assert not result.isError, result
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


@tool
def bare(a: int) -> int:
    """Add one."""
    return a + 1


@tool()
async def called(a: int) -> int:
    return a + 2


@tool("named", description="Add three", title="Three", annotations={"readOnlyHint": True}, icons=[ICON], meta={"m": 1})
def with_everything(a: int) -> int:
    return a + 3


class Desk:
    def __init__(self, step: int) -> None:
        self.step = step

    @tool
    def on_instance(self, a: int) -> int:
        return a + self.step

    @tool
    async def later(self, a: int) -> int:
        return a + self.step

    @tool
    @classmethod
    def on_class(cls, a: int) -> str:
        return f"{cls.__name__} {a}"

    @classmethod
    @tool
    def on_class_inside(cls, a: int) -> str:
        return f"{cls.__name__} {a}"

    @tool("outside")
    @staticmethod
    def static_outside(a: int) -> int:
        return a

    @staticmethod
    @tool
    def static_inside(a: int) -> int:
        return a


def nothing(arguments: dict[str, str]) -> None: ...


class Counter:
    def __call__(self, a: int) -> int:
        return a * 10


def test_the_decorated_function_stays_what_it_was() -> None:
    assert bare(1) == 2
    assert bare.__name__ == "bare"
    assert bare.__doc__ == "Add one."
    assert list(inspect.signature(bare).parameters) == ["a"]
    assert inspect.iscoroutinefunction(called)


async def test_with_and_without_parentheses_are_the_same() -> None:
    server = collected(bare, called, with_everything)

    assert server.tool_names == ["bare", "called", "named"]
    assert [await text_of(server, name, a=1) for name in server.tool_names] == ["2", "3", "4"]


def test_what_the_decorator_was_told_is_published() -> None:
    (definition,) = collected(with_everything).tools.definitions

    assert definition.name == "named"
    assert definition.description == "Add three"
    assert definition.title == "Three"
    assert definition.annotations == ToolAnnotations(readOnlyHint=True)
    assert definition.icons == [ICON]
    assert definition.meta == {"m": 1}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("on_instance", "6"),
        ("later", "6"),
        ("on_class", "Desk 1"),
        ("on_class_inside", "Desk 1"),
        ("static_outside", "1"),
        ("static_inside", "1"),
    ],
)
async def test_methods_are_collected_from_an_instance_and_self_never_appears(name: str, expected: str) -> None:
    server = collected(getattr(Desk(5), name))
    (definition,) = server.tools.definitions

    assert set(definition.inputSchema["properties"]) == {"a"}
    assert await text_of(server, definition.name, a=1) == expected


async def test_two_instances_are_two_tools_when_named_so() -> None:
    server = collected(tool("one")(Desk(1).on_instance))
    server.collect(tool("two")(Desk(2).on_instance))

    assert server.tool_names == ["one", "two"]
    assert await text_of(server, "one", a=1) == "2"
    assert await text_of(server, "two", a=1) == "3"


async def test_partials_callable_objects_and_lambdas_are_tools_once_they_have_a_name() -> None:
    def add(a: int, b: int) -> int:
        return a + b

    nameless: list[Any] = [functools.partial(add, b=1), Counter(), lambda: 1]
    for thing in nameless:
        with pytest.raises(TypeError, match="has no name"):
            collected(tool(thing))

    server = collected(
        tool("part")(functools.partial(add, b=100)), tool("object")(Counter()), tool("lambda")(lambda: 7)
    )
    assert await text_of(server, "part", a=1) == "101"
    assert await text_of(server, "object", a=1) == "10"
    assert await text_of(server, "lambda") == "7"


@pytest.mark.parametrize("name", ["", None])
def test_an_empty_name_is_none(name: str | None) -> None:
    with pytest.raises(TypeError, match="has no name"):
        collected(tool(name)(Counter()))


@pytest.mark.parametrize("name", ["with space", "ünïcode", "a" * 129, "a/b"])
def test_a_name_that_clients_may_refuse_is_registered_with_a_warning(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """TOOL-04."""
    server = collected(tool(name)(lambda: 1))

    assert server.tool_names == [name]
    assert "clients expect" in caplog.text


@pytest.mark.parametrize("name", ["a", "A-Z_0.9", "a" * 128])
def test_a_legal_name_is_nothing_to_warn_of(name: str, caplog: pytest.LogCaptureFixture) -> None:
    collected(tool(name)(lambda: 1))

    assert caplog.text == ""


@pytest.mark.parametrize(
    "wrong",
    [{"annotations": 7}, {"annotations": {"readOnlyHint": "maybe"}}, {"icons": [7]}, {"name": 7}],
    ids=repr,
)
def test_a_value_of_the_wrong_kind_is_refused_where_it_is_written(wrong: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        tool(**wrong)


def test_annotations_are_taken_as_such() -> None:
    annotations = ToolAnnotations(title="A")

    assert extract_spec(tool(annotations=annotations)(lambda: 1)) == ToolSpec(annotations=annotations)


def test_a_prompt_is_told_everything_by_its_decorator() -> None:
    @prompt(
        "greet",
        description="Say hello",
        title="Greeting",
        arguments=[{"name": "who", "required": True}, PromptArgument(name="how")],
        icons=[{"src": ICON.src}],
        meta={"m": 1},
    )
    def greet(arguments: dict[str, str]) -> list[tuple[str, str]]:
        return [("user", arguments["who"])]

    assert greet({"who": "x"}) == [("user", "x")]
    assert extract_spec(greet) == PromptSpec(
        name="greet",
        description="Say hello",
        title="Greeting",
        arguments=[PromptArgument(name="who", required=True), PromptArgument(name="how")],
        icons=[ICON],
        meta={"m": 1},
    )


def test_empty_lists_are_none() -> None:
    assert extract_spec(prompt("a", arguments=[], icons=[], meta={})(nothing)) == PromptSpec(name="a")


@pytest.mark.parametrize("decorate", [prompt, prompt()], ids=["bare", "called"])
def test_a_prompt_without_a_name_has_its_functions(decorate: Any) -> None:
    def review(arguments: dict[str, str]) -> None: ...

    assert collected(decorate(review)).prompt_names == ["review"]


@pytest.mark.parametrize("wrong", [5, ["name"], b"name"], ids=repr)
def test_a_prompts_name_is_a_string(wrong: Any) -> None:
    with pytest.raises(TypeError, match="a prompt's name is a string"):
        prompt(wrong)


def test_a_prompt_whose_function_has_no_name_needs_one() -> None:
    def nothing_said(arguments: dict[str, str]) -> None: ...

    nothing_said.__name__ = "<lambda>"
    nameless = prompt()(nothing_said)

    with pytest.raises(TypeError, match=r"@prompt\('name'\)"):
        MCPServer("test").collect(nameless)


def test_a_function_that_is_both_is_a_tool() -> None:
    @prompt("p")
    @tool("t")
    def both() -> None: ...

    server = collected(both)

    assert server.tool_names == ["t"]
    assert server.prompt_names == []


def test_a_resource_is_told_everything_by_its_decorator() -> None:
    @resource(
        "a://b",
        name="b",
        title="B",
        description="The b",
        mime_type="text/html",
        size=3,
        icons=[{"type": "url", "url": ICON.src}],
        annotations={"priority": 0.5},
        meta={"m": 1},
        inline=True,
    )
    def page() -> str:
        return "<b>"

    assert page() == "<b>"
    assert extract_spec(page) == ResourceSpec(
        uri="a://b",
        name="b",
        title="B",
        description="The b",
        mime_type="text/html",
        size=3,
        icons=[ICON],
        annotations=Annotations(priority=0.5),
        meta={"m": 1},
        inline=True,
    )


def test_a_template_is_told_everything_by_its_decorator() -> None:
    @resource_template(
        "b",
        uri_template="a://{+x}",
        title="B",
        description="The b",
        mime_type="text/html",
        icons=[ICON],
        annotations=Annotations(priority=1),
        meta={"m": 1},
        any_path=True,
        inline=True,
    )
    def page(x: str) -> str:
        return x

    assert page("y") == "y"
    assert extract_spec(page) == ResourceTemplateSpec(
        name="b",
        uri_template="a://{+x}",
        title="B",
        description="The b",
        mime_type="text/html",
        icons=[ICON],
        annotations=Annotations(priority=1),
        meta={"m": 1},
        any_path=True,
        inline=True,
    )


def test_a_template_alone_is_enough_and_the_function_has_its_name() -> None:
    @resource_template("a://{x}")
    def page(x: str) -> str:
        return x

    assert extract_spec(page) == ResourceTemplateSpec(uri_template="a://{x}")
    (definition,) = collected(page).resources.template_definitions
    assert definition.name == "page"


@pytest.mark.parametrize("uri", ["", "plain", "://a", "1a://b", "a b://c", "é://b", "a://b\n", "+:b", "a/b:c"])
def test_what_does_not_begin_with_a_scheme_is_no_uri(uri: str) -> None:
    """RES-16, RES-17."""
    with pytest.raises(ValueError, match="is no URI"):
        resource(uri)
    with pytest.raises(ValueError, match="is no URI"):
        resource_template("n", uri_template=f"{uri}{{x}}")


@pytest.mark.parametrize("uri", ["a:", "A+1.b-c://x", "file:///a b", "http://example.com"])
def test_a_custom_scheme_is_as_good_as_a_known_one(uri: str) -> None:
    """RES-16."""
    assert extract_spec(resource(uri)(lambda: "")) == ResourceSpec(uri=uri)


def test_a_bad_template_or_no_uri_at_all_is_refused_at_once() -> None:
    bare: Any = resource
    bare_template: Any = resource_template

    with pytest.raises(ValueError, match="names no variable"):
        resource_template("a://b")
    for decorator in (bare, bare_template):
        with pytest.raises(TypeError, match="needs a URI"):
            decorator(nothing)
    with pytest.raises(TypeError, match="annotations"):
        resource("a://b", annotations={"priority": "high"})


def test_a_function_that_is_both_resource_and_template_is_a_resource() -> None:
    @resource_template("a://{x}")
    @resource("a://b")
    def both(x: str = "") -> None: ...

    server = collected(both)
    assert server.resource_uris == ["a://b"]
    assert server.resources.template_definitions == []
