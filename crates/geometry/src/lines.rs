//! The edges of polylines, in order: a line with n corners has n - 1 edges.
//!
//! Lines are passed as offsets into their corners: one offset per line, and a final one.

use polyhaul_pipeline::arrays::partition_point;
use std::ops::Range;

/// Returns the number of edges of lines.
pub fn edge_count(offsets: &[u32]) -> usize {
    offsets.len().checked_sub(1).map_or(0, |lines| edges_before(offsets, lines))
}

/// Returns the number of edges before a line: preceding corners minus preceding lines.
fn edges_before(offsets: &[u32], line: usize) -> usize {
    let first = offsets.first().copied().unwrap_or(0);
    offsets.get(line).map_or(usize::MAX, |&end| (end - first) as usize - line)
}

/// Returns the first corner of each edge in a range. The second corner of an edge directly follows its first corner.
pub fn edge_starts(offsets: &[u32], edges: Range<usize>) -> impl Iterator<Item = usize> + '_ {
    let first = offsets.first().map_or(0, |&first| first as usize);
    let mut line = partition_point(1..offsets.len(), |line| edges_before(offsets, line) <= edges.start) - 1;
    let mut end = edges_before(offsets, line + 1);
    edges.map(move |edge| {
        while end <= edge {
            line += 1;
            end = edges_before(offsets, line + 1);
        }
        first + edge + line
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_start_at_all_corners_but_the_last_of_each_line() {
        // The second line has a single corner, and thus no edge.
        let offsets = [10, 13, 14, 18];
        let starts = [10, 11, 14, 15, 16];
        assert_eq!(edge_count(&offsets), starts.len());
        for start in 0..starts.len() {
            assert!(edge_starts(&offsets, start..starts.len()).eq(starts[start..].iter().copied()), "{start}");
        }
        assert_eq!(edge_count(&[]), 0);
        assert_eq!(edge_starts(&[], 0..0).count(), 0);
    }
}
