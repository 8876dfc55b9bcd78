//! Properties of any bytes read as compressed data or as an archive.

use super::no_fault;
use super::trial::{Effort, Trial};
use crate::hostile::{Fault, Hostile, Sizes};
use crate::packed::unpack;
use crate::random::Random;
use crate::summary::outcome;
use polyhaul::{Input, ReadOptions, Reader};
use polyhaul_bytes::{Archive, DecompressLimits, Source};

const PACKED_NAME: &str = "fuzz.obj";
const ARCHIVE_NAME: &str = "fuzz.zip";

/// Maximum number of members of an archive to check.
const MAX_MEMBERS: usize = 8;

/// Maximum decompressed size of an input.
const MAX_PLAIN_BYTES: u64 = 1 << 18;

/// Maximum memory of decoders.
const MEMORY_BYTES: u64 = 16 << 20;

/// One input in this many is decompressed from streams; the other inputs only from memory.
const STREAM_SHARE: usize = 8;

/// One input in this many is also read as a scene.
const SCENE_SHARE: usize = 4;

/// One input in this many is also read through host callbacks.
const HOST_SHARE: usize = 8;

fn limits() -> DecompressLimits {
    DecompressLimits::default().with_bytes(MAX_PLAIN_BYTES).with_memory_bytes(MEMORY_BYTES)
}

fn read_options(trial: &mut Trial<'_>) -> ReadOptions {
    let mut options = trial.options();
    options.limits.decompressed_bytes = MAX_PLAIN_BYTES;
    options.run.memory_limit = MEMORY_BYTES;
    options
}

/// Decompresses bytes, and reads them as a scene; all ways of reading must agree on content and errors. Bytes without
/// the signature of a codec are read as they are.
pub fn packed(data: &[u8], effort: Effort) {
    let mut trial = Trial::new(data, PACKED_NAME, effort);
    let whole = unpack(Source::memory(data), &limits(), 1 << 16);
    if trial.draws(STREAM_SHARE) {
        for _ in 0..2 {
            streams_agree(&mut trial, &whole);
        }
    }
    if trial.draws(SCENE_SHARE) {
        let options = read_options(&mut trial);
        let result = trial.read(&options, |input, options| Reader::new(input()).options(options).scene(), outcome);
        result.as_ref().err().into_iter().for_each(no_fault);
    }
}

/// Checks that streams decompress to the same content as memory, for any transfer sizes.
fn streams_agree(trial: &mut Trial<'_>, whole: &(Vec<u8>, Option<String>)) {
    let data = trial.data;
    let block_bytes = 1 + trial.random.below(3000);
    let hostile = Hostile::new(data, Sizes::Random(trial.random.clone())).with(Fault::Interrupted);
    let (plain, damage) = unpack(Source::reader(Box::new(hostile), PACKED_NAME), &limits(), block_bytes);
    // From memory, members are decoded in parallel, each completely or not at all; a stream also returns the start of a
    // damaged member.
    assert!(plain.starts_with(&whole.0), "{} and {} bytes", plain.len(), whole.0.len());
    assert_eq!(damage.is_some(), whole.1.is_some(), "{damage:?} {:?}", whole.1);
    let again = unpack(Source::reader(Box::new(data), PACKED_NAME), &limits(), 1 << 16);
    assert_eq!((plain, damage), again, "blocks of {block_bytes} bytes");
}

/// Content of an archive: name, uncompressed bytes and error of each member, or the error of the archive.
type Outcome = Result<Vec<(String, Vec<u8>, Option<String>)>, String>;

/// Reads an archive from memory and through a host, with the same result; member sizes must match the directory, and
/// names must not leave the archive.
pub fn zip(data: &[u8], effort: Effort) {
    let mut trial = Trial::new(data, ARCHIVE_NAME, effort);
    let expected = read(Source::memory(data));
    let mut options = trial.plain_options();
    options.run.threads = Some(1);
    options.limits.decompressed_bytes = MAX_PLAIN_BYTES;
    options.run.memory_limit = MEMORY_BYTES;
    for (name, ..) in expected.iter().flatten() {
        assert!(!name.is_empty() && !name.split('/').any(|part| matches!(part, "" | "." | "..")), "{name:?}");
        if trial.draws(SCENE_SHARE) {
            let input = Input::Member(Box::new(trial.memory()), name.clone());
            Reader::new(input).options(&options).scene().err().iter().for_each(no_fault);
        }
    }
    if trial.draws(HOST_SHARE) {
        for sizes in [Sizes::All, Sizes::Random(Random::new(trial.random.bits()))] {
            let host = Hostile::new(data, sizes).seekable().sized(data.len() as u64).with(Fault::Interrupted);
            let source = Source::host(Box::new(host), ARCHIVE_NAME);
            let view = source.positioned().expect("the host does nothing wrong").expect("it can seek");
            assert_eq!(read(view), expected);
        }
    }
    if trial.draws(SCENE_SHARE) {
        Reader::new(trial.memory()).options(&options).scene().err().iter().for_each(no_fault);
    }
}

fn read(source: Source<'_>) -> Outcome {
    let limits = limits();
    let archive = Archive::open(source, &limits).map_err(|error| error.to_string())?;
    let names: Vec<String> = archive.names().take(MAX_MEMBERS).map(String::from).collect();
    let member = |(number, name): (usize, String)| {
        let (plain, damage) = match archive.member(number, &name, &limits) {
            Ok(source) => unpack(source, &limits, 4096),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        let claimed = archive.plain_bytes(number);
        assert!(plain.len() as u64 <= claimed && (damage.is_some() || plain.len() as u64 == claimed), "{name}");
        (name, plain, damage)
    };
    Ok(names.into_iter().enumerate().map(member).collect())
}
