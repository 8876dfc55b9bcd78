//! Converts accessor bytes to floats and indices, for all component types, packed or strided.
//!
//! Packed values are converted in a single loop over components, which compilers vectorize. Destination values that
//! have no source bytes are left unchanged.

use crate::color::screen;
use crate::layout::{Component, Form};
use polyhaul_model::splats::logit_of;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Conversion applied to values after reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finish {
    Keep,
    /// Replaces v of UVs with 1 - v.
    FlipV,
    /// Converts linear RGBA to sRGB; alpha is unchanged.
    Screen,
    /// Normalizes normals, because quantized normals do not have exactly unit length.
    Unit,
    /// Converts sizes to logarithms.
    Logarithm,
    /// Converts opacities, which are from 0 to 1, to logits.
    Logit,
}

impl Finish {
    /// Converts values in place. Adds the number of clamped colors or numbers to `cut`.
    pub(crate) fn apply(self, values: &mut [f32], cut: &AtomicU64) {
        match self {
            Finish::Keep => {}
            Finish::FlipV => values.as_chunks_mut().0.iter_mut().for_each(|[_, v]| *v = 1.0 - *v),
            Finish::Unit => values.as_chunks_mut().0.iter_mut().for_each(to_unit),
            Finish::Screen => {
                let (colors, _) = values.as_chunks_mut::<4>();
                let is_cut = |color: &&mut [f32; 4]| color[..3].iter().any(|value| *value < 0.0 || *value > 1.0);
                cut.fetch_add(colors.iter_mut().filter(is_cut).count() as u64, Relaxed);
                to_screen(colors);
            }
            Finish::Logarithm => cut_to(values, 0.0..=f32::MAX, cut, |size| {
                // Zero becomes the smallest normal number, because its logarithm is finite.
                f64::from(size.max(f32::MIN_POSITIVE)).ln() as f32
            }),
            Finish::Logit => cut_to(values, 0.0..=1.0, cut, logit_of),
        }
    }
}

/// Clamps numbers to `range`, adds the number of values outside it to `cut`, then applies `change`.
fn cut_to(values: &mut [f32], range: RangeInclusive<f32>, cut: &AtomicU64, change: impl Fn(f32) -> f32) {
    let mut count = 0;
    for value in values {
        count += u64::from(!range.contains(value));
        // `max` returns the other operand for NaN, so NaN becomes the start of the range.
        *value = change(value.max(*range.start()).min(*range.end()));
    }
    cut.fetch_add(count, Relaxed);
}

/// Normalizes a vector repeatedly until nothing changes, at most `MAX_ROUNDS` times, so that writers that normalize
/// again keep its bits.
fn to_unit(normal: &mut [f32; 3]) {
    const MAX_ROUNDS: usize = 4;
    for _ in 0..MAX_ROUNDS {
        let [x, y, z] = *normal;
        let length = (x * x + y * y + z * z).sqrt();
        let unit = normal.map(|entry| entry / length);
        if length == 0.0 || unit == *normal {
            return;
        }
        *normal = unit;
    }
}

/// Converts linear colors to sRGB. Adjacent colors are often equal, so the previous result is reused.
fn to_screen(colors: &mut [[f32; 4]]) {
    // Black converts to itself, so the initial result is valid.
    let mut last = [0.0; 3];
    let mut shown = [0.0; 3];
    for color in colors {
        let [r, g, b, alpha] = *color;
        if [r, g, b] != last {
            last = [r, g, b];
            shown = last.map(screen);
        }
        *color = [shown[0], shown[1], shown[2], alpha];
    }
}

/// Converts elements to `width` floats each. Components that the file does not have become 1. Source: section 3.6.2.2,
/// the table of normalized integers.
pub(crate) fn floats(form: Form, bytes: &[u8], stride: usize, values: &mut [f32], width: usize) {
    let shape = ElementShape { stride, from: form.width, to: width };
    let i8 = |[byte]: [u8; 1]| f32::from(byte as i8);
    let u8 = |[byte]: [u8; 1]| f32::from(byte);
    let i16 = |bytes| f32::from(i16::from_le_bytes(bytes));
    let u16 = |bytes| f32::from(u16::from_le_bytes(bytes));
    match (form.component, form.is_normalized) {
        (Component::F32, _) => spread(shape, bytes, values, 1.0, f32::from_le_bytes),
        (Component::U32, _) => spread(shape, bytes, values, 1.0, |bytes| u32::from_le_bytes(bytes) as f32),
        (Component::I8, false) => spread(shape, bytes, values, 1.0, i8),
        (Component::U8, false) => spread(shape, bytes, values, 1.0, u8),
        (Component::I16, false) => spread(shape, bytes, values, 1.0, i16),
        (Component::U16, false) => spread(shape, bytes, values, 1.0, u16),
        (Component::I8, true) => spread(shape, bytes, values, 1.0, |bytes| (i8(bytes) / 127.0).max(-1.0)),
        (Component::U8, true) => spread(shape, bytes, values, 1.0, |bytes| u8(bytes) / 255.0),
        (Component::I16, true) => spread(shape, bytes, values, 1.0, |bytes| (i16(bytes) / 32767.0).max(-1.0)),
        (Component::U16, true) => spread(shape, bytes, values, 1.0, |bytes| u16(bytes) / 65535.0),
    }
}

/// Converts unsigned integers to indices and adds `base` to each. Returns the maximum before `base` is added.
pub(crate) fn indices(form: Component, bytes: &[u8], stride: usize, values: &mut [u32], base: u32) -> Option<u32> {
    let shape = ElementShape { stride, from: 1, to: 1 };
    match form.bytes() {
        1 => spread(shape, bytes, values, 0, |[byte]: [u8; 1]| u32::from(byte)),
        2 => spread(shape, bytes, values, 0, |bytes| u32::from(u16::from_le_bytes(bytes))),
        _ => spread(shape, bytes, values, 0, u32::from_le_bytes),
    }
    let max_index = values.iter().copied().max();
    if base > 0 {
        // Out-of-range indices may wrap here; callers reject them based on the maximum.
        values.iter_mut().for_each(|value| *value = value.wrapping_add(base));
    }
    max_index
}

/// Element layout in bytes and in values.
#[derive(Clone, Copy)]
struct ElementShape {
    stride: usize,
    /// Components per element in the file.
    from: usize,
    /// Components per element in the values.
    to: usize,
}

/// Converts components of `B` bytes each. Components that the file does not have become `missing`.
#[inline(always)]
fn spread<const B: usize, V: Copy>(
    shape: ElementShape,
    bytes: &[u8],
    values: &mut [V],
    missing: V,
    number: impl Fn([u8; B]) -> V,
) {
    let ElementShape { stride, from, to } = shape;
    if from == to && stride == from * B {
        let (components, _) = bytes.as_chunks::<B>();
        values.iter_mut().zip(components).for_each(|(value, component)| *value = number(*component));
        return;
    }
    // Only colors can have more components than the file: RGB gets an alpha.
    match (from, to) {
        (1, _) => rows::<B, 1, 1, V>(stride, bytes, values, missing, number),
        (2, _) => rows::<B, 2, 2, V>(stride, bytes, values, missing, number),
        (3, 4) => rows::<B, 3, 4, V>(stride, bytes, values, missing, number),
        (3, _) => rows::<B, 3, 3, V>(stride, bytes, values, missing, number),
        _ => rows::<B, 4, 4, V>(stride, bytes, values, missing, number),
    }
}

/// Converts elements of `N` components to `M` values each.
#[inline(always)]
fn rows<const B: usize, const N: usize, const M: usize, V: Copy>(
    stride: usize,
    bytes: &[u8],
    values: &mut [V],
    missing: V,
    number: impl Fn([u8; B]) -> V,
) {
    let (rows, _) = values.as_chunks_mut::<M>();
    // The last element may be shorter than the stride.
    for (row, element) in rows.iter_mut().zip(bytes.chunks(stride)) {
        if let Some(components) = element.as_chunks::<B>().0.first_chunk::<N>() {
            *row = std::array::from_fn(|at| components.get(at).map_or(missing, |component| number(*component)));
        }
    }
}
