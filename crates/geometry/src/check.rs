//! Validates a scene built by a caller, before anything relies on the invariants of the model.
//!
//! This module never repairs a scene. polyhaul's readers produce valid scenes by construction and skip the check.

use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::{Domain, Elements, Mesh, NONE, Run, Scene, Table, names};
use polyhaul_pipeline::options::{Cancel, RunOptions};
use polyhaul_pipeline::parallel::try_for_each_item;
use std::sync::atomic::{AtomicBool, Ordering};

/// Indices or offsets per parallel step.
const PIECE: usize = 1 << 16;

/// Checks the invariants of meshes, tables and material slots that writers rely on, and fails at the first violation.
pub fn scene(scene: &Scene, options: &RunOptions) -> Result<()> {
    // Parallel over meshes, or within the only mesh.
    let threads = options.worker_threads();
    let inner_threads = if scene.meshes.len() > 1 { 1 } else { threads };
    let meshes = scene.meshes.iter().enumerate();
    try_for_each_item(
        threads,
        &options.cancel,
        meshes,
        || (),
        |(), (number, mesh)| match broken_rule(mesh, scene, inner_threads, options)? {
            Some(what) => {
                let message = format!("invalid mesh {number}: {what}");
                Err(Error::new(ErrorKind::Usage, message))
            }
            None => Ok(()),
        },
    )?;
    scene.tables.iter().try_for_each(Table::check)?;
    let slots = scene.objects.iter().filter_map(|object| Some((object, object.materials.as_ref()?)));
    for (object, slots) in slots {
        if slots.iter().flatten().any(|&material| material >= scene.materials.len()) {
            let message = format!("a material slot of object `{}` has an index out of range", object.name);
            return Err(Error::new(ErrorKind::Usage, message));
        }
    }
    Ok(())
}

/// Returns the first invariant that a mesh violates, or `None` if it is valid.
fn broken_rule(mesh: &Mesh, scene: &Scene, threads: usize, options: &RunOptions) -> Result<Option<String>> {
    // `sizes` comes first, because `in_range` relies on counts that fit in 32 bits.
    let what = sizes(mesh).or_else(|| domains(mesh)).or_else(|| runs(mesh, scene)).or_else(|| curves(mesh));
    if what.is_some() {
        return Ok(what);
    }
    for (kind, elements, min_corners) in [("face", &mesh.faces, 3), ("line", &mesh.lines, 2)] {
        if let Some(what) = offsets(kind, elements, min_corners, threads, &options.cancel)? {
            return Ok(Some(what));
        }
        let streams = [
            ("positions", &elements.corner_positions, mesh.positions.len(), false),
            ("uvs", &elements.corner_uvs, mesh.uvs.len(), true),
            ("normals", &elements.corner_normals, mesh.normals.len(), true),
        ];
        for (stream, indices, count, may_miss) in streams {
            if !in_range(indices, count, may_miss, threads, &options.cancel)? {
                return Ok(Some(format!("a {kind} has an index out of range: there are {count} {stream}")));
            }
        }
    }
    let points = in_range(&mesh.points, mesh.positions.len(), false, threads, &options.cancel)?;
    Ok((!points).then(|| "a point has an index out of range".into()))
}

/// Checks that arrays with a value per corner, position or face match the mesh, and that sharp edges have valid
/// indices.
fn domains(mesh: &Mesh) -> Option<String> {
    let positions = mesh.positions.len();
    let faces = mesh.faces.len();
    let fits = |domain: Domain, count: usize| match domain {
        Domain::Indexed => true,
        Domain::Corner => count == mesh.faces.corner_positions.len(),
        Domain::Vertex => count == positions,
        Domain::Face => count == faces,
    };
    for (what, domain, count) in
        [("UV", mesh.uv_domain, mesh.uvs.len()), ("normal", mesh.normal_domain, mesh.normals.len())]
    {
        if count > 0 && !fits(domain, count) {
            return Some(format!("found {count} {what}s, expected one per {}", domain_name(domain)));
        }
    }
    for (what, count) in [("material slot", mesh.face_materials.len()), ("smooth flag", mesh.face_smooth.len())] {
        if count > 0 && count != faces {
            return Some(format!("found {count} {what}s, expected one for each of {faces} faces"));
        }
    }
    if mesh.vertex_groups.iter().any(|group| group.weights.len() != positions) {
        return Some("a vertex group does not have one weight per position".into());
    }
    let columns = [(names::VERTEX, &mesh.vertex_columns, positions), ("face", &mesh.face_columns, faces)];
    for (what, columns, count) in columns {
        if let Some(column) = columns.iter().find(|column| !column.is_whole(count)) {
            return Some(format!("{what} column `{}` does not have one row per {what}", column.name));
        }
    }
    let is_right = |edge: &[u32; 2]| edge.iter().all(|&position| (position as usize) < positions);
    (!mesh.sharp_edges.iter().all(is_right)).then(|| "a sharp edge has an index out of range".into())
}

fn domain_name(domain: Domain) -> &'static str {
    match domain {
        Domain::Indexed => "index",
        Domain::Corner => "corner",
        Domain::Vertex => "position",
        Domain::Face => "face",
    }
}

/// Checks that arrays of the same elements have the same length, and that none is too long for 32-bit indices.
fn sizes(mesh: &Mesh) -> Option<String> {
    let counts = [mesh.positions.len(), mesh.uvs.len(), mesh.normals.len(), mesh.points.len()];
    if counts.iter().any(|&count| count >= NONE as usize) {
        return Some("an array has more than 2^32 - 2 elements".into());
    }
    let fits = |part: usize, whole: usize| part == 0 || part == whole;
    let positions = mesh.positions.len();
    if !fits(mesh.exact_positions.len(), positions) {
        return Some("expected one exact position per position".into());
    }
    let uvs = mesh.uvs.len();
    if !fits(mesh.position_weights.len(), positions) || !fits(mesh.colors.len(), positions) {
        return Some("expected one weight and one color per position".into());
    }
    (!fits(mesh.uv_depths.len(), uvs)).then(|| "expected one depth per UV".into())
}

/// Checks that offsets ascend from 0 to the number of corners, that each element has at least `min_corners` corners,
/// and that each index stream is empty or has one index per corner.
fn offsets(
    kind: &str,
    elements: &Elements,
    min_corners: u32,
    threads: usize,
    cancel: &Cancel,
) -> Result<Option<String>> {
    let corners = elements.corner_positions.len();
    let whole = match elements.offsets.as_slice() {
        [] => corners == 0,
        [first, .., last] => *first == 0 && *last as usize == corners && corners < NONE as usize,
        [only] => *only == 0 && corners == 0,
    };
    if !whole {
        return Ok(Some(format!("the {kind} offsets must range from 0 to the number of corners")));
    }
    // The difference wraps if offsets decrease, which the first comparison rejects.
    let right = |pair: (&u32, &u32)| (pair.0 <= pair.1) & (pair.1.wrapping_sub(*pair.0) >= min_corners);
    let pieces = elements.offsets.chunks(PIECE).zip((0..).step_by(PIECE));
    let sorted = all(pieces, threads, cancel, |(piece, start): (&[u32], usize)| {
        let next = elements.offsets.get(start + 1..).unwrap_or_default();
        // `&` instead of an early exit, so that the loop is vectorized.
        piece.iter().zip(next).fold(true, |is_right, pair| is_right & right(pair))
    })?;
    if !sorted {
        return Ok(Some(format!("a {kind} has fewer than {min_corners} corners, or its offsets decrease")));
    }
    let streams = [elements.corner_uvs.len(), elements.corner_normals.len()];
    let fits = streams.iter().all(|&size| size == 0 || size == corners);
    Ok((!fits).then(|| format!("expected one UV and one normal index per {kind} corner")))
}

/// Returns whether all indices are below `count`, or [`NONE`] if `may_miss`.
fn in_range(indices: &[u32], count: usize, may_miss: bool, threads: usize, cancel: &Cancel) -> Result<bool> {
    // `sizes` has checked that counts fit in 32 bits. Comparing 32-bit instead of 64-bit integers halves the number of
    // vector instructions.
    let count = u32::try_from(count).unwrap_or(NONE);
    let right = |&index: &u32| index < count || may_miss && index == NONE;
    all(indices.chunks(PIECE), threads, cancel, |piece| {
        piece.iter().fold(true, |is_right, index| is_right & right(index))
    })
}

/// Returns whether `holds` is true for all pieces, checked in parallel.
fn all<P: Send>(
    pieces: impl Iterator<Item = P> + Send,
    threads: usize,
    cancel: &Cancel,
    holds: impl Fn(P) -> bool + Sync,
) -> Result<bool> {
    let holds_for_all = AtomicBool::new(true);
    let check = |_: &mut (), piece: P| {
        if !holds(piece) {
            // Relaxed suffices: the flag is read after all threads have finished.
            holds_for_all.store(false, Ordering::Relaxed);
        }
        Ok(())
    };
    try_for_each_item(threads, cancel, pieces, || (), check)?;
    Ok(holds_for_all.into_inner())
}

/// Checks that runs ascend, lie in the mesh, and refer to existing materials and groups.
fn runs(mesh: &Mesh, scene: &Scene) -> Option<String> {
    let end = mesh.counts();
    let ordered = |runs: &[Run]| runs.windows(2).all(|pair| pair[0].at.precedes(pair[1].at));
    let inside = |runs: &[Run]| runs.last().is_none_or(|run| run.at.precedes(end));
    let runs_by_kind =
        [("material", &mesh.material_runs), ("group", &mesh.group_runs), ("smoothing", &mesh.smoothing_runs)];
    for (kind, runs) in runs_by_kind {
        if !ordered(runs) || !inside(runs) {
            return Some(format!("the {kind} runs are out of order or extend past the end of the mesh"));
        }
    }
    let named = |runs: &[Run], count: usize| runs.iter().all(|run| run.value == NONE || (run.value as usize) < count);
    if !named(&mesh.material_runs, scene.materials.len()) {
        return Some("a material run has an index out of range".into());
    }
    (!named(&mesh.group_runs, mesh.groups.len())).then(|| "a group run has an index out of range".into())
}

fn curves(mesh: &Mesh) -> Option<String> {
    let end = mesh.counts();
    let ordered = mesh.curves.windows(2).all(|pair| pair[0].at.precedes(pair[1].at));
    let right = mesh.curves.iter().all(|curve| {
        curve.degree > 0
            && curve.at.precedes(end)
            && curve.control_points.iter().all(|&point| (point as usize) < mesh.positions.len())
    });
    (!ordered || !right).then(|| "a curve is past the end, has degree 0, or has a control point out of range".into())
}
