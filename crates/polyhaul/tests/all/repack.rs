//! Recompression preserves the bytes, and samples predict the sizes.

use polyhaul::options::{Codec, Compression, Progress, RunOptions};
use polyhaul::repack::{repack, sampled};
use polyhaul::{ErrorKind, Input, Output, ReadOptions, WriteOptions};
use polyhaul_testkit::corpus::Folder;
use polyhaul_testkit::output::Shared;
use std::io::Write;
use std::sync::Arc;

fn repacked(bytes: &[u8], compression: Compression) -> Vec<u8> {
    let shared = Shared::default();
    let output = Output::Writer(Box::new(shared.clone()), "kept".into());
    let write = WriteOptions::default().with_compression(compression);
    let input = Input::Memory(bytes.to_vec(), "bytes".into());
    let report = repack(input, output, &ReadOptions::default(), &write).unwrap();
    let shared = shared.take();
    assert_eq!((report.bytes_in, report.bytes_out), (bytes.len() as u64, shared.len() as u64));
    shared
}

fn text(lines: usize) -> Vec<u8> {
    (0..lines).flat_map(|line| format!("v {line} {} 0.25\n", line * 7919 % 104_729).into_bytes()).collect()
}

#[test]
fn bytes_come_back_from_every_codec() {
    // More than a batch, and not a multiple of the member size.
    for plain in [Vec::new(), text(10), text(1_200_000)] {
        for codec in [Codec::Gzip, Codec::Zstd, Codec::Lz4] {
            let packed = repacked(&plain, codec.into());
            assert_eq!(Codec::of_content(&packed), Some(codec));
            assert!(repacked(&packed, Compression::None) == plain);
        }
    }
}

#[test]
fn samples_tell_sizes() {
    let plain = text(400_000);
    let codecs = [Codec::Gzip, Codec::Zstd, Codec::Lz4].map(|codec| (codec, None));
    let of = |bytes: &[u8], sample| {
        sampled(Input::Memory(bytes.to_vec(), "bytes".into()), &codecs, sample, &ReadOptions::default()).unwrap()
    };
    let whole = of(&plain, u64::MAX);
    assert_eq!((whole.codec, whole.bytes, whole.plain_bytes), (None, plain.len() as u64, plain.len() as u64));
    for ((codec, _), bytes) in codecs.into_iter().zip(&whole.packed_bytes) {
        assert_eq!(repacked(&plain, codec.into()).len() as u64, *bytes);
    }
    // A sample gives a good estimate, and so does the start of a stream.
    let part = of(&plain, 3 << 20);
    let close = |a: u64, b: u64| a.abs_diff(b) * 20 < b;
    assert!(part.packed_bytes.iter().zip(&whole.packed_bytes).all(|(&a, &b)| close(a, b)), "{part:?} {whole:?}");
    let packed = repacked(&plain, Codec::Gzip.into());
    let members = of(&packed, 3 << 20);
    assert_eq!((members.codec, members.is_stream, members.plain_bytes), (Some(Codec::Gzip), false, whole.bytes));
    let small = of(&repacked(&text(50), Codec::Zstd.into()), 1);
    assert_eq!((small.codec, small.plain_bytes), (Some(Codec::Zstd), text(50).len() as u64));
    assert_eq!(of(b"", 1).packed_bytes, [0; 3]);
}

#[test]
fn the_end_of_a_gzip_file_of_one_member_tells_its_size() {
    let gzip = |bytes: &[u8]| {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(bytes).unwrap();
        packed.finish().unwrap()
    };
    let plain_bytes = |packed: Vec<u8>| {
        let input = Input::Memory(packed, "bytes".into());
        let sizes = sampled(input, &[], 1, &ReadOptions::default()).unwrap();
        assert_eq!((sizes.codec, sizes.is_stream), (Some(Codec::Gzip), true));
        sizes.plain_bytes
    };
    // The sampled part compresses less well than the rest.
    let plain = [text(200_000), b"v 0.25 0.125 1\n".repeat(40_000)].concat();
    assert_eq!(plain_bytes(gzip(&plain)), plain.len() as u64);
    // The end of a file with several members only covers the last one; the end of a file with trailing bytes covers
    // none.
    let several = plain_bytes([gzip(&plain), gzip(&plain[..100_000])].concat());
    assert!(several > 1_000_000, "{several}");
    assert!(plain_bytes([gzip(&plain), vec![0; 64]].concat()) > 1_000_000);
}

#[test]
fn a_file_that_changes_meanwhile_replaces_nothing() {
    let folder = Folder::new("repack-changes").unwrap();
    let path = folder.file("bytes", "0123456789\n".repeat(2_000_000)).unwrap();
    let packed = folder.join("packed");
    std::fs::write(&packed, "before").unwrap();
    let changing = path.clone();
    let touch = |file: std::fs::File| file.set_modified(std::time::SystemTime::UNIX_EPOCH);
    let change = move |_, _| std::fs::File::options().write(true).open(&changing).and_then(touch).unwrap();
    let run = RunOptions::default().with_progress(Some(Progress(Arc::new(change)))).with_threads(Some(1));
    let write = WriteOptions::default().with_run(run);
    let error = repack(Input::Path(path), Output::Path(packed.clone()), &ReadOptions::default(), &write).unwrap_err();
    assert!(error.kind() == ErrorKind::Io && error.to_string().contains("changed"), "{error}");
    assert_eq!(
        (&*std::fs::read_to_string(&packed).unwrap(), folder.names()),
        ("before", vec!["bytes".into(), "packed".into()])
    );
}
