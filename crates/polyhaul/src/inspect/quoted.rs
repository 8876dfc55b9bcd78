//! Finds quoted strings in a text, such as file names, without parsing it.

use crate::input::Input;
use crate::open::Opened;
use crate::options::ReadOptions;
use polyhaul_model::error::Result;
use polyhaul_pipeline::read::{buffer, fill};

/// Size of the blocks in which the text is read.
const BLOCK_BYTES: usize = 1 << 20;
/// Maximum length of a string in bytes.
const LONGEST_BYTES: usize = 1024;

/// Calls `see` with each string between two double quotes on one line, in order and with repetitions. Does not
/// recognize comments. Skips strings that are longer than 1 KiB or not UTF-8. Reads and decompresses the text in
/// blocks.
///
/// ```
/// use polyhaul::inspect::quoted;
/// use polyhaul::{Input, ReadOptions};
///
/// let (text, mut found) = (b"Include \"a.pbrt\"\nShape \"sphere\"".to_vec(), Vec::new());
/// quoted(Input::Memory(text, "scene".into()), &ReadOptions::default(), &mut |name| found.push(name.to_owned()))?;
/// assert_eq!(found, ["a.pbrt", "sphere"]);
/// # Ok::<(), polyhaul::Error>(())
/// ```
///
/// # Errors
/// Any error from reading.
pub fn quoted(input: impl Into<Input>, options: &ReadOptions, see: &mut dyn FnMut(&str)) -> Result<()> {
    let opened = Opened::new(input.into(), options)?;
    let plain = opened.plain(options)?;
    let mut block = buffer(BLOCK_BYTES)?;
    let mut finder = Finder::default();
    loop {
        let count = fill(plain.source(), plain.garbage(), &mut block)?;
        finder.look(block.get(..count).unwrap_or_default(), see);
        if count < block.len() {
            return Ok(());
        }
        options.run.cancel.check()?;
    }
}

/// State of the search between blocks.
#[derive(Default)]
struct Finder {
    is_inside: bool,
    name: Vec<u8>,
}

impl Finder {
    fn look(&mut self, mut bytes: &[u8], see: &mut dyn FnMut(&str)) {
        while !bytes.is_empty() {
            let is_inside = self.is_inside;
            let end = if is_inside { memchr::memchr2(b'"', b'\n', bytes) } else { memchr::memchr(b'"', bytes) };
            let (part, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
            if is_inside {
                let room = (LONGEST_BYTES + 1).saturating_sub(self.name.len());
                self.name.extend(part.iter().take(room));
            }
            let Some((mark, rest)) = rest.split_first() else { return };
            if is_inside
                && *mark == b'"'
                && self.name.len() <= LONGEST_BYTES
                && let Ok(name) = str::from_utf8(&self.name)
            {
                see(name);
            }
            self.is_inside = !is_inside;
            self.name.clear();
            bytes = rest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_may_end_anywhere() {
        let long = "x".repeat(LONGEST_BYTES + 1);
        let text = format!("a \"b c\" \"\" \"{long}\"\n\"open\nd \"é\" \"end");
        for size in 1..20 {
            let mut finder = Finder::default();
            let mut names = Vec::new();
            text.as_bytes().chunks(size).for_each(|block| finder.look(block, &mut |name| names.push(name.to_owned())));
            assert_eq!(names, ["b c", "", "é"]);
        }
    }
}
