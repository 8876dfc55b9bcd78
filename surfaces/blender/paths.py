"""How a file names the images that it refers to."""

from __future__ import annotations

import os
import shutil
from typing import Any

import bpy


#: Characters that Blender replaces in the names of files: control characters, spaces, and what some system reserves.
UNSAFE = str.maketrans({**dict.fromkeys(map(chr, range(1, 32)), "_"), **dict.fromkeys(' "*/:<>?\\|', "_")})


class BatchNames:
    """The names of a file for each object, which are Blender's. Several objects of one name, as instances have, get
    numbers: Blender overwrites the first file with the others."""

    def __init__(self, stem: str, extension: str) -> None:
        self._stem, self._extension = stem, extension
        self._taken: set[str] = set()

    def of(self, name: str) -> str:
        """The path for the next object of a name."""
        safe = name.translate(UNSAFE)
        if not safe.strip("."):
            # Folders have such names.
            safe = "_" + safe[1:]
        free, number = safe, 0
        while free in self._taken:
            number += 1
            free = f"{safe}_{number}"
        self._taken.add(free)
        path = f"{self._stem}{free}{self._extension}"
        has_extension = ".stl" in self._extension.lower() or path.lower().endswith(".stl")
        return path if has_extension else path.rstrip(".") + ".stl"


def reference(image: Any, options: Any) -> str:
    """The path of an image, as the option ``path_mode`` wants it beside the file that is written."""
    folder = os.path.dirname(os.path.abspath(options.filepath))
    path = os.path.normpath(bpy.path.abspath(image.filepath, library=image.library))
    mode = options.path_mode
    if mode == "MATCH":
        mode = "RELATIVE" if image.filepath.startswith("//") else "ABSOLUTE"
    elif mode == "AUTO":
        mode = "RELATIVE" if is_below(path, folder) else "ABSOLUTE"
    if mode == "COPY":
        copy(path, folder)
    if mode in ("STRIP", "COPY"):
        path = os.path.basename(path)
    elif mode == "RELATIVE":
        path = relative(path, folder)
    return path.replace(os.sep, "/")


def is_below(path: str, folder: str) -> bool:
    """Whether a file is in a folder or one of its subfolders."""
    return relative(path, folder).split(os.sep)[0] != os.pardir


def relative(path: str, folder: str) -> str:
    """The path relative to the folder, unless that is on another drive."""
    try:
        return os.path.relpath(path, folder)
    except ValueError:
        return path


def copy(path: str, folder: str) -> None:
    """Copies a file into the folder, unless it is there."""
    target = os.path.join(folder, os.path.basename(path))
    if os.path.exists(path) and not (os.path.exists(target) and os.path.samefile(path, target)):
        shutil.copyfile(path, target)
