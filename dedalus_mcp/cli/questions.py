"""A server's questions, answered at the terminal, one at a time.

    form ──▶ shown ──▶ yes ──▶ field by field, each until it is legal ──▶ accept
               │        ├── no ──▶ decline
               │        └── cancel, or the end of input ──▶ cancel
               └── all that must be is given by --answer ──▶ accept
               └── nobody is there ──▶ cancel

What the server says stands behind a bar, so that it cannot pass for what we say.

Layer: L6.
"""

from __future__ import annotations

import webbrowser
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
from msgspec import UNSET

from dedalus_mcp.cli.harmless import one_line
from dedalus_mcp.cli.terminal import Terminal
from dedalus_mcp.client.form import Form
from dedalus_mcp.schema.fields import Field
from dedalus_mcp.schema.shapes import is_array
from dedalus_mcp.types import ElicitRequestURLParams, ElicitResult

__all__ = ("Questions",)

_CHOICES = {"": "accept", "y": "accept", "yes": "accept", "n": "decline", "no": "decline", "c": "cancel"}
_CHOICES["cancel"] = "cancel"


class Questions:
    """The answers to a server's questions.

    Args:
        terminal: Where they are asked.
        answers: Values of fields, as they would be typed, by name.
        browse: Opens a page; returns whether it could.

    Attributes:
        declined: Whether a question was declined or cancelled.
    """

    def __init__(
        self, terminal: Terminal, answers: Mapping[str, str], *, browse: Callable[[str], bool] = webbrowser.open
    ) -> None:
        self._terminal = terminal
        self._answers = answers
        self._browse = browse
        self._turn = anyio.Lock()
        self.declined = False

    async def fill_in(self, form: Form) -> ElicitResult:
        """Answer a form."""
        async with self._turn:
            with self._terminal.paused():
                return self._noted(await self._filled(form))

    async def open_page(self, params: ElicitRequestURLParams) -> ElicitResult:
        """Answer whether the user goes to a page: its host is shown, and nothing is opened unasked."""
        async with self._turn:
            with self._terminal.paused():
                self._show(params.message)
                self._terminal.note(f"It wants to send you to {_host(params.url)}, by this address:\n  {params.url}")
                action = await self._action("Open it in your browser?")
                if action == "accept" and not await anyio.to_thread.run_sync(self._browse, params.url):
                    self._terminal.note("No browser could be opened: go to the address yourself.")
                return self._noted(ElicitResult(action=action))

    def _noted(self, result: ElicitResult) -> ElicitResult:
        self.declined |= result.action != "accept"
        return result

    async def _filled(self, form: Form) -> ElicitResult:
        self._show(form.message)
        try:
            values = {field.name: self._given(field) for field in form.fields if field.name in self._answers}
        except ValueError as error:
            self._terminal.fail(f"--answer: {error}")
            return form.cancel()
        missing = [field for field in form.fields if field.name not in values]
        if values and (self._terminal.keyboard is None or not missing):
            if not any(field.required and field.default is UNSET for field in missing):
                return form.accept(values)
            return self._unanswered(form)
        match await self._action("Answer?"):
            case "decline":
                return form.decline()
            case "cancel":
                return self._unanswered(form) if self._terminal.keyboard is None else form.cancel()
            case _:
                return await self._typed(form, missing, values)

    async def _typed(self, form: Form, missing: list[Field], values: dict[str, Any]) -> ElicitResult:
        try:
            for field in missing:
                value = await self._ask(field)
                if value is not UNSET:
                    values[field.name] = value
        except EOFError:
            return form.cancel()
        return form.accept(values)

    def _unanswered(self, form: Form) -> ElicitResult:
        names = " ".join(f"--answer {one_line(field.name, 40)}=..." for field in form.fields if _must_be_given(field))
        names = names or f"--answer {one_line(form.fields[0].name, 40)}=..."
        self._terminal.note(f"Cancelled, since nobody is at a terminal to answer; {names} would.")
        return form.cancel()

    def _given(self, field: Field) -> Any:
        return field.parse(self._answers[field.name])

    async def _action(self, question: str) -> Any:
        """Return what the user does: accept, decline or cancel."""
        try:
            while True:
                word = await self._terminal.ask(f"{question} [Y]es, [n]o, [c]ancel: ")
                action = _CHOICES.get(word.strip().lower())
                if action is not None:
                    return action
        except EOFError:
            return "cancel"

    async def _ask(self, field: Field) -> Any:
        """Return what was typed for a field once it is legal; UNSET where it is left out."""
        if field.description:
            self._terminal.note(f"  {one_line(field.description)}")
        for number, choice in enumerate(field.choices, 1):
            self._terminal.note(f"    {number}. {one_line(choice.title)}")
        prompt = f"  {one_line(field.title, 80)} ({one_line(_expected(field))}){_hint(field)}: "
        while True:
            line = await self._terminal.ask(prompt)
            if not line.strip() and field.default is UNSET and not (field.required and _takes_blank(field)):
                if not field.required:
                    return UNSET
                self._terminal.note("  An answer is required.", "yellow")
                continue
            try:
                return field.parse(line)
            except ValueError as error:
                self._terminal.note(f"  {error}", "yellow")

    def _show(self, message: str) -> None:
        self._terminal.note("The server asks:", "bold")
        self._terminal.note("\n".join(f"│ {line}" for line in message.splitlines() or [""]))


def _must_be_given(field: Field) -> bool:
    return field.required and field.default is UNSET


def _takes_blank(field: Field) -> bool:
    return field.kind == "text" and field.format is None and field.minimum in (None, 0)


def _expected(field: Field) -> str:
    if field.kind == "choice":
        return "one of them"
    if field.kind == "choices":
        bounds = [
            f"at least {field.minimum}" if field.minimum else "",
            f"at most {field.maximum}" if field.maximum else "",
        ]
        return ", ".join(["any of them, with commas between", *filter(None, bounds)])
    return "yes or no" if field.kind == "boolean" else field.legal


def _hint(field: Field) -> str:
    if field.default is UNSET:
        return "" if field.required else " [leave out]"
    titles = {choice.value: choice.title for choice in field.choices}
    values: list[Any] = list(field.default) if is_array(field.default) else [field.default]
    words = {True: "yes", False: "no"} if field.kind == "boolean" else titles
    return f" [{one_line(', '.join(str(words.get(value, value)) for value in values), 80)}]"


def _host(url: str) -> str:
    """The host of a URL that has one, and how it is spelled where it has other letters than a to z."""
    host = urlsplit(url).hostname or ""
    try:
        spelled = host.encode("idna").decode("ascii")
    except UnicodeError:
        spelled = ascii(host)
    return host if spelled == host else f"{host} ({spelled})"
