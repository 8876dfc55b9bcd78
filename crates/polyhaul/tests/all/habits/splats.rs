//! Deviations in splat files.

use super::{Change, Changed, hold};
use crate::support::{data_bytes, memory, try_converted};
use polyhaul::options::SpzAxes;
use polyhaul::{Format, ReadOptions, WriteOptions};
use polyhaul_testkit::random::Random;

/// Header text and data of a binary PLY file.
fn parts(bytes: &[u8]) -> Option<(String, &[u8])> {
    let marker = b"end_header\n";
    let end = bytes.windows(marker.len()).position(|window| window == marker)? + marker.len();
    Some((std::str::from_utf8(&bytes[..end]).ok()?.to_string(), &bytes[end..]))
}

/// Name and row size of each element of a compressed PLY.
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

/// More chunks than the splats need.
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

/// A non-finite value in any column of any format with floating-point splats: writers reject it.
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

/// A PLY file of splats as rows of floats.
fn rows() -> Vec<u8> {
    let to_ply = WriteOptions::default().with_format(Some(Format::Ply));
    let splats = memory(data_bytes("spz/good/v3_degree3.spz"), "x.spz");
    try_converted(splats, &ReadOptions::default(), &to_ply).unwrap().0
}

/// Removes a float column from a file.
fn without(file: &[u8], name: &str) -> Vec<u8> {
    let (header, data) = parts(file).unwrap();
    let names: Vec<&str> = header.lines().filter_map(|line| line.strip_prefix("property float ")).collect();
    let at = 4 * names.iter().position(|other| *other == name).unwrap();
    let rows = data.chunks_exact(4 * names.len()).map(|row| [&row[..at], &row[at + 4..]].concat());
    let header = header.replace(&format!("property float {name}\n"), "");
    [header.into_bytes(), rows.collect::<Vec<_>>().concat()].concat()
}

/// Splat formats.
const TARGETS: [Format; 4] = [Format::Spz, Format::Splat, Format::CompressedPly, Format::Glb];

fn converted(file: &[u8], name: &str, format: Format) -> polyhaul::Result<Vec<u8>> {
    let write = WriteOptions::default().with_format(Some(format));
    try_converted(memory(file, name), &ReadOptions::default(), &write).map(|(bytes, _)| bytes)
}

/// With any harmonics column missing, the remaining ones have no valid degree.
#[test]
fn incomplete_harmonics_are_refused() {
    let file = rows();
    for number in [0, 8, 20, 43, 44] {
        let changed = without(&file, &format!("f_rest_{number}"));
        for format in TARGETS {
            assert!(converted(&changed, "x.ply", format).is_err(), "without f_rest_{number} to {}", format.name());
        }
    }
}

/// Doubles equal the original floats, and splats without a thickness are flat.
#[test]
fn doubles_and_flat_splats_are_splats() {
    let file = rows();
    let (header, data) = parts(&file).unwrap();
    let names: Vec<&str> = header.lines().filter_map(|line| line.strip_prefix("property float ")).collect();
    let floats = data.chunks_exact(4).map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
    let doubles: Vec<u8> = floats.flat_map(|value| f64::from(value).to_le_bytes()).collect();
    let doubles = [header.replace("property float", "property double").into_bytes(), doubles].concat();
    let thickness = 4 * names.iter().position(|name| *name == "scale_2").unwrap();
    let mut thin = data.to_vec();
    for row in thin.chunks_exact_mut(4 * names.len()) {
        row[thickness..thickness + 4].copy_from_slice(&1e-6_f32.ln().to_le_bytes());
    }
    let thin = [header.as_bytes(), &thin].concat();
    for format in TARGETS {
        let expected = converted(&file, "x.ply", format).unwrap();
        assert!(converted(&doubles, "x.ply", format).unwrap() == expected, "doubles to {}", format.name());
        let expected = converted(&thin, "x.ply", format).unwrap();
        let flat = converted(&without(&file, "scale_2"), "x.ply", format).unwrap();
        assert!(flat == expected, "flat splats to {}", format.name());
    }
}

/// The flag for antialiased rendering survives every format that has it, in every spelling.
#[test]
fn antialiasing_is_kept() {
    let file = rows();
    for remark in ["SplatRenderMode: mip", "antialiased 1", "splatrendermode mip"] {
        let mark = format!("format binary_little_endian 1.0\ncomment {remark}\n");
        let (header, data) = parts(&file).unwrap();
        let marked = [header.replace("format binary_little_endian 1.0\n", &mark).as_bytes(), data].concat();
        for format in [Format::Spz, Format::CompressedPly] {
            let name = format!("x.{}", format.name());
            let there = converted(&marked, "x.ply", format).unwrap();
            if format == Format::CompressedPly {
                let (header, _) = parts(&there).unwrap();
                assert!(header.contains("\ncomment SplatRenderMode: mip\n"), "{remark}: {header}");
            }
            let back = converted(&there, &name, Format::Spz).unwrap();
            let back = converted(&back, "x.spz", Format::CompressedPly).unwrap();
            let (header, _) = parts(&back).unwrap();
            let is_kept = header.contains("\ncomment SplatRenderMode: mip\n");
            assert!(is_kept, "{remark} through {}: {header}", format.name());
        }
    }
    // Other programs write SOG.
    let packed = converted(&data_bytes("sog/good/v2.sog"), "x.sog", Format::CompressedPly).unwrap();
    let (header, _) = parts(&packed).unwrap();
    assert!(header.contains("\ncomment SplatRenderMode: mip\n"), "{header}");
}

/// Axes declared by a file or set by the caller equal those used for writing.
#[test]
fn axes_come_back() {
    let file = rows();
    let usual = converted(&file, "x.ply", Format::Spz).unwrap();
    for version in [3, 4] {
        let mut write = WriteOptions::default().with_format(Some(Format::Spz));
        write.splats.spz_version = version;
        write.splats.spz_axes = SpzAxes::Rdf;
        let (other, _) = try_converted(memory(&file, "x.ply"), &ReadOptions::default(), &write).unwrap();
        let mut read = ReadOptions::default();
        // Version 4 declares them.
        if version == 3 {
            read.splats.spz_axes = SpzAxes::Rdf;
        }
        let [mut other, mut usual] = [(&other, &read), (&usual, &ReadOptions::default())]
            .map(|(bytes, read)| polyhaul::Reader::new(memory(bytes, "x.spz")).options(read).scene().unwrap().value);
        let [other, usual] = [&mut other, &mut usual].map(|scene| std::mem::take(&mut scene.meshes[0].positions));
        let is_near = |(a, b): (&[f32; 3], &[f32; 3])| (0..3).all(|axis| (a[axis] - b[axis]).abs() < 1e-3);
        assert!(other.iter().zip(usual.iter()).all(is_near), "version {version}");
    }
}
