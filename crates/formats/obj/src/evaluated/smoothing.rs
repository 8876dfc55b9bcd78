//! Smoothing groups: smooth faces that are connected across edges which are not sharp and have exactly two faces.
//!
//! Groups are numbered from 1 in the order of their first face. A flat face is a group of its own and takes a number
//! (and a bit) like any other group, although 0 is written for it. If groups are written as bit flags, a group takes
//! the lowest bit that no group with a smaller number uses at either endpoint of its boundary edges.

use polyhaul_model::Mesh;
use polyhaul_model::error::Result;
use std::collections::HashMap;

/// Computes the smoothing group of each face, as a number or as a bit flag.
pub(super) fn groups(mesh: &Mesh, as_bits: bool) -> Result<Vec<u32>> {
    let count = mesh.faces.len();
    let mut parents = Vec::new();
    parents.try_reserve_exact(count)?;
    parents.extend(0..count as u32);
    let edges = faces_of_edges(mesh)?;
    join_over_edges(mesh, &edges, &mut parents);
    let mut numbers = Vec::new();
    numbers.try_reserve_exact(count)?;
    let mut last = 0;
    for face in 0..count {
        // The root of a group is its first face, so it already has a number.
        let root = root(&mut parents, face as u32) as usize;
        if root == face {
            last += 1;
            numbers.push(last);
        } else {
            numbers.push(numbers[root]);
        }
    }
    if as_bits {
        numbers = bits(mesh, &edges, &numbers, last)?;
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

/// Returns the first face of a group; compresses the path to it.
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
    /// Three or more faces, or the edge is sharp: the edge joins no faces.
    Apart,
}

impl EdgeFaces {
    /// Returns the two faces that this edge joins into one group, if any.
    fn joined(self, mesh: &Mesh) -> Option<[u32; 2]> {
        match self {
            EdgeFaces::Two(a, b) => {
                Some([a, b]).filter(|faces| faces.iter().all(|&face| is_smooth(mesh, face as usize)))
            }
            _ => None,
        }
    }
}

type SmoothingEdges = HashMap<(u32, u32), EdgeFaces>;

fn faces_of_edges(mesh: &Mesh) -> Result<SmoothingEdges> {
    let mut edges = SmoothingEdges::new();
    edges.try_reserve(mesh.sharp_edges.len())?;
    edges.extend(mesh.sharp_edges.iter().map(|&[a, b]| (edge(a, b), EdgeFaces::Apart)));
    for face in 0..mesh.faces.len() {
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
    Ok(edges)
}

fn join_over_edges(mesh: &Mesh, edges: &SmoothingEdges, parents: &mut [u32]) {
    // The root of a group is its first face, regardless of the order of edges.
    for [a, b] in edges.values().filter_map(|faces| faces.joined(mesh)) {
        let a_root = root(parents, a);
        let b_root = root(parents, b);
        parents[a_root.max(b_root) as usize] = a_root.min(b_root);
    }
}

/// Computes the bit flag of each face's group; 0 if all 32 bits are taken.
fn bits(mesh: &Mesh, edges: &SmoothingEdges, numbers: &[u32], last: u32) -> Result<Vec<u32>> {
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
        let corners = |face: u32| &mesh.faces.corner_positions[mesh.faces.corners(face as usize)];
        // Only at the boundary edges of the group. Elsewhere, groups may share a position but no edge.
        let mut others = 0;
        for corners in group.iter().map(|&face| corners(face)) {
            for (at, &start) in corners.iter().enumerate() {
                let end = corners[(at + 1) % corners.len()];
                if edges.get(&edge(start, end)).is_none_or(|faces| faces.joined(mesh).is_none()) {
                    others |= taken[start as usize] | taken[end as usize];
                }
            }
        }
        let bit = 1u32.checked_shl(others.trailing_ones()).unwrap_or(0);
        group.iter().flat_map(|&face| corners(face)).for_each(|&position| taken[position as usize] |= bit);
        bit_of[number as usize] = bit;
    }
    let mut result = Vec::new();
    result.try_reserve_exact(numbers.len())?;
    result.extend(numbers.iter().map(|&number| bit_of[number as usize]));
    Ok(result)
}
