"""URI templates: any URI is a match or none, any template a template or a `ValueError`, in time proportional to both.

No value leads out of a directory, and the values that were read make a URI from which they are read again.

    a URI
    a template
"""

from __future__ import annotations

from dedalus_mcp.server.uri_templates import UriTemplate

__all__ = ("target",)

TEMPLATES = [
    UriTemplate(text)
    for text in (
        "file:///{+path}",
        "db://{table}/rows/{id}",
        "x://{a}-{b}-{c}.{d}",
        "https://{host}/{rest*}/end{?q,lang}",
        "s://{?q}",
        "{any}",
    )
]


def target(data: bytes) -> None:
    """Read a URI by templates."""
    for encoding in ("latin-1", "utf-8"):
        uri, text = data.decode(encoding, "replace").partition("\n")[::2]
        for template in TEMPLATES:
            _match(template, uri)
        for any_path in (False, True):
            try:
                made = UriTemplate(text, any_path=any_path)
            except ValueError:
                break
            _match(made, uri, any_path=any_path)


def _match(template: UriTemplate, uri: str, *, any_path: bool = False) -> None:
    values = template.match(uri)
    if values is None:
        return
    assert set(template.path) <= values.keys() <= {*template.path, *template.query}
    if not any_path:
        for value in values.values():
            segments = value.replace("\\", "/").split("/")
            assert ".." not in segments, f"{template.text} reads {value!r} out of {uri!r}"
            assert segments[0] or len(segments) == 1
            assert "\0" not in value
    try:
        again = template.expand(values)
    except ValueError:
        return  # it was encoded, and would be taken for the template's own text if it were not
    assert template.match(again) == values
