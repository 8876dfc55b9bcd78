//! Numbers of lists that are longer than a piece, parsed in advance by the workers that read them.
//!
//! A share of a file without a directive is nearly always a part of one list. Its numbers mean the same whatever
//! precedes them, provided that they are list elements, which only [`super::parse`] knows: it uses them where it would
//! have parsed them itself, and ignores them otherwise. Nothing here decides that.

use polyhaul_pipeline::chunk::Ahead;
use polyhaul_text::cpu::Level;
use polyhaul_text::parse::list::{Lists, is_blank};
use std::ops::Range;

/// The fewest numbers that are worth it.
const LEAST: usize = 64;
/// The usual bytes of a number and its separator, for the first allocation.
const NUMBER_BYTES: usize = 8;

/// Numbers of a list.
pub(super) enum AheadNumbers {
    Floats(Vec<f32>),
    /// All are integers.
    Integers(Vec<i32>),
}

impl AheadNumbers {
    pub(super) fn floats(&self) -> Option<&[f32]> {
        if let AheadNumbers::Floats(values) = self { Some(values) } else { None }
    }

    pub(super) fn integers(&self) -> Option<&[i32]> {
        if let AheadNumbers::Integers(values) = self { Some(values) } else { None }
    }
}

/// Parses the numbers of `range`, from the first that begins in it up to the last that ends in it, or up to another
/// token.
pub(super) fn numbers(text: &[u8], range: Range<usize>) -> Option<Ahead> {
    let share = text.get(range.clone())?;
    let start = range.start + share.iter().position(|&byte| is_blank(byte))? + 1;
    // The byte after the text of `Lists` is white space.
    let end = range.start + share.iter().rposition(|&byte| is_blank(byte))?;
    let mut lists = Lists::new(text, end, Level::best());
    let (mut integers, mut floats) = (Vec::new(), Vec::new());
    integers.try_reserve((end.saturating_sub(start)) / NUMBER_BYTES).ok()?;
    let stop = lists.i32s(start, &mut integers)?.at.min(end);
    if stop == end {
        return (integers.len() >= LEAST)
            .then(|| Ahead { range: start..end, values: Box::new(AheadNumbers::Integers(integers)) });
    }
    drop(integers);
    floats.try_reserve((end.saturating_sub(start)) / NUMBER_BYTES).ok()?;
    let stop = lists.f32s(start, &mut floats)?.at.min(end);
    (floats.len() >= LEAST).then(|| Ahead { range: start..stop, values: Box::new(AheadNumbers::Floats(floats)) })
}
