//! Reads OBJ and the material libraries that it refers to.
//!
//! `resolve` finds files and decides whether they may be opened.

use crate::options::ReadOptions;
use crate::read_job::ReadJob;
use crate::report::Report;
use crate::resolve::{FoundFile, Resolver};
use polyhaul_bytes::Codec;
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Result, limit_hint, try_push, try_string};
use polyhaul_model::names;
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{Material, Scene};
use polyhaul_obj::{self as obj, mtl};
use polyhaul_pipeline::attempt::Attempt;
use polyhaul_pipeline::consumer::MeshConsumer;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

/// Reads the scene and its material libraries.
pub(crate) fn read(job: &mut ReadJob<'_>) -> Result<Scene> {
    let read = if job.options.is_obj_part { obj::read_part } else { obj::read };
    let file = read(job.text(), &job.parse_options())?;
    job.note(file.threads, file.warnings);
    job.report.lines = file.lines;
    let ReadJob { near, options, report, .. } = job;
    let near = *near;
    let options = *options;
    let mut scene = file.scene;
    if options.load_materials {
        let resolver = Resolver::beside(near, options);
        let materials = Definitions { materials: &mut scene.materials, numbers: HashMap::new() };
        let seen = HashSet::new();
        let files = HashSet::new();
        let probes = 0;
        let mut libraries = Libraries { resolver, options, report, materials, seen, files, probes };
        scene.material_libraries = libraries.read_all(&file.libraries)?;
        clear_unnamed(&mut scene.materials);
        // If nothing was searched, warnings about the missing libraries are sufficient.
        if near.has_files() || options.resolver.is_some() || file.libraries.is_empty() {
            note_missing(&scene.materials, &file.uses, options, &mut report.warnings)?;
        }
    }
    Ok(scene)
}

/// Streams the faces of a file to a consumer; declines files with other content. Also declines streams, because the
/// file is read twice.
pub(crate) fn pieces(job: &mut ReadJob<'_>, consumer: &dyn MeshConsumer) -> Result<Attempt<()>> {
    if !job.plain.source().is_positioned() {
        return Ok(Attempt::Declined);
    }
    let pieces = obj::pieces(|| job.text(), &job.parse_options(), consumer)?;
    Ok(pieces.map(|pieces| job.note(pieces.threads, pieces.warnings)))
}

/// The material libraries of a scene, read in sequence.
struct Libraries<'a> {
    resolver: Resolver<'a>,
    options: &'a ReadOptions,
    report: &'a mut Report,
    materials: Definitions<'a>,
    /// Library names, as written in the scene.
    seen: HashSet<&'a str>,
    /// Files that were read: a file can have several names.
    files: HashSet<PathBuf>,
    /// Number of lookups of names with white space.
    probes: u64,
}

impl<'a> Libraries<'a> {
    /// Reads each library once; returns their names.
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
                // Taking `rest` leaves nothing for the loop below.
                self.add(std::mem::take(&mut rest), reference, &mut names)?;
            }
            while let Some((name, others)) = split_name(rest) {
                self.add(name, reference, &mut names)?;
                rest = others;
            }
        }
        Ok(names)
    }

    /// Whether the whole statement is one name: names may contain white space.
    fn is_one_name(&mut self, reference: &obj::Reference) -> Result<bool> {
        if !reference.name.contains(char::is_whitespace) {
            return Ok(true);
        }
        // A lookup can access a disk or call the host, so lookups are limited like files.
        self.check_count(self.probes, reference)?;
        self.probes += 1;
        self.resolver.exists(&reference.name)
    }

    /// Fails if `count` has reached the limit on files.
    fn check_count(&self, count: u64, reference: &obj::Reference) -> Result<()> {
        let limit = self.options.limits.files;
        if count < limit {
            return Ok(());
        }
        let message = format!("the scene refers to more files than the limit `files` ({limit})");
        let error = reference.diagnostic(message).into_error(ErrorKind::Limit);
        Err(error.with_hint(limit_hint("files")))
    }

    /// Reads the library `name`, unless it was already read.
    fn add(&mut self, name: &'a str, reference: &obj::Reference, names: &mut Vec<String>) -> Result<()> {
        if self.seen.contains(name) {
            return Ok(());
        }
        let limit = self.options.limits.name_bytes;
        if name.len() as u64 > limit {
            let message = format!("name is longer than the limit `name_bytes` ({limit} bytes)");
            let error = reference.diagnostic(message).into_error(ErrorKind::Limit);
            return Err(error.with_hint(limit_hint("name_bytes")));
        }
        self.check_count(self.seen.len() as u64, reference)?;
        self.seen.try_reserve(1).map_err(|_| Error::memory("names"))?;
        self.seen.insert(name);
        if self.is_new(name, reference)? {
            try_push(names, try_string(name)?, "names")?;
        }
        Ok(())
    }

    /// Reads the library `name`. Returns `false` if its file was already read under another name.
    fn is_new(&mut self, name: &str, reference: &obj::Reference) -> Result<bool> {
        let found_file = match self.resolver.find(name) {
            Ok(file) => file,
            Err(error) => return self.note_unread(name, reference, error),
        };
        found_file.note_case(name, &mut self.report.warnings);
        let FoundFile { origin, real, .. } = found_file;
        if let Some(real) = real {
            if self.files.contains(&real) {
                return Ok(false);
            }
            self.files.try_reserve(1).map_err(|_| Error::memory("names"))?;
            self.files.insert(real);
        }
        let folder = self.resolver.folder_of(&origin, name);
        match self.resolver.read(origin, "mtl", &mut self.report.warnings) {
            Ok(read) => {
                self.report.note_read(read.moved);
                let file = read.name.as_str().into();
                let mut defined =
                    mtl::read(&read.bytes, &file, &self.options.parse_options(), &mut self.report.warnings)?;
                defined.iter_mut().for_each(|material| material.folder = folder.clone());
                self.materials.merge(defined)?;
                Ok(true)
            }
            Err(error) => self.note_unread(name, reference, error),
        }
    }

    fn note_unread(&mut self, name: &str, reference: &obj::Reference, error: Error) -> Result<bool> {
        use ErrorKind::{Cancelled, Host, Limit, Memory};
        if matches!(error.kind(), Limit | Memory | Host | Cancelled) {
            return Err(error);
        }
        let why = match error.io_error() {
            Some(io) if error.kind() == ErrorKind::Io => io.to_string(),
            _ => error.diagnostic().message.clone(),
        };
        let message = format!("cannot read the material library `{}`: {why}", names::shown(name));
        let diagnostic =
            Diagnostic { hint: error.diagnostic().hint.clone(), ..reference.diagnostic(message).about(name) };
        self.report.warnings.note(self.options.faults(), "missing-library", diagnostic)?;
        // The name stays in the list, so that a written file still refers to the library.
        Ok(true)
    }
}

/// Splits the first name off an `mtllib` statement. A name ends after `.mtl`, optionally followed by the extension of a
/// codec, or at the end of the statement. It may be in quotes.
fn split_name(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    // Metashape puts names with spaces in quotes.
    if let Some((name, rest)) =
        text.strip_prefix('"').and_then(|text| text.split_once('"')).filter(|(name, _)| !name.is_empty())
    {
        return Some((name, rest));
    }
    let mut end = 0;
    for word in text.split_inclusive(char::is_whitespace) {
        let name_end = end + word.trim_end().len();
        end += word.len();
        let plain = Codec::of_name(word.trim_end()).map_or(word.trim_end(), |(_, plain)| plain);
        let extension = plain.as_bytes().last_chunk::<4>();
        if plain.len() > 4 && extension.is_some_and(|extension| extension.eq_ignore_ascii_case(b".mtl")) {
            return Some((&text[..name_end], &text[end..]));
        }
    }
    (!text.is_empty()).then_some((text, ""))
}

/// The materials of a scene, to be completed by definitions.
struct Definitions<'a> {
    materials: &'a mut Vec<Material>,
    /// Material indices by name; empty before the first library.
    numbers: HashMap<String, usize>,
}

impl Definitions<'_> {
    /// Defines the materials that the scene uses, and adds the unused materials.
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

    /// Records the index of a material's name.
    fn number(&mut self, number: usize) -> Result<()> {
        self.numbers.try_reserve(1).map_err(|_| Error::memory("names"))?;
        self.numbers.insert(try_string(&self.materials[number].name)?, number);
        Ok(())
    }
}

/// Clears the name for "no material", unless a library defines it.
fn clear_unnamed(materials: &mut [Material]) {
    let unnamed = materials.iter_mut().filter(|material| material.missing && material.name == obj::NO_MATERIAL);
    unnamed.for_each(|material| material.name.clear());
}

/// Warns about each undefined material at its first use. `usemtl` without a name means no material.
fn note_missing(
    materials: &[Material],
    uses: &[obj::Reference],
    options: &ReadOptions,
    warnings: &mut Warnings,
) -> Result<()> {
    for (material, first_use) in materials.iter().zip(uses) {
        if material.missing && !material.name.is_empty() {
            let message = format!("undefined material `{}`", names::shown(&material.name));
            warnings.note(
                options.faults(),
                "missing-material",
                first_use.diagnostic(message).about(material.name.as_str()),
            )?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loaded::Loaded;

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
        assert_eq!(split("a.mtl.gz b c.mtl.ZST d.gz"), ["a.mtl.gz", "b c.mtl.ZST", "d.gz"]);
        assert_eq!(split("  "), [""; 0]);
    }

    /// Reads a scene in its own folder, with the libraries `a.mtl` and `b.mtl`.
    fn read_scene(folder: &str, text: &str, files: u64) -> Result<Loaded<Scene>> {
        let folder = std::env::temp_dir().join(format!("polyhaul-{folder}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("a.mtl"), "newmtl a\nnewmtl both\nKd 1 1 1\n").unwrap();
        std::fs::write(folder.join("b.mtl"), "newmtl b\nnewmtl both\nKd 0 0 0\n").unwrap();
        let scene = folder.join("x.obj");
        std::fs::write(&scene, text).unwrap();
        let mut options = ReadOptions::default();
        options.limits.files = files;
        let result = crate::Reader::new(crate::Input::Path(scene)).options(&options).scene();
        std::fs::remove_dir_all(&folder).unwrap();
        result
    }

    #[test]
    fn libraries_are_merged_and_the_first_definition_counts() {
        let loaded =
            read_scene("merge", "usemtl both\nmtllib a.mtl ./a.mtl\nmtllib b.mtl .\\b.mtl c.mtl\n", 9).unwrap();
        let names: Vec<_> = loaded.value.materials.iter().map(|material| &*material.name).collect();
        assert_eq!(names, ["both", "a", "b"]);
        assert_eq!(loaded.value.materials[0].diffuse, Some(polyhaul_model::Color::Rgb([1.0; 3])));
        assert_eq!(loaded.value.material_libraries, ["a.mtl", "b.mtl", "c.mtl"]);
        assert_eq!(loaded.report.warnings.total(), 1);
    }

    #[test]
    fn looking_for_files_counts_and_repeating_does_not() {
        let statement = |count| format!("mtllib {}\n", "a.mtl ".repeat(count));
        let texts = |max: usize| (2..=max).map(statement).collect::<String>();
        assert!(read_scene("probes", &texts(5), 4).is_ok());
        assert!(read_scene("probes", &statement(2).repeat(9), 1).is_ok());
        let error = read_scene("probes", &texts(6), 4).unwrap_err();
        assert_eq!((error.kind(), error.place().line), (ErrorKind::Limit, Some(5)));
    }
}
