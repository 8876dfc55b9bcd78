"""Paths of images in exported files, and file names of batch exports."""

from __future__ import annotations

import os
import shutil
from typing import Any

import bpy


#: Characters that Blender replaces in file names: control characters, spaces, and characters reserved on some system.
UNSAFE = str.maketrans({**dict.fromkeys(map(chr, range(1, 32)), "_"), **dict.fromkeys(' "*/:<>?\\|', "_")})


class BatchNames:
    """Blender's file names for exports with one file per object.

    Objects with the same name, such as instances, get numbers, because Blender overwrites the file of the first object.
    """

    def __init__(self, stem: str, extension: str) -> None:
        self._stem, self._extension = stem, extension
        self._taken: set[str] = set()

    def of(self, name: str) -> str:
        """Return the path of the next object with this name."""
        safe = name.translate(UNSAFE)
        if not safe.strip("."):
            # Names that consist of dots refer to folders.
            safe = "_" + safe[1:]
        path, number = self._path(safe), 0
        # On Windows, names that differ in case only are the same file.
        while os.path.normcase(path) in self._taken:
            number += 1
            path = self._path(f"{safe}_{number}")
        self._taken.add(os.path.normcase(path))
        return path

    def _path(self, name: str) -> str:
        """Return the path of a file with this name, with the extension of the format."""
        path = f"{self._stem}{name}{self._extension}"
        has_extension = ".stl" in self._extension.lower() or path.lower().endswith(".stl")
        return path if has_extension else path.rstrip(".") + ".stl"


def reference(image: Any, options: Any) -> str:
    """Return the path of an image, as specified by the option ``path_mode``, for the output file."""
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
    """Return whether a file is in a folder or in one of its subfolders."""
    return relative(path, folder).split(os.sep)[0] != os.pardir


def relative(path: str, folder: str) -> str:
    """Return the path relative to the folder, or the path itself if the folder is on another drive."""
    try:
        return os.path.relpath(path, folder)
    except ValueError:
        return path


def copy(path: str, folder: str) -> None:
    """Copy a file into the folder, unless it is already there."""
    target = os.path.join(folder, os.path.basename(path))
    if os.path.exists(path) and not (os.path.exists(target) and os.path.samefile(path, target)):
        shutil.copyfile(path, target)
