//! Detects faces that most programs reject: duplicate faces, and faces that repeat a position.

use polyhaul_model::Mesh;
use polyhaul_model::error::Result;
use polyhaul_pipeline::arrays::zeroed;
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::for_each_item;
use std::sync::atomic::{AtomicBool, Ordering};

/// Faces per parallel step.
const TURN: usize = 16 << 10;

/// Returns whether no face repeats a position and no two faces have the same positions, in any order. Faces are
/// compared by 64-bit hashes: a collision can report a clean mesh as not clean, never the reverse.
///
/// # Errors
///
/// [`polyhaul_model::error::ErrorKind::Memory`].
///
/// # Examples
///
/// ```
/// use polyhaul_model::{Elements, Mesh};
/// use polyhaul_pipeline::options::RunOptions;
///
/// let mesh = |corners: Vec<u32>| {
///     let offsets = vec![0, 3, 6].into();
///     let faces = Elements { offsets, corner_positions: corners.into(), ..Elements::default() };
///     Mesh { positions: vec![[0.0; 3]; 4].into(), faces, ..Mesh::default() }
/// };
/// let is_clean = |mesh: Mesh| polyhaul_geometry::clean::has_clean_faces(&mesh, &RunOptions::default());
/// assert!(is_clean(mesh(vec![0, 1, 2, 1, 3, 2]))?);
/// assert!(!is_clean(mesh(vec![0, 1, 2, 2, 1, 0]))?);
/// assert!(!is_clean(mesh(vec![0, 1, 1, 1, 3, 2]))?);
/// # Ok::<(), polyhaul_model::error::Error>(())
/// ```
pub fn has_clean_faces(mesh: &Mesh, options: &RunOptions) -> Result<bool> {
    let mut hashes: Vec<u64> = zeroed(mesh.faces.len(), "face hashes")?;
    let is_clean = AtomicBool::new(true);
    let threads = options.worker_threads();
    // Borrowed as slices, because a shared `Array` calls its owner at each access.
    let offsets = &mesh.faces.offsets[..];
    let corner_positions = &mesh.faces.corner_positions[..];
    for_each_item(threads, hashes.chunks_mut(TURN).enumerate(), Vec::new, |sorted: &mut Vec<u32>, (turn, hashes)| {
        for (at, hash) in hashes.iter_mut().enumerate() {
            let face = turn * TURN + at;
            let corners = corner_positions.get(offsets[face] as usize..offsets[face + 1] as usize).unwrap_or_default();
            sorted.clear();
            sorted.extend_from_slice(corners);
            // Faces with the same positions in any order must get the same hash.
            sorted.sort_unstable();
            if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
                is_clean.store(false, Ordering::Relaxed);
            }
            *hash = sorted.iter().fold(0, |hash, &position| mixed(hash ^ u64::from(position)));
        }
    });
    if !is_clean.into_inner() {
        return Ok(false);
    }
    hashes.sort_unstable();
    Ok(hashes.windows(2).all(|pair| pair[0] != pair[1]))
}

/// Mixes a value so that every bit depends on every input bit: the step of SplitMix64 (Steele, Lea and Flood, 2014).
pub fn mixed(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
