"""Progress: a callable, or a tqdm bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

#: Called with the bytes done, and the total number of bytes if it is known; for a batch, with numbers of assets.
Progress: TypeAlias = Callable[[int, int | None], Any]


@contextmanager
def reporter(progress: Progress | bool | None, label: str, unit: str = "B") -> Iterator[Progress | None]:
    """The callable that receives progress, during the block; ``unit`` is what a bar counts."""
    if progress is None or progress is False:
        yield None
    elif progress is True:
        with _bar(label, unit) as bar:
            yield _update(bar)
    elif callable(progress):
        yield progress
    else:
        raise TypeError(f"progress is of type {type(progress).__name__}; expected a callable, True, False or None")


def _bar(label: str, unit: str) -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        raise ImportError("progress=True requires the package tqdm (pip install tqdm); a callable does not") from None
    return tqdm(desc=label, unit=unit, unit_scale=unit == "B")


def _update(bar: Any) -> Progress:
    def update(completed: int, total: int | None) -> None:
        if completed < bar.n:  # another phase begins
            bar.reset()
        bar.total = total
        bar.update(completed - bar.n)

    return update
