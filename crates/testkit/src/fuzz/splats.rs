//! Properties of any bytes taken as formats of Gaussian splats. Compressed PLY is PLY: see `scans`.

use super::scans::valid_scene;
use super::trial::{Effort, RETURN_SHARE, Trial};
use crate::output::try_named;
use crate::scene::broken_rule;
use polyhaul::model::Scene;
use polyhaul::model::splats::Splats;
use polyhaul::{Format, Input, Reader};

/// Reads an SPZ file, with the same result in every way; it must be valid splats, and survive being written.
pub fn spz(data: &[u8], effort: Effort) {
    splats(Trial::new(data, "fuzz.spz", effort), Format::Spz);
}

/// Reads rows of splats, with the same result in every way; they must be valid, and survive being written.
pub fn splat(data: &[u8], effort: Effort) {
    splats(Trial::new(data, "fuzz.splat", effort), Format::Splat);
}

fn splats(mut trial: Trial<'_>, format: Format) {
    let options = trial.options();
    let Some(scene) = &valid_scene(&mut trial, &options) else { return };
    let count = |scene: &Scene| {
        let splats = Splats::from_mesh(&scene.meshes[0]).expect("splats are read");
        (splats.len(), splats.degree())
    };
    let (own, degree) = count(scene);
    if !trial.draws(RETURN_SHARE) {
        return;
    }
    for to in [format, Format::Spz, Format::CompressedPly] {
        let bytes = try_named(scene, "x", &trial.write_options().with_format(Some(to))).expect("splats are written");
        let input = Input::Memory(bytes, "x".into());
        let plain = trial.plain_options().with_format(Some(to));
        let back = Reader::new(input).options(&plain).scene().expect("what is written is read").value;
        assert_eq!(broken_rule(&back), None);
        let most = if to == Format::CompressedPly { 3 } else { 4 };
        // Empty files have no columns.
        let degree = if own == 0 { count(&back).1 } else { degree.min(most) };
        assert_eq!(count(&back), (own, degree));
    }
}
