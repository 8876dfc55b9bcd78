//! Deviations in splat files.

use super::{Change, Changed, hold};
use crate::support::{data_bytes, memory, try_converted};
use polyhaul::{Format, ReadOptions, WriteOptions};
use polyhaul_testkit::random::Random;

/// The header of a binary PLY file as text, and its data.
fn parts(bytes: &[u8]) -> Option<(String, &[u8])> {
    let marker = b"end_header\n";
    let end = bytes.windows(marker.len()).position(|window| window == marker)? + marker.len();
    Some((std::str::from_utf8(&bytes[..end]).ok()?.to_string(), &bytes[end..]))
}

/// How many bytes each element of a compressed PLY has, and its name.
fn elements(header: &str) -> Option<Vec<(String, usize)>> {
    let mut elements: Vec<(String, usize, usize)> = Vec::new();
    for line in header.lines() {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        match words[..] {
            ["element", name, count] => elements.push((name.into(), count.parse().ok()?, 0)),
            ["property", kind, _] => elements.last_mut()?.2 += if kind == "uchar" { 1 } else { 4 },
            _ => {}
        }
    }
    Some(elements.into_iter().map(|(name, count, bytes)| (name, count * bytes)).collect())
}

/// The elements in another order.
fn packed_order(bytes: &[u8], _: &mut Random) -> Option<Changed> {
    let (header, data) = parts(bytes)?;
    let (before, declared) = header.split_at(header.find("element ")?);
    let mut blocks: Vec<String> = declared
        .strip_suffix("end_header\n")?
        .split("element ")
        .skip(1)
        .map(|block| format!("element {block}"))
        .collect();
    let mut pieces = Vec::new();
    let mut start = 0;
    for (_, bytes) in elements(&header)? {
        pieces.push(data.get(start..start + bytes)?);
        start += bytes;
    }
    blocks.rotate_left(1);
    pieces.rotate_left(1);
    let header = format!("{before}{}end_header\n", blocks.concat());
    Changed::silent([header.as_bytes(), &pieces.concat()].concat())
}

/// One chunk more than the splats need.
fn packed_count(bytes: &[u8], random: &mut Random) -> Option<Changed> {
    let (header, data) = parts(bytes)?;
    let (name, chunk_bytes) = elements(&header)?.into_iter().next()?;
    (name == "chunk").then_some(())?;
    let count: usize = header.split("element chunk ").nth(1)?.split('\n').next()?.parse().ok()?;
    let more = 1 + random.below(3);
    let changed = header.replace(&format!("element chunk {count}\n"), &format!("element chunk {}\n", count + more));
    let row = data.get(..chunk_bytes / count.max(1))?;
    Changed::refused([changed.as_bytes(), &row.repeat(more), data].concat(), "chunk")
}

#[test]
fn packed_ply() {
    let changes: [(&str, Change); 2] = [("elements in another order", packed_order), ("another count", packed_count)];
    hold("packed_ply", "ply", &changes);
}

/// A value that is not finite, in any column of any format that has splats as floats: writers refuse it.
#[test]
fn values_that_are_not_finite_are_refused() {
    let to_ply = WriteOptions::default().with_format(Some(Format::Ply));
    let splats = memory(data_bytes("splat/good/rows.splat"), "x.splat");
    let (sample, _) = try_converted(splats, &ReadOptions::default(), &to_ply).unwrap();
    let (header, data) = parts(&sample).unwrap();
    let names: Vec<&str> = header.lines().filter_map(|line| line.strip_prefix("property float ")).collect();
    for (column, name) in names.iter().enumerate() {
        let is_unlimited = *name == "opacity" || name.starts_with("scale_") || name.starts_with('n');
        for value in [f32::NAN, f32::INFINITY] {
            let mut changed = data.to_vec();
            changed[4 * column..][..4].copy_from_slice(&value.to_le_bytes());
            let file = [header.as_bytes(), &changed].concat();
            for format in [Format::Spz, Format::CompressedPly, Format::Glb] {
                let write = WriteOptions::default().with_format(Some(format));
                let result = try_converted(memory(&file, "x.ply"), &ReadOptions::default(), &write);
                let is_right = result.is_err() || is_unlimited;
                assert!(is_right, "{value} as {name} became {}", format.name());
            }
        }
    }
}
