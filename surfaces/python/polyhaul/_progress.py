"""Progress reporting with a callable or a tqdm bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

#: Called with the number of completed bytes and the total, or ``None`` if the total is unknown. Batches report assets
#: instead of bytes.
Progress: TypeAlias = Callable[[int, int | None], Any]


@contextmanager
def reporter(progress: Progress | bool | None, label: str, unit: str = "B") -> Iterator[Progress | None]:
    """Return a context manager for the callable that receives progress.

    ``label`` and ``unit`` are the description and the unit of a tqdm bar.
    """
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
        if completed < bar.n:  # another phase starts
            bar.reset()
        bar.total = total
        bar.update(completed - bar.n)

    return update
