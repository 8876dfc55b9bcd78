//! Counts the samples and pixels that an HDR file cannot store exactly.

use super::row::{LARGEST, is_exact};
use crate::samples::Cut;
use polyhaul_model::error::Result;
use polyhaul_model::{Image, Samples};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::try_for_each_item;
use polyhaul_pipeline::run::lock;
use std::sync::Mutex;

/// Pixels per parallel step.
const PIECE_PIXELS: usize = 1 << 14;

/// Counts the losses of an image of RGB floats. `above` counts samples above the range of HDR; `rounded` counts pixels
/// instead of samples, and only pixels without an out-of-range sample.
pub fn losses(image: &Image, run: &RunOptions) -> Result<Cut> {
    let Samples::F32(samples) = &image.samples else { return Ok(Cut::default()) };
    let sum = Mutex::new(Cut::default());
    let pieces = samples.as_chunks::<3>().0.chunks(PIECE_PIXELS);
    try_for_each_item(
        run.worker_threads().min(pieces.len()),
        &run.cancel,
        pieces,
        || (),
        |(), piece| {
            let losses = of_piece(piece);
            lock(&sum).add(losses);
            Ok(())
        },
    )?;
    let sum = *lock(&sum);
    Ok(sum)
}

fn of_piece(pixels: &[[f32; 3]]) -> Cut {
    let mut cut = Cut::default();
    for pixel in pixels {
        if pixel.iter().all(|sample| (0.0..=LARGEST).contains(sample)) {
            cut.rounded += u64::from(!is_exact(*pixel));
            continue;
        }
        for sample in pixel {
            cut.above += u64::from(*sample > LARGEST);
            cut.below += u64::from(*sample < 0.0);
            cut.not_numbers += u64::from(sample.is_nan());
        }
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;
    use polyhaul_model::ColorSpace;

    #[test]
    fn losses_of_mantissas_are_counted() {
        let pixels = [[1.0, 0.5, 0.0], [1.0, 0.001, 0.0], [-1.0, f32::NAN, f32::INFINITY], [0.1, 0.1, f32::MAX]];
        let samples = Samples::F32(pixels.as_flattened().iter().copied().collect());
        let image = Image { width: 4, height: 1, samples, color_space: ColorSpace::Linear, ..Image::default() };
        let losses = losses(&image, &RunOptions::default()).unwrap();
        assert_eq!(losses, Cut { above: 2, below: 1, not_numbers: 1, rounded: 1 });
    }
}
