//! Converts from y down, z forward to y up, z backward, and back: half a turn about x, which only changes signs.

/// The signs of a position.
pub(super) const POSITION: [f32; 3] = [1.0, -1.0, -1.0];
/// The signs of a quaternion: w, x, y, z. Its axis is rotated like a position.
pub(super) const ROTATION: [f32; 4] = [1.0, 1.0, -1.0, -1.0];

/// The sign of harmonic `number`, without the constant one. A harmonic is a polynomial of coordinates, some of which
/// change their sign.
///
/// In degree l and order m, sines of |m| times the angle around z (m < 0) are odd in y; the height z has the power
/// l - |m|, so it is odd if that number is.
pub(super) fn harmonic(number: usize) -> f32 {
    let degree = (number + 1).isqrt();
    // Orders from -degree on.
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
        // Harmonics of degrees 1 to 3, in the order of files: y, z, x; xy, yz, 3z² - 1, xz, x² - y²; and so on.
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
