"""The settings of a server: defaults, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from dedalus_mcp.server.config import ElicitationConfig, SamplingConfig, ServerConfig


def test_defaults_are_those_that_are_documented() -> None:
    config = ServerConfig()

    assert config.pagination_limit == 1000
    assert config.worker_threads == 40
    assert config.elicitation == ElicitationConfig(timeout=600.0)


@pytest.mark.parametrize("setting", ["pagination_limit", "max_resource_stream", "worker_threads"])
@pytest.mark.parametrize("value", [0, -1])
def test_settings_that_nothing_could_work_with_are_refused(setting: str, value: int) -> None:
    """Pages of no items never end, what is empty cannot be read, and a pool of no threads never runs anything."""
    settings: dict[str, Any] = {setting: value}

    with pytest.raises(ValueError, match=f"{setting} must be at least 1"):
        ServerConfig(**settings)


@pytest.mark.parametrize("delay", [-0.1, float("inf"), float("nan")])
def test_notices_are_delayed_for_some_time_or_none(delay: float) -> None:
    with pytest.raises(ValueError, match="notice_delay must be 0 or more seconds"):
        ServerConfig(notice_delay=delay)


@pytest.mark.parametrize("config", [ElicitationConfig, SamplingConfig])
@pytest.mark.parametrize("seconds", [-1.0, float("nan")])
def test_a_time_to_wait_is_some_time_or_none(config: Any, seconds: float) -> None:
    with pytest.raises(ValueError, match=r"^timeout must be 0 or more seconds, or None, not (-1\.0|nan)$"):
        config(timeout=seconds)
    assert config(timeout=None).timeout is None


@pytest.mark.parametrize("setting", ["max_concurrent", "failure_threshold"])
@pytest.mark.parametrize("value", [0, -1, 2.5, float("nan"), True, None], ids=str)
def test_what_is_counted_in_sampling_is_a_whole_number(setting: str, value: object) -> None:
    settings: dict[str, Any] = {setting: value}

    with pytest.raises(ValueError, match=f"^{setting} must be a whole number of at least 1, not "):
        SamplingConfig(**settings)


@pytest.mark.parametrize("seconds", [-0.1, float("inf"), float("nan")])
def test_sampling_is_paused_for_some_time(seconds: float) -> None:
    with pytest.raises(ValueError, match=r"^cooldown_seconds must be 0 or more, and finite, not "):
        SamplingConfig(cooldown_seconds=seconds)


def test_settings_cannot_change_under_a_running_server() -> None:
    config: Any = ServerConfig()

    with pytest.raises(AttributeError):
        config.pagination_limit = 1
