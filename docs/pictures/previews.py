"""Makes the README's pictures again: fetches six assets from public repositories and draws them.

    python docs/pictures/previews.py [--polyhaul target/release/polyhaul] [--remote https://github.com/{}]

`--remote` is where git finds a repository, with `{}` for its owner and name. README.md in this folder names the authors
and licenses of the assets. Downloads about 60 MB.
"""

import argparse
import dataclasses
import pathlib
import subprocess
import tempfile

FOLDER = pathlib.Path(__file__).parent
BEVY_COMMIT = "4805ca792c3e94eef07afd6fa9a2712f388c9a67"


@dataclasses.dataclass
class Picture:
    name: str
    repository: str
    commit: str
    paths: list[str]
    scene: str
    options: list[str] = dataclasses.field(default_factory=list)


PICTURES = [
    # Without its largest texture; the material's color stands in.
    Picture(
        "kitchen", "gonsolo/bitterli", "dc0bfae2c89c8fc4579bab209ec56f288a6764bf",
        ["kitchen/pbrt/scene-v4.pbrt", "kitchen/pbrt/models", "kitchen/pbrt/textures", ":!kitchen/pbrt/textures/wood.tga"],
        "kitchen/pbrt/scene-v4.pbrt",
    ),
    Picture(
        "helmet", "bevyengine/bevy", BEVY_COMMIT, ["assets/models/FlightHelmet"],
        "assets/models/FlightHelmet/FlightHelmet.gltf", ["--ground"],
    ),
    Picture(
        "robot", "playcanvas/engine", "0aaef5e432c4797ed23c1f966e2cc43232ec0613", ["examples/assets/splats/playbot/1_0"],
        "examples/assets/splats/playbot/1_0/meta.json", ["--up-axis=-Y"],
    ),
    Picture("fox", "bevyengine/bevy", BEVY_COMMIT, ["assets/models/animated/Fox.glb"], "assets/models/animated/Fox.glb", ["--ground"]),
    Picture(
        "spot", "alecjacobson/common-3d-test-models", "8a4f8642acaf43f9cd7b67858a1502e1055ef202", ["data/spot.zip"],
        "data/spot.zip/spot/spot_quadrangulated.obj", ["--style", "wire", "--view", "left"],
    ),
    Picture("gearbox", "mikedh/trimesh", "a513c0e2cfa6dfbd3121a6dfd8ceb002b9ef55d8", ["models/cycloidal.ply"], "models/cycloidal.ply", ["--ground"]),
]


def fetch(picture, remote, folder):
    """Writes the picture's files below `folder`, without the rest of their repository."""
    git = ["git", "-C", folder, "-c", "gc.auto=0"]
    subprocess.run(["git", "init", "--quiet", folder], check=True)
    subprocess.run([*git, "remote", "add", "origin", remote.format(picture.repository)], check=True)
    subprocess.run([*git, "fetch", "--quiet", "--depth=1", "--filter=blob:none", "origin", picture.commit], check=True)
    subprocess.run([*git, "checkout", "--quiet", picture.commit, "--", *picture.paths], check=True)


def draw(picture, program, remote):
    with tempfile.TemporaryDirectory() as folder:
        fetch(picture, remote, folder)
        scene = pathlib.Path(folder) / picture.scene
        output = FOLDER / f"{picture.name}.png"
        subprocess.run([program, "preview", scene, "-o", output, "--size", "220x165", *picture.options], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--polyhaul", default="target/release/polyhaul", help="the command (default: %(default)s)")
    parser.add_argument("--remote", default="https://github.com/{}", help="where repositories are (default: %(default)s)")
    arguments = parser.parse_args()
    for picture in PICTURES:
        draw(picture, arguments.polyhaul, arguments.remote)


if __name__ == "__main__":
    main()
