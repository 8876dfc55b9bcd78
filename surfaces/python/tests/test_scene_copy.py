"""Copies of scenes: what they share, and what they do not."""

from __future__ import annotations

import copy
import pickle

import numpy as np

import polyhaul

POSITIONS, FACES = [[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]


def triangle() -> polyhaul.Mesh:
    return polyhaul.Mesh(POSITIONS, FACES)


def scene() -> polyhaul.Scene:
    made = polyhaul.Scene()
    made.add(triangle(), name="one", materials=["red"])
    made.comments.append("by hand")
    return made


def counts(made: polyhaul.Scene) -> tuple[int, ...]:
    return len(made.objects), len(made.meshes), len(made.materials), len(made.comments), len(made.infos)


def test_a_shallow_copy_has_lists_of_its_own() -> None:
    first = scene()
    other = copy.copy(first)
    assert counts(other) == counts(first) == (1, 1, 1, 1, 0)
    other.add(triangle(), name="two", materials=["blue"])
    other.comments.append("more")
    other.infos.append("info")
    assert counts(first) == (1, 1, 1, 1, 0)
    assert counts(other) == (2, 2, 2, 2, 1)
    first.add(triangle(), name="three", materials=["green"])
    assert [placed.name for placed in other.objects] == ["one", "two"]
    assert [material.name for material in other.materials] == ["red", "blue"]
    # A name means the material of the scene that it is said to.
    slots = first.add(triangle(), materials=["blue"]).materials
    assert slots is not None and slots[0] is not other.materials["blue"]


def test_a_shallow_copy_shares_meshes_and_arrays() -> None:
    first = scene()
    other = copy.copy(first)
    assert other.objects[0] is first.objects[0]
    assert other.meshes[0] is first.meshes[0]
    assert np.shares_memory(other.meshes[0].positions, first.meshes[0].positions)
    assert other.add(first.meshes[0], name="again").mesh is first.meshes[0]
    assert len(other.meshes) == 1


def test_a_deep_copy_shares_nothing() -> None:
    first = scene()
    for other in (copy.deepcopy(first), pickle.loads(pickle.dumps(first))):
        other.objects[0].name = "renamed"
        other.add(other.meshes[0], name="two")
        assert first.objects[0].name == "one"
        assert counts(first) == (1, 1, 1, 1, 0)
        assert other.objects[0].mesh is other.meshes[0]
        assert not np.shares_memory(other.meshes[0].positions, first.meshes[0].positions)


def test_a_copy_of_a_scene_that_was_read() -> None:
    first = polyhaul.read(b"o a\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl red\nf 1 2 3\n", format="obj")
    other = copy.copy(first)
    other.add(triangle(), name="b")
    assert len(first.objects) == 1
    assert len(other.objects) == 2
