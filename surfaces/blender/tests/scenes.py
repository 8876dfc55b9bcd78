"""Scenes that are different for every seed: what modellers do, and what they should not."""

from __future__ import annotations

import random

import bpy
import numpy as np

NAMES = ["Cube", "Würfel", "two words", "tab\there", "日本語", "x", "a.001", "with#hash", "back\\slash", "quo\"te"]


def fill(seed: int) -> None:
    """Makes a scene of the seed, in place of whatever was there."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    Filler(random.Random(seed)).fill()
    bpy.context.view_layer.update()


class Filler:
    """One scene."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.materials = [self.material(number) for number in range(rng.randint(1, 4))]

    def fill(self) -> None:
        rng = self.rng
        for _ in range(rng.randint(2, 6)):
            self.place(self.object_of(self.mesh()))
        if rng.random() < 0.5:
            self.edge_cases()
        if rng.random() < 0.6:
            self.instances()
        if rng.random() < 0.6:
            self.curves()
        if rng.random() < 0.3:
            bpy.ops.object.text_add(location=self.point())
        if rng.random() < 0.5 and len(bpy.context.scene.objects) > 1:
            # Of a matrix whose determinant is 0 but for rounding, Blender's sign is noise.
            child, parent = rng.sample([item for item in bpy.context.scene.objects], 2)
            if 0 not in (*child.scale, *parent.scale):
                child.parent = parent
        for item in bpy.context.scene.objects:
            item.select_set(rng.random() < 0.5)

    def point(self) -> tuple[float, float, float]:
        return tuple(self.rng.uniform(-20, 20) for _ in range(3))

    def name(self) -> str:
        return self.rng.choice(NAMES)

    def mesh(self) -> bpy.types.Mesh:
        """A primitive with random shading, materials, uvs, colors, groups and normals."""
        rng = self.rng
        make = rng.choice([
            lambda: bpy.ops.mesh.primitive_cube_add(),
            lambda: bpy.ops.mesh.primitive_monkey_add(),
            lambda: bpy.ops.mesh.primitive_grid_add(x_subdivisions=rng.randint(1, 9), y_subdivisions=rng.randint(1, 9)),
            lambda: bpy.ops.mesh.primitive_cone_add(vertices=rng.randint(3, 12)),
            lambda: bpy.ops.mesh.primitive_uv_sphere_add(segments=rng.randint(3, 12), ring_count=rng.randint(3, 8)),
            lambda: bpy.ops.mesh.primitive_torus_add(major_segments=rng.randint(3, 8), minor_segments=rng.randint(3, 6)),
        ])
        make()
        made = bpy.context.object
        data = made.data
        bpy.data.objects.remove(made)
        data.name = self.name()
        self.shade(data)
        self.paint(data)
        return data

    def shade(self, data: bpy.types.Mesh) -> None:
        rng = self.rng
        kind = rng.choice(["flat", "smooth", "mixed", "sharp edges", "custom"])
        faces = len(data.polygons)
        if kind in ("smooth", "sharp edges", "custom"):
            data.shade_smooth()
        elif kind == "flat":
            data.shade_flat()
        else:
            flags = [rng.random() < 0.5 for _ in range(faces)]
            data.polygons.foreach_set("use_smooth", flags)
        if kind in ("sharp edges", "mixed"):
            data.edges.foreach_set("use_edge_sharp", [rng.random() < 0.3 for _ in data.edges])
        if kind == "custom":
            normals = np.array([self.point() for _ in data.loops], np.float32)
            normals /= np.linalg.norm(normals, axis=1)[:, None]
            data.normals_split_custom_set(normals.tolist())

    def paint(self, data: bpy.types.Mesh) -> None:
        rng = self.rng
        for material in rng.sample([*self.materials, None], rng.randint(0, len(self.materials))):
            data.materials.append(material)
        if len(data.materials):
            last = rng.choice([0, len(data.materials) - 1, len(data.materials) - 1, len(data.materials)])
            slots = [rng.randint(0, last) for _ in data.polygons]
            data.polygons.foreach_set("material_index", slots)
        layers = rng.choice([0, 1, 1, 2, 3])
        while len(data.uv_layers):
            data.uv_layers.remove(data.uv_layers[0])
        for number in range(layers):
            layer = data.uv_layers.new(name=f"uv {number}", do_init=False)
            values = np.random.default_rng(rng.randrange(2**31)).uniform(-1, 2, 2 * len(data.loops))
            # No -0.0: whether Blender keeps it apart from 0.0 depends on its hash table.
            layer.uv.foreach_set("vector", np.round(values, rng.choice([1, 6])).astype(np.float32) + np.float32(0))
        if layers:
            data.uv_layers.active_index = rng.randrange(layers)
        if rng.random() < 0.5:
            kind, domain = rng.choice(["FLOAT_COLOR", "BYTE_COLOR"]), rng.choice(["POINT", "CORNER"])
            colors = data.color_attributes.new("colors", kind, domain)
            colors.data.foreach_set("color", [rng.random() for _ in range(4 * len(colors.data))])
            data.color_attributes.active_color_index = 0

    def object_of(self, data: bpy.types.Mesh) -> bpy.types.Object:
        made = bpy.data.objects.new(self.name(), data)
        bpy.context.collection.objects.link(made)
        rng = self.rng
        for number in range(rng.choice([0, 0, 2, 3])):
            group = made.vertex_groups.new(name=rng.choice(["arm", "leg left", "ohr"]) + str(number))
            for vertex in range(len(data.vertices)):
                if rng.random() < 0.4:
                    group.add([vertex], rng.random(), "REPLACE")
        if rng.random() < 0.3:
            made.modifiers.new("mirror", "MIRROR")
        if rng.random() < 0.2:
            made.modifiers.new("subdivide", "SUBSURF").levels = 1
        return made

    def place(self, made: bpy.types.Object, *, may_be_flat: bool = True) -> None:
        rng = self.rng
        made.location = self.point()
        made.rotation_euler = self.point()
        made.scale = rng.choice([(1, 1, 1), (1, 1, 1), (-1, 1, 1), (0.5, 2, -3), (1e-4, 1e-4, 1e-4), (0, 1, 1)][: 6 if may_be_flat else 5])
        if rng.random() < 0.1:
            made.location = (1e6, -1e-7, 0)

    def edge_cases(self) -> None:
        """Loose vertices and edges, no vertices at all, degenerate faces."""
        data = bpy.data.meshes.new("loose")
        data.from_pydata([self.point() for _ in range(7)], [(0, 1), (1, 2)], [(3, 4, 5), (3, 4, 4, 6)][: self.rng.randint(0, 1)])
        self.place(self.object_of(data))
        self.object_of(bpy.data.meshes.new("empty")).data.materials.append(self.rng.choice(self.materials))

    def instances(self) -> None:
        """A collection that is shown twice, and faces that show a child."""
        collection = bpy.data.collections.new("library")
        for _ in range(2):
            part = self.object_of(self.mesh())
            bpy.context.collection.objects.unlink(part)
            collection.objects.link(part)
            self.place(part, may_be_flat=False)
        for _ in range(2):
            empty = bpy.data.objects.new(self.name(), None)
            empty.instance_type, empty.instance_collection = "COLLECTION", collection
            bpy.context.collection.objects.link(empty)
            self.place(empty, may_be_flat=False)

    def curves(self) -> None:
        rng = self.rng
        for add in (bpy.ops.curve.primitive_nurbs_path_add, bpy.ops.curve.primitive_nurbs_circle_add, bpy.ops.curve.primitive_bezier_circle_add):
            if rng.random() < 0.6:
                add(location=self.point())
                curve = bpy.context.object
                curve.name = self.name()
                for spline in curve.data.splines:
                    if spline.type == "NURBS":
                        spline.order_u = rng.randint(2, 5)
                        spline.use_endpoint_u, spline.use_bezier_u = rng.random() < 0.5, rng.random() < 0.5
                if rng.random() < 0.3:
                    curve.data.bevel_depth = 0.1
                if rng.random() < 0.5:
                    curve.data.materials.append(rng.choice(self.materials))

    def material(self, number: int) -> bpy.types.Material:
        rng = self.rng
        made = bpy.data.materials.new(rng.choice(["red", "Grün", "two words"]) + rng.choice(["", str(number)]))
        made.use_nodes = True
        tree = made.node_tree
        shader = tree.nodes["Principled BSDF"]
        for socket in shader.inputs:
            if socket.type == "VALUE" and socket.name != "Weight" and rng.random() < 0.7:
                socket.default_value = rng.choice([0.0, 1.0, rng.random()])
            if socket.type == "RGBA" and rng.random() < 0.7:
                socket.default_value = [rng.random() for _ in range(4)]
        if rng.random() < 0.2:
            tree.nodes.remove(shader)
            made.diffuse_color = [rng.random() for _ in range(4)]
            made.roughness, made.metallic, made.specular_intensity = rng.random(), rng.choice([0, 0.5]), rng.random()
        return made
