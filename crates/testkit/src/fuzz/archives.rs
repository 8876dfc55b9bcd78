//! What must hold for any bytes taken as an archive.

use super::scans::no_fault;
use crate::hostile::{Fault, Hostile, Sizes};
use crate::packed::unpack;
use crate::random::Random;
use crate::summary;
use polyhaul::{Input, ReadOptions, load};
use polyhaul_bytes::{Archive, DecompressLimits, Source};

/// So many members of an archive are looked at.
const MEMBERS: usize = 8;

/// What an archive comes to: names, plain bytes and damage, or why it is none.
type Outcome = Result<Vec<(String, Vec<u8>, Option<String>)>, String>;

/// Reads an archive from memory and through a host, which must come to the same; members are as large as they say, and
/// their names stay inside.
pub fn zip(data: &[u8]) {
    let mut random = Random::new(summary::hash(data.iter().map(|&b| u64::from(b))));
    let expected = read(Source::memory(data));
    let mut options = ReadOptions::default();
    options.run.threads = Some(1);
    options.limits.decompressed_bytes = 1 << 22;
    options.run.memory_limit = 16 << 20;
    if let Ok(members) = &expected {
        for (name, ..) in members {
            assert!(!name.is_empty() && !name.split('/').any(|part| matches!(part, "" | "." | "..")), "{name:?}");
            let input = Input::Member(Box::new(Input::Memory(data.to_vec(), "fuzz.zip".into())), name.clone());
            load(input, &options).err().iter().for_each(no_fault);
        }
    }
    for sizes in [Sizes::All, Sizes::Random(Random::new(random.bits()))] {
        let host = Hostile::new(data, sizes).seekable().sized(data.len() as u64).with(Fault::Interrupted);
        let source = Source::host(Box::new(host), "fuzz.zip");
        let view = source.positioned().expect("the host does nothing wrong").expect("it can seek");
        assert_eq!(read(view), expected);
    }
    load(Input::Memory(data.to_vec(), "fuzz.zip".into()), &options).err().iter().for_each(no_fault);
}

fn read(source: Source<'_>) -> Outcome {
    let limits = DecompressLimits::default().with_bytes(1 << 20).with_memory_bytes(16 << 20);
    let archive = Archive::open(source, &limits).map_err(|error| error.to_string())?;
    let names: Vec<String> = archive.names().take(MEMBERS).map(String::from).collect();
    let member = |(number, name): (usize, String)| {
        let (plain, damage) = match archive.member(number, &name, &limits) {
            Ok(source) => unpack(source, &limits, 4096),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        let told = archive.plain_bytes(number);
        assert!(plain.len() as u64 <= told && (damage.is_some() || plain.len() as u64 == told), "{name}");
        (name, plain, damage)
    };
    Ok(names.into_iter().enumerate().map(member).collect())
}
