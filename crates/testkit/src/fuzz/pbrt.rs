//! pbrt scenes: what must hold for any bytes.

use super::options;
use crate::hostile::{Fault, Hostile, Sizes};
use crate::random::Random;
use crate::summary;
use polyhaul::{ErrorKind, Input, ReadOptions, load};

/// Reads a pbrt scene in many ways, which must all come to the same.
pub fn pbrt(data: &[u8]) {
    let mut random = Random::new(summary::hash(data.iter().map(|&b| u64::from(b))));
    let options = options(&mut random);
    let name = || "fuzz.pbrt".to_owned();
    let read = |input: Input, options: &ReadOptions| match load(input, options) {
        Ok(loaded) => Ok((loaded.scene, loaded.report.warnings)),
        Err(error) => {
            assert!(!matches!(error.kind(), ErrorKind::Internal | ErrorKind::Memory), "{error}");
            Err(Box::new((error.kind(), error.diagnostic().clone())))
        }
    };
    let expected = read(Input::Memory(data.to_vec(), name()), &options);
    for _ in 0..2 {
        let mut other = options.clone();
        other.run.chunk_bytes = Some(1 + random.below(80));
        other.run.threads = Some(1 + random.below(2));
        let positioned = read(Input::Memory(data.to_vec(), name()), &other);
        assert!(expected == positioned, "chunks of {:?}: {expected:?} {positioned:?}", other.run);
        let sizes = Sizes::Random(random.clone());
        let reader = Hostile::new(data, sizes).with(Fault::Interrupted);
        let streamed = read(Input::Reader(Box::new(reader), name()), &other);
        assert!(expected == streamed, "a stream, chunks of {:?}: {expected:?} {streamed:?}", other.run);
    }
}
