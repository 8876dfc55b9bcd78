//! Warns about everything in a scene that OBJ cannot store; changes nothing.
//!
//! One pass over the arrays finds non-finite values, and scenes so small that the digits of positions are too coarse.
//! Warnings about materials are issued where the library is written: see `save`.

use crate::text::ObjDigits;
use polyhaul_geometry::losses;
use polyhaul_geometry::losses::{CHANGED_REMARKS, LeftOut};
use polyhaul_geometry::parts::{THIRD_COORDINATES, columns, tables, used_vertices};
use polyhaul_model::error::{Diagnostic, Place, Result};
use polyhaul_model::names;
use polyhaul_model::options::Digits;
use polyhaul_model::options::{FormatOptions, ObjWriteOptions, Smoothing};
use polyhaul_model::warnings::{Warnings, counted};
use polyhaul_model::{Domain, Material, Mesh, NONE, Scene};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::try_for_each_item;
use polyhaul_spill::paced;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Values per parallel step.
const PIECE: usize = 1 << 18;

/// Bits of infinity. Floats with these or larger bits, ignoring the sign, are not finite.
const NOT_FINITE: u32 = 0x7f80_0000;

/// Maximum rounding error relative to the largest coordinate. Beyond it, positions are considered coarse. With six
/// decimals, this affects scenes smaller than 0.005.
const COARSE: f64 = 1e-4;

/// Normals with a square in this range count as having unit length: three decimals change each part by up to 0.0005,
/// and thus the square by up to 2 * 0.0005 * sqrt(3), about 0.0017.
const UNIT_SQUARES: RangeInclusive<f32> = 0.998..=1.002;

/// Normals with a square up to this are written as zero: see `Frame::normal`.
const ZERO_SQUARE: f32 = 1e-35;

const SCALED_NORMALS: [&str; 2] = ["normal was scaled to unit length", "normals were scaled to unit length"];
const LOST_NORMALS: [&str; 2] = [
    "normal was too short or too long to be normalized and was written as zero",
    "normals were too short or too long to be normalized and were written as zero",
];
const BARE_NORMALS: [&str; 2] = ["normal of a vertex without a face", "normals of vertices without faces"];
const BARE_UVS: [&str; 2] = ["UV of a vertex without a face", "UVs of vertices without faces"];

/// Warns about everything that OBJ cannot store. `output` is the file name; `materials` are the scene's materials,
/// followed by the same materials with distinct names.
pub fn note_left_out(
    scene: &Scene,
    materials: [&[Material]; 2],
    options: FormatOptions<'_, ObjWriteOptions>,
    run: &RunOptions,
    output: &str,
    warnings: &mut Warnings,
) -> Result<()> {
    let sum = |count: &dyn Fn(&Mesh) -> usize| paced(&scene.meshes).map(|mesh| count(mesh) as u64).sum::<u64>();
    let ObjExtent { not_finite, largest } = extent(scene, options, run)?;
    // Coordinates that are infinite only as 32-bit floats are written as doubles, which are finite.
    let not_finite = if not_finite > 0 { not_finite - beyond_floats(scene) } else { 0 };
    let [channels, translucent] = if options.scene.colors { color_losses(scene) } else { [0; 2] };
    let not_finite = not_finite + channels;
    let [normals, uvs] = values_without_faces(scene, options, run)?;
    let largest = f64::from(largest) * enlarged(scene, options);
    // Exact positions get as many digits as they need.
    let digits = |mesh: &Mesh| ObjDigits::new(options).of_positions(mesh);
    let coarse = sum(&|mesh| if is_coarse(largest, digits(mesh)) { mesh.positions.len() } else { 0 });
    // Groups, as numbers or bit flags, express sharp edges; on/off flags do not.
    let has_groups = matches!(options.own.smoothing, Smoothing::Groups | Smoothing::BitFlags) && is_evaluated(scene);
    let alpha = ["alpha value of a vertex color", "alpha values of vertex colors"];
    let kinds = [
        ("left-out-normals", BARE_NORMALS, normals),
        ("left-out-uvs", BARE_UVS, uvs),
        ("left-out-alpha", alpha, translucent),
        (
            "left-out-sharp-edges",
            ["sharp edge", "sharp edges"],
            if has_groups { 0 } else { sum(&|mesh| mesh.sharp_edges.len()) },
        ),
    ];
    let groups = paced(&scene.meshes).flat_map(|mesh| mesh.vertex_groups.iter().map(|group| group.name.as_str()));
    let named = [
        LeftOut::named("left-out-vertex-groups", ["vertex group", "vertex groups"], groups),
        columns(paced(&scene.meshes), |_| false),
        tables(scene),
    ];
    let changed = [
        (
            "changed-names",
            [
                "name was changed: OBJ names cannot contain spaces, and material names must be unique",
                "names were changed: OBJ names cannot contain spaces, and material names must be unique",
            ],
            renamed(scene, materials),
            None,
        ),
        (
            "changed-numbers",
            [
                "non-finite number was written as `nan` or `inf`, which few programs read",
                "non-finite numbers were written as `nan` or `inf`, which few programs read",
            ],
            not_finite,
            None,
        ),
    ];
    losses::note_changed(changed, output, warnings);
    losses::note_left_out("OBJ", kinds.map(LeftOut::from).into_iter().chain(named), output, warnings);
    let positions = counted(coarse, ["position loses", "positions lose"]);
    let message = format!("the scene is so small that {positions} precision");
    let hint = Some("use `--digits shortest` for exact numbers".to_owned());
    let place = Place { file: output.into(), ..Place::default() };
    warnings.push_many("changed-numbers", coarse, Diagnostic { place, hint, ..Diagnostic::new(message) });
    note_unwritten(scene, options, run, output, warnings)
}

/// Warns about values that OBJ can store, but that are not written or are changed, and about changed comments.
fn note_unwritten(
    scene: &Scene,
    options: FormatOptions<'_, ObjWriteOptions>,
    run: &RunOptions,
    output: &str,
    warnings: &mut Warnings,
) -> Result<()> {
    let weights: u64 = paced(&scene.meshes).map(|mesh| colored_weights(mesh) as u64).sum();
    let weights = if options.scene.colors { weights } else { 0 };
    let nouns = ["position weight", "position weights"];
    let reason = ", because a vertex is written with either a weight or a color";
    losses::note_dropped(reason, [("left-out-weights", nouns, weights)], output, warnings);
    let objects = scene.listed_objects()?;
    let flags = scene.evaluated_meshes(&objects)?;
    let has_uvs = options.scene.uv;
    let sum_of_evaluated = |count: fn(&Mesh) -> usize| -> u64 {
        let meshes = paced(&scene.meshes).zip(&flags).filter(|(_, flag)| **flag && has_uvs);
        meshes.map(|(mesh, _)| count(mesh) as u64).sum()
    };
    let kinds = [
        ("left-out-uv-depths", THIRD_COORDINATES, sum_of_evaluated(uv_depths)),
        ("left-out-uvs", ["UV of a line", "UVs of lines"], sum_of_evaluated(line_uvs)),
    ];
    let reason = ", because objects with a transform, material slots or attributes are written without such values";
    losses::note_dropped(reason, kinds, output, warnings);
    let changed = names::changed_remarks(&scene.comments) + names::changed_remarks(&scene.infos);
    let [scaled, lost] = if options.scene.normals { changed_normals(scene, &flags, run)? } else { [0; 2] };
    let kinds = [
        ("changed-remarks", CHANGED_REMARKS, changed),
        ("changed-normals", SCALED_NORMALS, scaled),
        ("changed-normals", LOST_NORMALS, lost),
    ];
    losses::note_changed(kinds.map(|(code, words, count)| (code, words, count, None)), output, warnings);
    Ok(())
}

/// Numbers of normals that evaluated meshes scale, and of those that they lose: others are written as they are.
fn changed_normals(scene: &Scene, are_evaluated: &[bool], run: &RunOptions) -> Result<[u64; 2]> {
    let mut sums = [0; 2];
    for (mesh, _) in paced(&scene.meshes).zip(are_evaluated).filter(|(_, is_evaluated)| **is_evaluated) {
        let counts = [AtomicU64::new(0), AtomicU64::new(0)];
        let threads = if mesh.normals.len() < PIECE { 1 } else { run.worker_threads() };
        let work = |(): &mut (), piece: &[[f32; 3]]| {
            counts[0].fetch_add(piece.iter().filter(|normal| is_scaled(normal)).count() as u64, Relaxed);
            counts[1].fetch_add(piece.iter().filter(|normal| is_lost(normal)).count() as u64, Relaxed);
            Ok(())
        };
        try_for_each_item(threads, &run.cancel, mesh.normals.chunks(PIECE), || (), work)?;
        let mut counts = counts.map(AtomicU64::into_inner);
        if counts != [0; 2] && mesh.normal_domain == Domain::Vertex {
            let used = used_vertices(mesh, &[&mesh.faces.corner_positions], run.worker_threads())?;
            counts[0] -= count_unused(&mesh.normals, &used, is_scaled);
            counts[1] -= count_unused(&mesh.normals, &used, is_lost);
        }
        sums = [sums[0] + counts[0], sums[1] + counts[1]];
    }
    Ok(sums)
}

/// Sum of squares as `Frame::normal` computes it: infinite for long normals.
fn square(normal: &[f32; 3]) -> f32 {
    normal.iter().map(|part| part * part).sum()
}

/// Whether a normal is scaled to unit length.
fn is_scaled(normal: &[f32; 3]) -> bool {
    let square = square(normal);
    square > ZERO_SQUARE && square < f32::INFINITY && !UNIT_SQUARES.contains(&square)
}

/// Whether a finite normal is written as zero, because its square is not a normal 32-bit float.
fn is_lost(normal: &[f32; 3]) -> bool {
    let square = square(normal);
    let is_finite = normal.iter().all(|part| part.is_finite());
    is_finite && *normal != [0.0; 3] && !(square > ZERO_SQUARE && square < f32::INFINITY)
}

/// Number of weights other than 1 of positions that are written with a color.
fn colored_weights(mesh: &Mesh) -> usize {
    let pairs = mesh.position_weights.iter().zip(mesh.colors.iter());
    pairs.filter(|(weight, color)| **weight != 1.0 && !color.iter().all(|channel| channel.is_nan())).count()
}

/// Number of UVs with a third coordinate.
fn uv_depths(mesh: &Mesh) -> usize {
    mesh.uv_depths.iter().filter(|depth| **depth != 0.0).count()
}

/// Number of line corners with a UV.
fn line_uvs(mesh: &Mesh) -> usize {
    mesh.lines.corner_uvs.iter().filter(|index| **index != NONE).count()
}

/// Result of one pass over the numbers of a scene.
struct ObjExtent {
    /// Number of NaN and infinite values that are written, except channels of colors.
    not_finite: u64,
    /// Largest absolute coordinate of a position.
    largest: f32,
}

fn extent(scene: &Scene, options: FormatOptions<'_, ObjWriteOptions>, run: &RunOptions) -> Result<ObjExtent> {
    let not_finite = AtomicU64::new(0);
    let largest = AtomicU32::new(0);
    let has_uvs = options.scene.uv;
    let has_normals = options.scene.normals;
    let pieces = paced(&scene.meshes).flat_map(|mesh| {
        let positions = mesh.positions.as_flattened().chunks(PIECE).map(|piece| (true, piece));
        let uvs = if has_uvs { mesh.uvs.as_flattened() } else { &[] };
        let depths = if has_uvs { mesh.uv_depths.as_slice() } else { &[] };
        let normals = if has_normals { mesh.normals.as_flattened() } else { &[] };
        let others = [uvs, depths, normals, mesh.position_weights.as_slice()];
        positions.chain(others.into_iter().flat_map(|values| values.chunks(PIECE)).map(|piece| (false, piece)))
    });
    let work = |(): &mut (), (is_position, piece): (bool, &[f32])| {
        let (count, largest_bits) = extent_of(piece);
        not_finite.fetch_add(u64::from(count), Relaxed);
        if is_position {
            largest.fetch_max(largest_bits, Relaxed);
        }
        Ok(())
    };
    let is_small = paced(&scene.meshes).map(|mesh| mesh.positions.len() + mesh.normals.len()).sum::<usize>() < PIECE;
    let threads = if is_small { 1 } else { run.worker_threads() };
    try_for_each_item(threads, &run.cancel, pieces, || (), work)?;
    Ok(ObjExtent { not_finite: not_finite.into_inner(), largest: f32::from_bits(largest.into_inner()) })
}

/// Number of finite double-precision coordinates that become infinite as 32-bit floats.
fn beyond_floats(scene: &Scene) -> u64 {
    let coordinates = paced(&scene.meshes).flat_map(|mesh| mesh.exact_positions.as_flattened());
    coordinates.filter(|value| value.is_finite() && (**value as f32).is_infinite()).count() as u64
}

/// Returns the number of non-finite values, and the bits of the largest absolute value among the finite ones.
///
/// Without the sign, the bits of floats have the same order as the floats, and integer comparisons vectorize.
fn extent_of(values: &[f32]) -> (u32, u32) {
    let mut count = 0;
    let mut largest = 0;
    for value in values {
        let bits = value.to_bits() & 0x7fff_ffff;
        let is_finite = bits < NOT_FINITE;
        count += u32::from(!is_finite);
        largest = largest.max(if is_finite { bits } else { 0 });
    }
    (count, largest)
}

/// Returns whether rounding to these digits is coarse for coordinates of this size.
fn is_coarse(largest: f64, digits: Digits) -> bool {
    match digits {
        Digits::Fixed(places) => largest > 0.0 && 0.5 * 0.1f64.powi(i32::from(places)) > COARSE * largest,
        Digits::Shortest => false,
    }
}

/// Returns the largest factor by which object transforms and the global scale enlarge meshes.
fn enlarged(scene: &Scene, options: FormatOptions<'_, ObjWriteOptions>) -> f64 {
    let transforms = paced(&scene.objects).filter_map(|object| object.transform.as_ref());
    let size = transforms.map(|rows| largest_of(rows.as_flattened())).reduce(f64::max);
    size.unwrap_or(1.0) * options.scene.global_scale.abs()
}

fn largest_of(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()))
}

/// Returns whether any object is written as an evaluated mesh.
fn is_evaluated(scene: &Scene) -> bool {
    paced(&scene.objects).any(|object| scene.is_evaluated(object))
}

/// Returns the number of names that are changed. If any object is written as an evaluated mesh, names have no spaces;
/// material names must always be unique. A missing material without a name counts as no material.
fn renamed(scene: &Scene, materials: [&[Material]; 2]) -> u64 {
    let is_evaluated = is_evaluated(scene);
    let written = |name| if is_evaluated { names::joined(name) } else { names::written(name) };
    let [originals, distinct] = materials;
    let objects = paced(&scene.objects).filter(|object| written(&object.name) != object.name.as_str());
    let is_none = |material: &Material| material.name.is_empty() && material.missing;
    let materials = originals
        .iter()
        .zip(distinct)
        .filter(|(original, distinct)| !is_none(original) && written(&distinct.name) != original.name.as_str());
    (objects.count() + materials.count()) as u64
}

/// Numbers of normals and UVs to write of vertices that no face uses: OBJ stores them only at corners of faces. Normals
/// that are zero or not finite, and UVs (0, 0), are not counted, because they only fill the arrays.
fn values_without_faces(
    scene: &Scene,
    options: FormatOptions<'_, ObjWriteOptions>,
    run: &RunOptions,
) -> Result<[u64; 2]> {
    let has_normals = |mesh: &Mesh| options.scene.normals && mesh.normal_domain == Domain::Vertex;
    let has_uvs = |mesh: &Mesh| options.scene.uv && mesh.uv_domain == Domain::Vertex;
    let mut sums = [0; 2];
    for mesh in paced(&scene.meshes) {
        let normals = if has_normals(mesh) { mesh.normals.as_slice() } else { &[] };
        let uvs = if has_uvs(mesh) { mesh.uvs.as_slice() } else { &[] };
        if normals.is_empty() && uvs.is_empty() {
            continue;
        }
        let used = used_vertices(mesh, &[&mesh.faces.corner_positions], run.worker_threads())?;
        let is_normal = |normal: &[f32; 3]| *normal != [0.0; 3] && normal.iter().all(|part| part.is_finite());
        sums[0] += count_unused(normals, &used, is_normal);
        sums[1] += count_unused(uvs, &used, |uv| *uv != [0.0; 2]);
    }
    Ok(sums)
}

/// Counts the values with a property whose bit in `used` is 0.
fn count_unused<const N: usize>(values: &[[f32; N]], used: &[u32], has_property: impl Fn(&[f32; N]) -> bool) -> u64 {
    let words = values.chunks(32).zip(used).filter(|(_, bits)| **bits != u32::MAX);
    let count = |(values, bits): (&[[f32; N]], &u32)| {
        let unused = values.iter().enumerate().filter(|(bit, _)| (bits >> bit) & 1 == 0);
        unused.filter(|(_, value)| has_property(value)).count() as u64
    };
    words.map(count).sum()
}

/// Numbers of non-finite channels, and of colors that are not opaque, among the colors that are written.
fn color_losses(scene: &Scene) -> [u64; 2] {
    let colors = paced(&scene.meshes).flat_map(|mesh| mesh.colors.iter());
    let written = colors.filter(|color| !color.iter().all(|channel| channel.is_nan()));
    written.fold([0; 2], |[not_finite, translucent], color| {
        let channels = color[..3].iter().filter(|channel| !channel.is_finite()).count();
        [not_finite + channels as u64, translucent + u64::from(color[3] != 1.0)]
    })
}
