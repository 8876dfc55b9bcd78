//! Damage anywhere in a compressed file: messages and content are the same for files and pipes.

use crate::support::{read_options, try_written_image};
use polyhaul::model::{Channels, Image, Samples};
use polyhaul::options::Codec;
use polyhaul::{Format, Input, Reader, WriteOptions};
use polyhaul_bytes::{Encoder, SeekTable};
use polyhaul_testkit::packed::CODECS;
use polyhaul_testkit::random::Random;
use polyhaul_testkit::summary::{error, outcome, warnings};

/// A binary STL; data after its triangles causes a warning.
fn stl(count: u32) -> Vec<u8> {
    let mut bytes = vec![b' '; 80];
    bytes.extend(count.to_le_bytes());
    for i in 0..count * 12 {
        bytes.extend((i as f32 * 0.37).to_le_bytes());
        if i % 12 == 11 {
            bytes.extend([0, 0]);
        }
    }
    bytes
}

/// A binary PLY of points, followed by `rest`.
fn ply(count: u32, rest: &[u8]) -> Vec<u8> {
    let head = "ply\nformat binary_little_endian 1.0\nelement vertex ";
    let properties = "\nproperty float x\nproperty float y\nproperty float z\nend_header\n";
    let mut bytes = format!("{head}{count}{properties}").into_bytes();
    (0..count * 3).for_each(|i| bytes.extend((i as f32 * 0.11).to_le_bytes()));
    bytes.extend(rest);
    bytes
}

/// A numpy array.
fn npy(count: u32) -> Vec<u8> {
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({count}, 2), }}");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((118_u16).to_le_bytes());
    bytes.extend(format!("{header:<117}\n").bytes());
    (0..count * 2).for_each(|i| bytes.extend((i as f32 * 0.7).to_le_bytes()));
    bytes
}

/// Members of the given size; zstd members have a seek table.
fn packed(codec: Codec, plain: &[u8], member_bytes: usize) -> Vec<u8> {
    let mut packed = Vec::new();
    let mut table = SeekTable::default();
    let mut encoder = Encoder::new(codec, None).unwrap();
    for member in plain.chunks(member_bytes) {
        let start = packed.len();
        encoder.encode(member, &mut packed).unwrap();
        table.push(packed.len() - start, member.len()).unwrap();
    }
    if codec == Codec::Zstd {
        packed.extend(table.finish().unwrap());
    }
    packed
}

#[track_caller]
fn is_same(name: &str, bytes: &[u8], what: &str) -> String {
    let of = |input: Input, threads| {
        let options = read_options(threads, 50_000);
        if name.starts_with("image") {
            Reader::new(input).options(&options).image().map_or_else(
                |failed| error(&failed),
                |loaded| format!("{:?}", loaded.value) + &warnings(&loaded.report.warnings),
            )
        } else {
            outcome(&Reader::new(input).options(&options).scene())
        }
    };
    let stream = of(Input::Reader(Box::new(std::io::Cursor::new(bytes.to_vec())), name.into()), 1);
    for threads in [1, 3] {
        assert_eq!(of(Input::Memory(bytes.to_vec(), name.into()), threads), stream, "{name} {what} {threads}");
    }
    stream
}

/// An image followed by other data.
fn image(format: Format) -> Vec<u8> {
    let samples: Vec<u8> = (0..120 * 90 * 3).map(|i: usize| (i * i / 7 % 251) as u8).collect();
    let image = Image {
        width: 120,
        height: 90,
        channels: Channels::Rgb,
        samples: Samples::U8(samples.into()),
        ..Image::default()
    };
    let options = WriteOptions::default().with_format(Some(format));
    [try_written_image(&image, &options).unwrap().0, vec![9; 300]].concat()
}

#[test]
fn a_file_and_a_pipe_say_the_same() {
    let files = [
        ("a.stl", stl(12_001)),
        ("a.ply", ply(40_000, &[])),
        ("rest.ply", ply(40_000, &[7; 700])),
        ("a.npy", npy(50_000)),
        // The data after the triangles has members of its own.
        ("long.stl", [stl(4_001), vec![5; 1_600_000]].concat()),
        ("long.ply", ply(9_000, &vec![5; 1_600_000])),
        ("long.npy", [npy(9_000), vec![5; 1_600_000]].concat()),
        ("a.obj", b"v 0.25 1 2\nv 3 4 5\n".repeat(25_000)),
        ("image.tga", image(Format::Tga)),
        ("image.hdr", image(Format::Hdr)),
        ("image.png", image(Format::Png)),
    ];
    let mut random = Random::new(7);
    for (name, plain) in &files {
        for (codec, extension) in CODECS {
            for member_bytes in [plain.len(), plain.len() / 2 + 300, plain.len() / 5 + 100] {
                let name = format!("{name}.{extension}");
                let whole = packed(codec, plain, member_bytes);
                let sound = is_same(&name, &whole, "as it is");
                let ends = (whole.len() - 40..whole.len()).step_by(4);
                let places: Vec<usize> = ends.chain((0..6).map(|_| random.below(whole.len()))).collect();
                for at in places {
                    let mut damaged = whole.clone();
                    damaged[at] ^= 1 << random.below(8);
                    let said = is_same(&name, &damaged, &format!("{member_bytes} at {at} of {}", whole.len()));
                    assert!(codec == Codec::Lz4 || said.contains("error") || said == sound, "{name} {at}: {said}");
                    is_same(&name, &whole[..at], &format!("{member_bytes} cut at {at}"));
                }
            }
        }
    }
}
