//! Splits triangle strips into triangles.
//!
//! Each index of a strip forms a triangle with the two indices before it; every second triangle is flipped, so that all
//! have the same orientation. -1 restarts the strip. Triangles that use a position twice only connect other triangles
//! and are dropped.

use polyhaul_model::Elements;
use polyhaul_model::error::{Error, Result};

/// Index at which a strip restarts.
const RESTART: u32 = u32::MAX;

/// Returns the triangles of strips, except triangles with a restart marker, an out-of-range index or a repeated
/// position.
pub(super) fn triangles(offsets: &[u32], values: &[u32], positions: u32) -> Result<Elements> {
    let mut count = 0;
    each(offsets, values, positions, |_| count += 1);
    let mut corners = Vec::new();
    corners.try_reserve_exact(3 * count).map_err(|_| Error::memory("triangles"))?;
    each(offsets, values, positions, |triangle| corners.extend(triangle));
    rows_of(corners, 3)
}

fn each(offsets: &[u32], values: &[u32], positions: u32, mut take: impl FnMut([u32; 3])) {
    for pair in offsets.windows(2) {
        let strip = values.get(pair[0] as usize..pair[1] as usize).unwrap_or(&[]);
        for run in strip.split(|&index| index == RESTART) {
            for (turn, corners) in run.windows(3).enumerate() {
                let [a, b, c] = [corners[0], corners[1], corners[2]];
                let is_whole = a != b && b != c && a != c && corners.iter().all(|&corner| corner < positions);
                if is_whole {
                    take(if turn % 2 == 0 { [a, b, c] } else { [b, a, c] });
                }
            }
        }
    }
}

/// Creates elements of `size` corners each.
pub(super) fn rows_of(corners: Vec<u32>, size: usize) -> Result<Elements> {
    let mut offsets = Vec::new();
    if !corners.is_empty() {
        if u32::try_from(corners.len()).is_err() {
            return Err(Error::new(polyhaul_model::error::ErrorKind::Limit, "more than 2^32 - 1 corners"));
        }
        offsets.try_reserve_exact(corners.len() / size + 1).map_err(|_| Error::memory("offsets"))?;
        offsets.extend((0..=corners.len() as u32).step_by(size));
    }
    Ok(Elements { offsets: offsets.into(), corner_positions: corners.into(), ..Elements::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(strip: &[u32]) -> Vec<u32> {
        triangles(&[0, strip.len() as u32], strip, 100).unwrap().corner_positions.to_vec()
    }

    #[test]
    fn every_second_triangle_is_turned() {
        assert_eq!(cut(&[0, 1, 2, 3, 4]), [0, 1, 2, 2, 1, 3, 2, 3, 4]);
        assert_eq!(cut(&[0, 1, 2, RESTART, 3, 4, 5, 6]), [0, 1, 2, 3, 4, 5, 5, 4, 6]);
        assert_eq!(cut(&[0, 1, RESTART, 2, RESTART]), [0; 0]);
    }

    #[test]
    fn triangles_that_only_join_are_left_out_and_keep_the_turn() {
        assert_eq!(cut(&[0, 1, 2, 2, 3, 3, 4, 5]), [0, 1, 2, 4, 3, 5]);
        assert_eq!(cut(&[0, 1, 200, 2, 3, 4]), [3, 2, 4]);
    }
}
