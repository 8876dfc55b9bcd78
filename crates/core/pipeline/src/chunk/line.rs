//! A line longer than a share on its way from one worker to the next, and the parts of it that were parsed in advance.
//!
//! Such a part leaves a gap: its bytes are not passed on, since every byte of a list of megabytes would become fresh
//! memory once more (a sixth of the time of `read pbrt film` on two threads).
//! [`super::TextChunks::fill`] reads them again in the rare case that somebody needs them. This module neither reads
//! nor parses.

use crate::huge;
use polyhaul_model::error::{Error, Result, try_push};
use std::any::Any;
use std::ops::Range;

/// Parses what it can of `range` of a text with padding, which is a part of one line. The bytes before and after the
/// result become neighbors.
pub type WorkAhead = Box<dyn Fn(&[u8], Range<usize>) -> Option<Ahead> + Send + Sync>;

/// A part of a line that was parsed in advance.
pub struct Ahead {
    /// The part, in bytes of the text that it was parsed from.
    pub range: Range<usize>,
    /// The result.
    pub values: Box<dyn Any + Send>,
}

/// A place in a text from which a part that was parsed in advance was left out.
pub struct Gap {
    /// The place, in bytes of the text.
    pub at: usize,
    /// The number of bytes that were left out.
    pub bytes: usize,
    /// The result of parsing them.
    pub values: Box<dyn Any + Send>,
}

/// An incomplete line.
pub(super) struct Line {
    /// Padding, then the bytes of the line without those of gaps.
    pub(super) bytes: Vec<u8>,
    /// Its gaps, in order.
    pub(super) gaps: Vec<Gap>,
    padding: usize,
}

impl Line {
    /// A copy of the bytes of a line after `padding`.
    pub(super) fn new(bytes: &[u8], padding: usize) -> Result<Line> {
        let mut line = Vec::new();
        line.try_reserve_exact(padding + bytes.len()).map_err(|_| Error::memory("a line"))?;
        line.resize(padding, b'\n');
        line.extend_from_slice(bytes);
        Ok(Line { bytes: line, gaps: Vec::new(), padding })
    }

    /// The line without gaps.
    pub(super) fn text(&self) -> &[u8] {
        &self.bytes[self.padding..]
    }

    /// The number of its bytes from `at` of the text on, gaps included.
    pub(super) fn len_from(&self, at: usize) -> usize {
        self.text().len() - at + bytes_of(&self.gaps[self.first_gap(at)..])
    }

    /// The first gap that is not before `at` of the text.
    fn first_gap(&self, at: usize) -> usize {
        self.gaps.partition_point(|gap| gap.at < self.padding + at)
    }

    /// Appends bytes. Those of a long line are fresh memory.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<()> {
        huge::extend(&mut self.bytes, bytes, 0).map_err(|_| Error::memory("a line"))
    }

    /// Appends the bytes of `share` of a text, without the part that was parsed in advance.
    pub(super) fn push_share(&mut self, text: &[u8], share: Range<usize>, ahead: Option<Ahead>) -> Result<()> {
        let Some(Ahead { range, values }) = ahead else { return self.push(&text[share]) };
        self.push(&text[share.start..range.start])?;
        try_push(&mut self.gaps, Gap { at: self.bytes.len(), bytes: range.len(), values }, "a line")?;
        self.push(&text[range.end..share.end])
    }

    /// A line of what follows `at` of the text. The bytes stay in this one, too.
    pub(super) fn split_off(&mut self, at: usize) -> Result<Line> {
        let mut rest = Line::new(&self.text()[at..], self.padding)?;
        rest.gaps = self.gaps.split_off(self.first_gap(at));
        rest.gaps.iter_mut().for_each(|gap| gap.at -= at);
        Ok(rest)
    }
}

/// The number of bytes that gaps left out.
pub(super) fn bytes_of(gaps: &[Gap]) -> usize {
    gaps.iter().map(|gap| gap.bytes).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::{Text, TextChunks};
    use polyhaul_bytes::Source;

    /// Takes what lies between the first and the last blank of a range as parsed: its bytes.
    fn words(text: &[u8], range: Range<usize>) -> Option<Ahead> {
        let start = range.start + text[range.clone()].iter().position(|&byte| byte == b' ')? + 1;
        let end = range.start + text[range].iter().rposition(|&byte| byte == b' ')?;
        (start < end).then(|| Ahead { range: start..end, values: Box::new(text[start..end].to_vec()) })
    }

    /// The text with its gaps filled from their values.
    fn with_gaps(text: &Text) -> Vec<u8> {
        let (mut out, mut at) = (Vec::new(), text.start);
        for gap in &text.gaps {
            out.extend_from_slice(&text.padded()[at..gap.at]);
            let values = gap.values.downcast_ref::<Vec<u8>>().unwrap();
            assert_eq!(values.len(), gap.bytes);
            out.extend_from_slice(values);
            at = gap.at;
        }
        out.extend_from_slice(&text.padded()[at..text.end]);
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
                let (ahead, plain) = (chunks().parse_ahead(Box::new(words)), chunks());
                let (mut text, mut wanted) = (Text::default(), Text::default());
                for number in 0.. {
                    let more = ahead.take(number, &mut text).unwrap();
                    assert_eq!(plain.take(number, &mut wanted).unwrap(), more);
                    if !more {
                        break;
                    }
                    let what = format!("{chunk_bytes} {line_bytes}: chunk {number}");
                    gaps += text.gaps.len();
                    assert_eq!((text.len(), text.offset), (wanted.len(), wanted.offset), "{what}");
                    assert_eq!(text.too_long, wanted.too_long, "{what}");
                    assert_eq!(with_gaps(&text), wanted.bytes(), "{what}");
                    let size = text.len();
                    ahead.fill(&mut text, size).unwrap();
                    assert_eq!(text.bytes(), wanted.bytes(), "{what}");
                }
            }
        }
        assert!(gaps > 100);
    }
}
