//! Reading a scene: source, format, and the files that it refers to.
//!
//! A reading never goes back in its source. Who needs to read twice opens the input, keeps it
//! ([`Opened::kept`]) and loads it twice, as `inspect` does.

use crate::error::{Error, ErrorKind, Result, try_push, try_string};
use crate::formats::{Format, mtl, names, obj};
use crate::model::Material;
use crate::options::{Cancel, ReadOptions};
use crate::pipeline::chunk::TextChunks;
use crate::report::{Phase, Report};
use crate::resolve::Resolver;
use crate::warnings::Warnings;
use crate::{Input, Loaded};
use polyhaul_bytes::Source;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Bytes per step where a stream is taken into memory.
const KEPT_STEP_BYTES: usize = 16 * polyhaul_bytes::BLOCK_BYTES;

/// An input that was opened.
pub(crate) struct Opened {
    source: Source<'static>,
    /// Where it is a file.
    path: Option<PathBuf>,
}

/// Opens an input.
pub(crate) fn open(input: Input) -> Result<Opened> {
    let (source, path) = match input {
        Input::Path(path) => {
            let source = Source::open(&path).map_err(|e| Error::io("opening", &path.display().to_string(), e))?;
            (source, Some(path))
        }
        Input::Stdin => (Source::stdin().map_err(|e| Error::io("opening", "standard input", e))?, None),
        Input::Memory(bytes, name) => (Source::named_memory(bytes, name), None),
        Input::Reader(reader, name) => (Source::reader(reader, name), None),
    };
    Ok(Opened { source, path })
}

impl Opened {
    /// The name that messages use.
    pub(crate) fn name(&self) -> &str {
        self.source.name()
    }

    /// The path, where the input is a file.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The same input, such that it can be loaded more than once: all bytes of a stream are taken
    /// into memory.
    pub(crate) fn kept(self, cancel: &Cancel) -> Result<Opened> {
        if self.source.is_positioned() {
            return Ok(self);
        }
        let mut bytes = Vec::new();
        loop {
            if cancel.is_cancelled() {
                return Err(Error::cancelled());
            }
            let start = bytes.len();
            bytes.try_reserve(KEPT_STEP_BYTES).map_err(|_| Error::memory("a stream that is read twice"))?;
            bytes.resize(start + KEPT_STEP_BYTES, 0);
            let count = self.source.read_next(&mut bytes[start..]).map_err(|e| Error::io("reading", self.name(), e))?;
            bytes.truncate(start + count);
            if count < KEPT_STEP_BYTES {
                return Ok(Opened { source: Source::named_memory(bytes, self.name()), path: self.path });
            }
        }
    }

    /// Reads the scene.
    pub(crate) fn load(&self, options: &ReadOptions) -> Result<Loaded> {
        let mut report = Report::default();
        let start = Instant::now();
        let scene = self.read(options, &mut report)?;
        report.phases.push(Phase { name: "read", elapsed: start.elapsed() });
        Ok(Loaded { scene, report })
    }

    fn read(&self, options: &ReadOptions, report: &mut Report) -> Result<crate::model::Scene> {
        let (source, path) = (&self.source, self.path());
        let format = match options.format {
            Some(format) => format,
            None => Format::of_source(path, source.name())?,
        };
        match format {
            Format::Obj => {
                let found = obj::read(TextChunks::new(source.clone()), options)?;
                report.threads = found.threads;
                report.warnings = found.warnings;
                report.bytes_in = source.counters().snapshot().bytes;
                let mut scene = found.scene;
                if options.load_materials {
                    let resolver = Resolver::beside(path, options);
                    let materials = Definitions { materials: &mut scene.materials, numbers: HashMap::new() };
                    let (seen, files, probes) = (HashSet::new(), HashSet::new(), 0);
                    let mut libraries = Libraries { resolver, options, report, materials, seen, files, probes };
                    scene.material_libraries = libraries.read_all(&found.libraries)?;
                    // Without a folder nothing was looked for, and the missing libraries are noted already.
                    if path.is_some() || found.libraries.is_empty() {
                        note_missing(&scene.materials, &found.uses, options, &mut report.warnings)?;
                    }
                }
                Ok(scene)
            }
        }
    }
}

/// The material libraries of a scene, as they are read one after another.
struct Libraries<'a> {
    resolver: Resolver,
    options: &'a ReadOptions,
    report: &'a mut Report,
    materials: Definitions<'a>,
    /// The names of the scene, as they stand there.
    seen: HashSet<&'a str>,
    /// The files that were read: a file may have many names.
    files: HashSet<PathBuf>,
    /// How often a file was looked for under a name that has blanks.
    probes: u64,
}

impl<'a> Libraries<'a> {
    /// Reads all libraries once each; returns their names.
    fn read_all(&mut self, references: &'a [obj::Reference]) -> Result<Vec<String>> {
        let mut names = Vec::new();
        let mut statements = HashSet::new();
        for reference in references {
            // Many exporters repeat the statement before each object.
            statements.try_reserve(1).map_err(|_| Error::memory("names"))?;
            if !statements.insert(&reference.name) {
                continue;
            }
            let mut rest: &'a str = &reference.name;
            if self.is_one_name(reference)? {
                self.add(std::mem::take(&mut rest), reference, &mut names)?;
            }
            while let Some((name, others)) = split_name(rest) {
                self.add(name, reference, &mut names)?;
                rest = others;
            }
        }
        Ok(names)
    }

    /// Whether the whole statement is one name: names may have blanks.
    fn is_one_name(&mut self, reference: &obj::Reference) -> Result<bool> {
        if !reference.name.contains(char::is_whitespace) {
            return Ok(true);
        }
        self.check_count(self.probes, reference)?;
        self.probes += 1;
        Ok(self.resolver.exists(&reference.name))
    }

    /// That one more than `count` files is within the limit.
    fn check_count(&self, count: u64, reference: &obj::Reference) -> Result<()> {
        let limit = self.options.limits.files;
        if count < limit {
            return Ok(());
        }
        let message = format!("the scene refers to more than {limit} files (files)");
        let error = reference.diagnostic(message).into_error(ErrorKind::Limit);
        Err(error.with_hint("raise Limits::files to read them"))
    }

    /// Reads the library `name`, unless that was done already.
    fn add(&mut self, name: &'a str, reference: &obj::Reference, names: &mut Vec<String>) -> Result<()> {
        if self.seen.contains(name) {
            return Ok(());
        }
        let limit = self.options.limits.name_bytes;
        if name.len() as u64 > limit {
            let message = format!("this name is longer than the limit of {limit} bytes (name_bytes)");
            let error = reference.diagnostic(message).into_error(ErrorKind::Limit);
            return Err(error.with_hint("raise Limits::name_bytes to read it"));
        }
        self.check_count(self.seen.len() as u64, reference)?;
        self.seen.try_reserve(1).map_err(|_| Error::memory("names"))?;
        self.seen.insert(name);
        if self.is_new(name, reference)? {
            try_push(names, try_string(name)?, "names")?;
        }
        Ok(())
    }

    /// Reads the library `name`; `false` where its file was read under another name.
    fn is_new(&mut self, name: &str, reference: &obj::Reference) -> Result<bool> {
        let found = match self.resolver.find(name) {
            Ok(found) => found,
            Err(error) => return self.note_unread(name, reference, error),
        };
        if self.files.contains(&found.real) {
            return Ok(false);
        }
        let read = self.resolver.read(&found);
        self.files.try_reserve(1).map_err(|_| Error::memory("names"))?;
        self.files.insert(found.real);
        match read {
            Ok(bytes) => {
                self.report.bytes_in += bytes.len() as u64;
                let file = found.shown.as_str().into();
                self.materials.merge(mtl::read(&bytes, &file, self.options, &mut self.report.warnings)?)?;
                Ok(true)
            }
            Err(error) => self.note_unread(name, reference, error),
        }
    }

    fn note_unread(&mut self, name: &str, reference: &obj::Reference, error: Error) -> Result<bool> {
        if matches!(error.kind(), ErrorKind::Limit | ErrorKind::Memory) {
            return Err(error);
        }
        let why = match error.io_error() {
            Some(error) => error.to_string(),
            None => error.diagnostic().message.clone(),
        };
        let message = format!("the material library `{}` was not read: {why}", names::shown(name));
        self.report.warnings.note(self.options, "missing-library", reference.diagnostic(message))?;
        Ok(true)
    }
}

/// The first name in a `mtllib` statement and what is behind it: a name ends where a word ends in
/// `.mtl`, or at the end.
fn split_name(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let mut end = 0;
    for word in text.split_inclusive(char::is_whitespace) {
        let name_end = end + word.trim_end().len();
        end += word.len();
        let extension = word.trim_end().as_bytes().last_chunk::<4>();
        if word.trim_end().len() > 4 && extension.is_some_and(|it| it.eq_ignore_ascii_case(b".mtl")) {
            return Some((&text[..name_end], &text[end..]));
        }
    }
    (!text.is_empty()).then_some((text, ""))
}

/// The materials of a scene, and which of them are defined.
struct Definitions<'a> {
    materials: &'a mut Vec<Material>,
    /// Where each name is; empty before the first library.
    numbers: HashMap<String, usize>,
}

impl Definitions<'_> {
    /// Fills in the materials that were used, and adds those that were only defined.
    fn merge(&mut self, defined: Vec<Material>) -> Result<()> {
        if self.numbers.is_empty() {
            for number in 0..self.materials.len() {
                self.number(number)?;
            }
        }
        for material in defined {
            match self.numbers.get(&material.name) {
                // The first definition of a name wins.
                Some(&number) if self.materials[number].missing => self.materials[number] = material,
                Some(_) => {}
                None => {
                    try_push(self.materials, material, "materials")?;
                    self.number(self.materials.len() - 1)?;
                }
            }
        }
        Ok(())
    }

    /// Remembers where a name is.
    fn number(&mut self, number: usize) -> Result<()> {
        self.numbers.try_reserve(1).map_err(|_| Error::memory("names"))?;
        self.numbers.insert(try_string(&self.materials[number].name)?, number);
        Ok(())
    }
}

/// A material that is used and not defined is noted at its first use. `usemtl` without a name is none.
fn note_missing(
    materials: &[Material],
    uses: &[obj::Reference],
    options: &ReadOptions,
    warnings: &mut Warnings,
) -> Result<()> {
    for (material, first_use) in materials.iter().zip(uses) {
        if material.missing && !material.name.is_empty() {
            let message =
                format!("the material `{}` is not defined in any library that was read", names::shown(&material.name));
            warnings.note(options, "missing-material", first_use.diagnostic(message))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<&str> {
        let mut rest = text;
        std::iter::from_fn(|| {
            let (name, others) = split_name(rest)?;
            rest = others;
            Some(name)
        })
        .collect()
    }

    #[test]
    fn names_end_with_their_extension() {
        assert_eq!(split(" a b.mtl  c.MTL\td .mtl e "), ["a b.mtl", "c.MTL", "d .mtl e"]);
        assert_eq!(split("\u{e9}\u{20ac}.mtl x\u{a0}y"), ["\u{e9}\u{20ac}.mtl", "x\u{a0}y"]);
        assert_eq!(split("  "), [""; 0]);
    }

    /// Reads a scene in a folder of its own, which has the libraries `a.mtl` and `b.mtl`.
    fn read_scene(folder: &str, text: &str, files: u64) -> Result<Loaded> {
        let folder = std::env::temp_dir().join(format!("polyhaul-{folder}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("a.mtl"), "newmtl a\nnewmtl both\nKd 1 1 1\n").unwrap();
        std::fs::write(folder.join("b.mtl"), "newmtl b\nnewmtl both\nKd 0 0 0\n").unwrap();
        let scene = folder.join("x.obj");
        std::fs::write(&scene, text).unwrap();
        let mut options = ReadOptions::default();
        options.limits.files = files;
        let result = crate::load(Input::Path(scene), &options);
        std::fs::remove_dir_all(&folder).unwrap();
        result
    }

    #[test]
    fn libraries_are_merged_and_the_first_definition_counts() {
        let loaded =
            read_scene("merge", "usemtl both\nmtllib a.mtl ./a.mtl\nmtllib b.mtl .\\b.mtl c.mtl\n", 9).unwrap();
        let names: Vec<_> = loaded.scene.materials.iter().map(|material| &*material.name).collect();
        assert_eq!(names, ["both", "a", "b"]);
        assert_eq!(loaded.scene.materials[0].diffuse, Some(crate::model::Color::Rgb([1.0; 3])));
        assert_eq!(loaded.scene.material_libraries, ["a.mtl", "b.mtl", "c.mtl"]);
        assert_eq!(loaded.report.warnings.total(), 1);
    }

    #[test]
    fn looking_for_files_counts_and_repeating_does_not() {
        let statement = |count| format!("mtllib {}\n", "a.mtl ".repeat(count));
        let texts = |most: usize| (2..=most).map(statement).collect::<String>();
        assert!(read_scene("probes", &texts(5), 4).is_ok());
        assert!(read_scene("probes", &statement(2).repeat(9), 1).is_ok());
        let error = read_scene("probes", &texts(6), 4).unwrap_err();
        assert_eq!((error.kind(), error.place().line), (ErrorKind::Limit, Some(5)));
    }
}
