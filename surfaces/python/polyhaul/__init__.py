"""Fast, exact I/O between 3D files and numpy arrays in bounded memory.

    >>> import polyhaul
    >>> scene = polyhaul.read(b"o triangle\\nv 0 0 0\\nv 1 0 0\\nv 0 1 0\\nf 1 2 3\\n")
    >>> scene.meshes[0].positions.shape
    (3, 3)

- Scenes: :func:`read`, :func:`write` and :func:`convert`; :func:`info` and :func:`validate` inspect files.
- Tables of numbers: :func:`read_table` and :func:`write_table`; :func:`scan` reads selected rows, in batches or into
  another file.
- Images: :func:`read_image` and :func:`write_image`; :func:`import_texture` converts images to GPU textures.
- Text: :func:`savetxt` and :func:`format_rows` format arrays and records; :func:`loadtxt` parses text into an array.
- Data: :class:`Scene`, :class:`Object`, :class:`Mesh`, :class:`Material`, :class:`Table` and :class:`Image`, and
  :class:`Render` for renderer scenes. :func:`concatenate` joins meshes.
- Jobs: :func:`batch` converts asset libraries, and :func:`profile` reports where the time goes.

Exceptions derive from :class:`Error` and include the location of the problem.
"""

from polyhaul._accelerate import accelerate
from polyhaul._arrays import NONE
from polyhaul._batch import Manifest, batch, read_manifest
from polyhaul._check import SurfaceCheck
from polyhaul._concatenate import concatenate
from polyhaul._errors import (
    AlreadyExistsError,
    CancelledError,
    ClosedPipeError,
    ConnectionFailedError,
    Error,
    HostError,
    InternalError,
    IoError,
    IsAFolderError,
    LimitError,
    MalformedError,
    NotAFolderError,
    NotFoundError,
    OutOfMemoryError,
    PermissionDeniedError,
    TimedOutError,
    UnsupportedError,
    UsageError,
)
from polyhaul._image import Image, read_image, write_image
from polyhaul._inspect import (
    Declared,
    DeclaredElement,
    DeclaredProperty,
    FileSummary,
    Info,
    RenderInfo,
    Validation,
    info,
    validate,
)
from polyhaul._interop import (
    from_meshio,
    from_open3d,
    from_pyvista,
    from_trimesh,
    to_meshio,
    to_open3d,
    to_pyvista,
    to_trimesh,
)
from polyhaul._io import convert, read, write
from polyhaul._material import Material, Spectral, TextureMap, Xyz
from polyhaul._mesh import Curve, Mesh
from polyhaul._option_types import ConvertOptions, Limits, ReadOptions, WriteOptions
from polyhaul._parts import Part
from polyhaul._polyhaul import __version__
from polyhaul._preview import preview
from polyhaul._profile import FileUse, Profile, Verdict, profile
from polyhaul._render import Definition, Entity, Instances, Parameter, Render, Shape
from polyhaul._report import Moved, PolyhaulWarning, Report, Warnings
from polyhaul._report import Warning as Warning  # not in __all__: `import *` would hide Python's own
from polyhaul._rows import format_rows, savetxt
from polyhaul._scan import Scan, scan
from polyhaul._scene import Object, Scene
from polyhaul._table import Lists, Table
from polyhaul._tables import Tables, loadtxt, read_table, read_tables, write_table, write_tables
from polyhaul._texture import ImportedTexture, import_texture

__all__ = [
    "NONE",
    "AlreadyExistsError",
    "CancelledError",
    "ClosedPipeError",
    "ConnectionFailedError",
    "ConvertOptions",
    "Curve",
    "Declared",
    "DeclaredElement",
    "DeclaredProperty",
    "Definition",
    "Entity",
    "Error",
    "FileSummary",
    "FileUse",
    "HostError",
    "Image",
    "ImportedTexture",
    "Info",
    "Instances",
    "InternalError",
    "IoError",
    "IsAFolderError",
    "LimitError",
    "Limits",
    "Lists",
    "MalformedError",
    "Manifest",
    "Material",
    "Mesh",
    "Moved",
    "NotAFolderError",
    "NotFoundError",
    "Object",
    "OutOfMemoryError",
    "Parameter",
    "Part",
    "PermissionDeniedError",
    "PolyhaulWarning",
    "Profile",
    "ReadOptions",
    "Render",
    "RenderInfo",
    "Report",
    "Scan",
    "Scene",
    "Shape",
    "Spectral",
    "SurfaceCheck",
    "Table",
    "Tables",
    "TextureMap",
    "TimedOutError",
    "UnsupportedError",
    "UsageError",
    "Validation",
    "Verdict",
    "Warnings",
    "WriteOptions",
    "Xyz",
    "__version__",
    "accelerate",
    "batch",
    "concatenate",
    "convert",
    "format_rows",
    "from_meshio",
    "from_open3d",
    "from_pyvista",
    "from_trimesh",
    "import_texture",
    "info",
    "loadtxt",
    "preview",
    "profile",
    "read",
    "read_image",
    "read_manifest",
    "read_table",
    "read_tables",
    "savetxt",
    "scan",
    "to_meshio",
    "to_open3d",
    "to_pyvista",
    "to_trimesh",
    "validate",
    "write",
    "write_image",
    "write_table",
    "write_tables",
]

# Show public objects under the name of the package that users import them from.
for _name in (*__all__, "Warning"):
    if getattr(_thing := globals()[_name], "__module__", "").startswith("polyhaul."):
        _thing.__module__ = "polyhaul"
del _name, _thing
