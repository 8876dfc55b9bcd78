//! Rust readers: polyhaul, image and png, from files and through a host's callbacks.

use super::files::{File, ImageKind};
use super::host::Host;
use super::{Contender, Decoded, limits};
use crate::Failure;
use image::ImageDecoder;
use polyhaul::model::Samples;
use polyhaul::options::RunOptions;
use polyhaul::{Input, ReadOptions, Reader};
use std::io::{BufReader, Read};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Delay per call of a slow host.
const SLOW: Duration = Duration::from_micros(100);

/// Number of images in `many`.
const MANY: usize = 8;

type ReadResult = Result<(Decoded, u64), Failure>;

/// Returns all readers of a file.
pub fn all<'a>(file: &File, path: &'a Path) -> Vec<Contender<'a>> {
    let fast = Duration::ZERO;
    let mut contenders = vec![
        Contender::new("polyhaul, 1 thread", || polyhaul(Input::Path(path.into()), 1)),
        Contender::new("polyhaul, 2 threads", || polyhaul(Input::Path(path.into()), 2)),
        Contender::new("polyhaul, callbacks, 1 thread", move || called(path, 1, fast)),
        Contender::new("polyhaul, callbacks, 2 threads", move || called(path, 2, fast)),
        Contender::new("polyhaul, callbacks of 100 us, 1 thread", || called(path, 1, SLOW)),
        Contender::new("limit: read once", || limits::read(path)),
    ];
    match file.kind {
        ImageKind::Tga { bits } => {
            contenders
                .push(Contender::new("limit: read and swizzle", move || limits::read_and_swizzle(path, bits / 8)));
            contenders.extend(tga(path));
        }
        ImageKind::Packets => contenders.extend(tga(path)),
        ImageKind::Hdr => {
            contenders.push(Contender::new("image", || image_file(path)));
            contenders.push(Contender::new("image, callbacks", || {
                image_called(path, |host| Ok(image::codecs::hdr::HdrDecoder::new(host)?))
            }));
        }
        ImageKind::Png => {
            contenders.push(Contender::new("image", || image_file(path)));
            contenders.push(Contender::new("png", || png_file(path)));
            contenders.push(Contender::new("png, callbacks", || png_called(path)));
            for (name, threads) in [("polyhaul, 8 files, 1 thread", 1), ("polyhaul, 8 files, 2 threads", 2)] {
                contenders.push(Contender::new(name, move || many(path, threads)));
            }
        }
        ImageKind::Cache => {}
    }
    contenders
}

fn tga(path: &Path) -> [Contender<'_>; 2] {
    let open = |host| Ok(image::codecs::tga::TgaDecoder::new(host)?);
    [Contender::new("image", || image_file(path)), Contender::new("image, callbacks", move || image_called(path, open))]
}

fn polyhaul(input: Input, threads: usize) -> ReadResult {
    let run = RunOptions::default().with_threads(Some(threads));
    let options = ReadOptions::default().with_run(run);
    Ok((decoded(Reader::new(input).options(&options).image()?.value.samples)?, 0))
}

fn decoded(samples: Samples) -> Result<Decoded, Failure> {
    match samples {
        Samples::U8(samples) => Ok(Decoded::Bytes(Box::new(samples))),
        Samples::F32(samples) => Ok(Decoded::Floats(Box::new(samples))),
        Samples::U16(_) => Err("16 bits are not what was written".into()),
    }
}

fn called(path: &Path, threads: usize, delay: Duration) -> ReadResult {
    let (host, calls) = Host::open(path, delay)?;
    let (decoded, _) = polyhaul(Input::Host(Box::new(host), path.display().to_string()), threads)?;
    Ok((decoded, calls.load(Ordering::Relaxed)))
}

/// Reads the file [`MANY`] times, like that many files.
fn many(path: &Path, threads: usize) -> ReadResult {
    let read_share = || (0..MANY / threads).try_for_each(|_| polyhaul(Input::Path(path.into()), 1).map(drop));
    std::thread::scope(|scope| {
        let workers: Vec<_> =
            (0..threads).map(|_| scope.spawn(|| read_share().map_err(|error| error.to_string()))).collect();
        workers.into_iter().try_for_each(|worker| worker.join().unwrap_or(Err("it panicked".into())))
    })?;
    Ok((Decoded::None, 0))
}

fn image_file(path: &Path) -> ReadResult {
    Ok((of_image(image::open(path)?), 0))
}

fn of_image(image: image::DynamicImage) -> Decoded {
    match image {
        image::DynamicImage::ImageRgb32F(image) => Decoded::Floats(Box::new(image.into_raw())),
        image => Decoded::Bytes(Box::new(image.into_bytes())),
    }
}

/// Decodes with unbuffered host calls, as in naive code.
fn image_called<D: ImageDecoder>(path: &Path, open: impl Fn(Host) -> Result<D, Failure>) -> ReadResult {
    let (host, calls) = Host::open(path, Duration::ZERO)?;
    let image = image::DynamicImage::from_decoder(open(host)?)?;
    Ok((of_image(image), calls.load(Ordering::Relaxed)))
}

fn png_file(path: &Path) -> ReadResult {
    png(BufReader::new(std::fs::File::open(path)?))
}

/// Decodes with buffered host calls: png requires a buffered reader.
fn png_called(path: &Path) -> ReadResult {
    let (host, calls) = Host::open(path, Duration::ZERO)?;
    let (decoded, _) = png(BufReader::new(host))?;
    Ok((decoded, calls.load(Ordering::Relaxed)))
}

fn png<R: Read + std::io::Seek>(reader: BufReader<R>) -> ReadResult {
    let mut reader = png::Decoder::new(reader).read_info()?;
    let mut pixels = vec![0; reader.output_buffer_size().ok_or("too large")?];
    reader.next_frame(&mut pixels)?;
    Ok((Decoded::Bytes(Box::new(pixels)), 0))
}
