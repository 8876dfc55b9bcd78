//! Compares images with those of the sequential reader, for all kinds of compressed data and all span boundaries.

use super::*;
use flate2::{Compress, Compression, Crc, FlushCompress};
use png::{BitDepth, ColorType};
use polyhaul_bytes::Source;
use polyhaul_model::warnings::Warnings;
use polyhaul_pipeline::bytes::Bytes;
use polyhaul_pipeline::options::ParseOptions;
use polyhaul_pipeline::reader::Decoding;

/// So small that some files have dozens of spans, and spans that exceed the memory for decoding ahead.
const SMALL: PngSizes = PngSizes { span: 2000, ahead: 300 << 10, chunk: 7001 };

fn encoded([width, height]: [usize; 2], color: ColorType, depth: BitDepth, with_key: bool) -> Vec<u8> {
    let row = color.samples() * depth as usize * width;
    // Similar rows, which compress well and refer to rows before their chunk.
    let bytes: Vec<u8> = (0..height)
        .flat_map(|y| (0..row.div_ceil(8)).map(move |at| (at * at / 7 + y * (at / 500 % 3)) as u8))
        .collect();
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width as u32, height as u32);
    encoder.set_color(color);
    encoder.set_depth(depth);
    if color == ColorType::Indexed {
        encoder.set_palette((0..3 << depth as usize).map(|at| (at * 5) as u8).collect::<Vec<u8>>());
    }
    if with_key {
        encoder.set_trns(vec![0; if color == ColorType::Indexed { 2 } else { 2 * color.samples() }]);
    }
    encoder.write_header().unwrap().write_image_data(&bytes).unwrap();
    file
}

/// Pseudorandom numbers.
struct TestNoise(u64);

impl TestNoise {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

const WIDTH: usize = 211;
const HEIGHT: usize = 400;

/// RGB rows with all filters: differences as in photographs, flat parts, noise, and copies from 30 kB before.
fn filtered() -> Vec<u8> {
    let mut noise = TestNoise(5);
    let mut rows = Vec::<u8>::new();
    for y in 0..HEIGHT {
        rows.push(noise.below(5) as u8);
        let end = rows.len() + 3 * WIDTH;
        while rows.len() < end {
            let count = (1 + noise.below(60) as usize).min(end - rows.len());
            let back = rows.len().checked_sub(30_000 + noise.below(2000) as usize);
            match (y / 50 % 4, noise.below(4), back) {
                (0, ..) => rows.resize(rows.len() + count, 0),
                (1, ..) => rows.extend((0..count).map(|_| noise.below(256) as u8)),
                (_, 0, Some(back)) => rows.extend_from_within(back..back + count),
                _ => rows.extend((0..count).map(|_| (noise.below(4) * noise.below(4)) as u8)),
            }
        }
    }
    rows
}

fn chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let mut sum = Crc::new();
    sum.update(kind);
    sum.update(data);
    [&(data.len() as u32).to_be_bytes()[..], kind, data, &sum.sum().to_be_bytes()].concat()
}

/// Builds zlib data with a block per `block` plain bytes, most of them followed by an empty stored block.
fn packed(plain: &[u8], level: u32, block: usize) -> Vec<u8> {
    let mut packed = Vec::with_capacity(2 * plain.len() + 1000);
    let mut compress = Compress::new(Compression::new(level), true);
    for (part, number) in plain.chunks(block).zip(0..) {
        let flush = if number % 3 == 0 { FlushCompress::Partial } else { FlushCompress::Sync };
        compress.compress_vec(part, &mut packed, flush).unwrap();
    }
    compress.compress_vec(&[], &mut packed, FlushCompress::Finish).unwrap();
    packed
}

/// Builds an RGB file with this compressed data, in chunks of `idat` bytes.
fn file(packed: &[u8], idat: usize) -> Vec<u8> {
    let size = [WIDTH, HEIGHT].map(|side| (side as u32).to_be_bytes()).concat();
    let chunks: Vec<u8> = packed.chunks(idat).flat_map(|data| chunk(b"IDAT", data)).collect();
    let head = chunk(b"IHDR", &[&size[..], &[8, 2, 0, 0, 0]].concat());
    [&super::super::SIGNATURE[..], &head, &chunks, &chunk(b"IEND", &[])].concat()
}

fn options(threads: usize) -> ParseOptions {
    ParseOptions { run: RunOptions::default().with_threads(Some(threads)), ..ParseOptions::default() }
}

fn with_input<T>(file: &[u8], threads: usize, read: impl FnOnce(&PngInput<'_>, BlockReader<'_>) -> T) -> T {
    let source = Source::memory(file.to_vec());
    let options = options(threads);
    let bytes = Bytes::new(&source, None);
    let input = PngInput { bytes: &bytes, file: &"x".into(), options: &options };
    read(&input, Decoding::new(&bytes, &options.run).reader())
}

/// Decodes an image with `threads` threads, whatever its size.
fn overlapped(file: &[u8], threads: usize, sizes: PngSizes) -> Result<Image> {
    with_input(file, threads, |input, reader| decode(input, reader, &Mutex::default(), sizes))
}

/// Decodes an image with the `png` crate alone; `None` if the file is invalid.
fn by_library(file: &[u8]) -> Option<Image> {
    with_input(file, 1, |input, reader| input.decode(reader, &Mutex::default()).ok())
}

fn whole(file: &[u8], threads: usize) -> Result<Image> {
    let source = Source::memory(file.to_vec());
    super::super::read(Bytes::new(&source, None), &options(threads), false, &mut Warnings::default())
}

#[test]
fn all_kinds_of_pixels_are_the_same() {
    use BitDepth::{Eight, Four, One, Sixteen, Two};
    use ColorType::{Grayscale, GrayscaleAlpha, Indexed, Rgb, Rgba};
    let gray = [One, Two, Four, Eight, Sixteen].map(|depth| (Grayscale, depth));
    let mapped = [One, Two, Four, Eight].map(|depth| (Indexed, depth));
    let others = [Eight, Sixteen].map(|depth| [Rgb, Rgba, GrayscaleAlpha].map(|color| (color, depth)));
    for (color, depth) in gray.into_iter().chain(mapped).chain(others.into_iter().flatten()) {
        for with_key in [false, true] {
            if !(with_key && matches!(color, Rgba | GrayscaleAlpha)) {
                let file = encoded([401, 700], color, depth, with_key);
                let expected = by_library(&file).unwrap();
                for threads in [1, 2] {
                    assert!(overlapped(&file, threads, SIZES).unwrap() == expected, "{color:?} {depth:?} {threads}");
                }
            }
        }
    }
}

#[test]
fn all_kinds_of_blocks_are_the_same() {
    let plain = filtered();
    for level in 0..10 {
        for (block, idat) in [(900, 1000), (5000, 7), (usize::MAX, 8192), (20_000, usize::MAX)] {
            let file = file(&packed(&plain, level, block), idat);
            let expected = by_library(&file).unwrap();
            for threads in [1, 2, 5] {
                assert!(overlapped(&file, threads, SMALL).unwrap() == expected, "{level} {block} {threads}");
            }
        }
    }
}

/// A single thread decodes as much ahead as possible before each span. More than half of the blocks are stored or tiny.
#[test]
fn spans_are_decoded_ahead_if_blocks_are_found() {
    let plain = filtered();
    let worked = |packed: &[u8]| {
        with_input(&file(packed, 9999), 1, |_, reader| {
            let animation = Mutex::default();
            let idat = Idat::open(Still::new(reader, &animation)).unwrap();
            let line = SpanLine::new(idat, SMALL, 4).unwrap();
            let mut span = ZlibSpan::new().unwrap();
            let mut decoder = ZlibDecoder::new().unwrap();
            let mut inflated = ZlibPlain::default();
            let mut worked = 0;
            let mut spans = 0;
            while !decoder.decode(&mut span, plain.len(), &mut inflated).unwrap() {
                worked += (0..9).filter(|_| line.has_work() && line.work()).count();
                assert!(line.next(&mut span, &decoder).unwrap());
                spans += 1;
            }
            assert!(inflated.bytes() == plain);
            (worked, spans)
        })
    };
    let (ahead, spans) = worked(&packed(&plain, 6, 3000));
    assert!(ahead > 10, "{ahead} of {spans}");
    assert_eq!(worked(&packed(&plain, 0, 900)).0, 0);
}

#[test]
fn a_large_image_is_the_same_for_any_number_of_threads() {
    let file = encoded([900, 700], ColorType::Rgb, BitDepth::Eight, false);
    let expected = by_library(&file).unwrap();
    for threads in [1, 2, 7] {
        assert!(whole(&file, threads).unwrap() == expected);
    }
    let end = file.len() - 40;
    for broken in [&file[..end], &[&file[..end], b"12345678", &file[end + 8..]].concat()] {
        let errors = [1, 2].map(|threads| whole(broken, threads).unwrap_err().to_string());
        assert_eq!(errors[0], errors[1]);
    }
}

/// Returns whether an image is accepted that the `png` crate rejects or decodes differently.
fn is_wrong(file: &[u8], threads: usize, sizes: PngSizes) -> bool {
    overlapped(file, threads, sizes).is_ok_and(|image| by_library(file).is_none_or(|expected| image != expected))
}

#[test]
fn nothing_is_accepted_that_the_library_refuses() {
    let small = encoded([23, 17], ColorType::Rgb, BitDepth::Eight, true);
    let large = encoded([500, 600], ColorType::Rgb, BitDepth::Eight, false);
    for (file, step) in [(small, 1), (large, 977)] {
        for at in (0..file.len()).step_by(step) {
            let mut broken = file.clone();
            broken[at] ^= 1 << (at % 8);
            for broken in [&broken, &file[..at]] {
                assert!(!is_wrong(broken, 2, SIZES), "{at}");
            }
        }
    }
}

/// Unlike in the test above, the checksums of chunks match the damaged data.
#[test]
fn broken_data_is_never_taken_for_an_image() {
    let packed = packed(&filtered(), 6, 3000);
    let sound = file(&packed, 9999);
    assert!(overlapped(&sound, 2, SMALL).is_ok());
    for at in (0..packed.len()).step_by(packed.len() / 150) {
        let mut broken = packed.clone();
        broken[at] ^= 1 << (at % 8);
        for broken in [&broken[..], &packed[..at], &[&packed[..at], &packed[at + 1..]].concat()] {
            let broken = file(broken, 9999);
            for threads in [1, 2] {
                assert!(!is_wrong(&broken, threads, SMALL), "{at} {threads}");
            }
        }
    }
    let longer = file(&[&packed[..], b"more"].concat(), 9999);
    assert!(overlapped(&longer, 2, SMALL).is_err() && by_library(&longer).is_some());
}

/// A literal/length code whose only symbol is the end of the block: the `png` crate rejects it, unlike zlib.
#[test]
fn a_block_without_symbols_is_refused_as_by_the_library() {
    let plain = filtered();
    let whole = packed(&plain, 6, usize::MAX);
    // BTYPE 2; 257 symbols, 1 distance, 18 lengths: of 18 (1 bit), 1 (2 bits) and 0 (2 bits), in the order of 3.2.7.
    let mut bits: Vec<u8> = Vec::new();
    let mut put = |value: u32, count: u32| bits.extend((0..count).map(|at| (value >> at & 1) as u8));
    put(4, 3);
    put(0, 5);
    put(0, 5);
    put(14, 4);
    (0..18).for_each(|place| put([0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2][place], 3));
    // Twice 18, for 138 and 118 zeros; 1 for the end, then 0 for the distance. Codes start with their highest bit.
    put(0, 1);
    put(127, 7);
    put(0, 1);
    put(107, 7);
    put(0b11, 2);
    put(0b01, 2);
    // The end of the block, and an empty stored block, after which data is byte-aligned.
    put(0, 1);
    put(0, 3);
    let mut extra: Vec<u8> =
        bits.chunks(8).map(|bits| bits.iter().zip(0..).fold(0, |byte, (bit, at)| byte | bit << at)).collect();
    extra.extend([0, 0, 0xff, 0xff]);
    let sound = file(&[&whole[..2], &[0, 0, 0, 0xff, 0xff], &whole[2..]].concat(), 9999);
    assert!(overlapped(&sound, 2, SMALL).unwrap() == by_library(&sound).unwrap());
    let lone = file(&[&whole[..2], &extra, &whole[2..]].concat(), 9999);
    assert!(by_library(&lone).is_none() && overlapped(&lone, 2, SMALL).is_err());
}
