//! Compares image readers: each decodes the same files, directly and through the callbacks of a host that counts its
//! calls and can be slow.
//!
//! The readers of a file alternate in rounds. The sum of all samples reveals a reader that decodes different pixels.
//! [`files`] creates the files; Rust readers are here and in [`readers`], other readers in `peers/` and `python/`;
//! [`limits`] measures the machine's limits. [`blocks`] creates textures.

mod blocks;
mod files;
mod host;
mod limits;
mod readers;

use crate::Failure;
use crate::measure::{peak_memory_bytes, reset_peak_memory};
use std::path::Path;
use std::time::Instant;

pub use files::make;

/// Samples of an image, in the reader's type.
enum Decoded {
    Bytes(Box<dyn AsRef<[u8]>>),
    Floats(Box<dyn AsRef<[f32]>>),
    /// No samples, for the machine's limits.
    None,
}

/// A reader of a file.
struct Contender<'a> {
    name: &'static str,
    /// Decodes once; also returns the number of host calls.
    read: Box<dyn Fn() -> Result<(Decoded, u64), Failure> + 'a>,
}

impl<'a> Contender<'a> {
    fn new(name: &'static str, read: impl Fn() -> Result<(Decoded, u64), Failure> + 'a) -> Contender<'a> {
        Contender { name, read: Box::new(read) }
    }
}

impl Decoded {
    /// Returns the sum of all samples, which does not depend on their order.
    fn sum(&self) -> f64 {
        match self {
            Decoded::Bytes(bytes) => (**bytes).as_ref().iter().map(|&byte| u64::from(byte)).sum::<u64>() as f64,
            Decoded::Floats(floats) => (**floats).as_ref().iter().map(|&float| f64::from(float)).sum(),
            Decoded::None => 0.0,
        }
    }
}

/// Input of the contenders.
struct Measured<'a> {
    group: &'a str,
    pixels: usize,
    /// Rates a result: a sum, or the error of an inexact result.
    judge: &'a dyn Fn(&Decoded) -> f64,
}

/// Measures all readers of all files in `folder`.
pub fn main(folder: &Path, rounds: usize) -> Result<(), Failure> {
    for file in files::FILES {
        let path = folder.join(file.name);
        let measured = Measured { group: file.name, pixels: file.pixels(), judge: &Decoded::sum };
        measure(measured, &readers::all(file, &path), rounds)?;
    }
    blocks::main(rounds)
}

/// Prints `image group=FILE name=N seconds=LEAST median_seconds=M pixels=P sum=S calls=C extra_bytes=E`.
fn measure(measured: Measured<'_>, contenders: &[Contender<'_>], rounds: usize) -> Result<(), Failure> {
    let Measured { group, pixels, judge } = measured;
    let mut times = vec![Vec::with_capacity(rounds); contenders.len()];
    let mut lines = Vec::new();
    for contender in contenders {
        reset_peak_memory();
        let before = peak_memory_bytes();
        let read = &contender.read;
        let (decoded, calls) = read()?;
        let extra = peak_memory_bytes().saturating_sub(before);
        lines.push((judge(&decoded), calls, extra));
    }
    // Rotate the order: after a slow contender, the next contender pays for what the machine did with free memory
    // meanwhile.
    for round in 0..rounds.max(1) {
        for turn in 0..contenders.len() {
            let at = (round + turn) % contenders.len();
            let start = Instant::now();
            let decoded = (contenders[at].read)()?;
            times[at].push(start.elapsed().as_secs_f64());
            // Freeing the memory is not part of reading.
            drop(decoded);
        }
    }
    for ((contender, times), (sum, calls, extra)) in contenders.iter().zip(&mut times).zip(lines) {
        times.sort_by(f64::total_cmp);
        println!(
            "image group={group} name={} seconds={:.6} median_seconds={:.6} pixels={pixels} sum={sum} calls={calls} extra_bytes={extra}",
            contender.name.replace(' ', "_"),
            times[0],
            times[times.len() / 2],
        );
    }
    Ok(())
}
