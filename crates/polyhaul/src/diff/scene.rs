//! Compares scenes corner by corner: resolved data of faces, lines and vertices, independent of indices and files.

use super::order::{FacesExtent, ordered};
use super::{Differences, Gap, flattened, table};
use crate::references::{SameFiles, with_names};
use crate::report::Report;
use parts::Part;
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

/// Position, color and normal of a vertex without a face.
type LooseVertex = ([f64; 3], Option<[f32; 4]>, Option<[f32; 3]>);

/// Counts one kind of element in a mesh.
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
    let renamed = renamed([&a, &b], &mut files.borrow_mut())?;
    let sides =
        [World { scene: &a, parts: first, renamed: BTreeMap::new() }, World { scene: &b, parts: second, renamed }];
    compare_worlds(&sides, differences)?;
    definitions(&sides, &mut files.borrow_mut(), differences)?;
    if let [Some(_), Some(_)] = &renders
        // The scenes are not the same (see above), although nothing that was compared differs.
        && differences.all.len() == before
    {
        differences.only("renderer", 1, "or more parameters differ");
    }
    Ok(())
}

/// Applies object transforms in double precision, if the scene needs it; returns other scenes unchanged.
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

/// Compares the counts of everything other than meshes in renderer scenes. Scenes of meshes count as empty.
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

/// A scene and its placed objects.
pub(super) struct World<'a> {
    pub(super) scene: &'a Scene,
    pub(super) parts: &'a [Part<'a>],
    /// Maps the names of materials that the other scene does not have to the names of equal materials there.
    pub(super) renamed: BTreeMap<&'a str, &'a str>,
}

/// Position of a vertex in world space.
fn position(part: &Part<'_>, index: usize) -> [f64; 3] {
    // Double-precision positions are already in world space.
    if let Some(exact) = part.mesh.exact_positions.get(index) {
        return *exact;
    }
    let position = part.mesh.positions.get(index).copied().unwrap_or_default();
    part.frame.map_or(position, |frame| frame.position(position)).map(f64::from)
}

/// A face of a part.
#[derive(Clone)]
pub(super) struct Face<'a> {
    part: &'a Part<'a>,
    number: usize,
    pub(super) corners: Range<usize>,
}

impl Face<'_> {
    /// Index of a corner of the face in the arrays of the mesh. In mirrored objects, the corners after the first are
    /// reversed.
    pub(super) fn corner(&self, number: usize) -> usize {
        let is_mirrored = self.part.frame.is_some_and(|frame| frame.is_mirrored);
        match (is_mirrored, number) {
            (false, _) | (true, 0) => self.corners.start + number,
            (true, _) => self.corners.end - number,
        }
    }

    /// Value of an attribute at a corner.
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

    pub(super) fn position(&self, corner: usize) -> [f64; 3] {
        position(self.part, self.vertex(corner))
    }

    fn normal(&self, corner: usize) -> Option<[f32; 3]> {
        let mesh = self.part.mesh;
        let normal = self.value(corner, mesh.normal_domain, &mesh.faces.corner_normals, &mesh.normals)?;
        Some(self.part.frame.map_or(normal, |frame| frame.normal(normal)))
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
    pub(super) fn faces(&self) -> impl Iterator<Item = Face<'a>> {
        let parts = self.parts;
        parts.iter().flat_map(|part| {
            part.faces.clone().map(move |number| Face { part, number, corners: part.mesh.faces.corners(number) })
        })
    }

    pub(super) fn material(&self, face: &Face<'_>) -> &'a str {
        let mesh = face.part.mesh;
        let place = match &face.part.object.materials {
            Some(slots) => {
                let slot = mesh.face_materials.get(face.number).copied().unwrap_or(0);
                usize::try_from(slot).ok().and_then(|slot| *slots.get(slot)?)
            }
            None => Run::at_face(&mesh.material_runs, face.number).map(|value| value as usize),
        };
        let name = place.and_then(|place| self.scene.materials.get(place)).map_or("", |material| &material.name);
        self.renamed.get(name).copied().unwrap_or(name)
    }

    fn group(&self, face: &Face<'a>) -> &'a str {
        let mesh = face.part.mesh;
        Run::at_face(&mesh.group_runs, face.number)
            .and_then(|group| mesh.groups.get(group as usize))
            .map_or("", String::as_str)
    }

    /// Vertices without a face, with their colors and normals.
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

    /// Endpoints of all line edges.
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

/// Differences of vertex attributes.
#[derive(Default)]
struct Gaps {
    positions: Gap,
    normals: Gap,
    uvs: Gap,
    colors: Gap,
    alpha: Gap,
    /// Numbers of corners that have normals, uvs or colors only in the first file, and only in the second.
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

    /// Compares the corners of pairs of faces.
    fn faces<'a>(&mut self, pairs: impl Iterator<Item = (Face<'a>, Face<'a>)>, tolerance: f64) {
        for (number, (left, right)) in pairs.enumerate() {
            let shift = first_alike(&left, &right);
            let count = left.corners.len();
            for corner in 0..count {
                let place = || format!("face {number}, corner {corner}");
                let [x, y] = [left.corner(corner), right.corner((corner + shift) % count)];
                Self::vectors(&mut self.positions, left.position(x), right.position(y), tolerance, &place);
                self.normals([left.normal(x), right.normal(y)], tolerance, &place);
                match [left.uv(x), right.uv(y)] {
                    [Some(a), Some(b)] => Self::vectors(&mut self.uvs, a, b, tolerance, &place),
                    [None, None] => {}
                    [a, _] => self.lonely[1][usize::from(a.is_none())] += 1,
                }
                self.colors([left.color(x), right.color(y)], tolerance, &place);
            }
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
                differences.only(what, count, &format!("only in the {side} file, counted per corner"));
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
        differences.each("faces", FACES, sizes(a).into_iter(), sizes(b).into_iter(), |size| format!("{size} corners"));
        is_alike = differences.all.len() == before;
    }
    if is_alike {
        let before = differences.all.len();
        gaps.faces(a.faces().zip(b.faces()), tolerance);
        compare_faces(sides, || [a.faces(), b.faces()], differences);
        if gaps.positions.count > 0
            && let Some(better) = in_another_order(sides, &gaps, before, differences)?
        {
            gaps = better;
        }
    }
    let [loose_a, loose_b] = [a.loose(), b.loose()];
    let has_faces = count(a) > 0 && count(b) > 0;
    let shown = if has_faces { "unused vertices" } else { "vertices" };
    if differences.counts_of("vertices", shown, [loose_a.len() as u64, loose_b.len() as u64]) {
        for (number, (a, b)) in loose_a.into_iter().zip(loose_b).enumerate() {
            let place = || format!("unused vertex {number}");
            Gaps::vectors(&mut gaps.positions, a.0, b.0, tolerance, &place);
            gaps.colors([a.1, b.1], tolerance, &place);
            gaps.normals([a.2, b.2], tolerance, &place);
        }
    }
    gaps.note(differences);
    compare_rest(sides, differences)
}

/// The corner of `right` that matches the first corner of `left`: 0, unless another one is much closer.
fn first_alike(left: &Face<'_>, right: &Face<'_>) -> usize {
    let count = left.corners.len();
    if count == 0 || left.position(left.corner(0)) == right.position(right.corner(0)) {
        return 0;
    }
    let distance = |shift: usize| {
        let of_corner = |corner: usize| {
            let [a, b] = [left.position(left.corner(corner)), right.position(right.corner((corner + shift) % count))];
            (0..3).map(|axis| (a[axis] - b[axis]).abs()).sum::<f64>()
        };
        (0..count).map(of_corner).sum::<f64>()
    };
    let unshifted = distance(0);
    // Rotate only if the distance almost vanishes: a moved face must not be matched to other corners.
    (1..count.min(MAX_CORNERS)).find(|&shift| distance(shift) < unshifted * 1e-3).unwrap_or(0)
}

/// Number of leading corners that may match the first corner of the other face.
const MAX_CORNERS: usize = 16;

/// Compares faces sorted by their corners. If that fits better, replaces the differences from index `before` on with
/// the remaining differences and a single difference in order, and returns the remaining gaps.
fn in_another_order(
    sides: &[World<'_>; 2],
    in_order: &Gaps,
    before: usize,
    differences: &mut Differences,
) -> Result<Option<Gaps>> {
    let [a, b] = sides;
    // Both scenes use the grid of the first, so that equal faces have equal keys.
    let extent = FacesExtent::of(a);
    let side = extent.side;
    let [Some(left), Some(right)] = [ordered(a, &extent)?, ordered(b, &extent)?] else { return Ok(None) };
    let is_same_shape = left.iter().zip(&right).all(|(left, right)| left.corners.len() == right.corners.len());
    if !is_same_shape {
        return Ok(None);
    }
    let mut gaps = Gaps::default();
    gaps.faces(left.iter().cloned().zip(right.iter().cloned()), differences.tolerance);
    let found_before = differences.all.split_off(before);
    compare_faces(sides, || [left.iter().cloned(), right.iter().cloned()], differences);
    // Rounding moves positions only slightly; a different order pairs faces that are far apart.
    let is_far = in_order.positions.largest > 1e-3 * side;
    let is_better = is_far && gaps.positions.largest < 0.1 * in_order.positions.largest;
    if !is_better {
        differences.all.truncate(before);
        differences.all.extend(found_before);
        return Ok(None);
    }
    let moved = a.faces().zip(b.faces()).filter(|(left, right)| !is_at(left, right, side)).count() as u64;
    differences.only("order", moved, "faces are in a different order");
    Ok(Some(gaps))
}

/// Whether the corners of two faces are close to each other, relative to `side`, the longest side of the bounding box.
fn is_at(left: &Face<'_>, right: &Face<'_>, side: f64) -> bool {
    let shift = first_alike(left, right);
    let count = left.corners.len();
    (0..count).all(|corner| {
        let [a, b] = [left.position(left.corner(corner)), right.position(right.corner((corner + shift) % count))];
        (0..3).all(|axis| (a[axis] - b[axis]).abs() <= 1e-4 * side)
    })
}

/// Maps materials of the second scene to materials of the first scene with equal values, if neither name occurs in the
/// other scene.
fn renamed<'a>([a, b]: [&'a Scene; 2], files: &mut SameFiles) -> Result<BTreeMap<&'a str, &'a str>> {
    let names =
        |scene: &'a Scene| scene.materials.iter().map(|material| material.name.as_str()).collect::<BTreeSet<_>>();
    let [names_a, names_b] = [names(a), names(b)];
    let mut renamed = BTreeMap::new();
    let is_alone =
        |material: &&Material, others: &BTreeSet<&str>| !material.missing && !others.contains(&*material.name);
    let mut left: Vec<&Material> = a.materials.iter().filter(|material| is_alone(material, &names_b)).collect();
    for material in b.materials.iter().filter(|material| is_alone(material, &names_a)).take(MAX_RENAMED) {
        let mut place = None;
        for (number, other) in left.iter().enumerate() {
            let same_name = Material { name: other.name.clone(), ..material.clone() };
            if is_same_material([other, &same_name], [&a.folder, &b.folder], files)? {
                place = Some(number);
                break;
            }
        }
        if let Some(number) = place {
            renamed.insert(material.name.as_str(), left.remove(number).name.as_str());
        }
    }
    Ok(renamed)
}

/// Maximum number of renamed materials that are compared by value.
const MAX_RENAMED: usize = 1000;

/// Words for differences of faces.
const FACES: [&str; 3] = ["face", "face differs", "faces differ"];

/// Compares materials, groups and smoothing of faces.
fn compare_faces<'a, F: Iterator<Item = Face<'a>>>(
    [a, b]: &[World<'a>; 2],
    faces: impl Fn() -> [F; 2],
    differences: &mut Differences,
) {
    let each = || {
        let [first, second] = faces();
        (first, second)
    };
    let quoted = |name: &&str| match *name {
        "" => "none".to_owned(),
        name => format!("`{}`", polyhaul_model::names::shown(name)),
    };
    let (first, second) = each();
    let first = first.map(|face| a.material(&face));
    differences.each("materials", FACES, first, second.map(|face| b.material(&face)), quoted);
    let (first, second) = each();
    differences.each("groups", FACES, first.map(|face| a.group(&face)), second.map(|face| b.group(&face)), quoted);
    let smooth = |face: Face<'_>| face.part.mesh.smoothing_group(face.number).unwrap_or(0);
    let (first, second) = each();
    differences.each("smoothing", FACES, first.map(smooth), second.map(smooth), u32::to_string);
}

/// Compares lines, names, columns and tables, and the numbers of points, curves, weights and uv depths.
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
    let words = ["name", "name differs", "names differ"];
    differences.each("names", words, names(a).into_iter(), names(b).into_iter(), quoted);
    columns(sides, differences);
    differences.counts("tables", [a.scene.tables.len() as u64, b.scene.tables.len() as u64]);
    let tables = a.scene.tables.iter().zip(&b.scene.tables);
    tables.into_iter().try_for_each(|(a, b)| table::compare([a, b], differences))
}

/// Compares the names of vertex and face columns, and the values of columns with the same name.
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

/// Compares the definitions of materials by name.
fn definitions([a, b]: &[World<'_>; 2], files: &mut SameFiles, differences: &mut Differences) -> Result<()> {
    if let Some((name, other)) = b.renamed.iter().next() {
        let quoted = |name: &str| format!("`{}`", polyhaul_model::names::shown(name));
        let shown = format!("renamed with equal values: {} is {} in the second file", quoted(other), quoted(name));
        differences.only("material names", b.renamed.len() as u64, &shown);
    }
    fn defined<'a>(world: &World<'a>) -> BTreeMap<&'a str, &'a Material> {
        let materials = world.scene.materials.iter().filter(|material| !material.missing);
        let name = |name: &'a str| world.renamed.get(name).copied().unwrap_or(name);
        let is_renamed = |material: &&Material| world.renamed.contains_key(&*material.name);
        let (renamed, others): (Vec<_>, Vec<_>) = materials.partition(is_renamed);
        others.into_iter().chain(renamed).map(|material| (name(&material.name), material)).collect()
    }
    let folders = [&a.scene.folder, &b.scene.folder];
    let [a, b] = [defined(a), defined(b)];
    let missing =
        a.keys().filter(|name| !b.contains_key(*name)).count() + b.keys().filter(|name| !a.contains_key(*name)).count();
    if missing > 0 {
        differences.only("material definitions", missing as u64, "only in one of the files");
    }
    let mut names = Vec::new();
    for (name, material) in &a {
        let Some(other) = b.get(name) else { continue };
        let named = Material { name: material.name.clone(), ..(*other).clone() };
        if !is_same_material([material, &named], folders, files)? {
            names.push(polyhaul_model::names::shown(name));
        }
    }
    if !names.is_empty() {
        let list = names.iter().take(20).map(|name| &**name).collect::<Vec<_>>().join(", ");
        differences.only("material definitions", names.len() as u64, &format!("differ: {list}"));
    }
    Ok(())
}

/// Whether two definitions are equal; different file names may refer to the same file.
fn is_same_material([a, b]: [&Material; 2], scenes: [&SourceFolder; 2], files: &mut SameFiles) -> Result<bool> {
    if a == b {
        return Ok(true);
    }
    // File names of both materials, in the order of their definitions.
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
    // An explicit alpha mode may equal the mode implied by opacity, and map keywords are only alternative spellings.
    let as_shown = |material: &Material| {
        let mut shown = Material { alpha_blended: Some(material.blends()), ..material.clone() };
        shown.maps.iter_mut().for_each(|map| map.keyword.clear());
        shown
    };
    Ok(as_shown(&renamed) == as_shown(a))
}
