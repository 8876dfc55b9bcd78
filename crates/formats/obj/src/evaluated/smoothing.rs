//! Smoothing groups: smooth faces connected over edges that are not sharp and have no third face.
//!
//! Groups are numbered from 1 in the order of their first face. A flat face is a group of its own and takes a number
//! (and a bit) like any other, although 0 is written for it. As bit flags, a group takes the lowest bit that no group
//! with a smaller number uses at any of its positions.

use polyhaul_model::Mesh;
use polyhaul_model::error::Result;
use std::collections::HashMap;

/// The smoothing group of each face, as a number or as a bit.
pub(super) fn groups(mesh: &Mesh, as_bits: bool) -> Result<Vec<u32>> {
    let count = mesh.faces.len();
    let mut parents = Vec::new();
    parents.try_reserve_exact(count)?;
    parents.extend(0..count as u32);
    join_over_edges(mesh, &mut parents)?;
    let mut numbers = Vec::new();
    numbers.try_reserve_exact(count)?;
    let mut last = 0;
    for face in 0..count {
        // The root of a group is its first face, so it has its number already.
        let root = root(&mut parents, face as u32) as usize;
        if root == face {
            last += 1;
            numbers.push(last);
        } else {
            numbers.push(numbers[root]);
        }
    }
    if as_bits {
        numbers = bits(mesh, &numbers, last)?;
    }
    for (face, number) in numbers.iter_mut().enumerate() {
        if !is_smooth(mesh, face) {
            *number = 0;
        }
    }
    Ok(numbers)
}

fn is_smooth(mesh: &Mesh, face: usize) -> bool {
    mesh.face_smooth.get(face).is_some_and(|&smooth| smooth != 0)
}

/// Returns the first face of a group, and shortens paths on the way.
fn root(parents: &mut [u32], mut face: u32) -> u32 {
    while parents[face as usize] != face {
        let parent = parents[face as usize];
        parents[face as usize] = parents[parent as usize];
        face = parent;
    }
    face
}

fn edge(a: u32, b: u32) -> (u32, u32) {
    (a.min(b), a.max(b))
}

/// The faces at an edge.
#[derive(Clone, Copy)]
enum EdgeFaces {
    One(u32),
    Two(u32, u32),
    /// Three or more, or the edge is sharp: none of them are joined.
    Apart,
}

fn join_over_edges(mesh: &Mesh, parents: &mut [u32]) -> Result<()> {
    let mut edges: HashMap<(u32, u32), EdgeFaces> = HashMap::new();
    edges.try_reserve(mesh.sharp_edges.len())?;
    edges.extend(mesh.sharp_edges.iter().map(|&[a, b]| (edge(a, b), EdgeFaces::Apart)));
    for face in 0..parents.len() {
        let corners = &mesh.faces.corner_positions[mesh.faces.corners(face)];
        for (at, &position) in corners.iter().enumerate() {
            let edge = edge(position, corners[(at + 1) % corners.len()]);
            edges.try_reserve(1)?;
            let more = |faces: &mut EdgeFaces| {
                *faces = match *faces {
                    EdgeFaces::One(first) => EdgeFaces::Two(first, face as u32),
                    _ => EdgeFaces::Apart,
                }
            };
            edges.entry(edge).and_modify(more).or_insert(EdgeFaces::One(face as u32));
        }
    }
    // Whatever their order, the root of a group is its first face.
    for faces in edges.into_values() {
        if let EdgeFaces::Two(a, b) = faces
            && is_smooth(mesh, a as usize)
            && is_smooth(mesh, b as usize)
        {
            let a_root = root(parents, a);
            let b_root = root(parents, b);
            parents[a_root.max(b_root) as usize] = a_root.min(b_root);
        }
    }
    Ok(())
}

/// Returns the bit of each face's group; 0 if all 32 are taken.
fn bits(mesh: &Mesh, numbers: &[u32], last: u32) -> Result<Vec<u32>> {
    let mut by_group: Vec<u32> = Vec::new();
    by_group.try_reserve_exact(numbers.len())?;
    by_group.extend(0..numbers.len() as u32);
    by_group.sort_unstable_by_key(|&face| (numbers[face as usize], face));
    let mut taken: Vec<u32> = Vec::new();
    taken.try_reserve_exact(mesh.positions.len())?;
    taken.resize(mesh.positions.len(), 0);
    let mut bit_of: Vec<u32> = Vec::new();
    bit_of.try_reserve_exact(last as usize + 1)?;
    bit_of.resize(last as usize + 1, 0);
    for group in by_group.chunk_by(|&a, &b| numbers[a as usize] == numbers[b as usize]) {
        let number = numbers[group[0] as usize];
        let positions = || {
            let corners = group.iter().flat_map(|&face| mesh.faces.corners(face as usize));
            corners.map(|corner| mesh.faces.corner_positions[corner] as usize)
        };
        let others = positions().fold(0, |others, position| others | taken[position]);
        let bit = 1u32.checked_shl(others.trailing_ones()).unwrap_or(0);
        positions().for_each(|position| taken[position] |= bit);
        bit_of[number as usize] = bit;
    }
    let mut result = Vec::new();
    result.try_reserve_exact(numbers.len())?;
    result.extend(numbers.iter().map(|&number| bit_of[number as usize]));
    Ok(result)
}
