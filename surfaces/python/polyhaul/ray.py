"""Assets in Ray Data pipelines. Requires the extra ``ray`` of this package, or ``pip install ray[data]``."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import polyhaul

__all__ = ["map_assets"]


def map_assets(
    ds: Any,
    fn: Callable[[Any], Any],
    *,
    column: str = "path",
    read: Callable[..., Any] | None = None,
    read_options: dict[str, Any] | None = None,
    **ray_options: Any,
) -> Any:
    """Read the asset of each row and pass it to ``fn``. Errors are returned in columns instead of being raised.

    Args:
        ds: a Ray dataset with a column of paths or URLs.
        fn: called with a :class:`polyhaul.Scene`; returns a dict of values for the row: numbers, strings or numpy
            arrays.
        column: the name of the column with paths or URLs.
        read: the function that reads an asset, :func:`polyhaul.read` by default. Pass :func:`polyhaul.read_table` for
            tables.
        read_options: keyword arguments for ``read``.
        ray_options: keyword arguments for ``ds.map``, such as ``memory`` or ``num_cpus``.

    Returns:
        The dataset with the values of ``fn`` and the columns ``error_kind``, ``error`` (both empty on success) and
        ``seconds``. Rows of failed assets do not have the values of ``fn``.

    Example:
        >>> ds = ray.data.from_items([{"path": "s3://scans/a.ply"}])                        # doctest: +SKIP
        >>> counts = map_assets(ds, lambda scene: {"faces": scene.meshes[0].face_count})    # doctest: +SKIP
    """
    reader, options = read or polyhaul.read, read_options or {}

    def one(row: dict[str, Any]) -> dict[str, Any]:
        start = time.perf_counter()
        result = {"error_kind": "", "error": ""}
        try:
            result |= fn(reader(os.fspath(row[column]), **options))
        except (polyhaul.Error, OSError, ValueError, MemoryError) as error:
            result |= {"error_kind": getattr(error, "kind", None) or type(error).__name__, "error": str(error)}
        return row | result | {"seconds": time.perf_counter() - start}

    return ds.map(one, **ray_options)
