//! Removes elements with an index out of range, if the caller chose to continue past errors.

use polyhaul_model::error::{Diagnostic, Error, Result};
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{Counts, Elements, Mesh, NONE, Object, ObjectKind};

/// Removes all elements with an index out of range, and keeps objects and runs right.
pub(super) fn drop_broken(mesh: &mut Mesh, objects: &mut Vec<Object>, warnings: &mut Warnings) -> Result<()> {
    let counts = mesh.counts();
    let before = (counts.faces, counts.lines, counts.points);
    let faces = compact(&mut mesh.faces, counts)?;
    let lines = compact(&mut mesh.lines, counts)?;
    let points = compact_points(mesh.points.to_mut()?, counts)?;
    let moved = |at: &mut Counts| {
        at.faces = faces[at.faces as usize];
        at.lines = lines[at.lines as usize];
        at.points = points[at.points as usize];
    };
    let runs = [&mut mesh.material_runs, &mut mesh.group_runs, &mut mesh.smoothing_runs];
    runs.into_iter().flatten().for_each(|run| moved(&mut run.at));
    mesh.curves.iter_mut().for_each(|curve| moved(&mut curve.at));
    for object in objects.iter_mut() {
        moved(&mut object.start);
        moved(&mut object.end);
    }
    objects.retain(|object| object.kind != ObjectKind::Unnamed || object.start != object.end);
    let after = mesh.counts();
    let dropped =
        u64::from(before.0 - after.faces) + u64::from(before.1 - after.lines) + u64::from(before.2 - after.points);
    let message = format!("skipped {dropped} elements with an index out of range");
    warnings.push_many("element-left-out", dropped, Diagnostic::new(message));
    Ok(())
}

/// Keeps the valid elements; returns the new index of each old element, and of the end.
fn compact(elements: &mut Elements, counts: Counts) -> Result<Vec<u32>> {
    let in_range = |stream: &[u32], range: std::ops::Range<usize>, count: u32| {
        stream.get(range).is_none_or(|indices| indices.iter().all(|&index| index < count || index == NONE))
    };
    let count = elements.len();
    let offsets = elements.offsets.to_mut()?;
    let mut streams =
        [elements.corner_positions.to_mut()?, elements.corner_uvs.to_mut()?, elements.corner_normals.to_mut()?];
    let mut map = room_for(count + 1)?;
    let mut kept_count = 0;
    let mut corner = 0;
    for element in 0..count {
        map.push(kept_count as u32);
        let corners = offsets[element] as usize..offsets[element + 1] as usize;
        let counts = [counts.positions, counts.uvs, counts.normals];
        let right = streams.iter().zip(counts).all(|(stream, count)| in_range(stream, corners.clone(), count));
        if right {
            for stream in &mut streams {
                if !stream.is_empty() {
                    stream.copy_within(corners.clone(), corner);
                }
            }
            corner += corners.len();
            kept_count += 1;
            offsets[kept_count] = corner as u32;
        }
    }
    map.push(kept_count as u32);
    offsets.truncate(if kept_count == 0 { 0 } else { kept_count + 1 });
    for stream in streams {
        stream.truncate(corner);
        // A stream that no corner uses is empty.
        if stream.iter().all(|&index| index == NONE) {
            stream.clear();
        }
    }
    Ok(map)
}

fn compact_points(points: &mut Vec<u32>, counts: Counts) -> Result<Vec<u32>> {
    let mut map = room_for(points.len() + 1)?;
    let mut kept_count = 0;
    for &point in points.iter() {
        map.push(kept_count);
        kept_count += u32::from(point < counts.positions);
    }
    map.push(kept_count);
    points.retain(|&point| point < counts.positions);
    Ok(map)
}

fn room_for(count: usize) -> Result<Vec<u32>> {
    let mut map = Vec::new();
    map.try_reserve_exact(count).map_err(|_| Error::memory("the repair"))?;
    Ok(map)
}
