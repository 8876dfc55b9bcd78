//! Parses a chunk of OBJ text into [`ObjParsed`](super::parsed::ObjParsed): runs of plain lines in batches, blank lines
//! and comments in batches, all other statements one by one.
//!
//! At each window of the index, the parser first tries a run of rows. The kernels never interpret a line: they stop at
//! any line that is not plain, and [`Statement`], the slow path, parses it. The result therefore depends neither on
//! where a run ends nor on the CPU's instruction set.

use super::parsed::{EventKind, ObjParsed};
use super::rows::rows;
use super::statement::Statement;
use super::tokens::{ObjChunkText, ObjLine};
use polyhaul_model::error::Result;
use polyhaul_pipeline::options::ParseOptions;
use polyhaul_text::cpu::Level;
use polyhaul_text::parse::rows::Window;
use polyhaul_text::scan::Index;

/// Parameters for parsing every chunk.
pub(super) struct ObjParser<'a> {
    pub(super) options: &'a ParseOptions,
    pub(super) level: Level,
}

impl ObjParser<'_> {
    /// Parses the text into `out`, which is cleared first.
    ///
    /// Stops early at a complaint that stops reading.
    pub(super) fn parse(&self, text: ObjChunkText<'_>, index: &mut Index, out: &mut ObjParsed) -> Result<()> {
        out.clear();
        out.loss = self.options.precision.loss();
        let mut at = text.start;
        while at < text.end {
            // A newline after the text terminates an unterminated last line.
            index.scan(text.padded, at, text.end + 1, self.level);
            let next =
                if index.lines().is_empty() { self.statement(text, at, out)? } else { self.window(text, index, out)? };
            out.line_count += lines_until(text, index, next);
            at = next;
            if out.over {
                break;
            }
        }
        Ok(())
    }

    /// Parses the lines of a window; returns the offset of the first line after it.
    fn window(&self, text: ObjChunkText<'_>, index: &Index, out: &mut ObjParsed) -> Result<usize> {
        let window = Window { padded: text.padded, index, level: self.level };
        let lines = index.lines();
        let mut line = 0;
        while line < lines.len() {
            let start = index.line_start(line);
            if start >= text.end {
                break;
            }
            let taken = rows(window, line, start, text, self.options.precision, out)?;
            line += taken;
            if taken > 0 {
                // The file will be read again in double precision.
                out.over |= out.loss.short > 0 && self.options.precision.is_over_at_loss();
                if out.over {
                    return Ok(index.line_start(line));
                }
                continue;
            }
            if self.name(window, line, text, out)? {
                line += 1;
                if out.over {
                    return Ok(index.line_start(line));
                }
                continue;
            }
            let skipped = skip_blank(text, start);
            let next = if skipped > start { skipped } else { self.statement(text, start, out)? };
            if out.over {
                return Ok(next);
            }
            line += 1;
            while line < lines.len() && (lines[line].newline as usize) < next {
                line += 1;
            }
            if next > index.next_start() {
                return Ok(next);
            }
        }
        Ok(index.next_start())
    }

    /// Parses a statement with a name if its keyword and line ending are plain, because some programs write a group and
    /// a material every few faces. Without this, reading such files takes 1.05 times as long (`read style groups`).
    fn name(&self, window: Window<'_>, line: usize, text: ObjChunkText<'_>, out: &mut ObjParsed) -> Result<bool> {
        let start = window.index.line_start(line);
        let end = window.index.lines()[line].newline as usize;
        let Some(bytes) = text.padded.get(start..end).filter(|_| end <= text.end) else { return Ok(false) };
        let (kind, word) = match bytes {
            [b'g', b' ' | b'\t', ..] => (EventKind::Group, start..start + 1),
            [b'o', b' ' | b'\t', ..] => (EventKind::Object, start..start + 1),
            [b'u', b's', b'e', b'm', b't', b'l', b' ' | b'\t', ..] => (EventKind::Material, start..start + 6),
            _ => return Ok(false),
        };
        // A backslash may continue the line.
        if bytes.contains(&b'\\') {
            return Ok(false);
        }
        let line = ObjLine { start, end, next: end + 1, continued: false };
        Statement { text, line, options: self.options, out }.parse_name(kind, word)?;
        Ok(true)
    }

    /// Parses the logical line at `start`, which can be any statement. Returns the offset of the next logical line.
    fn statement(&self, text: ObjChunkText<'_>, start: usize, out: &mut ObjParsed) -> Result<usize> {
        let line = ObjLine::find(text.padded, start, text.end);
        Statement { text, line, options: self.options, out }.parse()?;
        // Also skip the newline after an unterminated last line.
        Ok(if line.end == text.end { text.end + 1 } else { line.next })
    }
}

/// Returns the offset of the first line, starting at `start`, that is neither blank nor a plain comment. Significant
/// comments (`#MRGB`, or a backslash at the end) are left to [`Statement`].
fn skip_blank(text: ObjChunkText<'_>, start: usize) -> usize {
    let bytes = &text.padded[..text.end];
    let mut at = start;
    loop {
        at = match bytes.get(at) {
            Some(b'\n' | b'\r' | b' ' | b'\t') => match skip_blank_lines(bytes, at) {
                next if next > at => next,
                _ => return at,
            },
            Some(b'#') if bytes.get(at + 1) != Some(&b'M') => match skip_comment(bytes, at) {
                Some(next) => next,
                None => return at,
            },
            _ => return at,
        }
    }
}

/// Returns the offset of the first line, starting at `at`, that is not blank.
fn skip_blank_lines(bytes: &[u8], at: usize) -> usize {
    let is_blank = |byte: &u8| matches!(byte, b'\n' | b'\r' | b' ' | b'\t');
    // Testing whole blocks without a branch vectorizes.
    let (blocks, _) = bytes[at..].as_chunks::<64>();
    let whole = blocks.iter().take_while(|block| block.iter().fold(true, |blank, byte| blank & is_blank(byte))).count();
    let tail = at + 64 * whole;
    let end = tail + bytes[tail..].iter().take_while(|byte| is_blank(byte)).count();
    memchr::memrchr2(b'\n', b'\r', &bytes[at..end]).map_or(at, |newline| at + newline + 1)
}

/// Returns the offset of the line after the comment at `at`; `None` if a backslash continues the comment, or if the
/// text ends.
fn skip_comment(bytes: &[u8], at: usize) -> Option<usize> {
    let newline = at + memchr::memchr2(b'\n', b'\r', &bytes[at..])?;
    let is_pair = bytes[newline] == b'\r' && bytes.get(newline + 1) == Some(&b'\n');
    (bytes[newline - 1] != b'\\').then_some(newline + 1 + usize::from(is_pair))
}

/// Counts the line endings between the start of the index and `next`, excluding the newline after the text.
fn lines_until(text: ObjChunkText<'_>, index: &Index, next: usize) -> u64 {
    let behind = index.lines().last().is_some_and(|line| line.newline as usize == text.end);
    let indexed = index.lines().len() - usize::from(behind);
    // A statement can extend past the window if its line is long or continued.
    let from = index.next_start().min(text.end);
    let to = next.min(text.end);
    let more = if from < to { polyhaul_text::lines::count(&text.padded[from..to]) } else { 0 };
    (indexed + more) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skipped(text: &str) -> usize {
        let padded = [text.as_bytes(), &[b'\n'; 64]].concat();
        skip_blank(ObjChunkText { padded: &padded, start: 0, end: text.len() }, 0)
    }

    /// A run is skipped in one step, however long it is.
    #[test]
    fn blank_lines_and_comments_are_skipped_at_once() {
        for line in ["\n", "\r\n", "\r", " \t\n", "#\n", "# a comment\r\n", "#\\ \n"] {
            let run = line.repeat(10_000);
            assert_eq!(skipped(&run), run.len(), "{line:?}");
            assert_eq!(skipped(&format!("{run}v 0 0 0\n\n")), run.len(), "{line:?}");
            assert_eq!(skipped(&format!("{run}  v 0 0 0\n\n")), run.len(), "{line:?}");
        }
    }

    #[test]
    fn lines_that_mean_something_are_not_skipped() {
        for line in ["v 0 0 0\n", "  f 1\n", "#MRGB ff\n", "# a \\\nv 0 0 0\n", "\\\n", "#", "  ", "\x0b\n"] {
            assert_eq!(skipped(line), 0, "{line:?}");
            assert_eq!(skipped(&format!("\n\n{line}")), 2, "{line:?}");
        }
        assert_eq!(skipped(""), 0);
    }
}
