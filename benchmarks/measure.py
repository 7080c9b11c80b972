"""Samples, taken in turn so that whatever else the machine does hits all alike, and how they are shown."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

__all__ = ("Effort", "Row", "Sampler", "cpu", "show", "take")

Sampler: TypeAlias = Callable[[], float]
"""Measures once, and returns the figure."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How long to measure: `rounds` samples of each, the work in each scaled by `scale`."""

    rounds: int
    scale: float

    def times(self, number: int) -> int:
        """How often to do in one sample what is to be done `number` times."""
        return max(1, int(number * self.scale))


@dataclass(frozen=True, slots=True)
class Row:
    """One thing measured: the samples by who did it, ours first."""

    name: str
    unit: str
    samples: Mapping[str, Sequence[float]]

    @property
    def medians(self) -> dict[str, float]:
        """The median of each."""
        return {who: statistics.median(values) for who, values in self.samples.items()}

    @property
    def ratios(self) -> dict[str, float]:
        """Ours divided by each other."""
        ours, *others = self.medians.items()
        return {who: ours[1] / value for who, value in others}


def take(name: str, unit: str, samplers: Mapping[str, Sampler], rounds: int) -> Row:
    """Take `rounds` samples of each, in turn; the first turn warms up and is dropped."""
    samples: dict[str, list[float]] = {who: [] for who in samplers}
    for _ in range(rounds + 1):
        for who, sampler in samplers.items():
            samples[who].append(sampler())
    return Row(name, unit, {who: values[1:] for who, values in samples.items()})


def cpu(work: Callable[[int], object], number: int) -> Sampler:
    """Return what measures the CPU time, in microseconds, of one of the `number` steps of `work`."""

    def sample() -> float:
        start = time.process_time()
        work(number)
        return (time.process_time() - start) / number * 1e6

    return sample


def show(title: str, rows: Sequence[Row]) -> None:
    """Print a table: medians, in brackets the least and the greatest sample, and the ratios."""
    print(f"\n{title}")
    width = max(len(row.name) for row in rows) + 2
    for row in rows:
        cells = [
            f"{who} {row.medians[who]:.4g} {row.unit} [{min(values):.4g}, {max(values):.4g}]"
            for who, values in row.samples.items()
        ]
        cells += [f"x {ratio:.2f} of {who}" for who, ratio in row.ratios.items()]
        print(f"  {row.name:<{width}}" + " | ".join(cells))
