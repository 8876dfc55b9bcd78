//! Records previous imports in a file in the texture folder, one line per texture.
//!
//! A line is appended when its texture is finished, so an interrupted job continues where it stopped; the file is
//! rewritten at the end. Invalid lines are ignored, and their textures are imported again.

use super::TextureOptions;
use crate::format::Format;
use polyhaul_bytes::hash::{Xxh3, xxh3_128};
use polyhaul_bytes::{FileOptions, Sink, Source};
use polyhaul_model::error::{Error, Result, try_string};
use polyhaul_model::options::OptionValue;
use polyhaul_pipeline::options::RunOptions;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// File name of the manifest.
pub(super) const NAME: &str = ".polyhaul-textures";

/// Must change when the same options produce different bytes.
const ALGORITHM: u32 = 1;

/// Maximum number of bytes to read. The rest of a larger file is ignored.
const MAX_BYTES: u64 = 64 << 20;

/// Block size for hashing.
const BLOCK_BYTES: usize = 256 << 10;

/// Inputs and result of an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Hash of the image file.
    pub(super) input: u128,
    /// Hash of the options.
    pub(super) options: u128,
    /// Size of the texture file in bytes.
    pub(super) size: u64,
}

/// Manifest of a folder.
pub(super) struct Manifest {
    path: PathBuf,
    entries: BTreeMap<String, Entry>,
    /// The file that lines are appended to, or `None` before the first line.
    file: Option<File>,
}

impl Manifest {
    /// Reads the manifest; it is empty if the file is missing or unreadable.
    pub(super) fn open(folder: &Path) -> Manifest {
        let path = folder.join(NAME);
        let mut text = String::new();
        let opened =
            // Opening a FIFO could block.
            std::fs::metadata(&path).ok().filter(|metadata| metadata.is_file()).and_then(|_| File::open(&path).ok());
        if let Some(file) = opened {
            let mut bytes = Vec::new();
            if file.take(MAX_BYTES).read_to_end(&mut bytes).is_ok() {
                text = String::from_utf8_lossy(&bytes).into_owned();
            }
        }
        let entries = text.lines().filter_map(parse).map(|(name, entry)| (name.to_owned(), entry)).collect();
        Manifest { path, entries, file: None }
    }

    /// Whether this texture was made from the same inputs before and still exists.
    pub(super) fn has(&self, name: &str, output: &Path, input: u128, options: u128) -> bool {
        let Some(entry) = self.entries.get(name) else { return false };
        let is_same = entry.input == input && entry.options == options;
        is_same && std::fs::metadata(output).is_ok_and(|metadata| metadata.is_file() && metadata.len() == entry.size)
    }

    /// Records a finished texture.
    pub(super) fn add(&mut self, name: &str, entry: Entry) -> Result<()> {
        let failed = |e| Error::io("write", &self.path.display().to_string(), e);
        // Names with line endings or invalid UTF-8 are not recorded, so they are always imported again.
        if name.contains(['\n', '\r', char::REPLACEMENT_CHARACTER]) {
            return Ok(());
        }
        if self.file.is_none() {
            self.file = Some(OpenOptions::new().append(true).create(true).open(&self.path).map_err(failed)?);
        }
        if let Some(file) = &mut self.file {
            // An interruption may have left an incomplete line.
            file.write_all(format!("\n{}\n", line(name, entry)).as_bytes()).map_err(failed)?;
        }
        self.entries.insert(try_string(name)?, entry);
        Ok(())
    }

    /// Atomically rewrites the file, if lines were appended.
    pub(super) fn finish(self) -> Result<()> {
        let Some(file) = self.file else { return Ok(()) };
        // Some Windows file systems cannot replace an open file.
        drop(file);
        let failed = |e| Error::io("write", &self.path.display().to_string(), e);
        let mut sink = Sink::file(&self.path, FileOptions::default()).map_err(failed)?;
        for (name, entry) in &self.entries {
            sink.write_all(format!("{}\n", line(name, *entry)).as_bytes()).map_err(failed)?;
        }
        sink.finish().map(drop).map_err(failed)
    }
}

/// Formats a line: hashes, size, and the name after its length, which reveals truncated lines.
fn line(name: &str, entry: Entry) -> String {
    let Entry { input, options, size } = entry;
    format!("{input:032x} {options:032x} {size} {} {name}", name.len())
}

fn parse(line: &str) -> Option<(&str, Entry)> {
    let mut parts = line.splitn(5, ' ');
    let mut part = || parts.next();
    let input = part()?;
    let options = part()?;
    let size = part()?.parse().ok()?;
    let length = part()?.parse::<usize>().ok()?;
    let name = part()?;
    let hash = |text: &str| u128::from_str_radix(text, 16).ok().filter(|_| text.len() == 32);
    (name.len() == length).then_some((name, Entry { input: hash(input)?, options: hash(options)?, size }))
}

/// Hash of a file, or `None` if it is not a regular file, which may only be readable once.
pub(super) fn hash_file(path: &Path, run: &RunOptions) -> Result<Option<u128>> {
    let failed = |what: &str, e| Error::io(what, &path.display().to_string(), e);
    if !std::fs::metadata(path).map_err(|e| failed("open", e))?.is_file() {
        return Ok(None);
    }
    let source = run.paced_source(Source::open_regular(path).map_err(|e| failed("open", e))?);
    let mut block = Vec::new();
    block.try_reserve_exact(BLOCK_BYTES)?;
    block.resize(BLOCK_BYTES, 0);
    let mut hash = Xxh3::new();
    loop {
        match source.read_next(&mut block).map_err(|e| failed("read", e))? {
            0 => break,
            count => hash.update(&block[..count]),
        }
    }
    source.check_unchanged().map_err(|e| failed("read", e))?;
    Ok(Some(hash.digest()))
}

/// Hash of everything except the image's content that determines the bytes of a texture, including the image's name.
pub(super) fn hash_options(name: &str, format: Format, options: &TextureOptions) -> u128 {
    let TextureOptions { encoding, quality, mips, edges, alpha_cutoff, normal_map, color_space, image, from, .. } =
        options;
    let reading = (options.limits, options.on_error, options.strict, options.allow.print());
    let text = format!(
        "{ALGORITHM} {format:?} {encoding:?} {quality:?} {mips:?} {edges:?} {alpha_cutoff:?} {normal_map:?} \
         {color_space:?} {image:?} {from:?} {reading:?} {name}"
    );
    xxh3_128(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY: Entry = Entry { input: 7, options: u128::MAX, size: 1234 };

    #[test]
    fn lines_are_read_as_they_were_written() {
        for name in ["a.dds", "dir/with space.ktx2", "ä"] {
            assert_eq!(parse(&line(name, ENTRY)), Some((name, ENTRY)));
        }
    }

    #[test]
    fn damaged_lines_are_none() {
        let whole = line("dir/a.dds", ENTRY);
        for end in 0..whole.len() {
            assert_eq!(parse(&whole[..end]), None, "{end}");
        }
        for bad in ["", "x", "zz 00 1 1 a", "0 0 1 1 a", &whole.replace("1234", "-1"), &format!("{whole}x")] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn options_that_change_bytes_change_the_hash() {
        let plain = TextureOptions::default();
        let hash = |options: &TextureOptions| hash_options("a", Format::Dds, options);
        let fast = TextureOptions { quality: polyhaul_image::blocks::BlockQuality::Fast, ..plain.clone() };
        let many = TextureOptions { run: plain.run.clone().with_threads(Some(7)), ..plain.clone() };
        assert_ne!(hash(&plain), hash(&fast));
        assert_eq!(hash(&plain), hash(&many));
        assert_ne!(hash(&plain), hash_options("a", Format::Ktx2, &plain));
        assert_ne!(hash(&plain), hash_options("a_n", Format::Dds, &plain));
    }
}
