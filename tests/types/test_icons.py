"""An icon is made of what people write."""

from __future__ import annotations

import pytest

from dedalus_mcp import types


def test_an_icon_is_made_of_a_mapping_with_url() -> None:
    icon = types.Icon(src="https://example.com/icon.png")

    assert types.Icon.of({"type": "url", "url": "https://example.com/icon.png"}) == icon
    assert types.Icon.of({"src": "https://example.com/icon.png"}) == icon
    assert types.Icon.of(icon) is icon
    assert types.Icon.of({"src": "x:", "mimeType": "image/png", "sizes": ["any"], "theme": "dark"}).theme == "dark"


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"type": "emoji", "src": "x:"}, "an icon's type is 'url', not 'emoji'"),
        ({"src": "x:", "colour": 1}, "Icon has no 'colour'; it has src, mimeType, sizes, theme"),
        ({"url": "x:", "src": "x:"}, "both `src` and `url`"),
        ({"url": 5}, "Expected `str`, got `int`"),
        ({}, "missing required field `src`"),
        ("x:", "expected Icon or a mapping of its members, not str"),
    ],
)
def test_what_is_no_icon_is_refused_in_words(wrong: dict[str, object], says: str) -> None:
    with pytest.raises(TypeError, match=says):
        types.Icon.of(wrong)
