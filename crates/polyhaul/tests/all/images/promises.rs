//! What holds for every file of an image, of whatever format: cut anywhere, limited, read in any way and from any host,
//! and changed while it is read. Files come from the test kit's list; what takes memory is held in `images_memory`.

use super::*;
use polyhaul::ErrorKind;
use polyhaul::WriteOptions;
use polyhaul::options::{Compression, Limits, Progress};
use polyhaul_testkit::corpus::Folder;
use polyhaul_testkit::hostile::{Fault, Faulty, Hostile, Sizes, WriteFault};
use polyhaul_testkit::images::{NO_MAP, Picture, claims, good, hdr, is_own, pictures, tga};
use polyhaul_testkit::mutate;
use polyhaul_testkit::packed::{CODECS, pack};
use polyhaul_testkit::random::Random;
use std::fs::{self, File};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, SystemTime};

const MIB: usize = 1 << 20;

/// So much of a file is cut at every byte.
const CUT_BYTES: usize = 64 << 10;

fn one_thread() -> ReadOptions {
    threads(1, None)
}

fn reader(bytes: &[u8], name: &str, sizes: Sizes, fault: Fault) -> Input {
    Input::Reader(Box::new(Hostile::new(bytes, sizes).with(fault)), name.into())
}

fn random() -> Sizes {
    Sizes::Random(Random::new(7))
}

/// Everything that a reading comes to, bit by bit.
fn outcome(result: Result<polyhaul::Loaded<Image>>) -> std::result::Result<(Image, Vec<u32>), String> {
    let mut image = result.map_err(|error| format!("{:?} {:?}", error.kind(), error.diagnostic()))?.value;
    assert_eq!(image.sample_count(), Some(image.samples.len()));
    // NaN is not equal to itself.
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

#[test]
fn every_format_has_files() {
    let found = pictures();
    for name in ["tga", "hdr"] {
        let count = |is_good| found.iter().filter(|p| p.format.name() == name && p.is_good == is_good).count();
        assert!(count(true) > 5 && count(false) > 10, "{name}");
    }
    assert!(found.iter().all(|picture| picture.format.is_image()));
}

/// What says whether colours are multiplied may be behind the pixels.
fn pixels(image: &Image) -> Image {
    Image { premultiplied: false, ..image.clone() }
}

#[test]
fn a_prefix_is_an_error_or_the_whole_image() {
    for picture in good().iter().filter(|picture| is_own(picture.format)) {
        let (name, bytes) = (picture.file_name(), &picture.bytes);
        let whole = pixels(&load(&name, bytes.clone(), &one_thread()).unwrap());
        let (mut least_read, mut most_refused) = (usize::MAX, 0);
        for cut in mutate::cuts(bytes.len(), CUT_BYTES, 300) {
            match load(&name, bytes[..cut].to_vec(), &one_thread()) {
                Ok(image) => {
                    assert!(pixels(&image) == whole, "{} cut at {cut}", picture.name);
                    least_read = least_read.min(cut);
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Malformed, "{} cut at {cut}: {error}", picture.name);
                    most_refused = most_refused.max(cut);
                }
            }
        }
        assert!(most_refused < least_read, "{}: more bytes are fewer pixels", picture.name);
    }
}

/// The same of streams, and compressed, where a cut shows nowhere but in the data.
#[test]
fn a_cut_stream_is_as_a_cut_file() {
    for picture in good().iter().filter(|picture| is_own(picture.format)) {
        let (name, bytes) = (picture.file_name(), &picture.bytes);
        for cut in mutate::cuts(bytes.len(), 300, 60) {
            let part = &bytes[..cut];
            let wanted = outcome(
                polyhaul::Reader::new(Input::Memory(part.to_vec(), name.clone())).options(&one_thread()).image(),
            );
            let streamed =
                polyhaul::Reader::new(reader(part, &name, random(), Fault::Nothing)).options(&one_thread()).image();
            assert_eq!(outcome(streamed), wanted, "{} cut at {cut}", picture.name);
        }
        for (codec, _) in CODECS {
            let packed = pack(codec, bytes, 5000);
            for cut in mutate::cuts(packed.len(), 200, 40) {
                let error = load(&name, packed[..cut].to_vec(), &one_thread()).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Malformed, "{} {codec} cut at {cut}: {error}", picture.name);
            }
        }
    }
}

/// Any threads, any chunks, any way that the bytes come, plain and compressed: one image, or one error.
#[test]
fn the_same_in_every_way() {
    let folder = Folder::new("images").unwrap();
    for picture in pictures() {
        let name = picture.file_name();
        let wanted = outcome(from_memory(&picture, &one_thread()));
        assert_eq!(wanted.is_ok(), picture.is_good || wanted.is_ok(), "{}: {wanted:?}", picture.name);
        let packed = pack(CODECS[0].0, &picture.bytes, 3000);
        for options in crews() {
            let streamed = reader(&picture.bytes, &name, random(), Fault::Interrupted);
            let inputs = [Input::Memory(picture.bytes.clone(), name.clone()), streamed];
            for input in inputs {
                let found = outcome(polyhaul::Reader::new(input).options(&options).image());
                assert!(found == wanted, "{} {:?}", picture.name, options.run);
            }
            if !picture.bytes.is_empty() {
                let found = outcome(
                    polyhaul::Reader::new(Input::Memory(packed.clone(), name.clone())).options(&options).image(),
                );
                assert!(found == wanted, "{} compressed, {:?}", picture.name, options.run);
            }
        }
        let path = folder.file(&name, &picture.bytes).unwrap();
        let found = outcome(polyhaul::Reader::new(&path).options(&one_thread()).image());
        let shown = |text: String| text.replace(&*path.to_string_lossy(), &name);
        assert!(found.map_err(shown) == wanted, "{} as a file", picture.name);
    }
}

#[test]
fn limits_hold_to_the_one() {
    for picture in good() {
        let name = picture.file_name();
        let image = load(&name, picture.bytes.clone(), &one_thread()).unwrap();
        // Each four channels count as a picture.
        let pictures = (image.channels.count() + image.extra.len()).div_ceil(4);
        let count = (image.width * image.height * pictures) as u64;
        let packed = pack(CODECS[1].0, &picture.bytes, usize::MAX);
        let pixels: fn(&mut Limits, u64) = |limits, most| limits.pixels = most;
        let plain: fn(&mut Limits, u64) = |limits, most| limits.decompressed_bytes = most;
        for (limit, set, most, bytes) in [
            ("pixels", pixels, count, &picture.bytes),
            ("decompressed_bytes", plain, picture.bytes.len() as u64, &packed),
        ] {
            let with = |most| {
                let mut limits = Limits::default();
                set(&mut limits, most);
                load(&name, bytes.clone(), &one_thread().with_limits(limits))
            };
            assert!(with(most).is_ok() && with(most + 1).is_ok(), "{} {limit}", picture.name);
            let error = with(most - 1).unwrap_err();
            let hint = error.diagnostic().hint.clone().unwrap_or_default();
            assert_eq!(error.kind(), ErrorKind::Limit, "{} {limit}: {error}", picture.name);
            assert!(error.to_string().contains(&(most - 1).to_string()), "{} {limit}: {error}", picture.name);
            let said = format!("{error} {hint}");
            assert!(said.contains(&format!("--limit {limit}=")), "{} {limit}: {said}", picture.name);
        }
    }
}

/// The lines of an HDR file have 64 KiB, however they are divided.
#[test]
fn the_lines_before_the_pixels_have_an_end() {
    for line in [2, 100, 70_000] {
        let size = |comment: usize| {
            // An empty line would be the last one.
            let is_end = |at| at % line == line - 1 && at + 1 < comment;
            let text: String = (0..comment).map(|at| if is_end(at) { '\n' } else { 'c' }).collect();
            hdr(&text, "-Y 1 +X 1", &[9; 4])
        };
        let most = 65_536 - (size(0).len() - 4);
        for (comment, is_read) in [(most - 1, true), (most, true), (most + 1, false), (2 * most, false)] {
            let bytes = size(comment);
            for found in [load, load_stream].map(|load| load("x.hdr", bytes.clone(), &one_thread())) {
                assert_eq!(found.is_ok(), is_read, "lines of {line}, {comment}: {:?}", found.err());
            }
        }
    }
}

/// However many pixels may be: what is not there is missed, and no size wraps.
#[test]
fn claims_are_refused_whatever_the_limit() {
    for claim in claims() {
        for pixels in [Limits::default().pixels, u64::MAX] {
            let options = one_thread().with_limits(Limits::default().with_pixels(pixels));
            let wanted = outcome(from_memory(&claim, &options)).unwrap_err();
            assert!(wanted.starts_with("Malformed") || pixels != u64::MAX && wanted.starts_with("Limit"), "{wanted}");
            let name = claim.file_name();
            let streamed = polyhaul::Reader::new(reader(&claim.bytes, &name, Sizes::One, Fault::Nothing))
                .options(&options)
                .image();
            assert_eq!(outcome(streamed), Err(wanted), "{}", claim.name);
        }
    }
}

#[test]
fn hosts_may_give_bytes_in_any_pieces() {
    for picture in pictures() {
        let wanted = outcome(from_memory(&picture, &one_thread()));
        for sizes in [Sizes::One, Sizes::All, random()] {
            let given = Hostile::new(&picture.bytes[..], sizes.clone()).with(Fault::Interrupted);
            let log = given.log();
            let found = polyhaul::Reader::new(Input::Reader(Box::new(given), picture.file_name()))
                .options(&one_thread())
                .image();
            assert!(outcome(found) == wanted, "{} {sizes:?}", picture.name);
            assert!(log.least_asked.load(Relaxed) >= 64 << 10, "{} {sizes:?}: {log:?}", picture.name);
            assert_eq!(log.calls_too_late.load(Relaxed), 0, "{} {sizes:?}", picture.name);
        }
    }
}

/// A call costs a host much: there is one for each 64 KiB, and a few.
#[test]
fn hosts_are_not_asked_often() {
    let many = tga(2, NO_MAP, [1000, 1000], [32, 0], &[1, 2, 3, 4].repeat(1_000_000));
    let light = hdr("c", "-Y 1000 +X 1000", &[1, 2, 3, 129].repeat(1_000_000));
    let large = [("tga", many), ("hdr", light)].map(|(name, bytes)| (format!("x.{name}"), bytes));
    let files = pictures().into_iter().map(|picture| (picture.file_name(), picture.bytes));
    for (name, bytes) in files.chain(large) {
        for options in [one_thread(), threads(2, Some(1)), threads(3, Some(MIB))] {
            let given = Hostile::new(&bytes[..], Sizes::All);
            let log = given.log();
            let _ = polyhaul::Reader::new(Input::Reader(Box::new(given), name.clone())).options(&options).image();
            let calls = log.calls.load(Relaxed);
            assert!(calls <= bytes.len().div_ceil(64 << 10) + 4, "{name} of {}: {calls} calls", bytes.len());
            assert!(log.least_asked.load(Relaxed) >= 64 << 10, "{name}: {log:?}");
        }
    }
}

#[test]
fn hosts_that_fail_are_told() {
    for picture in good().iter().filter(|picture| is_own(picture.format)) {
        let name = picture.file_name();
        for at in mutate::cuts(picture.bytes.len(), 700, 20).into_iter().chain([picture.bytes.len()]) {
            for fault in [Fault::FailsAt(at), Fault::ClaimsTooMuchAt(at), Fault::PanicsAt(at)] {
                let given = Hostile::new(&picture.bytes[..], random()).with(fault);
                let log = given.log();
                let error = polyhaul::Reader::new(Input::Reader(Box::new(given), name.clone()))
                    .options(&threads(2, Some(64)))
                    .image();
                let error = error.map(drop).unwrap_err();
                let kinds = [ErrorKind::Io, ErrorKind::Host];
                assert!(kinds.contains(&error.kind()), "{} {fault:?}: {error:?}", picture.name);
                assert_eq!(log.calls_too_late.load(Relaxed), 0, "{} {fault:?}", picture.name);
            }
        }
    }
}

/// Files that take many pieces to read.
fn long_files() -> [(&'static str, Vec<u8>); 3] {
    [
        ("rows.tga", tga(2, NO_MAP, [1000, 1500], [24, 0], &vec![5; 4_500_000])),
        ("packets.tga", tga(10, NO_MAP, [1000, 1500], [24, 0], &[0, 1, 2, 3].repeat(1_500_000))),
        ("light.hdr", hdr("c", "-Y 1500 +X 1000", &[1, 2, 3, 129].repeat(1_500_000))),
    ]
}

/// A change to a file, at the first word of progress.
fn changed_while_read(path: &Path, options: ReadOptions, change: fn(&File)) -> Result<Image> {
    // The clock of file systems is coarse.
    File::options().write(true).open(path).unwrap().set_modified(SystemTime::now() - Duration::from_secs(99)).unwrap();
    let (done, target) = (AtomicBool::new(false), path.to_path_buf());
    let progress = Progress(Arc::new(move |_, _| {
        if !done.swap(true, Relaxed) {
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
        // Bytes that are different, and as many.
        |file| std::io::copy(&mut &b"other"[..], &mut &*file).map(drop).unwrap(),
    ];
    let folder = Folder::new("images-change").unwrap();
    for (name, bytes) in long_files() {
        for options in [threads(1, Some(64 << 10)), threads(2, None)] {
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

/// What is no file is an error at once.
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

/// Images to write, some of them long, with the names that they get and how.
fn written_images() -> Vec<(&'static str, Image, ImageWriteOptions)> {
    let [rows, _, light] = long_files().map(|(name, bytes)| load(name, bytes, &one_thread()).unwrap());
    let packets = ImageWriteOptions::default().with_rle(true);
    // Pixels that make no runs, so that there is much to write.
    let mut noise = rows.clone();
    if let Samples::U8(samples) = &mut noise.samples {
        samples.to_mut().unwrap().iter_mut().zip(0u32..).for_each(|(s, at)| *s = (at.wrapping_mul(at) >> 5) as u8);
    }
    // Encoding takes longer than the others: a part is enough.
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
fn a_writer_that_fails_is_an_error_at_any_byte() {
    for (name, image, style) in written_images() {
        let size = written(name, &image, style, &RunOptions::default()).unwrap().len();
        let places = [0, 1, 17, 18, 40, 70_000, size / 2, size - 27, size - 1];
        for place in places.into_iter().filter(|&place| place < size) {
            for (threads, fault) in [
                (1, WriteFault::Fails(std::io::ErrorKind::StorageFull)),
                (3, WriteFault::Fails(std::io::ErrorKind::StorageFull)),
                (2, WriteFault::TakesNothing),
                (2, WriteFault::ClaimsTooMuch),
                (2, WriteFault::Panics),
            ] {
                let (writer, late) = Faulty::new(place, fault);
                let run = RunOptions::default().with_threads(Some(threads));
                let output = Output::Writer(Box::new(writer), "host".into());
                let error =
                    polyhaul::Writer::new(output).options(&write_options(name, style, run)).image(&image).unwrap_err();
                let is_told = matches!(error.kind(), ErrorKind::Io | ErrorKind::Host | ErrorKind::Internal);
                assert!(is_told, "{name} {fault:?} at {place}: {error:?}");
                assert_eq!(late.load(Relaxed), 0, "{name} {fault:?} at {place}: called again");
            }
        }
    }
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
                let progress = Progress(Arc::new(move |done, _| {
                    if done >= after {
                        cancel.cancel()
                    }
                }));
                let run = run.with_progress(Some(progress));
                let options = write_options(name, style, run).with_compression(compression);
                // What is compressed to less than is waited for is written.
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

/// A folder in the place of the file, a folder that is not there, and a device that is full.
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
