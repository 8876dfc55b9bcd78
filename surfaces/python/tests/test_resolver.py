"""Files that a scene refers to, given by the caller."""

from __future__ import annotations

import gzip
import io
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polyhaul
import pytest
from conftest import CUBE, LIBRARY
from polyhaul._sources import _sibling

#: Each call that takes a resolver, as what it says of ``CUBE``: the materials that no library defines.
CALLS: dict[str, Callable[..., Any]] = {
    "read": lambda source, **options: missing(polyhaul.read(source, **options)),
    "convert": lambda source, **options: counts(polyhaul.convert(source, io.BytesIO(), to_format="obj", **options).warnings),
    "info": lambda source, **options: polyhaul.info(source, **options).missing_materials,
    "validate": lambda source, **options: counts(polyhaul.validate(source, **options).complaints),
}


def missing(scene: polyhaul.Scene) -> int:
    return sum(material.missing for material in scene.materials)


def counts(warnings: polyhaul.Warnings) -> int:
    return warnings.counts.get("missing-material", 0)


def noting(names: list[str]) -> Callable[[str], None]:
    """A resolver that has nothing, and keeps what it was asked for."""

    def resolver(name: str) -> None:
        names.append(name)

    return resolver


@pytest.mark.parametrize("call", CALLS)
def test_it_is_asked_on_this_thread(call: str) -> None:
    calls: list[tuple[str, int]] = []

    def resolver(name: str) -> bytes | None:
        calls.append((name, threading.get_ident()))
        return LIBRARY if name == "cube.mtl" else None

    assert CALLS[call](CUBE, resolver=resolver) == 0
    assert CALLS[call](CUBE, resolver=lambda name: None) == 2
    assert set(calls) >= {("cube.mtl", threading.get_ident())}
    assert {thread for _, thread in calls} == {threading.get_ident()}


def test_it_may_give_anything_that_can_be_read(cube: Path) -> None:
    library = cube.with_suffix(".mtl")
    answers: list[Any] = [LIBRARY, bytearray(LIBRARY), memoryview(LIBRARY), library, str(library), io.BytesIO(LIBRARY)]
    for given in [*answers, gzip.compress(LIBRARY)]:
        scene = polyhaul.read(io.BytesIO(CUBE), resolver=lambda name, given=given: given)  # type: ignore[misc]
        assert missing(scene) == 0 and scene.materials["red"].diffuse is not None
    with library.open("rb") as file:
        assert missing(polyhaul.read(CUBE, resolver=lambda name: file)) == 0
        assert not file.closed
    assert missing(polyhaul.read(CUBE, resolver={"cube.mtl": LIBRARY}.get)) == 0


def test_the_buffer_of_a_source_is_held_and_not_copied() -> None:
    source = bytearray(CUBE)

    def resolver(name: str) -> None:
        with pytest.raises(BufferError):
            source.append(0)

    polyhaul.read(source, resolver=resolver)
    source.append(0)


def test_it_comes_before_the_files_beside_the_scene(cube: Path) -> None:
    library = b"newmtl red\nKd 0 1 0\nnewmtl blue\n"
    assert polyhaul.read(cube, resolver=lambda name: library).materials["red"].diffuse == (0.0, 1.0, 0.0)
    assert missing(polyhaul.read(cube, resolver=lambda name: None)) == 0


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("error", [LookupError("mine"), OSError(5, "mine"), KeyboardInterrupt("mine")])
def test_what_it_raises_comes_out_as_itself(call: str, error: BaseException) -> None:
    def resolver(name: str) -> bytes:
        raise error

    with pytest.raises(type(error)) as caught:
        CALLS[call](CUBE, resolver=resolver, **({} if call in ("info", "validate") else {"on_error": "warn"}))
    assert caught.value is error


def test_what_its_file_objects_raise_comes_out_as_itself() -> None:
    error = RuntimeError("mine")

    class Broken(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            raise error

    with pytest.raises(RuntimeError) as caught:
        polyhaul.read(CUBE, resolver=lambda name: Broken())
    assert caught.value is error


@pytest.mark.parametrize("given", [7, ["x"], io.StringIO("x"), object()])
def test_what_makes_no_sense_is_a_type_error(given: Any) -> None:
    with pytest.raises(TypeError, match=r"the result of resolver\('cube.mtl'\)"):
        polyhaul.read(CUBE, resolver=lambda name: given)
    with pytest.raises(TypeError, match="resolver is of type"):
        polyhaul.read(CUBE, resolver=given if not isinstance(given, io.StringIO) else {})  # type: ignore[arg-type]


def test_complaints_about_what_it_gave_name_what_was_asked_for() -> None:
    with pytest.raises(polyhaul.MalformedError) as caught:
        polyhaul.read(CUBE, resolver=lambda name: b"newmtl red\nKd x y z\n", strict=True)
    assert (caught.value.path, caught.value.line) == ("cube.mtl", 2)


def test_a_path_that_is_not_there_is_a_missing_library(tmp_path: Path) -> None:
    scene = polyhaul.read(CUBE, resolver=lambda name: tmp_path / "none.mtl")
    assert scene.report is not None and scene.report.warnings.counts["missing-library"] == 1


NAMES = ["../x.mtl", "/etc/passwd", "a b.mtl", r"\\host\x.mtl", r"C:\x.mtl", "x\x01.mtl", "\u00e9.mtl"]
NAMES += ["x" * 5000]


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_hostile_names_arrive_as_they_are(name: str) -> None:
    names: list[str] = []
    text = f"mtllib {name}\n".encode() + CUBE
    polyhaul.read(text, resolver=noting(names))
    assert name in names


def test_names_that_are_no_text_are_asked_for_as_text() -> None:
    names: list[str] = []
    polyhaul.read(b"mtllib \xff\xfe.mtl\n" + CUBE, resolver=noting(names))
    assert len(names) == 2
    for name in names:
        name.encode()


def test_it_is_not_asked_for_more_files_than_allowed() -> None:
    names: list[str] = []
    text = b"".join(b"mtllib %d.mtl\n" % number for number in range(20))
    with pytest.raises(polyhaul.LimitError, match="files"):
        polyhaul.read(text, resolver=noting(names), limits=polyhaul.Limits(files=5))
    assert len(names) == 5


def test_what_it_gives_is_limited() -> None:
    with pytest.raises(polyhaul.LimitError, match="referenced_file_bytes"):
        polyhaul.read(CUBE, resolver=lambda name: LIBRARY, limits=polyhaul.Limits(referenced_file_bytes=10))


def test_textures_are_asked_for_when_validating() -> None:
    files: dict[str, bytes] = {"cube.mtl": b"newmtl red\nmap_Kd red.png\nnewmtl blue\n"}
    validation = polyhaul.validate(CUBE, resolver=files.get)
    assert validation.complaints.counts == {"missing-texture": 1}
    files["red.png"] = b""
    assert not polyhaul.validate(CUBE, resolver=files.get).complaints


@pytest.fixture
def memory() -> Any:
    """A file system of fsspec, which lies in memory."""
    memory = pytest.importorskip("fsspec").filesystem("memory")
    yield memory
    memory.store.clear()


def test_urls_have_siblings(memory: Any) -> None:
    url = "memory://folder/cube.obj"
    memory.pipe({"/folder/cube.obj": CUBE, "/folder/cube.mtl": LIBRARY})
    for call in CALLS.values():
        assert call(url) == 0
    siblings = {"cube.mtl": b"newmtl blue\n"}
    assert missing(polyhaul.read(url, resolver=siblings.get)) == 1
    assert missing(polyhaul.read(url, resolver={"other.mtl": LIBRARY}.get)) == 0
    memory.rm("/folder/cube.mtl")
    scene = polyhaul.read(url)
    assert scene.report is not None and scene.report.warnings.counts["missing-library"] == 1


OUTSIDE = ["../cube.mtl", "a/../../cube.mtl", "/cube.mtl", r"..\cube.mtl", "memory://cube.mtl", "x::memory:"]
OUTSIDE += ["%2e%2e/cube.mtl"]  # which servers may take for ..


@pytest.mark.parametrize("name", OUTSIDE)
def test_siblings_of_urls_stay_below_their_folder(name: str, memory: Any) -> None:
    memory.pipe({"/a/x.obj": f"mtllib {name}\nusemtl red\n".encode(), "/cube.mtl": LIBRARY})
    assert missing(polyhaul.read("memory://a/x.obj")) == 1


@pytest.mark.parametrize(
    ("url", "name", "expected"),
    [
        ("https://host/a/x.obj?v=1#y", "./b/./x.mtl", "https://host/a/b/x.mtl"),
        ("https://host/a/x.obj", "a b.mtl", "https://host/a/a b.mtl"),
        ("s3://bucket/x.obj.gz", r"b\x.mtl", "s3://bucket/b/x.mtl"),
        ("https://host", "evil.example/x.mtl", None),
        ("https://host?x=/y", "evil.example/x.mtl", None),
        ("https://host/x.obj", "//evil.example/x.mtl", None),
        ("https://host/x.obj", "", None),
        ("zip://x.obj::https://host/y.zip", "x.mtl", "zip://x.mtl::https://host/y.zip"),
        ("zip://x.obj::https://host/y.zip", "x.mtl::https://evil.example", None),
    ],
)
def test_names_of_siblings(url: str, name: str, expected: str | None) -> None:
    assert _sibling(url, name) == expected


def test_urls_of_files_are_paths(cube: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    url = (cube.parent / "a b.obj").as_uri()
    assert "%20" in url
    polyhaul.write(polyhaul.read(cube.as_uri()), url)
    assert missing(polyhaul.read(cube.parent / "a b.obj")) == 0
    assert missing(polyhaul.read(url.replace("file://", "file://localhost"))) == 0


def test_siblings_lie_in_the_same_archive(tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    import zipfile

    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("in/cube.obj", CUBE)
        archive.writestr("in/cube.mtl", LIBRARY)
    assert missing(polyhaul.read(f"zip://in/cube.obj::file://{tmp_path}/x.zip")) == 0
