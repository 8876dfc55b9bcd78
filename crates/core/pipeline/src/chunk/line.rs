//! A line longer than a share on its way from worker to worker, with the parts that were parsed ahead.
//!
//! A part that was parsed ahead leaves a gap. Its bytes are not passed on, because copying a list of several megabytes
//! would touch as much fresh memory again (a sixth of the time of `read pbrt film` on two threads). In the rare case in
//! which they are needed, [`super::TextChunks::fill`] reads them again. This module neither reads nor parses.

use crate::huge;
use polyhaul_model::error::{Error, Result, try_push};
use std::any::Any;
use std::ops::Range;

/// Parses as much as possible of `range` in a padded text. The range is part of one line. The bytes around the parsed
/// part become adjacent.
pub type WorkAhead = Box<dyn Fn(&[u8], Range<usize>) -> Option<ParsedAhead> + Send + Sync>;

/// A part of a line that was parsed ahead.
pub struct ParsedAhead {
    /// Byte range of the part in the text it was parsed from.
    pub range: Range<usize>,
    /// The result.
    pub values: Box<dyn Any + Send>,
}

/// A position in a text where a part is left out because it was parsed ahead.
pub struct Gap {
    /// The offset of the gap in [`super::Text::padded`].
    pub offset: usize,
    /// The number of bytes that were left out.
    pub bytes: usize,
    /// The result of parsing them.
    pub values: Box<dyn Any + Send>,
}

/// An incomplete line.
pub(super) struct PartialLine {
    /// Padding, then the bytes of the line except gaps.
    pub(super) bytes: Vec<u8>,
    /// Its gaps, in order.
    pub(super) gaps: Vec<Gap>,
    padding: usize,
}

impl PartialLine {
    /// Copies the bytes of a line after `padding`.
    pub(super) fn new(bytes: &[u8], padding: usize) -> Result<PartialLine> {
        let mut line = Vec::new();
        line.try_reserve_exact(padding + bytes.len()).map_err(|_| Error::memory("a line"))?;
        line.resize(padding, b'\n');
        line.extend_from_slice(bytes);
        Ok(PartialLine { bytes: line, gaps: Vec::new(), padding })
    }

    /// Returns the bytes of the line except gaps.
    pub(super) fn text(&self) -> &[u8] {
        &self.bytes[self.padding..]
    }

    /// Returns the number of bytes from `offset` to the end of the line, including gaps.
    pub(super) fn len_from(&self, offset: usize) -> usize {
        self.text().len() - offset + bytes_of(&self.gaps[self.first_gap(offset)..])
    }

    /// Returns the index of the first gap at or after `offset` of the text.
    fn first_gap(&self, offset: usize) -> usize {
        self.gaps.partition_point(|gap| gap.offset < self.padding + offset)
    }

    /// Appends bytes, in huge pages if the line is long.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<()> {
        huge::extend(&mut self.bytes, bytes, 0).map_err(|_| Error::memory("a line"))
    }

    /// Appends the bytes of `share`, except the part that was parsed ahead.
    pub(super) fn push_share(&mut self, text: &[u8], share: Range<usize>, ahead: Option<ParsedAhead>) -> Result<()> {
        let Some(ParsedAhead { range, values }) = ahead else { return self.push(&text[share]) };
        self.push(&text[share.start..range.start])?;
        try_push(&mut self.gaps, Gap { offset: self.bytes.len(), bytes: range.len(), values }, "a line")?;
        self.push(&text[range.end..share.end])
    }

    /// Copies the bytes after `offset` to a new line, and moves their gaps to it. The bytes also stay in this line.
    pub(super) fn split_off(&mut self, offset: usize) -> Result<PartialLine> {
        let mut rest = PartialLine::new(&self.text()[offset..], self.padding)?;
        rest.gaps = self.gaps.split_off(self.first_gap(offset));
        rest.gaps.iter_mut().for_each(|gap| gap.offset -= offset);
        Ok(rest)
    }
}

/// Returns the number of bytes in gaps.
pub(super) fn bytes_of(gaps: &[Gap]) -> usize {
    gaps.iter().map(|gap| gap.bytes).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::{Text, TextChunks};
    use polyhaul_bytes::Source;

    /// "Parses" the bytes between the first and last space of a range by copying them.
    fn words(text: &[u8], range: Range<usize>) -> Option<ParsedAhead> {
        let start = range.start + text[range.clone()].iter().position(|&byte| byte == b' ')? + 1;
        let end = range.start + text[range].iter().rposition(|&byte| byte == b' ')?;
        (start < end).then(|| ParsedAhead { range: start..end, values: Box::new(text[start..end].to_vec()) })
    }

    /// Returns the text, with gaps filled from their values.
    fn with_gaps(text: &Text) -> Vec<u8> {
        let mut out = Vec::new();
        let mut offset = text.start;
        for gap in &text.gaps {
            out.extend_from_slice(&text.padded()[offset..gap.offset]);
            let values = gap.values.downcast_ref::<Vec<u8>>().unwrap();
            assert_eq!(values.len(), gap.bytes);
            out.extend_from_slice(values);
            offset = gap.offset;
        }
        out.extend_from_slice(&text.padded()[offset..text.end]);
        out
    }

    #[test]
    fn gaps_and_the_text_around_them_are_the_whole() {
        let line = |words: usize| (0..words).map(|n| format!("{n} ")).collect::<String>() + "\n";
        let sample =
            ["\u{feff}", &line(40), &line(900), "\r\n", &line(3), "\\\n", &line(2000), "x", &line(200)].concat();
        let sample = sample.as_bytes();
        let mut gaps = 0;
        for chunk_bytes in [10, 29, 64, 333, 1000, 5000] {
            for line_bytes in [700, 3605, 1 << 20] {
                let chunks = || TextChunks::new(Source::memory(sample)).cut(chunk_bytes, line_bytes, 64);
                let ahead = chunks().parse_ahead(Box::new(words));
                let plain = chunks();
                let mut text = Text::default();
                let mut expected = Text::default();
                for number in 0.. {
                    let has_chunk = ahead.take(number, &mut text).unwrap();
                    assert_eq!(plain.take(number, &mut expected).unwrap(), has_chunk);
                    if !has_chunk {
                        break;
                    }
                    let context = format!("{chunk_bytes} {line_bytes}: chunk {number}");
                    gaps += text.gaps.len();
                    assert_eq!((text.len(), text.offset), (expected.len(), expected.offset), "{context}");
                    assert_eq!(text.too_long, expected.too_long, "{context}");
                    assert_eq!(with_gaps(&text), expected.bytes(), "{context}");
                    let size = text.len();
                    ahead.fill(&mut text, size).unwrap();
                    assert_eq!(text.bytes(), expected.bytes(), "{context}");
                }
            }
        }
        assert!(gaps > 100);
    }
}
