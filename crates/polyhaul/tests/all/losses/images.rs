//! Converts every good image to every image format: differences must be expected for the pair, and cause a warning.

use super::oracle::{Tally, convert_and_compare, mutants, next, none_wrong, reading, write_tallies};
use polyhaul::{Format, Input, Reader};
use polyhaul_testkit::corpus::{Folder, samples};
use polyhaul_testkit::losses::{image_faults, image_noise};
use std::collections::BTreeMap;

/// Image formats. A new format must be added to `losses` in the test kit.
const SOURCES: [&str; 9] = ["tga", "hdr", "png", "jpg", "exr", "bmp", "psd", "dds", "ktx2"];
const TARGETS: [&str; 5] = ["tga", "hdr", "png", "jpg", "exr"];
/// Larger files take longer and reveal no more.
const MAX_BYTES: u64 = 42_000;

/// Changes a few bytes.
fn mutated(bytes: &[u8], mut seed: u64) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..1 + next(&mut seed) % 3 {
        let at = next(&mut seed) % bytes.len().max(1);
        if let Some(byte) = bytes.get_mut(at) {
            *byte = next(&mut seed) as u8;
        }
    }
    bytes
}

#[test]
fn no_image_loses_in_silence() {
    let folder = Folder::new("losses-images").unwrap();
    let mut tallies = BTreeMap::<(usize, usize), Tally>::new();
    let mut wrong = Vec::new();
    for (from_number, from) in SOURCES.into_iter().enumerate() {
        let good_samples = samples(&format!("{from}/good"), from);
        assert!(!good_samples.is_empty(), "no sample of {from}");
        for sample in good_samples.into_iter().filter(|sample| sample.size <= MAX_BYTES) {
            let bytes = sample.bytes();
            for seed in 0..=mutants() {
                let data = if seed == 0 { bytes.clone() } else { mutated(&bytes, seed + sample.size) };
                let source = || Input::Memory(data.clone(), format!("x.{from}"));
                let image = Reader::new(source()).options(&reading()).image().map(|loaded| loaded.value);
                if seed == 0 && image.is_err() {
                    wrong.push(format!("{} is not read", sample.name));
                }
                let image = image.unwrap_or_default();
                for (to_number, to) in TARGETS.into_iter().enumerate() {
                    let compared = convert_and_compare(&source, Format::named(to).unwrap(), &folder);
                    let faults = match &compared {
                        Some((differences, report)) => {
                            image_faults(from, to, image_noise(&image, to), differences, report)
                        }
                        None => Vec::new(),
                    };
                    if seed == 0 {
                        tallies.entry((from_number, to_number)).or_default().count(&compared, faults.len());
                    }
                    wrong.extend(faults.into_iter().map(|fault| format!("{} ({seed}) to {to}: {fault}", sample.name)));
                }
            }
        }
    }
    write_tallies("losses_images.txt", [&SOURCES, &TARGETS], &tallies);
    none_wrong(&wrong);
}
