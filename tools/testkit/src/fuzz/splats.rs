//! Properties of any bytes read as Gaussian splats. For compressed PLY, see `scans`.

use super::scans::valid_scene;
use super::trial::{Effort, RETURN_SHARE, Trial};
use crate::output::try_named;
use crate::scene::broken_rule;
use polyhaul::model::Scene;
use polyhaul::model::splats::Splats;
use polyhaul::options::Resolve;
use polyhaul::{ErrorKind, Format, Input, ReadOptions, Reader};
use std::sync::Arc;

/// Reads an SPZ file; all ways of reading must agree, and valid splats must survive a round trip.
pub fn spz(data: &[u8], effort: Effort) {
    splats(Trial::new(data, "fuzz.spz", effort), Format::Spz);
}

/// Reads a `.splat` file; all ways of reading must agree, and valid splats must survive a round trip.
pub fn splat(data: &[u8], effort: Effort) {
    splats(Trial::new(data, "fuzz.splat", effort), Format::Splat);
}

/// Images of SOG files, in the order in which inputs store them after the JSON.
const SOG_IMAGES: [&str; 7] =
    ["means_l.webp", "means_u.webp", "scales.webp", "quats.webp", "sh0.webp", "shN_centroids.webp", "shN_labels.webp"];

/// Reads SOG metadata followed by images, each of which starts with `RIFF`; all ways of reading must agree, and valid
/// splats must survive writing in other formats.
pub fn sog(data: &[u8], effort: Effort) {
    let starts = data.windows(4).enumerate().filter(|(_, bytes)| bytes == b"RIFF").map(|(at, _)| at);
    let starts: Vec<usize> = starts.chain([data.len()]).collect();
    let images: Vec<Vec<u8>> = starts.windows(2).map(|ends| data[ends[0]..ends[1]].to_vec()).collect();
    let resolve = move |name: &str| {
        let number = SOG_IMAGES.iter().position(|image| *image == name);
        let bytes = number.and_then(|number| images.get(number));
        Ok(bytes.map(|bytes| Input::Memory(bytes.clone(), name.into())))
    };
    let mut trial = Trial::new(&data[..starts[0]], "fuzz.sog", effort);
    let options = trial.options().with_resolver(Some(Resolve(Arc::new(resolve))));
    survive(trial, &options, &[Format::Spz, Format::CompressedPly]);
}

fn splats(mut trial: Trial<'_>, format: Format) {
    let options = trial.options();
    survive(trial, &options, &[format, Format::Spz, Format::CompressedPly]);
}

/// Reads splats, and writes them in these formats.
fn survive(mut trial: Trial<'_>, options: &ReadOptions, formats: &[Format]) {
    let Some(scene) = &valid_scene(&mut trial, options) else { return };
    let count = |scene: &Scene| {
        let splats = Splats::from_mesh(&scene.meshes[0]).expect("splats are read");
        (splats.len(), splats.degree())
    };
    let (own_count, degree) = count(scene);
    if !trial.draws(RETURN_SHARE) {
        return;
    }
    for &to in formats {
        let bytes = match try_named(scene, "x", &trial.write_options().with_format(Some(to))) {
            Ok(bytes) => bytes,
            // Some formats cannot store all coordinates.
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
                continue;
            }
        };
        let input = Input::Memory(bytes, "x".into());
        let plain = trial.plain_options().with_format(Some(to));
        let back = Reader::new(input).options(&plain).scene().expect("what is written is read").value;
        assert_eq!(broken_rule(&back), None);
        let max_degree = if to == Format::CompressedPly { 3 } else { 4 };
        // Empty files have no columns, so their degree is undefined.
        let degree = if own_count == 0 { count(&back).1 } else { degree.min(max_degree) };
        assert_eq!(count(&back), (own_count, degree));
    }
}
