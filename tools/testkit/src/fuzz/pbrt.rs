//! Properties of any bytes read as a pbrt scene.

use super::no_fault;
use super::trial::{Effort, Trial};
use polyhaul::Reader;

/// Reads a pbrt scene; all ways of reading must agree.
pub fn pbrt(data: &[u8], effort: Effort) {
    let mut trial = Trial::new(data, "fuzz.pbrt", effort);
    let options = trial.options();
    let result = trial.read(
        &options,
        |input, options| {
            Reader::new(input())
                .options(options)
                .scene()
                .map(|loaded| (loaded.value, loaded.report.warnings))
                .map_err(Box::new)
        },
        // Scenes compare by content, independent of their chunks.
        |result| result.clone().map_err(|error| Box::new((error.kind(), error.diagnostic().clone()))),
    );
    result.as_ref().err().into_iter().for_each(|error| no_fault(error));
}
