//! PNG filters (Third Edition, 9.2): store rows as differences from the pixels to the left and above, which compress
//! better, and restore them.
//!
//! The filter of each row minimizes the sum of absolute differences, taken as signed bytes: the heuristic that the
//! specification suggests for images without a palette.

/// Appends a filtered row, preceded by the number of the chosen filter. `above` is as long as `row`, and zero for the
/// first row; `size` is the bytes per pixel. `out` must have enough capacity.
pub(super) fn append(row: &[u8], above: &[u8], size: usize, tried: &mut [Vec<u8>; 5], out: &mut Vec<u8>) {
    for (number, tried) in tried.iter_mut().enumerate() {
        tried.clear();
        apply(number, row, above, size, tried);
    }
    let sums = tried.iter().map(|tried| tried.iter().map(|byte| u64::from(byte.cast_signed().unsigned_abs())).sum());
    let best = sums.enumerate().min_by_key(|&(_, sum): &(usize, u64)| sum).map_or(0, |(number, _)| number);
    out.push(best as u8);
    out.extend_from_slice(&tried[best]);
}

/// Appends a row filtered with filter `number`.
fn apply(number: usize, row: &[u8], above: &[u8], size: usize, out: &mut Vec<u8>) {
    let size = size.min(row.len());
    let (first, rest) = row.split_at(size);
    let (first_above, rest_above) = above.split_at(size.min(above.len()));
    // The pixel to the left of the first pixel is 0, so for the first pixel, Sub equals None, Average subtracts half of
    // the pixel above, and Paeth equals Up.
    let first = first.iter().zip(first_above);
    // The byte, its left neighbor, the byte above, and the left neighbor of the byte above.
    let rest = rest.iter().zip(row).zip(rest_above.iter().zip(above));
    match number {
        0 => out.extend_from_slice(row),
        1 => {
            out.extend(first.map(|(byte, _)| *byte));
            out.extend(rest.map(|((byte, left), _)| byte.wrapping_sub(*left)));
        }
        2 => out.extend(row.iter().zip(above).map(|(byte, up)| byte.wrapping_sub(*up))),
        3 => {
            out.extend(first.map(|(byte, up)| byte.wrapping_sub(up / 2)));
            out.extend(rest.map(|((byte, left), (up, _))| byte.wrapping_sub(mean(*left, *up))));
        }
        _ => {
            out.extend(first.map(|(byte, up)| byte.wrapping_sub(*up)));
            out.extend(rest.map(|((byte, left), (up, corner))| byte.wrapping_sub(nearest(*left, *up, *corner))));
        }
    }
}

/// Reverses filter `number` of the row `from`, given the row `above`. `from`, `above` and `to` have the same length.
/// `size` is the number of bytes per pixel. Returns `None` for an unknown filter.
pub(super) fn undo(number: u8, size: usize, above: &[u8], from: &[u8], to: &mut [u8]) -> Option<()> {
    match size {
        1 => undo_pixels::<1>(number, above, from, to),
        2 => undo_pixels::<2>(number, above, from, to),
        3 => undo_pixels::<3>(number, above, from, to),
        4 => undo_pixels::<4>(number, above, from, to),
        6 => undo_pixels::<6>(number, above, from, to),
        // PNG has no other pixel sizes: one to four samples of one or two bytes.
        _ => undo_pixels::<8>(number, above, from, to),
    }
}

fn undo_pixels<const SIZE: usize>(number: u8, above: &[u8], from: &[u8], to: &mut [u8]) -> Option<()> {
    match number {
        0 => {
            to.copy_from_slice(from);
            return Some(());
        }
        2 => {
            // Up has no dependency between pixels, so this is vectorized.
            to.iter_mut().zip(from).zip(above).for_each(|((to, byte), up)| *to = byte.wrapping_add(*up));
            return Some(());
        }
        _ => {}
    }
    let pixels = to.as_chunks_mut::<SIZE>().0.iter_mut().zip(from.as_chunks::<SIZE>().0);
    let above = above.as_chunks::<SIZE>().0;
    let mut left = [0; SIZE];
    let mut corner = [0; SIZE];
    match number {
        1 => {
            for (to, pixel) in pixels {
                left = std::array::from_fn(|at| pixel[at].wrapping_add(left[at]));
                *to = left;
            }
        }
        3 => {
            for ((to, pixel), up) in pixels.zip(above) {
                left = std::array::from_fn(|at| pixel[at].wrapping_add(mean(left[at], up[at])));
                *to = left;
            }
        }
        4 => {
            for ((to, pixel), up) in pixels.zip(above) {
                left = std::array::from_fn(|at| pixel[at].wrapping_add(nearest(left[at], up[at], corner[at])));
                *to = left;
                corner = *up;
            }
        }
        _ => return None,
    }
    Some(())
}

fn mean(left: u8, up: u8) -> u8 {
    ((u16::from(left) + u16::from(up)) / 2) as u8
}

/// Paeth predictor: the value closest to left + up - corner; on ties, the first of left, up and corner.
fn nearest(left: u8, up: u8, corner: u8) -> u8 {
    // Between the lower and the higher neighbor, a corner in the first third or below selects the higher one, and a
    // corner in the last third or above the lower one. Comparing with thirds has a shorter dependency chain from `left`
    // than computing distances, and each pixel waits for its left neighbor.
    let turn = 3 * i16::from(corner) - i16::from(up) - i16::from(left);
    let low = left.min(up);
    let high = left.max(up);
    let lower = if i16::from(high) <= turn { low } else { corner };
    if turn <= i16::from(low) { high } else { lower }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_by_hand() {
        let row = [10, 20, 13, 26];
        let above = [1, 2, 4, 8];
        for (number, expected) in [
            (0, [10, 20, 13, 26]),
            (1, [10, 20, 3, 6]),
            (2, [9, 18, 9, 18]),
            // The averages of 0 and 1, 0 and 2, 10 and 4, 20 and 8.
            (3, [10, 19, 6, 12]),
            // 10 + 4 - 1 = 13 is closest to 10, 20 + 8 - 2 = 26 to 20.
            (4, [9, 18, 3, 6]),
        ] {
            let mut out = Vec::new();
            apply(number, &row, &above, 2, &mut out);
            assert_eq!(out, expected, "{number}");
        }
        assert_eq!([nearest(5, 5, 5), nearest(0, 9, 9), nearest(9, 0, 9), nearest(3, 9, 6)], [5, 0, 0, 6]);
    }

    /// The definition in the specification (9.4), with distances.
    fn by_distances(left: u8, up: u8, corner: u8) -> u8 {
        let [a, b, c] = [left, up, corner].map(i16::from);
        let to_left = (b - c).abs();
        let to_up = (a - c).abs();
        let to_corner = (a + b - 2 * c).abs();
        if to_left <= to_up && to_left <= to_corner {
            left
        } else if to_up <= to_corner {
            up
        } else {
            corner
        }
    }

    #[test]
    fn the_nearest_matches_the_specification() {
        for left in 0..=255 {
            for up in 0..=255 {
                assert!((0..=255).all(|corner| nearest(left, up, corner) == by_distances(left, up, corner)));
            }
        }
    }

    #[test]
    fn undoing_a_filter_restores_the_row() {
        for size in [1, 2, 3, 4, 6, 8] {
            let bytes = |factor: usize| -> Vec<u8> { (0..5 * size).map(|at| (at * at * factor % 251) as u8).collect() };
            let row = bytes(7);
            let above = bytes(13);
            for number in 0..5 {
                let mut filtered = Vec::new();
                apply(number, &row, &above, size, &mut filtered);
                let mut undone = vec![7; row.len()];
                assert_eq!(undo(number as u8, size, &above, &filtered, &mut undone), Some(()));
                assert_eq!(undone, row, "{number} {size}");
            }
            assert_eq!(undo(5, size, &above, &row, &mut vec![0; row.len()]), None);
        }
    }

    #[test]
    fn the_smallest_differences_are_chosen() {
        let mut tried = Default::default();
        let mut out = Vec::new();
        append(&[7; 9], &[0; 9], 1, &mut tried, &mut out);
        assert_eq!(out, [1, 7, 0, 0, 0, 0, 0, 0, 0, 0]);
        out.clear();
        append(&[7, 1, 9], &[7, 1, 9], 1, &mut tried, &mut out);
        assert_eq!(out, [2, 0, 0, 0]);
    }
}
