//! Properties of image files in all formats: limits, failing hosts, and files that change while they are read.

use super::*;
use polyhaul::ErrorKind;
use polyhaul::WriteOptions;
use polyhaul::options::{Compression, Limits, Progress};
use polyhaul_testkit::corpus::Folder;
use polyhaul_testkit::hostile::{Fault, Hostile, Sizes};
use polyhaul_testkit::images::{NO_MAP, Picture, claims, hdr, tga};
use polyhaul_testkit::packed::CODECS;
use std::fs::{self, File};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, SystemTime};

fn one_thread() -> ReadOptions {
    read_options(1, None)
}

fn reader(bytes: &[u8], name: &str, sizes: Sizes, fault: Fault) -> Input {
    Input::Reader(Box::new(Hostile::new(bytes, sizes).with(fault)), name.into())
}

/// Result of a read, bit by bit.
fn outcome(result: Result<polyhaul::Loaded<Image>>) -> std::result::Result<(Image, Vec<u32>), String> {
    let mut image = result.map_err(|error| format!("{:?} {:?}", error.kind(), error.diagnostic()))?.value;
    assert_eq!(image.sample_count(), Some(image.samples.len()));
    // NaN does not equal itself.
    let bits = match &image.samples {
        Samples::F32(samples) => samples.iter().map(|sample| sample.to_bits()).collect(),
        _ => return Ok((image, Vec::new())),
    };
    image.samples = Samples::default();
    Ok((image, bits))
}

fn from_memory(picture: &Picture, options: &ReadOptions) -> Result<polyhaul::Loaded<Image>> {
    polyhaul::Reader::new(Input::Memory(picture.bytes.clone(), picture.file_name())).options(options).image()
}

/// Files that other programs reject, but with all their pixels: profiles and texts that would expand greatly, data
/// after the last row, and a large image.
const READ: &[&str] = &["bomb_10000", "iccp_bomb_128m", "idat_long", "ztxt_bomb_512m"];

#[test]
fn bad_files_are_errors_with_places() {
    for (format, folder) in [
        ("tga", "bad/generated"),
        ("tga", "bad/image-rs"),
        ("hdr", "bad/generated"),
        ("png", "bad/generated"),
        ("png", "bad/pngsuite-corrupt"),
        ("bmp", "bad/image-rs"),
        ("dds", "bad/generated"),
        ("dds", "bad/openimageio-images"),
    ] {
        for (name, bytes) in files(format, folder).into_iter().filter(|(name, _)| !READ.contains(&name.as_str())) {
            let error = error(&format!("x.{format}"), &bytes);
            let is_unsupported = error.kind() == ErrorKind::Unsupported && format != "png";
            let is_data = is_unsupported || matches!(error.kind(), ErrorKind::Malformed | ErrorKind::Limit);
            assert!(is_data, "{format} {name}: {error}");
            let has_place = error.place().offset.is_some_and(|offset| offset <= bytes.len() as u64);
            assert!(has_place || format == "tga", "{format} {name}: {error}");
        }
    }
}

/// The header lines of an HDR file have a limit of 64 KiB, however they are divided.
#[test]
fn the_lines_before_the_pixels_have_an_end() {
    for line in [2, 100, 70_000] {
        let size = |comment: usize| {
            // An empty line would be the last one.
            let is_end = |at| at % line == line - 1 && at + 1 < comment;
            let text: String = (0..comment).map(|at| if is_end(at) { '\n' } else { 'c' }).collect();
            hdr(&text, "-Y 1 +X 1", &[9; 4])
        };
        let max_comment = 65_536 - (size(0).len() - 4);
        for (comment, is_read) in
            [(max_comment - 1, true), (max_comment, true), (max_comment + 1, false), (2 * max_comment, false)]
        {
            let bytes = size(comment);
            for read in [load, load_stream].map(|load| load("x.hdr", bytes.clone(), &one_thread())) {
                assert_eq!(read.is_ok(), is_read, "lines of {line}, {comment}: {:?}", read.err());
            }
        }
    }
}

/// For any pixel limit, missing pixels are an error, and no size wraps.
#[test]
fn claims_are_refused_whatever_the_limit() {
    for claim in claims() {
        for pixels in [Limits::default().pixels, u64::MAX] {
            let options = one_thread().with_limits(Limits::default().with_pixels(pixels));
            let expected = outcome(from_memory(&claim, &options)).unwrap_err();
            assert!(
                expected.starts_with("Malformed") || pixels != u64::MAX && expected.starts_with("Limit"),
                "{expected}"
            );
            let name = claim.file_name();
            let streamed = polyhaul::Reader::new(reader(&claim.bytes, &name, Sizes::One, Fault::Nothing))
                .options(&options)
                .image();
            assert_eq!(outcome(streamed), Err(expected), "{}", claim.name);
        }
    }
}

/// Files that take many reads.
fn long_files() -> [(&'static str, Vec<u8>); 3] {
    [
        ("rows.tga", tga(2, NO_MAP, [1000, 1500], [24, 0], &vec![5; 4_500_000])),
        ("packets.tga", tga(10, NO_MAP, [1000, 1500], [24, 0], &[0, 1, 2, 3].repeat(1_500_000))),
        ("light.hdr", hdr("c", "-Y 1500 +X 1000", &[1, 2, 3, 129].repeat(1_500_000))),
    ]
}

/// Changes a file at the first progress report.
fn changed_while_read(path: &Path, options: ReadOptions, change: fn(&File)) -> Result<Image> {
    // The clock of file systems is coarse.
    File::options().write(true).open(path).unwrap().set_modified(SystemTime::now() - Duration::from_secs(99)).unwrap();
    let is_changed = AtomicBool::new(false);
    let target = path.to_path_buf();
    let progress = Progress(Arc::new(move |_, _| {
        if !is_changed.swap(true, Relaxed) {
            change(&File::options().write(true).open(&target).unwrap());
        }
    }));
    let run = options.run.clone().with_progress(Some(progress));
    let options = options.with_run(run);
    polyhaul::Reader::new(path).options(&options).image().map(|loaded| loaded.value)
}

#[test]
fn a_file_that_changes_while_it_is_read_is_an_error() {
    let changes: [fn(&File); 4] = [
        |file| file.set_len(2_000_000).unwrap(),
        |file| file.set_len(0).unwrap(),
        |file| file.set_len(9_000_000).unwrap(),
        // Other bytes of the same length.
        |file| std::io::copy(&mut &b"other"[..], &mut &*file).map(drop).unwrap(),
    ];
    let folder = Folder::new("images-change").unwrap();
    for (name, bytes) in long_files() {
        for options in [read_options(1, Some(64 << 10)), read_options(2, None)] {
            for (number, change) in changes.into_iter().enumerate() {
                let path = folder.file(name, &bytes).unwrap();
                let error = changed_while_read(&path, options.clone(), change).unwrap_err();
                let kinds = [ErrorKind::Io, ErrorKind::Malformed];
                assert!(kinds.contains(&error.kind()), "{name} change {number}: {error}");
            }
            let path = folder.file(name, &bytes).unwrap();
            changed_while_read(&path, options, |_| ()).unwrap();
        }
    }
}

/// Anything other than a file is an immediate error.
#[test]
#[cfg(unix)]
fn devices_do_not_hang() {
    for path in ["/dev/null", "/dev/zero", "/"] {
        for format in [Format::Tga, Format::Hdr] {
            let options = one_thread().with_format(Some(format));
            assert!(polyhaul::Reader::new(path).options(&options).image().is_err(), "{path} {}", format.name());
        }
    }
}

/// Images to write, some of them long, with their file names and options.
fn written_images() -> Vec<(&'static str, Image, ImageWriteOptions)> {
    let [rows, _, light] = long_files().map(|(name, bytes)| load(name, bytes, &one_thread()).unwrap());
    let packets = ImageWriteOptions::default().with_rle(true);
    // Pixels without runs, so that there is much to write.
    let mut noise = rows.clone();
    if let Samples::U8(samples) = &mut noise.samples {
        samples.to_mut().unwrap().iter_mut().zip(0u32..).for_each(|(s, at)| *s = (at.wrapping_mul(at) >> 5) as u8);
    }
    // Encoding is slow, so a part is sufficient.
    let corner = match &noise.samples {
        Samples::U8(samples) => Samples::U8(samples[..3 * 400 * 300].to_vec().into()),
        _ => Samples::default(),
    };
    let corner = Image { width: 400, height: 300, samples: corner, ..Image::default() };
    vec![
        ("x.tga", rows, ImageWriteOptions::default()),
        ("x.jpg", corner, ImageWriteOptions::default()),
        ("x.tga", noise, packets),
        ("x.hdr", light, ImageWriteOptions::default()),
    ]
}

fn write_options(name: &str, image: ImageWriteOptions, run: RunOptions) -> WriteOptions {
    WriteOptions::default().with_format(Format::of_path(Path::new(name))).with_image(image).with_run(run)
}

#[test]
fn what_is_not_written_leaves_the_old_file() {
    for (name, image, style) in written_images() {
        for (threads, after) in [(1, 0), (2, 0), (1, 1 << 20), (7, 1 << 20)] {
            for compression in [Compression::None, CODECS[0].0.into()] {
                let folder = Folder::new("images-old").unwrap();
                let path = folder.file(name, "old").unwrap();
                let run = RunOptions::default().with_threads(Some(threads)).with_chunk_bytes(Some(10_000));
                let cancel = run.cancel.clone();
                let progress = Progress(Arc::new(move |bytes, _| {
                    if bytes >= after {
                        cancel.cancel()
                    }
                }));
                let run = run.with_progress(Some(progress));
                let options = write_options(name, style, run).with_compression(compression);
                // If the output is smaller than the awaited size, it is written.
                let result = polyhaul::Writer::new(path).options(&options).image(&image);
                assert_eq!(folder.names(), [name]);
                match result {
                    Ok(report) => assert!(report.bytes_out < after, "{name} after {after}"),
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::Cancelled, "{name}: {error}");
                        assert_eq!(folder.text(name), "old");
                    }
                }
            }
        }
    }
}

/// A folder with the name of the file, a missing folder, and a full device.
#[test]
#[cfg(target_os = "linux")]
fn places_that_cannot_be_written_are_errors() {
    let folder = Folder::new("images-places").unwrap();
    for (name, image, style) in written_images() {
        fs::create_dir_all(folder.join(name)).unwrap();
        for path in [folder.join(name), folder.join("none").join(name), "/dev/full".into()] {
            let options = write_options(name, style, RunOptions::default());
            let error = polyhaul::Writer::new(&path).options(&options).image(&image).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Io, "{}", path.display());
            assert!(error.to_string().contains(&*path.to_string_lossy()), "{error}");
        }
        assert_eq!(fs::read_dir(folder.join(name)).unwrap().count(), 0);
    }
    assert_eq!(folder.names(), ["x.hdr", "x.jpg", "x.tga"]);
}
