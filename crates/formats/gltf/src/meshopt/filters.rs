//! Filters, which convert decoded attributes in place. See appendix B of the extension.
//!
//! The extension leaves the results for values outside its ranges undefined; here, they are the same on all machines.

/// A filter, named as in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MeshoptFilter {
    None,
    /// Unit vectors, projected onto an octahedron.
    Octahedral,
    /// Unit quaternions without their largest component.
    Quaternion,
    /// Floats, as exponent and mantissa.
    Exponential,
    /// Colors, as luma and chroma.
    Color,
}

impl MeshoptFilter {
    pub(super) fn from_name(name: &str) -> Option<MeshoptFilter> {
        Some(match name {
            "NONE" => MeshoptFilter::None,
            "OCTAHEDRAL" => MeshoptFilter::Octahedral,
            "QUATERNION" => MeshoptFilter::Quaternion,
            "EXPONENTIAL" => MeshoptFilter::Exponential,
            "COLOR" => MeshoptFilter::Color,
            _ => return None,
        })
    }

    /// Returns whether the filter supports elements of `stride` bytes. `stride` must be a multiple of 4.
    pub(super) fn has_stride(self, stride: u64) -> bool {
        match self {
            MeshoptFilter::None | MeshoptFilter::Exponential => true,
            MeshoptFilter::Octahedral | MeshoptFilter::Color => matches!(stride, 4 | 8),
            MeshoptFilter::Quaternion => stride == 8,
        }
    }

    /// Converts elements in place.
    pub(super) fn apply(self, elements: &mut [u8], stride: usize) {
        match (self, stride) {
            (MeshoptFilter::None, _) => {}
            (MeshoptFilter::Octahedral, 4) => each_of_bytes(elements, |[x, y, unit, rest]| {
                let [x, y, unit] = [x, y, unit].map(|byte| f32::from(byte as i8));
                let [x, y, z] = octahedral([x, y, unit]).map(|value| (value * 127.0).round() as i8 as u8);
                [x, y, z, rest]
            }),
            (MeshoptFilter::Octahedral, _) => each_of_shorts(elements, |[x, y, unit, rest]| {
                let [x, y, unit] = [x, y, unit].map(|short| f32::from(short as i16));
                let [x, y, z] = octahedral([x, y, unit]).map(|value| (value * 32767.0).round() as i16 as u16);
                [x, y, z, rest]
            }),
            (MeshoptFilter::Quaternion, _) => each_of_shorts(elements, quaternion),
            (MeshoptFilter::Exponential, _) => {
                let (words, _) = elements.as_chunks_mut();
                words.iter_mut().for_each(|word| *word = exponential(i32::from_le_bytes(*word)).to_le_bytes());
            }
            (MeshoptFilter::Color, 4) => each_of_bytes(elements, |[y, orange, green, alpha]| {
                let chroma = [orange, green].map(|byte| i32::from(byte as i8));
                color(i32::from(y), chroma, u32::from(alpha), 255.0).map(|value| value as u8)
            }),
            (MeshoptFilter::Color, _) => each_of_shorts(elements, |[y, orange, green, alpha]| {
                let chroma = [orange, green].map(|short| i32::from(short as i16));
                color(i32::from(y), chroma, u32::from(alpha), 65535.0).map(|value| value as u16)
            }),
        }
    }
}

fn each_of_bytes(elements: &mut [u8], change: impl Fn([u8; 4]) -> [u8; 4]) {
    elements.as_chunks_mut().0.iter_mut().for_each(|element| *element = change(*element));
}

fn each_of_shorts(elements: &mut [u8], change: impl Fn([u16; 4]) -> [u16; 4]) {
    for element in elements.as_chunks_mut::<8>().0 {
        let shorts = std::array::from_fn(|at| u16::from_le_bytes([element[2 * at], element[2 * at + 1]]));
        for (bytes, short) in element.as_chunks_mut::<2>().0.iter_mut().zip(change(shorts)) {
            *bytes = short.to_le_bytes();
        }
    }
}

/// Decodes a unit vector from a point on the octahedron, whose coordinates are multiples of 1 / `unit`.
fn octahedral([x, y, unit]: [f32; 3]) -> [f32; 3] {
    let x = x / unit;
    let y = y / unit;
    let z = 1.0 - x.abs() - y.abs();
    // The lower half of the octahedron (z < 0) is folded over the corners of the square.
    let fold = z.min(0.0);
    let x = x - fold.copysign(x);
    let y = y - fold.copysign(y);
    let length = (x * x + y * y + z * z).sqrt();
    [x / length, y / length, z / length]
}

fn quaternion([x, y, z, last]: [u16; 4]) -> [u16; 4] {
    // The two lowest bits are the index of the omitted component.
    // The unit is 2^n - 1, so setting these bits restores it.
    let unit = f32::from((last | 3) as i16);
    let [x, y, z] = [x, y, z].map(|part| f32::from(part as i16) / unit * std::f32::consts::FRAC_1_SQRT_2);
    let w = (1.0 - x * x - y * y - z * z).max(0.0).sqrt();
    let mut out = [0; 4];
    for (at, value) in [w, x, y, z].into_iter().enumerate() {
        out[(usize::from(last & 3) + at) % 4] = (value * 32767.0).round() as i16 as u16;
    }
    out
}

/// Decodes a float: the highest 8 bits are the exponent, and the lowest 24 bits are the mantissa.
fn exponential(value: i32) -> f32 {
    // In 64 bits, every power of two and every product is exact, so only the conversion to `f32` rounds.
    let power = f64::from_bits(((1023 + i64::from(value >> 24)) as u64) << 52);
    (f64::from((value << 8) >> 8) * power) as f32
}

/// Decodes red, green, blue and alpha, up to `max_value`. The highest set bit of `alpha` determines the bit depth.
fn color(y: i32, [orange, green]: [i32; 2], alpha: u32, max_value: f32) -> [f32; 4] {
    // An alpha of 0 has no bit depth and makes the scale infinite; the saturating casts still define the result.
    let mask = (1_u32 << (32 - alpha.leading_zeros())) - 1;
    let opacity = alpha & (mask >> 1);
    // The marker of the bit depth takes one bit of alpha. Repeating the lowest bit restores the range.
    let opacity = (opacity << 1 | opacity & 1) as i32;
    let scale = max_value / mask as f32;
    [y + orange - green, y + green, y - orange - green, opacity].map(|value| (value as f32 * scale).round())
}
