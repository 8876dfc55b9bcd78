//! Converts between Y-down, z forward (PLY) and Y-up, z backward (SPZ) by half a turn about x, which only changes
//! signs.

/// Sign changes for a position.
pub(super) const POSITION: [f32; 3] = [1.0, -1.0, -1.0];
/// Sign changes for a quaternion: w, x, y, z. The axis of the quaternion rotates like a position.
pub(super) const ROTATION: [f32; 4] = [1.0, 1.0, -1.0, -1.0];

/// Returns the sign change for harmonic `number`, not counting the constant. A harmonic is a polynomial in the
/// coordinates, two of which change sign.
///
/// A harmonic of degree l and order m has as a factor the sine (m < 0) or cosine of |m| times the azimuth around z. The
/// sine is odd in y, and the cosine is even. The harmonic is odd in z if l - |m| is odd.
pub(super) fn harmonic(number: usize) -> f32 {
    let degree = (number + 1).isqrt();
    // Orders start at -degree.
    let order = (number + 1 - degree * degree) as i64 - degree as i64;
    let is_odd_in_y = order < 0;
    let is_odd_in_z = (degree as i64 - order.abs()) % 2 == 1;
    if is_odd_in_y == is_odd_in_z { 1.0 } else { -1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harmonics_are_products_of_coordinates() {
        // Harmonics of degrees 1 to 3, in file order: y, z, x; xy, yz, 3z² - 1, xz, x² - y²; and so on.
        let odd_in_y_and_z = [
            (1, 0),
            (0, 1),
            (0, 0),
            (1, 0),
            (1, 1),
            (0, 0),
            (0, 1),
            (0, 0),
            (1, 0),
            (1, 1),
            (1, 0),
            (0, 1),
            (0, 0),
            (0, 1),
            (0, 0),
        ];
        for (number, (y, z)) in odd_in_y_and_z.into_iter().enumerate() {
            let expected = if (y + z) % 2 == 0 { 1.0 } else { -1.0 };
            assert_eq!(harmonic(number), expected, "{number}");
        }
    }
}
