//! The exact transfer functions of sRGB (IEC 61966-2-1).

/// Decodes an sRGB value in [0, 1] to linear light in [0, 1]. Negative values are mirrored.
#[inline]
pub fn light(code: f64) -> f64 {
    let size = code.abs();
    let light = if size <= 0.04045 { size / 12.92 } else { ((size + 0.055) / 1.055).powf(2.4) };
    light.copysign(code)
}

/// Encodes linear light in [0, 1] as an sRGB value in [0, 1]. Negative values are mirrored.
#[inline]
pub fn code(light: f64) -> f64 {
    let size = light.abs();
    let code = if size <= 0.003_130_8 { size * 12.92 } else { 1.055 * size.powf(1.0 / 2.4) - 0.055 };
    code.copysign(light)
}
