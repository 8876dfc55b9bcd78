//! Gaussian splats: SPZ, .splat, compressed PLY and SOG.

use super::made::{scene_file, splats, with_word};
use super::{has_all_rows, is_never_read};
use crate::content::Reading;
use crate::samples::{FilePart, NO_SAMPLES, Samples, bad, file_part, good, limited, shape};
use image_webp::{ColorType, WebPEncoder};
use polyhaul::options::{Codec, SplatWriteOptions};
use polyhaul::{Format, WriteOptions};
use polyhaul_testkit::output::bytes;
use polyhaul_testkit::packed::pack;
use polyhaul_testkit::zip::{Method, simple};

const SCENE: Samples = Samples { readings: &[Reading::Scene], ..NO_SAMPLES };

pub const SPZ: Samples = Samples {
    format: Format::Spz,
    file_name: "x.spz",
    folders: &[("spz/good", "spz"), ("spz/bad", "spz"), ("spz/regression", "spz")],
    made: || {
        let versions = [2, 3, 4].map(|version| good(format!("version {version}"), spz(version, 6, 1)));
        let plain = |number: usize, row: u32| with_word(spz_header(3, number as u32, 0), 8, row);
        versions
            .into_iter()
            .chain([
                // Without compression: otherwise the checksum of gzip would detect damage before the reader does.
                good("without compression", [plain(2, 2), vec![9; 2 * 20]].concat()),
                bad("without compression and a byte", [plain(2, 2), vec![9; 2 * 20 - 1]].concat()),
            ])
            .collect()
    },
    prefix: is_never_read,
    limits: || [2, 3, 4].map(|version| limited("elements", 6, spz(version, 6, 1))).into(),
    claims: || {
        let header = |count: u32, degree: u8| spz_header(3, count, degree);
        vec![
            bad("4e9 splats without compression", header(4_000_000_000, 3)),
            bad("10 million splats without compression", header(10_000_000, 3)),
            bad("4e9 splats", pack(Codec::Gzip, &header(4_000_000_000, 3), usize::MAX)),
            bad("10 million splats", pack(Codec::Gzip, &header(10_000_000, 3), usize::MAX)),
            bad("10 million splats of version 4", with_word(spz(4, 6, 1), 8, 10_000_000)),
        ]
    },
    shapes: || {
        let version = |version: u8, degree: usize| {
            shape(format!("version {version}, degree {degree}"), move |size| spz(version, size / 20, degree))
        };
        vec![version(2, 0), version(3, 1), version(4, 0), version(4, 3)]
    },
    ..SCENE
};

/// Writes splats in a version of SPZ.
fn spz(version: u8, count: usize, degree: usize) -> Vec<u8> {
    let style = SplatWriteOptions::default().with_spz_version(version);
    bytes(&splats(count, degree), &WriteOptions::default().with_format(Some(Format::Spz)).with_splats(style))
}

/// The header of SPZ, without the compression around it.
fn spz_header(version: u32, count: u32, degree: u8) -> Vec<u8> {
    [b"NGSP", &version.to_le_bytes()[..], &count.to_le_bytes(), &[degree, 12, 0, 0]].concat()
}

pub const SPLAT: Samples = Samples {
    format: Format::Splat,
    file_name: "x.splat",
    changed_bytes: 1000,
    folders: &[("splat/good", "splat"), ("splat/bad", "splat"), ("splat/regression", "splat")],
    made: || {
        vec![good("six splats", scene_file(Format::Splat, &splats(6, 0))), bad("noise", (0..200).collect::<Vec<u8>>())]
    },
    prefix: |prefix| {
        let counts = prefix.content.counts();
        let is_whole =
            prefix.bytes.len().is_multiple_of(ROW_BYTES) && counts[0] == (prefix.bytes.len() / ROW_BYTES) as u64;
        (!is_whole).then(|| format!("{counts:?} splats"))
    },
    limits: || vec![limited("elements", 6, scene_file(Format::Splat, &splats(6, 0)))],
    // Such a file has no counts, only rows.
    claims: || vec![good("a megabyte", vec![7; 1 << 20])],
    shapes: || vec![shape("rows", |size| scene_file(Format::Splat, &splats(size / ROW_BYTES, 0)))],
    ..SCENE
};

/// Size of a splat in `.splat` files.
const ROW_BYTES: usize = 32;

pub const COMPRESSED_PLY: Samples = Samples {
    format: Format::CompressedPly,
    file_name: "x.compressed.ply",
    folders: &[("packed_ply/good", "ply"), ("packed_ply/bad", "ply"), ("packed_ply/regression", "ply")],
    made: || {
        let file = scene_file(Format::CompressedPly, &splats(6, 1));
        let text = String::from_utf8_lossy(&file);
        let fewer_chunks =
            text.contains("element chunk 1\n").then(|| replaced(&file, "element chunk 1\n", "element chunk 0\n"));
        vec![good("six splats", file.clone()), bad("no chunk", fewer_chunks.unwrap())]
    },
    prefix: has_all_rows,
    limits: || vec![limited("elements", 6, scene_file(Format::CompressedPly, &splats(6, 0)))],
    claims: || {
        let file = scene_file(Format::CompressedPly, &splats(6, 1));
        vec![
            bad("4e9 splats", replaced(&file, "element vertex 6\n", "element vertex 4000000000\n")),
            bad("4e9 chunks", replaced(&file, "element chunk 1\n", "element chunk 4000000000\n")),
        ]
    },
    shapes: || {
        [0, 3]
            .map(|degree| {
                shape(format!("degree {degree}"), move |size| {
                    scene_file(Format::CompressedPly, &splats(size / 16, degree))
                })
            })
            .into()
    },
    ..SCENE
};

/// Replaces a header line of a file.
fn replaced(file: &[u8], line: &str, new: &str) -> Vec<u8> {
    let start = file.windows(line.len()).position(|bytes| bytes == line.as_bytes()).unwrap();
    [&file[..start], new.as_bytes(), &file[start + line.len()..]].concat()
}

/// An archive: its checksums reveal most damage.
pub const SOG: Samples = Samples {
    format: Format::Sog,
    file_name: "x.sog",
    folders: &[("sog/good", "sog"), ("sog/bad", "sog"), ("sog/peer", "sog")],
    changed_bytes: 300,
    prefix: is_never_read,
    limits: || {
        let [archive] = [sog_archive(12)];
        vec![
            limited("elements", 12, archive.clone()),
            limited("pixels", 16, archive.clone()),
            limited("header_bytes", sog_json(12).len() as u64, archive),
        ]
    },
    claims: || {
        let images = sog_images(12);
        let claim = |json: String| {
            let mut members = vec![("meta.json", json.as_bytes())];
            members.extend(images.iter().map(|(name, image)| (*name, image.as_slice())));
            simple(&members, Method::Stored)
        };
        vec![
            bad("4e9 splats", claim(sog_json(12).replace("\"count\":12", "\"count\":4000000000"))),
            bad("2^64 splats", claim(sog_json(12).replace("\"count\":12", "\"count\":18446744073709551616"))),
            bad("13 splats", claim(sog_json(12).replace("\"count\":12", "\"count\":17"))),
        ]
    },
    shapes: || vec![shape("an archive", |size| sog_archive(size / 20))],
    ..SCENE
};

/// The JSON, followed by the images, each of which starts with `RIFF`: their reader finds damage.
pub const SOG_FILES: Samples = Samples {
    part: "files",
    file_name: "meta.json",
    folders: &[("sog/joined", "joined")],
    changed_bytes: 700,
    made: || {
        let images = sog_images(12);
        let joined: Vec<u8> = images.iter().flat_map(|(_, image)| image.clone()).collect();
        vec![good("twelve splats", [sog_json(12).into_bytes(), joined].concat())]
    },
    split: Some(sog_parts),
    // A padding byte may be missing.
    prefix: has_all_rows,
    limits: Vec::new,
    claims: Vec::new,
    ..SOG
};

/// Names of the images, in their order after the JSON.
const SOG_IMAGES: [&str; 7] =
    ["means_l.webp", "means_u.webp", "scales.webp", "quats.webp", "sh0.webp", "shN_centroids.webp", "shN_labels.webp"];

fn sog_parts(bytes: &[u8]) -> Vec<FilePart> {
    let starts = bytes.windows(4).enumerate().filter(|(_, word)| word == b"RIFF").map(|(start, _)| start);
    let starts: Vec<usize> = starts.chain([bytes.len()]).collect();
    let images = starts.windows(2).zip(SOG_IMAGES).map(|(ends, name)| file_part(name, &bytes[ends[0]..ends[1]]));
    std::iter::once(file_part("meta.json", &bytes[..starts[0]])).chain(images).collect()
}

/// JSON of the second version.
fn sog_json(count: usize) -> String {
    let codebook: Vec<String> = (0..256).map(|number| (number % 10).to_string()).collect();
    let codebook = codebook.join(",");
    format!(
        "{{\"version\":2,\"count\":{count},\"means\":{{\"mins\":[-1,-2,0],\"maxs\":[1,2,3],\
         \"files\":[\"means_l.webp\",\"means_u.webp\"]}},\"scales\":{{\"codebook\":[{codebook}],\
         \"files\":[\"scales.webp\"]}},\"quats\":{{\"files\":[\"quats.webp\"]}},\"sh0\":{{\"codebook\":[{codebook}],\
         \"files\":[\"sh0.webp\"]}}}}"
    )
}

/// Square images for a number of splats.
fn sog_images(count: usize) -> Vec<(&'static str, Vec<u8>)> {
    let side = (count as f64).sqrt().ceil() as usize;
    let image = |name: &'static str| {
        let pixel = |index: usize| {
            // The last byte of a rotation selects the omitted component.
            let alpha = if name == "quats.webp" { 252 + (index % 4) as u8 } else { 255 };
            [(index * 7 % 251) as u8, (index * 11 % 253) as u8, (index * 13 % 241) as u8, alpha]
        };
        let pixels: Vec<u8> = (0..side * side).flat_map(pixel).collect();
        let mut file = Vec::new();
        WebPEncoder::new(&mut file).encode(&pixels, side as u32, side as u32, ColorType::Rgba8).unwrap();
        (name, file)
    };
    SOG_IMAGES[..5].iter().map(|name| image(name)).collect()
}

fn sog_archive(count: usize) -> Vec<u8> {
    let json = sog_json(count);
    let images = sog_images(count);
    let mut members = vec![("meta.json", json.as_bytes())];
    members.extend(images.iter().map(|(name, image)| (*name, image.as_slice())));
    simple(&members, Method::Stored)
}
