"""Draws a file once: `preview.py f3d FILE`, in polyhaul's default size.

Prints a line for `cargo xtask bench`.
"""

from __future__ import annotations

import sys

import measure


def main() -> None:
    _, name, file = sys.argv
    assert name == "f3d"
    import f3d

    f3d.Log.set_verbose_level(f3d.Log.QUIET)

    def draw() -> f3d.Image:
        engine = f3d.Engine.create(True)
        engine.window.size = 800, 600
        engine.scene.add(file)
        return engine.window.render_to_image()

    timed = measure.timed(draw)
    assert timed.result.width == 800
    measure.tell(timed)


main()
