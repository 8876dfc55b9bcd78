//! Scenes corner by corner: the data of each face, line and vertex, however indices and files store it.

use super::{Differences, Gap, flattened, table};
use crate::references::{SameFiles, with_names};
use crate::report::Report;
use parts::Part;
use polyhaul_geometry::dedup::BATCH;
use polyhaul_geometry::{exact, parts};
use polyhaul_model::error::Result;
use polyhaul_model::limits::Limits;
use polyhaul_model::options::Placement;
use polyhaul_model::render::Render;
use polyhaul_model::{Column, Domain, Material, Mesh, NONE, Run, Scene, SourceFolder};
use polyhaul_pipeline::options::RunOptions;
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Position, color and normal of a vertex that no face has.
type LooseVertex = ([f64; 3], Option<[f32; 4]>, Option<[f32; 3]>);

/// The number of elements of a kind in a mesh.
type CountOf = fn(&Mesh) -> usize;

/// Compares two scenes.
pub(super) fn compare(
    scenes: [Scene; 2],
    limits: &Limits,
    differences: &mut Differences,
    report: &mut Report,
) -> Result<()> {
    let [a, b] = scenes;
    let before = differences.all.len();
    let renders = [&a, &b].map(|scene| scene.render.clone());
    let folders = [a.folder.clone(), b.folder.clone()];
    let files = RefCell::new(SameFiles::default());
    let same_file = |[a, b]: [(&str, &str); 2]| {
        files.borrow_mut().are_same((&folders[0], a.0, a.1), (&folders[1], b.0, b.1)).unwrap_or(false)
    };
    if let [Some(a), Some(b)] = &renders
        && a.is_same(b, &same_file)
    {
        return Ok(());
    }
    let [a, b] = [placed(flattened(a, limits, report)?)?, placed(flattened(b, limits, report)?)?];
    compare_renders(&renders, differences);
    let objects = [a.listed_objects()?, b.listed_objects()?];
    let evaluated = [a.evaluated_meshes(&objects[0])?, b.evaluated_meshes(&objects[1])?];
    let placement = Placement::default();
    let parts_of = [
        parts::parts(&a, &objects[0], &evaluated[0], &placement)?,
        parts::parts(&b, &objects[1], &evaluated[1], &placement)?,
    ];
    let [first, second] = &parts_of;
    let sides = [World { scene: &a, parts: first }, World { scene: &b, parts: second }];
    compare_worlds(&sides, differences)?;
    definitions(&sides, &mut files.borrow_mut(), differences)?;
    if let [Some(_), Some(_)] = &renders
        && differences.all.len() == before
    {
        differences.only("renderer", 1, "or more parameters differ");
    }
    Ok(())
}

/// A scene whose positions in double precision are where its objects place them.
fn placed(mut scene: Scene) -> Result<Scene> {
    if exact::is_exact(&scene)? {
        if let Cow::Owned(objects) = scene.listed_objects()? {
            scene.objects = objects;
        }
        let axes = scene.axes;
        exact::place(&mut scene, axes, 1.0, false, &RunOptions::default())?;
    }
    Ok(scene)
}

/// Compares the parts of scenes for a renderer other than meshes. A scene of meshes has none.
fn compare_renders(renders: &[Option<Box<Render>>; 2], differences: &mut Differences) {
    let counts = |render: &Option<Box<Render>>| {
        let Some(render) = render else { return [0; 6] };
        let settings = [&render.film, &render.filter, &render.sampler, &render.integrator, &render.accelerator];
        let is_mesh = |class: &str| matches!(class, "trianglemesh" | "bilinearmesh" | "plymesh" | "loopsubdiv");
        let moving = render.shapes().filter(|shape| shape.motion().is_animated()).count()
            + render.instances().filter(|instance| instance.motion.is_animated()).count();
        [
            render.lights.len() + render.area_lights.len(),
            usize::from(render.camera.is_some()),
            settings.into_iter().flatten().count() + render.options.len(),
            render.media.len(),
            moving,
            render.shapes().filter(|shape| !is_mesh(shape.class())).count(),
        ]
    };
    let names = ["lights", "cameras", "settings", "media", "motion", "shapes"];
    let [a, b] = [counts(&renders[0]), counts(&renders[1])];
    for (name, (a, b)) in names.into_iter().zip(a.into_iter().zip(b)) {
        differences.counts(name, [a as u64, b as u64]);
    }
}

/// A scene, and its objects at their places.
struct World<'a> {
    scene: &'a Scene,
    parts: &'a [Part<'a>],
}

/// A position of a part's mesh, where the part is in the scene.
fn position(part: &Part<'_>, index: usize) -> [f64; 3] {
    // Meshes with positions in double precision are in their place.
    if let Some(exact) = part.mesh.exact_positions.get(index) {
        return *exact;
    }
    let position = part.mesh.positions.get(index).copied().unwrap_or_default();
    part.frame.map_or(position, |frame| frame.position(position)).map(f64::from)
}

/// A face of a part.
struct Face<'a> {
    part: &'a Part<'a>,
    number: usize,
    corners: Range<usize>,
}

impl Face<'_> {
    /// The place of its corners in the arrays of the mesh, reversed if the object is mirrored.
    fn corner(&self, number: usize) -> usize {
        let is_mirrored = self.part.frame.is_some_and(|frame| frame.is_mirrored);
        match (is_mirrored, number) {
            (false, _) | (true, 0) => self.corners.start + number,
            (true, _) => self.corners.end - number,
        }
    }

    /// The value of an attribute at a corner.
    fn value<T: Copy>(&self, corner: usize, domain: Domain, indices: &[u32], values: &[T]) -> Option<T> {
        let place = match domain {
            Domain::Indexed => *indices.get(corner).filter(|&&index| index != NONE)? as usize,
            Domain::Corner => corner,
            Domain::Vertex => self.vertex(corner),
            Domain::Face => self.number,
        };
        values.get(place).copied()
    }

    fn vertex(&self, corner: usize) -> usize {
        self.part.mesh.faces.corner_positions.get(corner).map_or(usize::MAX, |&index| index as usize)
    }

    fn position(&self, corner: usize) -> [f64; 3] {
        position(self.part, self.vertex(corner))
    }

    fn normal(&self, corner: usize) -> Option<[f32; 3]> {
        let mesh = self.part.mesh;
        let normal = self.value(corner, mesh.normal_domain, &mesh.faces.corner_normals, &mesh.normals)?;
        let Some(frame) = self.part.frame else { return Some(normal) };
        let batch = [normal; BATCH];
        let mut lanes = [[0.0; BATCH]; 3];
        frame.normals(&batch, &mut lanes);
        Some([lanes[0][0], lanes[1][0], lanes[2][0]])
    }

    fn uv(&self, corner: usize) -> Option<[f32; 2]> {
        let mesh = self.part.mesh;
        self.value(corner, mesh.uv_domain, &mesh.faces.corner_uvs, &mesh.uvs)
    }

    fn color(&self, corner: usize) -> Option<[f32; 4]> {
        let color = self.part.mesh.colors.get(self.vertex(corner)).copied()?;
        color.iter().all(|channel| !channel.is_nan()).then_some(color)
    }
}

impl<'a> World<'a> {
    fn faces(&self) -> impl Iterator<Item = Face<'a>> {
        let parts = self.parts;
        parts.iter().flat_map(|part| {
            part.faces.clone().map(move |number| Face { part, number, corners: part.mesh.faces.corners(number) })
        })
    }

    fn material(&self, face: &Face<'_>) -> &'a str {
        let mesh = face.part.mesh;
        let place = match &face.part.object.materials {
            Some(slots) => {
                let slot = mesh.face_materials.get(face.number).copied().unwrap_or(0);
                usize::try_from(slot).ok().and_then(|slot| *slots.get(slot)?)
            }
            None => Run::at_face(&mesh.material_runs, face.number).map(|value| value as usize),
        };
        place.and_then(|place| self.scene.materials.get(place)).map_or("", |material| &material.name)
    }

    fn group(&self, face: &Face<'a>) -> &'a str {
        let mesh = face.part.mesh;
        Run::at_face(&mesh.group_runs, face.number)
            .and_then(|group| mesh.groups.get(group as usize))
            .map_or("", String::as_str)
    }

    /// Vertices that no face has, with their colors and normals.
    fn loose(&self) -> Vec<LooseVertex> {
        let mut vertices = Vec::new();
        for part in parts::homes(self.parts) {
            let mesh = part.mesh;
            let mut used = vec![false; mesh.positions.len()];
            for &corner in mesh.faces.corner_positions.iter() {
                if let Some(used) = used.get_mut(corner as usize) {
                    *used = true;
                }
            }
            let has_normals = mesh.normal_domain == Domain::Vertex;
            for place in (0..mesh.positions.len()).filter(|place| !used[*place]) {
                let position = position(part, place);
                let color =
                    mesh.colors.get(place).copied().filter(|color| color.iter().all(|channel| !channel.is_nan()));
                vertices.push((position, color, mesh.normals.get(place).copied().filter(|_| has_normals)));
            }
        }
        vertices
    }

    /// The ends of all edges of lines.
    fn edges(&self) -> Vec<[f64; 3]> {
        let mut ends = Vec::new();
        for part in self.parts {
            let position = |corner: usize| {
                let index = part.mesh.lines.corner_positions.get(corner).map_or(usize::MAX, |&index| index as usize);
                position(part, index)
            };
            for line in part.lines.clone() {
                let corners = part.mesh.lines.corners(line);
                ends.extend(corners.clone().zip(corners.skip(1)).flat_map(|(a, b)| [position(a), position(b)]));
            }
        }
        ends
    }

    fn sum(&self, count: fn(&Mesh) -> usize) -> u64 {
        parts::homes(self.parts).map(|part| count(part.mesh) as u64).sum()
    }
}

/// Gaps of the attributes that vertices have.
#[derive(Default)]
struct Gaps {
    positions: Gap,
    normals: Gap,
    uvs: Gap,
    colors: Gap,
    alpha: Gap,
    /// How many corners have normals, uvs, colors only in the first file, and only in the second.
    lonely: [[u64; 2]; 3],
}

impl Gaps {
    fn vectors<T: Into<f64>, const N: usize>(
        gap: &mut Gap,
        a: [T; N],
        b: [T; N],
        tolerance: f64,
        place: &dyn Fn() -> String,
    ) {
        for (a, b) in a.into_iter().zip(b) {
            gap.compare(a.into(), b.into(), tolerance, place);
        }
    }

    fn normals(&mut self, sides: [Option<[f32; 3]>; 2], tolerance: f64, place: &dyn Fn() -> String) {
        match sides {
            [Some(a), Some(b)] => Self::vectors(&mut self.normals, a, b, tolerance, place),
            [None, None] => {}
            [a, _] => self.lonely[0][usize::from(a.is_none())] += 1,
        }
    }

    fn colors(&mut self, sides: [Option<[f32; 4]>; 2], tolerance: f64, place: &dyn Fn() -> String) {
        match sides {
            [Some([ar, ag, ab, aa]), Some([br, bg, bb, ba])] => {
                Self::vectors(&mut self.colors, [ar, ag, ab], [br, bg, bb], tolerance, place);
                self.alpha.compare(aa.into(), ba.into(), tolerance, place);
            }
            [None, None] => {}
            [a, _] => self.lonely[2][usize::from(a.is_none())] += 1,
        }
    }

    fn note(self, differences: &mut Differences) {
        let [normals, uvs, colors] = self.lonely;
        for (what, counts) in [("normals", normals), ("uvs", uvs), ("colors", colors)] {
            for (count, side) in counts.into_iter().zip(["first", "second"]).filter(|(count, _)| *count > 0) {
                differences.only(what, count, &format!("corners have them only in the {side} file"));
            }
        }
        differences.gap("positions", "", self.positions);
        differences.gap("normals", "", self.normals);
        differences.gap("uvs", "", self.uvs);
        differences.gap("colors", "", self.colors);
        differences.gap("alpha", "", self.alpha);
    }
}

fn compare_worlds(sides: &[World<'_>; 2], differences: &mut Differences) -> Result<()> {
    let [a, b] = sides;
    let tolerance = differences.tolerance;
    let mut gaps = Gaps::default();
    let count = |world: &World<'_>| world.parts.iter().map(|part| part.faces.len() as u64).sum::<u64>();
    let mut is_alike = differences.counts("faces", [count(a), count(b)]);
    if is_alike {
        let sizes = |world: &World<'_>| -> Vec<usize> { world.faces().map(|face| face.corners.len()).collect() };
        let before = differences.all.len();
        differences.each("faces", sizes(a).into_iter(), sizes(b).into_iter(), |size| format!("one of {size} corners"));
        is_alike = differences.all.len() == before;
    }
    if is_alike {
        for (number, (left, right)) in a.faces().zip(b.faces()).enumerate() {
            for corner in 0..left.corners.len() {
                let place = || format!("face {number}, corner {corner}");
                let [x, y] = [left.corner(corner), right.corner(corner)];
                Gaps::vectors(&mut gaps.positions, left.position(x), right.position(y), tolerance, &place);
                gaps.normals([left.normal(x), right.normal(y)], tolerance, &place);
                match [left.uv(x), right.uv(y)] {
                    [Some(a), Some(b)] => Gaps::vectors(&mut gaps.uvs, a, b, tolerance, &place),
                    [None, None] => {}
                    [a, _] => gaps.lonely[1][usize::from(a.is_none())] += 1,
                }
                gaps.colors([left.color(x), right.color(y)], tolerance, &place);
            }
        }
        compare_faces(sides, differences);
    }
    let [loose_a, loose_b] = [a.loose(), b.loose()];
    if differences.counts("vertices", [loose_a.len() as u64, loose_b.len() as u64]) {
        for (number, (a, b)) in loose_a.into_iter().zip(loose_b).enumerate() {
            let place = || format!("vertex {number} of those not used by a face");
            Gaps::vectors(&mut gaps.positions, a.0, b.0, tolerance, &place);
            gaps.colors([a.1, b.1], tolerance, &place);
            gaps.normals([a.2, b.2], tolerance, &place);
        }
    }
    gaps.note(differences);
    compare_rest(sides, differences)
}

/// Compares the data of faces besides their corners.
fn compare_faces([a, b]: &[World<'_>; 2], differences: &mut Differences) {
    let quoted = |name: &&str| format!("`{}`", polyhaul_model::names::shown(name));
    differences.each(
        "materials",
        a.faces().map(|face| a.material(&face)),
        b.faces().map(|face| b.material(&face)),
        quoted,
    );
    differences.each("groups", a.faces().map(|face| a.group(&face)), b.faces().map(|face| b.group(&face)), quoted);
    let smooth = |face: Face<'_>| face.part.mesh.smoothing_group(face.number).unwrap_or(0);
    differences.each("smoothing", a.faces().map(smooth), b.faces().map(smooth), u32::to_string);
}

/// Lines, points, curves, names, definitions of materials, columns and tables.
fn compare_rest(sides: &[World<'_>; 2], differences: &mut Differences) -> Result<()> {
    let [a, b] = sides;
    let edges = [a.edges(), b.edges()];
    if differences.counts("lines", [edges[0].len() as u64 / 2, edges[1].len() as u64 / 2]) {
        let mut gap = Gap::default();
        for (number, (a, b)) in edges[0].iter().zip(&edges[1]).enumerate() {
            Gaps::vectors(&mut gap, *a, *b, differences.tolerance, &|| {
                format!("end {} of edge {}", number % 2, number / 2)
            });
        }
        differences.gap("lines", "", gap);
    }
    let counts: [(&'static str, CountOf); 4] = [
        ("points", |mesh| mesh.points.len()),
        ("curves", |mesh| mesh.curves.len()),
        ("weights", |mesh| mesh.position_weights.len()),
        ("uv depths", |mesh| mesh.uv_depths.iter().filter(|depth| **depth != 0.0).count()),
    ];
    for (what, count) in counts {
        differences.counts(what, [a.sum(count), b.sum(count)]);
    }
    fn names<'a>(world: &World<'a>) -> Vec<&'a str> {
        world.parts.iter().map(|part| part.object.name.as_str()).filter(|name| !name.is_empty()).collect()
    }
    let quoted = |name: &&str| format!("`{}`", polyhaul_model::names::shown(name));
    differences.each("names", names(a).into_iter(), names(b).into_iter(), quoted);
    columns(sides, differences);
    differences.counts("tables", [a.scene.tables.len() as u64, b.scene.tables.len() as u64]);
    let tables = a.scene.tables.iter().zip(&b.scene.tables);
    tables.into_iter().try_for_each(|(a, b)| table::compare([a, b], differences))
}

/// Columns of vertices and faces, by name; their values if both scenes have the same numbers of meshes, vertices and
/// faces.
fn columns([a, b]: &[World<'_>; 2], differences: &mut Differences) {
    let kinds: [fn(&Mesh) -> &Vec<Column>; 2] = [|mesh| &mesh.vertex_columns, |mesh| &mesh.face_columns];
    for of in kinds {
        fn named<'a>(world: &World<'a>, of: fn(&Mesh) -> &Vec<Column>) -> BTreeSet<&'a str> {
            parts::homes(world.parts).flat_map(|part| of(part.mesh)).map(|column| column.name.as_str()).collect()
        }
        let [left, right] = [named(a, of), named(b, of)];
        for (names, side) in [(left.difference(&right), "first"), (right.difference(&left), "second")] {
            let names: Vec<_> = names.map(|name| polyhaul_model::names::shown(name)).collect();
            if !names.is_empty() {
                differences.only(
                    "columns",
                    names.len() as u64,
                    &format!("only in the {side} file: {}", names.join(", ")),
                );
            }
        }
        for (a, b) in parts::homes(a.parts).zip(parts::homes(b.parts)) {
            for column in of(a.mesh) {
                if let Some(same) = of(b.mesh).iter().find(|other| other.name == column.name) {
                    table::column([column, same], differences);
                }
            }
        }
    }
}

/// The definitions of the materials that faces have, by name.
fn definitions([a, b]: &[World<'_>; 2], files: &mut SameFiles, differences: &mut Differences) -> Result<()> {
    fn defined<'a>(world: &World<'a>) -> BTreeMap<&'a str, &'a Material> {
        let materials = world.scene.materials.iter().filter(|material| !material.missing);
        materials.map(|material| (material.name.as_str(), material)).collect()
    }
    let folders = [&a.scene.folder, &b.scene.folder];
    let [a, b] = [defined(a), defined(b)];
    let missing =
        a.keys().filter(|name| !b.contains_key(*name)).count() + b.keys().filter(|name| !a.contains_key(*name)).count();
    if missing > 0 {
        differences.only("material definitions", missing as u64, "are only in one of the files");
    }
    let mut names = Vec::new();
    for (name, material) in &a {
        let Some(other) = b.get(name) else { continue };
        if !is_same_material([material, other], folders, files)? {
            names.push(polyhaul_model::names::shown(name));
        }
    }
    if !names.is_empty() {
        let list = names.iter().take(20).map(|name| &**name).collect::<Vec<_>>().join(", ");
        differences.only("material definitions", names.len() as u64, &format!("differ: {list}"));
    }
    Ok(())
}

/// Whether two definitions are equal, if different names may refer to the same file.
fn is_same_material([a, b]: [&Material; 2], scenes: [&SourceFolder; 2], files: &mut SameFiles) -> Result<bool> {
    if a == b {
        return Ok(true);
    }
    // The names of both in the order in which a definition has them.
    let mut names = Vec::new();
    with_names(a, &mut |name| {
        names.push(name.to_owned());
        Ok(None)
    })?;
    let folders = [a.folder.or(scenes[0]), b.folder.or(scenes[1])];
    let mut number = 0;
    let renamed = with_names(b, &mut |name| {
        let first = names.get(number);
        number += 1;
        let Some(first) = first.filter(|first| *first != name) else { return Ok(None) };
        let is_same = files.are_same((folders[0], "", first), (folders[1], "", name))?;
        Ok(is_same.then(|| first.clone()))
    })?;
    Ok(*renamed == *a)
}
