//! Compares surfaces with the result of a naive check, and tests cases that the naive check does not cover: hostile
//! meshes, precision, errors.

use super::*;
use crate::linear::{cross, subtract};
use polyhaul_model::NONE;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// A linear congruential generator (Knuth's MMIX).
struct Random(u64);

impl Random {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % count
    }
}

/// Positions and faces.
#[derive(Clone, Default)]
struct Draft {
    positions: Vec<[f64; 3]>,
    faces: Vec<Vec<u32>>,
}

impl Draft {
    /// A torus of quads, with some quads split into triangles and some pairs merged into hexagons.
    fn torus(random: &mut Random, columns: usize, rows: usize) -> Draft {
        let mut draft = Draft::default();
        for at in 0..columns * rows {
            let around = (at % columns) as f64 / columns as f64 * std::f64::consts::TAU;
            let tube = (at / columns) as f64 / rows as f64 * std::f64::consts::TAU;
            let far = 3.0 + tube.cos();
            draft.positions.push([far * around.cos(), far * around.sin(), tube.sin()]);
        }
        let at = |column: usize, row: usize| (row % rows * columns + column % columns) as u32;
        for row in 0..rows {
            let mut column = 0;
            while column < columns {
                let [a, b, c, d] = [at(column, row), at(column + 1, row), at(column + 1, row + 1), at(column, row + 1)];
                match random.below(4) {
                    0 => draft.faces.extend([vec![a, b, c], vec![c, d, a]]),
                    1 if column + 1 < columns => {
                        let more = [at(column + 2, row), at(column + 2, row + 1)];
                        draft.faces.push(vec![a, b, more[0], more[1], c, d]);
                        column += 1;
                    }
                    _ => draft.faces.push(vec![a, b, c, d]),
                }
                column += 1;
            }
        }
        draft
    }

    /// Random faces over a few positions, some of which are equal.
    fn soup(random: &mut Random) -> Draft {
        let mut draft = Draft::default();
        for _ in 0..4 + random.below(20) {
            draft.positions.push(std::array::from_fn(|_| random.below(3) as f64 - 1.0));
        }
        for _ in 0..random.below(60) {
            let count = 3 + random.below(4);
            draft.faces.push((0..count).map(|_| random.below(draft.positions.len()) as u32).collect());
        }
        draft
    }

    fn plant(&mut self, random: &mut Random) {
        if self.faces.is_empty() {
            return;
        }
        let face = random.below(self.faces.len());
        let count = self.positions.len() as u32;
        let corners = self.faces[face].clone();
        match random.below(10) {
            0 => drop(self.faces.swap_remove(face)),
            1 => self.faces[face].reverse(),
            2 => {
                let mut copy = corners;
                copy.rotate_left(1);
                if random.below(2) == 0 {
                    copy.reverse();
                }
                self.faces.insert(random.below(face + 1), copy);
            }
            // A fin.
            3 => {
                self.positions.push([9.0, 9.0, f64::from(count)]);
                self.faces.push(vec![corners[0], corners[1], count]);
            }
            // A corner used twice.
            4 => self.faces[face][0] = corners[1],
            5 => self.faces.push(vec![corners[0], corners[0], corners[1]]),
            // Collinear corners.
            6 => {
                self.positions.extend([[5.0, 0.0, 0.0], [6.0, 1.0, 0.5], [7.0, 2.0, 1.0]]);
                self.faces.push(vec![count, count + 1, count + 2]);
            }
            // A seam: the face has its own copies of the positions.
            7 | 8 => {
                for corner in &mut self.faces[face] {
                    self.positions.push(self.positions[*corner as usize]);
                    *corner = self.positions.len() as u32 - 1;
                }
            }
            _ => self.positions[corners[0] as usize][random.below(3)] = f64::NAN,
        }
    }

    fn mesh(&self, is_exact: bool) -> Mesh {
        let ends = self.faces.iter().scan(0, |end, face| {
            *end += face.len() as u32;
            Some(*end)
        });
        let offsets: Vec<u32> = std::iter::once(0).chain(ends).collect();
        let exact = if is_exact { self.positions.clone() } else { Vec::new() };
        Mesh {
            positions: self.positions.iter().map(|position| position.map(|value| value as f32)).collect(),
            exact_positions: exact.into(),
            faces: Elements {
                offsets: offsets.into(),
                corner_positions: self.faces.concat().into(),
                ..Elements::default()
            },
            ..Mesh::default()
        }
    }
}

fn position(mesh: &Mesh, at: u32) -> [f64; 3] {
    let single = mesh.positions[at as usize].map(f64::from);
    mesh.exact_positions.get(at as usize).copied().unwrap_or(single)
}

/// The first position equal to each position, in the index range of the faces.
fn firsts(mesh: &Mesh, lowest: u32, which: SurfacePositions) -> Vec<u32> {
    let mut seen = HashMap::new();
    let mut first = |at: u32| {
        let position = position(mesh, at);
        if which == SurfacePositions::Stored || position.iter().any(|value| value.is_nan()) {
            return at;
        }
        *seen.entry(position.map(|value| (value + 0.0).to_bits())).or_insert(at)
    };
    (0..mesh.positions.len() as u32).map(|at| if at < lowest { at } else { first(at) }).collect()
}

/// Canonical cycle: the same for all rotations and both directions.
fn normal_cycle(corners: &[u32]) -> Vec<u32> {
    let count = corners.len();
    let rotated = |from: usize, step: usize| (0..count).map(|at| corners[(from + at * step) % count]).collect();
    (0..count).flat_map(|from| [rotated(from, 1), rotated(from, count - 1)]).min().unwrap()
}

/// Twice the area vector of a polygon, by Newell's method.
fn newell(mesh: &Mesh, corners: &[u32]) -> [f64; 3] {
    let origin = position(mesh, corners[0]);
    let relative = |at: usize| subtract(position(mesh, corners[at % corners.len()]), origin);
    (0..corners.len()).fold([0.0; 3], |sum, at| add(sum, cross(relative(at), relative(at + 1))))
}

/// The naive implementation of [`check_surface`].
fn naive(mesh: &Mesh, faces: Range<usize>, which: SurfacePositions) -> Surface {
    let used =
        faces.clone().flat_map(|face| mesh.faces.corners(face)).map(|corner| mesh.faces.corner_positions[corner]);
    let firsts = firsts(mesh, used.min().unwrap_or(0), which);
    let mut surface = Surface { faces: faces.len() as u64, ..Surface::default() };
    let mut uses: BTreeMap<[u32; 2], Vec<[u32; 2]>> = BTreeMap::new();
    let mut cycles = HashSet::new();
    let mut groups: Vec<BTreeSet<u32>> = Vec::new();
    let mut covering = 0;
    for face in faces {
        let stored = &mesh.faces.corner_positions[mesh.faces.corners(face)];
        let corners: Vec<u32> = stored.iter().map(|&corner| firsts[corner as usize]).collect();
        let distinct: BTreeSet<u32> = corners.iter().copied().collect();
        let vector = newell(mesh, stored);
        let area = dot(vector, vector).sqrt() / 2.0;
        if distinct.len() < corners.len() || area.is_nan() || area == 0.0 {
            surface.degenerate_faces.push(face as u32);
        }
        if area.is_finite() {
            surface.area += area;
            surface.volume += dot(position(mesh, stored[0]), vector) / 6.0;
        }
        if distinct.len() < 3 {
            continue;
        }
        covering += 1;
        if distinct.len() == corners.len() && !cycles.insert(normal_cycle(&corners)) {
            surface.duplicate_faces.push(face as u32);
        }
        for at in 0..corners.len() {
            let side = [corners[at], corners[(at + 1) % corners.len()]];
            if side[0] != side[1] {
                uses.entry([side[0].min(side[1]), side[0].max(side[1])]).or_default().push(side);
            }
        }
        let (mut touching, others): (Vec<_>, Vec<_>) =
            groups.into_iter().partition(|group| !group.is_disjoint(&distinct));
        touching.push(distinct);
        groups = others;
        groups.push(touching.into_iter().flatten().collect());
    }
    for (edge, sides) in &uses {
        match sides[..] {
            [side] => surface.open_edges.push(side),
            [a, b] if a == b => surface.flipped_edges.push(a),
            [_, _] => {}
            _ => surface.non_manifold_edges.push(*edge),
        }
    }
    surface.edges = uses.len() as u64;
    surface.components = groups.len() as u64;
    surface.positions = groups.iter().map(|group| group.len() as u64).sum();
    surface.euler_number = surface.positions as i64 - surface.edges as i64 + covering;
    surface
}

/// Compares all fields: lists and counts exactly, sums up to rounding.
fn compare(mesh: &Mesh, faces: Range<usize>, which: SurfacePositions, name: &str) -> Surface {
    let run = |threads: usize| RunOptions::default().with_threads(Some(threads));
    let surface = check_surface(mesh, faces.clone(), which, &run(1)).unwrap();
    for threads in [2, 7] {
        assert_eq!(check_surface(mesh, faces.clone(), which, &run(threads)).unwrap(), surface, "{name} {threads}");
    }
    let expected = naive(mesh, faces, which);
    let size = 1.0 + expected.area;
    assert!((surface.area - expected.area).abs() < 1e-12 * size, "{name} {surface:?} {expected:?}");
    assert!((surface.volume - expected.volume).abs() < 1e-10 * size, "{name} {surface:?} {expected:?}");
    let Surface { area, volume, bounds, .. } = surface;
    assert_eq!(surface, Surface { area, volume, bounds, ..expected }, "{name}");
    surface
}

#[test]
fn planted_faults_are_found_as_one_by_one() {
    let mut meshes_with = [0; 5];
    let mut clean = 0;
    for number in 0..300 {
        let random = &mut Random(number);
        let mut draft = if number % 3 == 2 {
            Draft::soup(random)
        } else {
            let columns = 3 + random.below(12);
            let rows = 3 + random.below(9);
            Draft::torus(random, columns, rows)
        };
        for _ in 0..random.below(6) {
            draft.plant(random);
        }
        let mesh = draft.mesh(number % 2 == 0);
        let name = number.to_string();
        for which in [SurfacePositions::Merged, SurfacePositions::Stored] {
            let surface = compare(&mesh, 0..mesh.faces.len(), which, &name);
            let lists = [
                surface.open_edges.len(),
                surface.non_manifold_edges.len(),
                surface.flipped_edges.len(),
                surface.duplicate_faces.len(),
                surface.degenerate_faces.len(),
            ];
            meshes_with.iter_mut().zip(lists).for_each(|(meshes, count)| *meshes += usize::from(count > 0));
            clean += usize::from(surface.is_clean() && surface.is_solid());
        }
        let third = mesh.faces.len() / 3;
        compare(&mesh, third..mesh.faces.len() - third, SurfacePositions::Merged, &name);
    }
    // Each defect occurs in many of the meshes, and some meshes have none.
    assert!(meshes_with.iter().all(|&count| count > 50) && clean > 20, "{meshes_with:?} {clean}");
}

#[test]
fn a_section_with_positions_far_apart_is_renumbered() {
    let mut draft = Draft::torus(&mut Random(7), 6, 5);
    draft.positions.splice(5..5, vec![[0.5; 3]; 20_000]);
    for corner in draft.faces.iter_mut().flatten().filter(|corner| **corner >= 5) {
        *corner += 20_000;
    }
    draft.plant(&mut Random(2));
    let mesh = draft.mesh(true);
    let surface = compare(&mesh, 3..mesh.faces.len(), SurfacePositions::Merged, "far apart");
    assert!(!surface.open_edges.is_empty() && surface.open_edges.iter().flatten().any(|&position| position > 20_000));
}

#[test]
fn a_fan_of_equal_faces_takes_linear_time() {
    let count = 200_000;
    let mut draft = Draft { positions: (0..count).map(|at| [f64::from(at), 1.0, 0.0]).collect(), ..Draft::default() };
    draft.faces = (2..count).flat_map(|at| [vec![0, 1, at], vec![at, 0, 1]]).collect();
    let mesh = draft.mesh(false);
    let surface = check_surface(&mesh, 0..mesh.faces.len(), SurfacePositions::Merged, &RunOptions::default()).unwrap();
    assert_eq!(surface.non_manifold_edges, [[0, 1]]);
    assert_eq!(surface.duplicate_faces.len(), count as usize - 2);
    assert_eq!(surface.degenerate_faces.len(), mesh.faces.len());
}

#[test]
fn volumes_far_from_the_origin_are_precise() {
    let cube = |offset: f64| {
        let corner = |at: u32| std::array::from_fn(|axis| offset + f64::from(at >> axis & 1));
        let faces = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        Draft { positions: (0..8).map(corner).collect(), faces: faces.map(Vec::from).into() }.mesh(true)
    };
    for offset in [0.0, -3.25, 5e8] {
        let surface = check_surface(&cube(offset), 0..6, SurfacePositions::Merged, &RunOptions::default()).unwrap();
        assert_eq!((surface.area, surface.volume, surface.euler_number), (6.0, 1.0, 2));
        assert!(surface.is_solid() && surface.is_clean());
    }
    // With one face missing, the volume is the sum of the volumes of the cones from the origin to the faces.
    let open = check_surface(&cube(2.0), 0..5, SurfacePositions::Merged, &RunOptions::default()).unwrap();
    assert!((open.volume - (1.0 - 3.0 / 3.0)).abs() < 1e-12 && !open.is_watertight() && open.is_consistent());
}

#[test]
fn rows_with_equal_hashes_are_compared_exactly() {
    let rows =
        [[0.0f64, 1.0, 2.0], [-0.0, 1.0, 2.0], [f64::NAN; 3], [f64::NAN; 3], [0.0, 1.0, 2.0 + f64::EPSILON * 2.0]];
    let unique = places::exactly_numbered(&rows, &RunOptions::default()).unwrap();
    assert_eq!((unique.first, unique.of_item), (vec![0, 2, 3, 4], vec![0, 0, 1, 2, 3]));
}

#[test]
fn broken_meshes_are_errors() {
    let check = |offsets: Vec<u32>, corners: Vec<u32>, faces: Range<usize>| {
        let faces_of = Elements { offsets: offsets.into(), corner_positions: corners.into(), ..Elements::default() };
        let mesh = Mesh { positions: vec![[0.0; 3]; 3].into(), faces: faces_of, ..Mesh::default() };
        check_surface(&mesh, faces, SurfacePositions::Merged, &RunOptions::default())
    };
    assert_eq!(check(vec![0, 3], vec![0, 1, 2], 0..1).unwrap().degenerate_faces, [0]);
    assert_eq!(check(vec![], vec![], 0..0).unwrap(), Surface::default());
    for (offsets, corners, faces) in [
        (vec![0, 3], vec![0, 1, 3], 0..1),
        (vec![0, 3], vec![0, 1, NONE], 0..1),
        (vec![0, 4], vec![0, 1, 2], 0..1),
        (vec![0, 3, 1], vec![0, 1, 2], 0..2),
        (vec![0, 3], vec![0, 1, 2], 0..2),
        (vec![], vec![], 0..1),
    ] {
        assert_eq!(check(offsets, corners, faces).unwrap_err().kind(), ErrorKind::Usage);
    }
    let faces = Elements { offsets: vec![0, 2].into(), corner_positions: vec![0, 1].into(), ..Elements::default() };
    let mesh = Mesh { positions: vec![[0.0; 3]; 2].into(), faces, ..Mesh::default() };
    compare(&mesh, 0..1, SurfacePositions::Merged, "two corners");
}
