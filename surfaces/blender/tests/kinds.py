"""Scenes of one kind of content each: what the exporters are compared on, different for every seed."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import bpy
import numpy as np
import scenes

NAMES = [*scenes.NAMES, "a/b", ".hidden", "end.", "..", "C:\\x*?", "trailing ", "é.001.002", "%d{}", "-1", "off", "x" * 63]

#: Types of attributes, with the field of an element and its width. Blender crashes when it cuts faces whose corners have
#: matrices, and takes colors of edges and faces for colors that nobody can paint.
ATTRIBUTES = {
    "FLOAT": ("value", 1),
    "INT": ("value", 1),
    "INT8": ("value", 1),
    "BOOLEAN": ("value", 1),
    "FLOAT2": ("vector", 2),
    "FLOAT_VECTOR": ("vector", 3),
    "INT16_2D": ("value", 2),
    "INT32_2D": ("value", 2),
    "QUATERNION": ("value", 4),
    "FLOAT_COLOR": ("color", 4),
    "BYTE_COLOR": ("color", 4),
    "FLOAT4X4": ("value", 16),
    "STRING": ("value", 0),
}


def fill(seed: int, kind: str) -> None:
    """Makes a scene of a kind, in place of whatever was there."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    filler = KindFiller(random.Random(f"{seed} {kind}"))
    KINDS[kind](filler)
    bpy.context.view_layer.update()
    for item in bpy.context.view_layer.objects:
        item.select_set(filler.rng.random() < 0.5)


class KindFiller(scenes.Filler):
    """One scene, of one kind."""

    #: Few where meshes have instances on each vertex.
    max_vertices = 10000

    def name(self) -> str:
        return self.rng.choice(NAMES)

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def link(self, data: Any, name: str | None = None) -> Any:
        """An object with some data, somewhere."""
        made = bpy.data.objects.new(name or self.name(), data)
        bpy.context.scene.collection.objects.link(made)
        self.place(made, may_be_flat=False)
        return made

    def material(self, number: int) -> bpy.types.Material:
        """A material with images for some of its inputs."""
        made = super().material(number)
        tree = made.node_tree
        shader = tree.nodes.get("Principled BSDF")
        if shader is None or self.chance(0.4):
            return made
        for name in self.rng.sample(["Base Color", "Metallic", "Roughness", "Specular IOR Level", "Sheen Weight", "Emission Color", "Alpha", "Normal"], 4):
            node = tree.nodes.new("ShaderNodeTexImage")
            node.image = bpy.data.images.new(name, 1, 1)
            node.image.source, node.image.filepath = "FILE", self.rng.choice(["/somewhere/é b.png", "/x.png"])
            source = node
            if name == "Normal":
                source = tree.nodes.new("ShaderNodeNormalMap")
                source.inputs["Strength"].default_value = self.rng.random()
                tree.links.new(node.outputs["Color"], source.inputs["Color"])
            tree.links.new(source.outputs[0], shader.inputs[name])
            if self.chance(0.4):
                mapping = tree.nodes.new("ShaderNodeMapping")
                mapping.inputs["Scale"].default_value = (2, self.rng.random(), 1)
                mapping.inputs["Location"].default_value = (self.rng.random(), 0, 0)
                tree.links.new(mapping.outputs["Vector"], node.inputs["Vector"])
        return made

    def mesh(self) -> bpy.types.Mesh:
        data = super().mesh()
        while len(data.vertices) > self.max_vertices:
            data = super().mesh()
        return data

    def one(self) -> None:
        """A mesh with all that a mesh can have."""
        made = self.object_of(self.mesh())
        self.place(made)
        self.attributes(made.data)
        if self.chance(0.5):
            made.shape_key_add(name="Basis")
            key = made.shape_key_add(name="key")
            key.value = self.rng.random()
            key.data.foreach_set("co", [self.rng.uniform(-2, 2) for _ in range(3 * len(key.data))])
        for name in ("weightless", "removed"):
            group = made.vertex_groups.new(name=name)
            group.add(list(range(0, len(made.data.vertices), 3)), self.rng.choice([0.0, 0.25]), "REPLACE")
        if self.chance(0.5):
            made.vertex_groups.remove(made.vertex_groups["weightless"])
        if made.data.materials and self.chance(0.5):
            made.material_slots[0].link = "OBJECT"
            made.material_slots[0].material = self.rng.choice([None, *self.materials])

    def attributes(self, data: bpy.types.Mesh) -> None:
        rng = self.rng
        for kind in rng.sample(sorted(ATTRIBUTES), 5):
            field, width = ATTRIBUTES[kind]
            domains = {"FLOAT_COLOR": ["POINT", "CORNER"], "BYTE_COLOR": ["POINT", "CORNER"], "FLOAT4X4": ["POINT"]}
            domain = rng.choice(domains.get(kind, ["POINT", "POINT", "EDGE", "FACE", "CORNER"]))
            made = data.attributes.new(rng.choice(["plain", "two words", "é", "x", "s"]) + f" {kind}", kind, domain)
            is_float = kind.startswith(("FLOAT", "QUATERNION", "BYTE"))
            values = [rng.random() if is_float else rng.randint(0, 1) for _ in range(width * len(made.data))]
            if width:
                made.data.foreach_set(field, values)

    def many(self) -> None:
        """Objects of all names, some of which share meshes, are hidden, mirrored or have no size."""
        meshes = [self.mesh() for _ in range(4)]
        made = [self.object_of(self.rng.choice(meshes)) for _ in range(12)]
        for item in made:
            self.place(item)
            item.hide_viewport, item.hide_render = self.chance(0.1), self.chance(0.1)
        for child, parent in zip(made[:6], made[6:], strict=True):
            if 0 not in (*child.scale, *parent.scale) and self.chance(0.5):
                child.parent = parent
        bpy.context.view_layer.update()
        made[0].hide_set(True)

    def collections(self) -> None:
        """Collections in collections, some hidden or left out, and objects of several of them."""
        made = [bpy.data.collections.new(name) for name in ("C", "C.001", "sub/é", "left out", "unused")]
        scene = bpy.context.scene
        scene.collection.children.link(made[0])
        scene.collection.children.link(made[1])
        made[0].children.link(made[2])
        made[0].children.link(made[3])
        for _ in range(8):
            item = self.object_of(self.mesh())
            self.place(item)
            for collection in self.rng.sample(made, self.rng.randint(0, 2)):
                collection.objects.link(item)
            if self.chance(0.5) and len(item.users_collection) > 1:
                scene.collection.objects.unlink(item)
            item.hide_viewport, item.hide_render = self.chance(0.15), self.chance(0.15)
        made[2].hide_viewport, made[2].hide_render = self.chance(0.3), self.chance(0.3)
        top = bpy.context.view_layer.layer_collection.children
        top["C"].children["left out"].exclude = True
        top["C.001"].hide_viewport = self.chance(0.3)

    def instanced(self) -> None:
        """Instances of collections, in collections, on vertices and faces, of nodes and of particles."""
        self.max_vertices = 20
        self.instances()
        shown = [item for item in bpy.context.scene.objects if item.instance_type == "COLLECTION"]
        shown[0].parent = self.object_of(self.mesh())
        for kind in ("VERTS", "FACES"):
            owner = self.object_of(self.mesh())
            owner.instance_type = kind
            owner.use_instance_faces_scale = self.chance(0.5)
            owner.show_instancer_for_viewport = self.chance(0.5)
            child = self.object_of(self.mesh())
            child.parent = owner
        part = self.object_of(self.mesh())
        for kind in ("object", "mesh", "collection"):
            self.nodes(self.object_of(self.mesh()), kind, part)
        owner = self.object_of(self.mesh())
        settings = owner.modifiers.new("particles", "PARTICLE_SYSTEM").particle_system.settings
        settings.count, settings.type, settings.render_type, settings.instance_object = 4, "HAIR", "OBJECT", part

    def nodes(self, owner: Any, kind: str, part: Any) -> None:
        """Geometry nodes: instances on points, or a material."""
        tree = bpy.data.node_groups.new(kind, "GeometryNodeTree")
        for direction in ("INPUT", "OUTPUT"):
            tree.interface.new_socket("Geometry", in_out=direction, socket_type="NodeSocketGeometry")
        entry, end = tree.nodes.new("NodeGroupInput"), tree.nodes.new("NodeGroupOutput")
        join = tree.nodes.new("GeometryNodeJoinGeometry")
        tree.links.new(join.outputs[0], end.inputs[0])
        if kind == "material":
            node = tree.nodes.new("GeometryNodeSetMaterial")
            node.inputs["Material"].default_value = self.rng.choice(self.materials)
            tree.links.new(entry.outputs[0], node.inputs[0])
            tree.links.new(node.outputs[0], join.inputs[0])
        else:
            points = tree.nodes.new("GeometryNodeInstanceOnPoints")
            source = tree.nodes.new({"object": "GeometryNodeObjectInfo", "mesh": "GeometryNodeMeshCone", "collection": "GeometryNodeCollectionInfo"}[kind])
            if kind == "object":
                source.inputs["Object"].default_value = part
            elif kind == "collection":
                source.inputs["Collection"].default_value = bpy.data.collections["library"]
            output = {"object": "Geometry", "mesh": "Mesh", "collection": "Instances"}[kind]
            tree.links.new(entry.outputs[0], points.inputs["Points"])
            tree.links.new(source.outputs[output], points.inputs["Instance"])
            tree.links.new(points.outputs[0], join.inputs[0])
            if self.chance(0.5):
                tree.links.new(entry.outputs[0], join.inputs[0])
        owner.modifiers.new(kind, "NODES").node_group = tree

    def curves(self) -> None:
        """Splines of all types, alone and together, flat and with a bevel, and surfaces."""
        rng = self.rng
        for _ in range(8):
            data = bpy.data.curves.new(self.name(), "CURVE")
            data.dimensions = rng.choice(["2D", "3D", "3D"])
            data.fill_mode = rng.choice(["FULL", "HALF"]) if data.dimensions == "3D" else rng.choice(["NONE", "BOTH"])
            for _ in range(rng.randint(0, 3)):
                self.spline(data, rng.choice(["POLY", "NURBS", "NURBS", "BEZIER"]))
            data.bevel_depth, data.extrude = rng.choice([0, 0, 0.1]), rng.choice([0, 0, 0.2])
            data.resolution_u = rng.randint(1, 5)
            if self.chance(0.5):
                data.materials.append(rng.choice([None, *self.materials]))
            made = self.link(data)
            if self.chance(0.2):
                made.modifiers.new("array", "ARRAY")
        for add in rng.sample([bpy.ops.surface.primitive_nurbs_surface_sphere_add, bpy.ops.surface.primitive_nurbs_surface_curve_add, bpy.ops.surface.primitive_nurbs_surface_surface_add], 2):
            add(location=self.point())
            bpy.context.object.data.resolution_u = bpy.context.object.data.resolution_v = 2

    def spline(self, data: Any, kind: str) -> None:
        rng = self.rng
        spline = data.splines.new(kind)
        count = rng.randint(2, 9)
        if kind == "BEZIER":
            spline.bezier_points.add(count - 1)
            for point in spline.bezier_points:
                point.co, point.handle_left, point.handle_right = self.point(), self.point(), self.point()
        else:
            spline.points.add(count - 1)
            for point in spline.points:
                point.co = (*self.point(), rng.choice([1, 1, 0.5]))
                point.tilt, point.radius = rng.choice([0, 0.5]), rng.choice([1, 0.5])
        spline.use_cyclic_u, spline.use_smooth = self.chance(0.4), self.chance(0.5)
        if kind == "NURBS":
            spline.order_u = rng.randint(2, 6)
            spline.use_endpoint_u, spline.use_bezier_u = self.chance(0.5), self.chance(0.5)
        if data.materials:
            spline.material_index = 0

    def texts(self) -> None:
        """Texts, flat and thick, and metaballs."""
        for body in ("Ab", "é\nx", "", "8"):
            bpy.ops.object.text_add(location=self.point(), rotation=self.point())
            made = bpy.context.object
            made.data.body, made.name = body, self.name()
            made.data.extrude, made.data.bevel_depth = self.rng.choice([0, 0.1]), self.rng.choice([0, 0, 0.02])
            made.data.resolution_u = 2
            if self.chance(0.5):
                made.data.materials.append(self.rng.choice([None, *self.materials]))
        for _ in range(2):
            bpy.ops.object.metaball_add(type=self.rng.choice(["BALL", "CUBE"]), location=self.point())
            bpy.context.object.data.resolution = 0.8

    def hair(self) -> None:
        """Curves of hair, points, strokes, and objects without geometry, between meshes."""
        for count in (0, 3):
            data = bpy.data.hair_curves.new("hair")
            if count:
                data.add_curves([3] * count)
            self.link(data)
        self.link(bpy.data.pointclouds.new("points"))
        self.link(bpy.data.volumes.new("volume"))
        self.link(bpy.data.grease_pencils.new("strokes"))
        self.link(bpy.data.lights.new("light", "POINT"))
        self.link(bpy.data.cameras.new("camera"))
        self.link(bpy.data.lattices.new("lattice"))
        self.link(bpy.data.armatures.new("armature"))
        self.link(bpy.data.speakers.new("speaker"))
        empty = self.link(None)
        child = self.object_of(self.mesh())
        self.place(child, may_be_flat=False)
        child.parent = empty
        settings = child.modifiers.new("fur", "PARTICLE_SYSTEM").particle_system.settings
        settings.type, settings.count = "HAIR", 3

    def modifiers(self) -> None:
        """Meshes with modifiers, some of them off in the viewport."""
        rng = self.rng
        for _ in range(6):
            made = self.object_of(self.mesh())
            self.place(made, may_be_flat=False)
            self.attributes(made.data)
            for kind in rng.sample(["ARRAY", "SUBSURF", "SOLIDIFY", "BEVEL", "DECIMATE", "TRIANGULATE", "MIRROR", "EDGE_SPLIT", "WEIGHTED_NORMAL", "MASK", "WIREFRAME", "DISPLACE", "BUILD"], 2):
                modifier = made.modifiers.new(kind, kind)
                modifier.show_viewport, modifier.show_render = self.chance(0.8), self.chance(0.8)
                if kind == "SUBSURF":
                    modifier.levels, modifier.render_levels = 1, 2
                if kind == "DECIMATE":
                    modifier.ratio = 0.5
            if self.chance(0.3):
                self.nodes(made, "material", None)

    def odd(self) -> None:
        """Loose parts, faces of many corners and without area, tiny and huge numbers, empty slots and moving objects."""
        rng = self.rng
        self.edge_cases()
        bpy.ops.mesh.primitive_cylinder_add(vertices=rng.choice([5, 7, 255, 256, 300]), end_fill_type="NGON")
        bpy.ops.mesh.primitive_circle_add(vertices=rng.randint(5, 9), fill_type=rng.choice(["NGON", "NOTHING"]), radius=rng.choice([1e-6, 1, 1e13]))
        data = bpy.data.meshes.new("star")
        corners = [(rng.uniform(1, 3) * np.cos(at / 2), rng.uniform(1, 3) * np.sin(at / 2), rng.choice([0, rng.random()])) for at in range(12)]
        data.from_pydata(corners, [(0, 6)], [range(12), (0, 1, 2), (2, 2, 3)][: rng.randint(1, 2)])
        for material in (None, self.materials[0], None):
            data.materials.append(material)
        self.link(data)
        points = bpy.data.meshes.new("points")
        points.from_pydata([self.point() for _ in range(5)], [], [])
        moved = self.link(points)
        for frame in (1, 3):
            moved.location.x = frame
            moved.keyframe_insert("location", frame=frame)


#: What makes a scene of each kind.
KINDS: dict[str, Callable[[KindFiller], None]] = {
    "one object": KindFiller.one,
    "many objects": KindFiller.many,
    "collections": KindFiller.collections,
    "instances": KindFiller.instanced,
    "curves": KindFiller.curves,
    "text": KindFiller.texts,
    "hair": KindFiller.hair,
    "modifiers": KindFiller.modifiers,
    "odd": KindFiller.odd,
    "mixed": KindFiller.fill,
}
