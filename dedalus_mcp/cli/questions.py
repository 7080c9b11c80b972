"""A server's questions, answered at the terminal, one at a time.

    form ──▶ shown ──▶ yes ──▶ field by field, each until it is legal ──▶ looked at again ──▶ accept
               │        ├── no ──▶ decline
               │        └── cancel, or the end of input ──▶ cancel
               └── all that must be is given by --answer ──▶ accept
               └── nobody is there ──▶ cancel

What the server says stands behind a bar, so that it cannot pass for what we say.

Layer: L6.
Source: MCP 2026-07-28, client/elicitation (ELIC-15, ELIC-22 to ELIC-24).
"""

from __future__ import annotations

import webbrowser
from collections.abc import Callable, Mapping, Sequence
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
        server: Who asks, as it is shown.
        declined: Whether a question was declined or cancelled.
    """

    def __init__(
        self, terminal: Terminal, answers: Mapping[str, str], *, browse: Callable[[str], bool] = webbrowser.open
    ) -> None:
        self._terminal = terminal
        self._answers = answers
        self._browse = browse
        self._turn = anyio.Lock()
        self.server = "The server"
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
                self._show_page(params.url)
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

    async def _typed(self, form: Form, missing: Sequence[Field], values: dict[str, Any]) -> ElicitResult:
        action = "edit"
        try:
            while action == "edit":
                for field in missing:
                    value = await self._ask(field, values.get(field.name, UNSET))
                    if value is not UNSET:
                        values[field.name] = value
                self._terminal.note("Your answer:", "bold")
                for field in form.fields:
                    said = _words(field, values[field.name]) if field.name in values else "(left out)"
                    self._terminal.note(f"  {one_line(field.title, 80)}: {said}")
                action = await self._action("Send it?", edits=True)
                missing = form.fields
        except EOFError:
            return form.cancel()
        return form.accept(values) if action == "accept" else form.decline() if action == "decline" else form.cancel()

    def _unanswered(self, form: Form) -> ElicitResult:
        names = " ".join(f"--answer {one_line(field.name, 40)}=..." for field in form.fields if _must_be_given(field))
        names = names or f"--answer {one_line(form.fields[0].name, 40)}=..."
        known = [field.name for field in form.fields]
        strange = [name for name in self._answers if name not in known]
        if strange:  # which may be for another question
            listed = one_line(", ".join(known), 400)
            self._terminal.note(f"--answer {one_line(strange[0], 40)}: no field of this question, which has {listed}.")
        self._terminal.note(f"Cancelled, since nobody is at a terminal to answer; {names} would.")
        return form.cancel()

    def _given(self, field: Field) -> Any:
        return field.parse(self._answers[field.name])

    async def _action(self, question: str, *, edits: bool = False) -> Any:
        """Return what the user does: accept, decline or cancel; or edit, where there is something to."""
        choices = {**_CHOICES, "e": "edit", "edit": "edit"} if edits else _CHOICES
        try:
            while True:
                edit = "[e]dit, " if edits else ""
                word = await self._terminal.ask(f"{question} [Y]es, {edit}[n]o, [c]ancel: ")
                action = choices.get(word.strip().lower())
                if action is not None:
                    return action
        except EOFError:
            return "cancel"

    async def _ask(self, field: Field, kept: Any) -> Any:
        """Return what was typed for a field once it is legal; UNSET where it is left out.

        Args:
            field: The field.
            kept: What it was the last time, and stays if nothing is typed; UNSET the first time.
        """
        if field.description:
            self._terminal.note(f"  {one_line(field.description)}")
        for number, choice in enumerate(field.choices, 1):
            self._terminal.note(f"    {number}. {one_line(choice.title)}")
        prompt = f"  {one_line(field.title, 80)} ({one_line(_expected(field))}){_hint(field, kept)}: "
        while True:
            line = await self._terminal.ask(prompt)
            if not line.strip() and kept is not UNSET:
                return kept
            if not line.strip() and field.default is UNSET and not (field.required and _takes_blank(field)):
                if not field.required:
                    return UNSET
                self._terminal.note("  An answer is required.", "yellow")
                continue
            try:
                return field.parse(line)
            except ValueError as error:
                wrong = f"{one_line(field.title, 80)}: expected yes or no" if field.kind == "boolean" else error
                self._terminal.note(f"  {wrong}", "yellow")

    def _show(self, message: str) -> None:
        self._terminal.note(f"{self.server} asks:", "bold")
        self._terminal.note("\n".join(f"│ {line}" for line in message.splitlines() or [""]))

    def _show_page(self, url: str) -> None:
        host = urlsplit(url).hostname or ""
        spelled = _spelled(host)
        self._terminal.note(f"It wants to send you to {host}, by this address:\n  {url}")
        if "xn--" in spelled:
            self._terminal.note(f"Careful: this host has letters that may look like others; it is {spelled}.", "yellow")


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


def _hint(field: Field, kept: Any) -> str:
    value = field.default if kept is UNSET else kept
    if value is UNSET:
        return "" if field.required else " [leave out]"
    return f" [{_words(field, value)}]"


def _words(field: Field, value: Any) -> str:
    """A value as a person reads it."""
    titles = {choice.value: choice.title for choice in field.choices}
    words = {True: "yes", False: "no"} if field.kind == "boolean" else titles
    values: list[Any] = list(value) if is_array(value) else [value]
    return one_line(", ".join(str(words.get(each, each)) for each in values), 80)


def _spelled(host: str) -> str:
    """A host as it goes over the wire."""
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:
        return f"xn--{host!a}"
