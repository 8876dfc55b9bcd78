"""How a file names the images that it refers to."""

from __future__ import annotations

import os
import shutil
from typing import Any

import bpy


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
