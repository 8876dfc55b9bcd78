//! Reading a scene: source, format, and the files that it refers to.

use crate::error::{Error, ErrorKind, Result};
use crate::formats::{Format, mtl, obj};
use crate::model::Material;
use crate::options::ReadOptions;
use crate::pipeline::chunk::TextChunks;
use crate::report::{Phase, Report};
use crate::resolve::Resolver;
use crate::warnings::Warnings;
use crate::{Input, Loaded};
use polyhaul_bytes::Source;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::time::Instant;

/// Reads a scene.
pub(crate) fn load(input: Input, options: &ReadOptions) -> Result<Loaded> {
    let mut report = Report::default();
    let start = Instant::now();
    let scene = read(input, options, &mut report)?;
    report.phases.push(Phase { name: "read", elapsed: start.elapsed() });
    Ok(Loaded { scene, report })
}

fn read(input: Input, options: &ReadOptions, report: &mut Report) -> Result<crate::model::Scene> {
    let (source, path) = open(input)?;
    let format = match options.format {
        Some(format) => format,
        None => Format::of_source(path.as_deref(), source.name())?,
    };
    match format {
        Format::Obj => {
            let found = obj::read(TextChunks::new(source.clone()), options)?;
            report.threads = found.threads;
            report.warnings = found.warnings;
            report.bytes_in = source.counters().snapshot().bytes;
            let mut scene = found.scene;
            if options.load_materials {
                let resolver = Resolver::beside(path.as_deref(), options);
                let mut libraries = Libraries { resolver, options, report, defined: Vec::new(), seen: HashSet::new() };
                scene.material_libraries = libraries.read_all(&found.libraries)?;
                let defined = libraries.defined;
                merge(&mut scene.materials, defined);
                // Without a folder nothing was looked for, and the missing libraries are noted already.
                if path.is_some() {
                    note_missing(&scene.materials, &found.uses, options, &mut report.warnings)?;
                }
            }
            Ok(scene)
        }
    }
}

/// The source, and its path where it is a file.
fn open(input: Input) -> Result<(Source<'static>, Option<PathBuf>)> {
    match input {
        Input::Path(path) => {
            let source = Source::open(&path).map_err(|e| Error::io("opening", &path.display().to_string(), e))?;
            Ok((source, Some(path)))
        }
        Input::Stdin => Ok((Source::stdin().map_err(|e| Error::io("opening", "standard input", e))?, None)),
        Input::Memory(bytes, name) => Ok((Source::named_memory(bytes, name), None)),
        Input::Reader(reader, name) => Ok((Source::reader(reader, name), None)),
    }
}

/// The material libraries of a scene, as they are read one after another.
struct Libraries<'a> {
    resolver: Resolver,
    options: &'a ReadOptions,
    report: &'a mut Report,
    defined: Vec<Material>,
    seen: HashSet<String>,
}

impl Libraries<'_> {
    /// Reads all libraries once each; returns their names.
    fn read_all(&mut self, references: &[obj::Reference]) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for reference in references {
            for name in self.names(&reference.name) {
                if self.seen.contains(&name) {
                    continue;
                }
                if self.seen.len() as u64 >= self.options.limits.files {
                    let limit = self.options.limits.files;
                    let message = format!("the scene refers to more than {limit} files (files)");
                    let error = reference.diagnostic(message).into_error(ErrorKind::Limit);
                    return Err(error.with_hint("raise Limits::files to read them"));
                }
                self.read(&name, reference)?;
                self.seen.insert(name.clone());
                names.push(name);
            }
        }
        Ok(names)
    }

    /// The names in a `mtllib` statement: names may have spaces, so the whole is tried first, and
    /// then a name ends where a word ends in `.mtl`.
    fn names(&self, text: &str) -> Vec<String> {
        if !text.contains(char::is_whitespace) || self.resolver.exists(text) {
            return vec![text.to_owned()];
        }
        let mut names: Vec<String> = Vec::new();
        let mut open = String::new();
        for word in text.split_whitespace() {
            if !open.is_empty() {
                open.push(' ');
            }
            open.push_str(word);
            if word.len() > 4 && word.to_ascii_lowercase().ends_with(".mtl") {
                names.push(std::mem::take(&mut open));
            }
        }
        if !open.is_empty() {
            names.push(open);
        }
        names
    }

    fn read(&mut self, name: &str, reference: &obj::Reference) -> Result<()> {
        match self.resolver.read(name) {
            Ok((bytes, path)) => {
                self.report.bytes_in += bytes.len() as u64;
                let file = path.as_str().into();
                self.defined.extend(mtl::read(&bytes, &file, self.options, &mut self.report.warnings)?);
                Ok(())
            }
            Err(error) if matches!(error.kind(), ErrorKind::Limit | ErrorKind::Memory) => Err(error),
            Err(error) => {
                let why = match error.io_error() {
                    Some(error) => error.to_string(),
                    None => error.diagnostic().message.clone(),
                };
                let what = reference.diagnostic(format!("the material library `{name}` was not read: {why}"));
                self.report.warnings.note(self.options, "missing-library", what)
            }
        }
    }
}

/// Fills in the materials that were used, and adds those that were only defined.
fn merge(materials: &mut Vec<Material>, defined: Vec<Material>) {
    let mut numbers: HashMap<String, usize> =
        materials.iter().enumerate().map(|(i, material)| (material.name.clone(), i)).collect();
    for material in defined {
        match numbers.get(&material.name) {
            // The first definition of a name wins.
            Some(&number) if materials[number].missing => materials[number] = material,
            Some(_) => {}
            None => {
                numbers.insert(material.name.clone(), materials.len());
                materials.push(material);
            }
        }
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
            let message = format!("the material `{}` is not defined in any library that was read", material.name);
            warnings.note(options, "missing-material", first_use.diagnostic(message))?;
        }
    }
    Ok(())
}
