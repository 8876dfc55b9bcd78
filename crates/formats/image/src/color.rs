//! Color profiles: detects ICC profiles that describe sRGB, and keeps other profiles with the image.
//!
//! Samples are never converted. sRGB and linear light are part of the model (`ColorSpace`); any other profile is kept
//! next to the samples for formats that can store it.

use polyhaul_model::error::{Diagnostic, Result};
use polyhaul_model::limits::FaultPolicy;
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{ColorProfile, Image};
use std::sync::Arc;

/// Size of the profile header (ICC.1:2022, 7).
const HEADER_BYTES: usize = 128;
/// Size of an entry of the tag table.
const ENTRY_BYTES: usize = 12;
/// Offset of the data color space.
const SPACE_AT: usize = 16;

/// The primaries of sRGB adapted to D50 (IEC 61966-2-1, with Bradford's method).
const PRIMARIES: [(&[u8; 4], [f64; 3]); 3] =
    [(b"rXYZ", [0.4361, 0.2225, 0.0139]), (b"gXYZ", [0.3851, 0.7169, 0.0971]), (b"bXYZ", [0.1431, 0.0606, 0.7141])];

/// Tolerance for profile values, which programs round differently.
/// Small enough to distinguish a gamma of 2.2, whose value at 0.5 is 0.2176, from sRGB with 0.2140.
const TOLERANCE: f64 = 0.003;

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|word| u32::from_be_bytes(*word))
}

/// Reads a fixed-point number with 16 fractional bits (s15Fixed16Number).
fn fixed(bytes: &[u8], at: usize) -> Option<f64> {
    word(bytes, at).map(|word| f64::from(word.cast_signed()) / 65_536.0)
}

/// Returns the data of a tag.
fn tag<'a>(profile: &'a [u8], name: &[u8; 4]) -> Option<&'a [u8]> {
    let count = word(profile, HEADER_BYTES)? as usize;
    let entries = profile.get(HEADER_BYTES + 4..)?.chunks_exact(ENTRY_BYTES);
    let entry = entries.take(count).find(|entry| entry.starts_with(name))?;
    profile.get(word(entry, 4)? as usize..)?.get(..word(entry, 8)? as usize)
}

/// Evaluates a transfer curve at half the maximum.
fn middle(curve: &[u8]) -> Option<f64> {
    match curve.get(..4)? {
        b"curv" => match word(curve, 8)? as usize {
            0 => Some(0.5),
            // An empty curve is the identity; a single entry is a gamma with 8 fractional bits.
            1 => Some(0.5_f64.powf(f64::from(word(curve, 12)? >> 16) / 256.0)),
            count => {
                let value = |index: usize| {
                    let bytes = curve.get(12 + 2 * index..)?.first_chunk()?;
                    Some(f64::from(u16::from_be_bytes(*bytes)) / 65_535.0)
                };
                // The mean of two entries if the middle is between them.
                let last = count - 1;
                Some((value(last / 2)? + value(last.div_ceil(2))?) / 2.0)
            }
        },
        b"para" => {
            let number = |index: usize| fixed(curve, 12 + 4 * index);
            let gamma = number(0)?;
            let kind = word(curve, 8)? >> 16;
            let offset = match kind {
                2 => number(3)?,
                4 => number(5)?,
                _ => 0.0,
            };
            match kind {
                0 => Some(0.5_f64.powf(gamma)),
                // For sRGB, 0.5 is above the linear segment of types 3 and 4.
                1..=4 => Some((number(1)? * 0.5 + number(2)?).max(0.0).powf(gamma) + offset),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Returns whether an ICC profile describes sRGB, or gray with the transfer function of sRGB.
pub(crate) fn is_srgb(profile: &[u8]) -> bool {
    let is_curve = |name: &[u8; 4]| {
        // The linear light of an sRGB sample of 0.5.
        tag(profile, name).and_then(middle).is_some_and(|light| (light - 0.2140).abs() < TOLERANCE)
    };
    match profile.get(SPACE_AT..SPACE_AT + 4) {
        Some(b"GRAY") => is_curve(b"kTRC"),
        Some(b"RGB ") => {
            let has_primaries = PRIMARIES.iter().all(|(name, expected)| {
                let data = tag(profile, name).unwrap_or_default();
                expected.iter().enumerate().all(|(axis, expected)| {
                    fixed(data, 8 + 4 * axis).is_some_and(|value| (value - expected).abs() < TOLERANCE)
                })
            });
            has_primaries && [b"rTRC", b"gTRC", b"bTRC"].into_iter().all(is_curve)
        }
        _ => false,
    }
}

/// Returns whether a profile is for CMYK, which decoded images do not use.
fn is_for_inks(profile: &[u8]) -> bool {
    profile.get(SPACE_AT..SPACE_AT + 4) == Some(b"CMYK")
}

/// Keeps a profile with its image, unless the profile describes sRGB or CMYK. Warns that colors are not converted if a
/// CMYK profile is dropped, or if the image is read for a program, which may ignore the profile.
pub(crate) fn keep(
    image: &mut Image,
    mut profile: ColorProfile,
    file: &Arc<str>,
    faults: FaultPolicy,
    warnings: &mut Warnings,
) -> Result<()> {
    profile.icc = profile.icc.filter(|icc| !is_srgb(icc));
    if profile.is_empty() {
        return Ok(());
    }
    // Inks were converted to RGB, which their profile does not describe.
    let misfit = profile.icc.take_if(|icc| is_for_inks(icc));
    let dropped = if misfit.is_some() { vec!["a CMYK ICC profile"] } else { Vec::new() };
    let unused = if faults.target.is_empty() { profile.names() } else { Vec::new() };
    let names = [dropped, unused].concat();
    if !names.is_empty() {
        let message =
            format!("the file's color description is not applied ({}); colors are kept as stored", names.join(", "));
        warnings.note_dropped(faults, "changed-color-space", 1, Diagnostic::of_file(file, message))?;
    }
    image.profile = profile;
    Ok(())
}

/// Warns that a profile is not kept; `why` completes a sentence about it.
pub(crate) fn note_lost(why: &str, file: &Arc<str>, faults: FaultPolicy, warnings: &mut Warnings) -> Result<()> {
    let message = format!("the ICC profile {why}; colors are interpreted without it");
    warnings.note_dropped(faults, "changed-color-space", 1, Diagnostic::of_file(file, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds a profile with these primaries and one curve for all colors.
    fn profile(colors: [[f64; 3]; 3], curve: &[u8]) -> Vec<u8> {
        let mut profile = vec![0; HEADER_BYTES];
        profile[SPACE_AT..SPACE_AT + 4].copy_from_slice(b"RGB ");
        let names: [&[u8; 4]; 6] = [b"rXYZ", b"gXYZ", b"bXYZ", b"rTRC", b"gTRC", b"bTRC"];
        let colors = colors.map(|color| {
            let numbers = color.map(|value| ((value * 65_536.0).round() as u32).to_be_bytes());
            [b"XYZ \0\0\0\0", numbers.as_flattened()].concat()
        });
        let tags = [&colors[0], &colors[1], &colors[2], curve, curve, curve];
        profile.extend(6_u32.to_be_bytes());
        let mut at = profile.len() + 6 * ENTRY_BYTES;
        for (name, tag) in names.iter().zip(tags) {
            profile.extend(*name);
            profile.extend((at as u32).to_be_bytes());
            profile.extend((tag.len() as u32).to_be_bytes());
            at += tag.len();
        }
        tags.iter().for_each(|tag| profile.extend(*tag));
        profile
    }

    #[test]
    fn profiles_of_srgb_are_recognized_by_their_numbers() {
        let srgb = PRIMARIES.map(|(_, color)| color);
        let parameters = [2.4, 1.0 / 1.055, 0.055 / 1.055, 1.0 / 12.92, 0.04045];
        let numbers = parameters.map(|value: f64| ((value * 65_536.0).round() as u32).to_be_bytes());
        let curve = [b"para\0\0\0\0\0\x03\0\0", numbers.as_flattened()].concat();
        assert!(is_srgb(&profile(srgb, &curve)));
        // Type 4 adds a number to the power.
        for (light, expected) in [(0, true), (6554_u32, false)] {
            let offsets = [light.to_be_bytes(), [0; 4]];
            let curve = [b"para\0\0\0\0\0\x04\0\0", numbers.as_flattened(), offsets.as_flattened()].concat();
            assert_eq!(is_srgb(&profile(srgb, &curve)), expected);
        }
        let wide = [[0.6097, 0.3111, 0.0195], srgb[1], srgb[2]];
        assert!(!is_srgb(&profile(wide, &curve)));
        let gamma = b"curv\0\0\0\0\0\0\0\x01\x01\xCD";
        assert!(!is_srgb(&profile(srgb, gamma)));
        let table: Vec<u8> = (0..=1023_u32)
            .flat_map(|index| {
                let sample = f64::from(index) / 1023.0;
                let light = if sample <= 0.04045 { sample / 12.92 } else { ((sample + 0.055) / 1.055).powf(2.4) };
                ((light * 65_535.0).round() as u16).to_be_bytes()
            })
            .collect();
        let curve = [&b"curv\0\0\0\0\0\0\x04\0"[..], &table].concat();
        let whole = profile(srgb, &curve);
        assert!(is_srgb(&whole));
        for size in 0..whole.len() - 3000 {
            assert!(!is_srgb(&whole[..size]), "{size}");
        }
    }
}
