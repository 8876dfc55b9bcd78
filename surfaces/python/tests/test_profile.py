"""Profiles: which jobs they have, what they say of them, and what is made of it."""

from __future__ import annotations

import asyncio
import base64
import contextvars
import html.parser
import io
import json
import re
import sys
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polyhaul
import pytest
from conftest import rows

TEXT = rows(20_000)


class Slow(io.BytesIO):
    """A file object whose calls take their time."""

    def __init__(self, data: bytes, seconds: float, most_bytes: int) -> None:
        super().__init__(data)
        self.pause, self.most_bytes = seconds, most_bytes

    def read(self, size: int | None = -1, /) -> bytes:
        time.sleep(self.pause)
        return super().read(min(size or 0, self.most_bytes))


class Page(html.parser.HTMLParser):
    """The tags of a page, and the text between them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def moved(file: polyhaul.FileUse, data: bytes) -> bool:
    """Whether all of the data was moved, and little of it twice."""
    return len(data) <= file.bytes <= 1.1 * len(data) + 100


def names(profile: polyhaul.Profile) -> list[str]:
    return sorted(file.name for file in profile.files)


@pytest.fixture
def points(tmp_path: Path) -> Path:
    path = tmp_path / "points.obj"
    path.write_bytes(TEXT)
    return path


@pytest.mark.parametrize("detail", ["spans", "totals"])
def test_a_profile_says_what_was_done(points: Path, tmp_path: Path, detail: Literal["spans", "totals"]) -> None:
    target = tmp_path / "points.ply"
    with polyhaul.profile(detail) as p:
        scene = polyhaul.read(points, load_materials=False)
        polyhaul.write(scene, target)
    read = next(file for file in p.files if file.name == str(points))
    written = next(file for file in p.files if file.is_output)
    assert (read.phase, read.is_output) == ("read", False) and moved(read, TEXT)
    assert (written.bytes, written.phase) == (target.stat().st_size, "write")
    assert read.calls == sum(read.histogram.values()) and read.mean_bytes == read.bytes / read.calls
    assert sum(read.callers.values()) == (read.calls if detail == "spans" else 0)
    assert p.phases["parse"] > 0 and p.phases["format"] > 0
    assert list(p.phases.values()) == sorted(p.phases.values(), reverse=True)
    assert 0 < read.waiting_seconds <= p.phases["read"] + 0.001


def test_the_verdict_is_whole(points: Path) -> None:
    with polyhaul.profile() as p:
        polyhaul.read(points)
    verdict = p.verdict
    assert verdict == p.verdict and str(verdict) in repr(verdict) and str(verdict) in repr(p)
    assert sum(verdict.causes.values()) == pytest.approx(1) and "parse" in verdict.causes
    assert list(verdict.causes.values()) == sorted(verdict.causes.values(), reverse=True)
    assert verdict.bytes_per_second == pytest.approx(len(TEXT) / verdict.seconds)
    assert isinstance(verdict.advice, tuple) and 0 <= verdict.share <= 1


def test_a_slow_host_is_named() -> None:
    """What bound the job hangs on how busy the machine is; that the host is one of the causes does not."""
    with polyhaul.profile() as p:
        polyhaul.read(Slow(rows(500), 0.05, 1 << 20), format="obj", threads=1)
    assert p.verdict.causes["host"] > 0
    assert p.files[0].phase == "host" and p.phases["host"] >= 0.05


def test_small_reads_of_a_host_are_named() -> None:
    with polyhaul.profile() as p:
        polyhaul.read(Slow(TEXT[:160_000].rpartition(b"\n")[0], 0.001, 512), format="obj", threads=1)
    assert p.verdict.causes["small-reads"] > 0
    assert max(p.files[0].histogram) == 512


def test_every_job_that_moves_bytes_is_in_it(points: Path, tmp_path: Path) -> None:
    jobs: dict[str, Callable[[], Any]] = {
        "convert": lambda: polyhaul.convert(points, tmp_path / "out.ply"),
        "info": lambda: polyhaul.info(points),
        "validate": lambda: polyhaul.validate(points),
        "write_table": lambda: polyhaul.write_table(np.zeros((9, 3)), tmp_path / "table.csv"),
        "read_table": lambda: polyhaul.read_table(tmp_path / "table.csv"),
        "loadtxt": lambda: polyhaul.loadtxt(b"1 2\n" * 9),
        "savetxt": lambda: polyhaul.savetxt(tmp_path / "text", np.zeros((9, 3))),
        "write_image": lambda: polyhaul.write_image(np.zeros((8, 8, 3), np.uint8), tmp_path / "image.tga"),
        "read_image": lambda: polyhaul.read_image(tmp_path / "image.tga"),
        "import_texture": lambda: polyhaul.import_texture(tmp_path / "image.tga", tmp_path / "image.dds"),
    }
    for name, job in jobs.items():
        with polyhaul.profile("totals", samples=False) as p:
            job()
        assert p.files and p.verdict.bytes_per_second > 0, name


def test_the_innermost_profile_has_the_job(points: Path) -> None:
    with polyhaul.profile() as outer:
        with polyhaul.profile() as inner:
            polyhaul.read(points)
        polyhaul.read(b"v 1 2 3\n", format="obj")
    polyhaul.read(b"v 1 2 3\nv 1 2 3\n", format="obj")
    assert names(inner) == [str(points)]
    assert [file.name for file in outer.files] == ["memory"] and moved(outer.files[0], b"v 1 2 3\n")


def test_threads_and_tasks_in_the_context_are_in_it(points: Path) -> None:
    def read(name: str) -> None:
        polyhaul.read(TEXT if name != "path" else points, format="obj")

    async def tasks() -> None:
        await asyncio.gather(asyncio.to_thread(read, "path"), asyncio.to_thread(read, "memory"))

    with polyhaul.profile() as p:
        asyncio.run(tasks())
        inside = threading.Thread(target=contextvars.copy_context().run, args=(read, "path"))
        inside.start()
        inside.join()
    assert names(p) == sorted([str(points), str(points), "memory"])
    with polyhaul.profile() as p:
        # Where threads inherit no context by themselves, a plain one is not in it.
        outside = threading.Thread(target=contextvars.Context().run, args=(read, "path"))
        outside.start()
        outside.join()
    assert not p.files and not p.phases


def test_an_exception_leaves_a_profile(points: Path, tmp_path: Path) -> None:
    with pytest.raises(polyhaul.MalformedError), polyhaul.profile() as p:
        polyhaul.read(TEXT + b"v 1 2 x\n", format="obj")
    assert moved(p.files[0], TEXT) and p.phases["parse"] > 0
    assert p.verdict.seconds > 0
    p.report(tmp_path / "report.html")
    with pytest.raises(ZeroDivisionError), polyhaul.profile() as p:
        polyhaul.read(Failing(), format="obj")
    assert p.files[0].phase == "host"
    polyhaul.read(points)
    assert len(p.files) == 1


class Failing:
    """A file object that fails."""

    def read(self, size: int, /) -> bytes:
        raise ZeroDivisionError


def test_other_threads_run_meanwhile(tmp_path: Path) -> None:
    """Whoever holds the interpreter while it waits for another thread would never come back from here."""
    turns: list[int] = []
    finished = threading.Event()

    def count() -> None:
        while not finished.wait(0.0005):
            turns.append(len(turns))

    beside = threading.Thread(target=count)
    beside.start()
    try:
        with polyhaul.profile() as p:
            polyhaul.read(Slow(TEXT, 0.01, 1 << 16), format="obj")
        p.report(tmp_path / "report.html")
    finally:
        finished.set()
        beside.join()
    assert turns


def test_nothing_is_said_before_the_end(tmp_path: Path) -> None:
    p = polyhaul.profile()
    with pytest.raises(RuntimeError, match="has not started; use it as"):
        _ = p.phases
    with p:
        for early in (lambda: p.verdict, lambda: p.files, lambda: p.trace(tmp_path / "trace.json")):
            with pytest.raises(RuntimeError, match="still recording"):
                early()
        assert "recording" in repr(p) and p._repr_html_() is None
    with pytest.raises(RuntimeError, match="can be used only once"), p:
        pass
    assert p.verdict.bound == "unknown" and not p.files and not p.phases
    assert "too short" in str(p.verdict)
    assert not list(tmp_path.iterdir())


def test_a_profile_that_ended_takes_no_more(points: Path) -> None:
    with polyhaul.profile() as p:
        context = contextvars.copy_context()
    context.run(polyhaul.read, points)
    assert not p.files


def test_a_generator_may_end_elsewhere(points: Path) -> None:
    def steps() -> Any:
        with polyhaul.profile() as p:
            polyhaul.read(points)
            yield p

    generator = steps()
    p = contextvars.Context().run(next, generator)
    generator.close()
    assert names(p) == [str(points)]


@pytest.mark.parametrize("given", [{"detail": "all"}, {"detail": None}])
def test_nonsense_is_refused(given: Any) -> None:
    with pytest.raises(ValueError, match="detail is"):
        polyhaul.profile(**given)


HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>" if sys.platform != "win32" else "&amp;'x onload=1"


class Named(io.BytesIO):
    """A file object whose name is code."""

    name = HOSTILE


def recorded() -> polyhaul.Profile:
    with polyhaul.profile(title=HOSTILE) as p:
        polyhaul.read(Named(TEXT), format="obj")
    return p


def test_the_report_is_a_page_of_its_own(tmp_path: Path) -> None:
    p = recorded()
    assert names(p) == [HOSTILE]
    p.report(str(tmp_path / "report.html"))
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    page = Page(text)
    assert text.startswith("<!doctype html>") and HOSTILE in page.text
    assert not any("onerror" in attributes or "onload" in attributes for _, attributes in page.tags)
    assert "alert(1)</script>" not in text
    links = [attributes.get(name) or "#" for _, attributes in page.tags for name in ("src", "href")]
    assert all(link.startswith(("#", "data:")) for link in links)


def test_the_trace_is_json_with_the_calls(tmp_path: Path) -> None:
    recorded().trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))["traceEvents"]
    assert any(event.get("name") == "parse" for event in events)
    assert any(HOSTILE in json.dumps(event.get("args", {})) for event in events)


def test_the_chart_is_a_picture(tmp_path: Path) -> None:
    recorded().chart(tmp_path / "chart.svg")
    root = ElementTree.parse(tmp_path / "chart.svg").getroot()
    assert root.tag.endswith("svg") and HOSTILE in "".join(root.itertext())


def test_a_chart_is_not_named_like_another_picture(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"SVG.*\.svg"):
        recorded().chart(tmp_path / "chart.png")
    assert not (tmp_path / "chart.png").exists()
    recorded().chart(tmp_path / "CHART.SVG")


def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with polyhaul.profile() as p:
        pass
    with pytest.raises(polyhaul.NotFoundError) as error:
        p.report(tmp_path / "no" / "report.html")
    assert error.value.path == str(tmp_path / "no" / "report.html")


@pytest.mark.parametrize("detail", ["spans", "totals"])
def test_a_notebook_shows_verdict_phases_and_a_picture(detail: Literal["spans", "totals"]) -> None:
    with polyhaul.profile(detail, title=HOSTILE) as p:
        polyhaul.read(Named(TEXT), format="obj")
    shown = p._repr_html_()
    assert shown is not None
    page = Page(shown)
    assert str(p.verdict) in page.text and all(name in page.text for name in p.phases)
    assert {tag for tag, _ in page.tags} <= {"div", "p", "b", "ul", "li", "table", "tr", "th", "td", "img"}
    images = [attributes["src"] or "" for tag, attributes in page.tags if tag == "img"]
    assert len(images) == (detail == "spans") and "://" not in shown
    for image in images:
        head, _, data = image.partition(",")
        assert head == "data:image/svg+xml;base64"
        picture = base64.b64decode(data).decode()
        ElementTree.fromstring(picture)
        assert "<script" not in picture and not re.search(r"\bhref\s*=", picture)


def test_samples_are_asked_for(points: Path, tmp_path: Path) -> None:
    for samples in (True, False):
        with polyhaul.profile(samples=samples) as p:
            polyhaul.read(points)
        p.trace(tmp_path / "trace.json")
        text = (tmp_path / "trace.json").read_text(encoding="utf-8")
        assert ("resident memory" in text) == (samples and sys.platform == "linux")


def test_files_of_several_formats_add_up(points: Path, tmp_path: Path) -> None:
    with polyhaul.profile() as p:
        polyhaul.read(points)
        polyhaul.read_table(b"1,2\n" * 100_000, format="csv")
    assert p.verdict.bytes_per_second == pytest.approx((len(TEXT) + 400_000) / p.verdict.seconds)


def test_a_report_has_bytes_by_format_and_codec(points: Path, tmp_path: Path) -> None:
    target = tmp_path / "points.ply.gz"
    report = polyhaul.convert(points, target)
    assert report.reads == (polyhaul.Moved("obj", None, len(TEXT), len(TEXT)),)
    (written,) = report.writes
    assert (written.format, written.codec, written.bytes) == ("ply", "gzip", target.stat().st_size)
    back = polyhaul.read(target).report
    assert back is not None
    assert back.reads == report.writes and back.writes == ()
