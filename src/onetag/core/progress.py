"""Where a training run stands: what losses and labelers may know of time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """Epochs are counted from 1; `fraction` runs from 0 to 1 over the whole run. Without a run (somebody's own loop) it is epoch 1 of 1."""

    epoch: int = 1
    num_epochs: int = 1
    step: int = 0
    num_steps: int = 1

    @property
    def fraction(self) -> float:
        return (self.epoch - 1 + self.step / max(self.num_steps, 1)) / max(self.num_epochs, 1)


class Listener:
    """Who hears how work goes on; this one hears nothing. The command line shows bars and sentences."""

    def say(self, sentence: str) -> None:
        """Something a person should know."""

    def advance(self, task: str, done: int, total: int, note: str = "") -> None:
        """`done` of `total` steps of a task; `done == total` ends it."""
