//! Every number equals that of a slow reader, and the first fault of a file is its error.

use crate::stl::*;
use polyhaul::ErrorKind;
use polyhaul::options::Limits;
use polyhaul_testkit::corpus::samples;

/// The first fault in the file is the error, wherever chunks end.
#[test]
fn a_limit_does_not_hide_what_comes_before() {
    let facet = "facet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 1 1 0\nendloop\nendfacet\n";
    let limits = Limits::default().with_elements(6);
    for (whole, kind) in [(1, ErrorKind::Malformed), (2, ErrorKind::Malformed), (3, ErrorKind::Limit)] {
        let text = format!("solid\n{}facet normal 0 0 x\n{facet}{facet}endsolid\n", facet.repeat(whole));
        for chunk_bytes in [None, Some(1), Some(50), Some(120)] {
            let way = ReadOptions::default().with_run(run(2, chunk_bytes)).with_limits(limits);
            let error = load_with(text.clone().into_bytes(), &way).unwrap_err();
            assert_eq!(error.kind(), kind, "{whole} {chunk_bytes:?}: {error}");
        }
    }
}

/// Reads triangles from the definitions of the two layouts alone.
fn by_hand(bytes: &[u8]) -> Option<Vec<f32>> {
    let count = u32::from_le_bytes(bytes.get(80..84)?.try_into().ok()?) as usize;
    if bytes.len() == 84 + 50 * count {
        let rows = bytes[84..].chunks(50).flat_map(|row| row[..48].chunks(4));
        return Some(rows.map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect());
    }
    let text = String::from_utf8_lossy(bytes).to_lowercase();
    let mut words = text.split_ascii_whitespace();
    let mut values = Vec::new();
    while let Some(word) = words.next() {
        if matches!(word, "normal" | "vertex") {
            for _ in 0..3 {
                values.push(words.next()?.parse().ok()?);
            }
        }
    }
    Some(values)
}

#[test]
fn every_number_is_that_of_the_slow_reader() {
    let mut compared = 0;
    for file in samples("stl/good", "stl") {
        let bytes = file.bytes();
        let loaded = load(file.bytes()).unwrap();
        let facets = loaded.value.meshes.iter().flat_map(|mesh| {
            let corners = mesh.faces.corner_positions.chunks(3);
            mesh.normals.iter().zip(corners).map(|(normal, corners)| {
                let corner = |place: usize| mesh.positions[corners[place] as usize];
                [*normal, corner(0), corner(1), corner(2)]
            })
        });
        let actual: Vec<f32> = facets.flat_map(|facet| facet.concat()).collect();
        let Some(expected) = by_hand(&bytes) else { continue };
        let bits = |values: &[f32]| values.iter().map(|v| if v.is_nan() { 1 } else { v.to_bits() }).collect::<Vec<_>>();
        if file.name != "stl/good/trailing.stl" {
            assert_eq!(bits(&actual), bits(&expected), "{}", file.name);
            compared += 1;
        }
    }
    assert!(compared > 9);
}
