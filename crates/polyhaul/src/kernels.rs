//! Measures this library's parsers, writers, codecs, image decoders and image encoders on one core, from memory to
//! memory.
//!
//! Calls each of them through the public interface, like any job, and never touches a file. `data` generates the input.

mod data;

use crate::format::Format;
use crate::input::{Input, Output};
use crate::options::{ReadOptions, WriteOptions};
use crate::outputs::write_to_memory;
use crate::registry::KernelData;
use crate::report::Report;
use polyhaul_bytes::{Codec, DecompressLimits, Encoder, MEMBER_BYTES, Source, decompressed};
use polyhaul_insight::measure::{Bench, Kernels};
use polyhaul_insight::{Ceilings, Kernel, Unpacking};
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::{Image, Scene, Table};
use polyhaul_pipeline::options::RunOptions;
use std::io;
use std::sync::Arc;

/// Number of measurements: the `NAMES` in the tests, and decompression of a second kind of data with each codec.
pub(crate) const FIGURES: u64 = 21 + CODECS.len() as u64;

/// Measurements that [`crate::measure::ceilings`] makes in addition to the measurements of the machine.
pub(crate) const KERNELS: Kernels = Kernels { figures: FIGURES, measure };

const CODECS: [Codec; 3] = [Codec::Gzip, Codec::Zstd, Codec::Lz4];

/// Factor by which image data is smaller than text, because compressing a PNG is slow.
const IMAGE_SHARE: usize = 4;

/// Bytes per read when decompressing.
const BLOCK_BYTES: usize = 1 << 20;

/// A file in memory, shared by several jobs.
type Bytes = Arc<Vec<u8>>;

/// Measures all kernels.
fn measure(bench: &Bench<'_>, ceilings: &mut Ceilings) -> Result<()> {
    let mut list = List { bench, kernels: &mut ceilings.kernels, unpacking: &mut ceilings.unpacking };
    let bytes = bench.options().data_bytes;
    let scene = data::scene(bytes);
    let mut text_file = None;
    let mut binary_file = None;
    for format in formats(KernelData::Mesh) {
        let file = list.scene(format, &scene)?;
        // Codecs process text and binary numbers at different speeds: keep the first file of each kind for them.
        let is_text = std::str::from_utf8(&file).is_ok();
        let slot = if is_text { &mut text_file } else { &mut binary_file };
        slot.get_or_insert(file);
    }
    let mut render_files = Vec::new();
    for format in formats(KernelData::Render) {
        render_files.push((format, saved(|output| save_scene(&scene, format, output))?));
    }
    drop(scene);
    for (format, file) in render_files {
        list.scene(format, &load_scene(format, &file)?)?;
    }
    let table = data::table(bytes);
    formats(KernelData::Table).try_for_each(|format| list.table(format, &table))?;
    drop(table);
    let missing = || Error::new(ErrorKind::Internal, "no format has files of this kind to compress");
    let text = text_file.ok_or_else(missing)?;
    for codec in CODECS {
        list.codec(codec, &text)?;
    }
    drop(text);
    let numbers = binary_file.ok_or_else(missing)?;
    for codec in CODECS {
        let mut packed = Vec::new();
        compress(codec, &numbers, &mut packed).map_err(|error| Error::io("compress", "memory", error))?;
        list.unpack(codec, &packed, numbers.len())?;
    }
    drop(numbers);
    let picture = data::picture(bytes / IMAGE_SHARE);
    for format in formats(KernelData::Picture) {
        list.decode(format, &picture)?;
        list.encode(format, &picture)?;
    }
    drop(picture);
    let light = data::light(bytes / IMAGE_SHARE);
    formats(KernelData::Light).try_for_each(|format| list.decode(format, &light))
}

/// Formats measured with this data, in registry order.
fn formats(data: KernelData) -> impl Iterator<Item = Format> {
    Format::ALL.into_iter().filter(move |format| format.kernel_data() == Some(data))
}

/// Kernels measured so far.
struct List<'a> {
    bench: &'a Bench<'a>,
    kernels: &'a mut Vec<Kernel>,
    unpacking: &'a mut Vec<Unpacking>,
}

impl List<'_> {
    /// Measures a kernel; a round returns the number of bytes processed.
    fn add(&mut self, name: String, round: impl FnMut() -> Result<u64>) -> Result<()> {
        let rate = self.bench.rate(round)?;
        self.kernels.push(Kernel::new(name, rate));
        Ok(())
    }

    /// Measures reading and writing a scene format. Returns the file.
    fn scene(&mut self, format: Format, scene: &Scene) -> Result<Bytes> {
        let file = saved(|output| save_scene(scene, format, output))?;
        let name = format.name();
        self.add(format!("parse {name}"), || {
            load_scene(format, &file)?;
            Ok(file.len() as u64)
        })?;
        self.add(format!("format {name}"), || Ok(save_scene(scene, format, nowhere())?.bytes_out))?;
        Ok(file)
    }

    fn table(&mut self, format: Format, table: &Table) -> Result<()> {
        let save = |output| crate::Writer::new(output).options(&writing(format)).tables(std::slice::from_ref(table));
        let file = saved(save)?;
        self.add("parse table".into(), || {
            crate::Reader::new(input(&file)).options(&reading(format)).tables()?;
            Ok(file.len() as u64)
        })?;
        self.add("format table".into(), || Ok(save(nowhere())?.bytes_out))
    }

    /// Measures compression and decompression, in uncompressed bytes.
    fn codec(&mut self, codec: Codec, text: &[u8]) -> Result<()> {
        let mut packed = Vec::new();
        self.add(format!("compress {codec}"), || {
            packed.clear();
            compress(codec, text, &mut packed).map_err(|error| Error::io("compress", "memory", error))?;
            Ok(text.len() as u64)
        })?;
        let rate = self.unpack(codec, &packed, text.len())?;
        self.kernels.push(Kernel::new(format!("decompress {codec}"), rate));
        Ok(())
    }

    /// Measures decompression of `packed`.
    fn unpack(&mut self, codec: Codec, packed: &[u8], plain_size: usize) -> Result<f64> {
        let mut block = vec![0; BLOCK_BYTES];
        let rate = self
            .bench
            .rate(|| decompress(packed, &mut block).map_err(|error| Error::io("decompress", "memory", error)))?;
        let share = packed.len() as f64 / plain_size.max(1) as f64;
        self.unpacking.push(Unpacking::new(codec.to_string(), share, rate));
        Ok(rate)
    }

    fn decode(&mut self, format: Format, image: &Image) -> Result<()> {
        let file = saved(|output| crate::Writer::new(output).options(&writing(format)).image(image))?;
        self.add(format!("decode {}", format.name()), || {
            crate::Reader::new(input(&file)).options(&reading(format)).image()?;
            Ok(file.len() as u64)
        })
    }

    fn encode(&mut self, format: Format, image: &Image) -> Result<()> {
        self.add(format!("encode {}", format.name()), || {
            Ok(crate::Writer::new(nowhere()).options(&writing(format)).image(image)?.bytes_out)
        })
    }
}

fn compress(codec: Codec, text: &[u8], packed: &mut Vec<u8>) -> io::Result<()> {
    let mut encoder = Encoder::new(codec, None)?;
    text.chunks(MEMBER_BYTES).try_for_each(|member| encoder.encode(member, packed))
}

/// Decompresses data and returns the number of decompressed bytes.
fn decompress(packed: &[u8], block: &mut [u8]) -> io::Result<u64> {
    let plain = decompressed(Source::memory(packed), &DecompressLimits::default())?;
    let mut sum = 0;
    loop {
        match plain.read_next(block)? {
            0 => return Ok(sum),
            count => sum += count as u64,
        }
    }
}

/// Options for a single core.
fn alone() -> RunOptions {
    RunOptions::default().with_threads(Some(1))
}

fn reading(format: Format) -> ReadOptions {
    ReadOptions { format: Some(format), run: alone(), ..ReadOptions::default() }
}

fn writing(format: Format) -> WriteOptions {
    WriteOptions { format: Some(format), run: alone(), ..WriteOptions::default() }
}

fn load_scene(format: Format, file: &Bytes) -> Result<Scene> {
    Ok(crate::Reader::new(input(file)).options(&reading(format)).scene()?.value)
}

fn save_scene(scene: &Scene, format: Format, output: Output) -> Result<Report> {
    crate::Writer::new(output).options(&writing(format)).scene(scene)
}

fn input(file: &Bytes) -> Input {
    Input::Shared(file.clone(), "memory".into())
}

fn nowhere() -> Output {
    Output::Writer(Box::new(io::sink()), "memory".into())
}

/// Returns the file written by `save`.
fn saved(save: impl FnOnce(Output) -> Result<Report>) -> Result<Bytes> {
    Ok(Arc::new(write_to_memory("memory", save)?.0))
}

#[cfg(test)]
mod tests {
    use crate::kernels;
    use crate::measure::tests::quick;
    use polyhaul_insight::Ceilings;
    use polyhaul_insight::measure::Bench;

    /// Verdicts and stored files refer to kernels by these names.
    const NAMES: [&str; 21] = [
        "parse obj",
        "format obj",
        "parse ply",
        "format ply",
        "parse stl",
        "format stl",
        "parse pbrt",
        "format pbrt",
        "parse table",
        "format table",
        "compress gzip",
        "decompress gzip",
        "compress zstd",
        "decompress zstd",
        "compress lz4",
        "decompress lz4",
        "decode tga",
        "encode tga",
        "decode png",
        "encode png",
        "decode hdr",
    ];

    #[test]
    fn kernels_keep_their_names() {
        let options = quick();
        let mut ceilings = Ceilings::default();
        let bench = Bench::new(&options, kernels::FIGURES);
        kernels::measure(&bench, &mut ceilings).unwrap();
        let names: Vec<_> = ceilings.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
        assert_eq!(names, NAMES);
        assert_eq!((NAMES.len() + kernels::CODECS.len()) as u64, kernels::FIGURES);
        assert!(ceilings.unpacking.iter().all(|ceiling| ceiling.share > 0.0 && ceiling.rate > 0.0));
        assert_eq!(ceilings.unpacking.len(), 6);
        assert_eq!(bench.started(), kernels::FIGURES);
    }
}
