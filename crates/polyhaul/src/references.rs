//! Names of referenced files, relative to the output.
//!
//! The same rules apply to all formats: textures and spectra of MTL, material libraries, files of pbrt scenes, and
//! `TextureFile` comments of PLY. A name that was read is resolved as readers do (see [`crate::resolve`]) and rewritten
//! to refer to the same file from the output's folder or, with [`WriteOptions::copy_assets`], to a copy there. Files
//! inside a file are extracted next to the output. A name that cannot be resolved causes a warning. If the scene's
//! folder is unknown, its names are kept.
//!
//! Finding files is in `locate`, copying them in `copies`, comparing them in `same`.

mod copies;
mod locate;
mod same;

use crate::containers;
use crate::containers::is_inner_name;
use crate::input::Output;
use crate::options::{ReadOptions, WriteOptions};
use crate::outputs::name_of;
use crate::outputs::{Written, file_of};
use crate::paths::{folder_of, slashed};
#[cfg(feature = "gltf")]
use crate::resolve::FoundAt;
use polyhaul_bytes::place;
use polyhaul_fault::planted;
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Place, Result};
use polyhaul_model::names;
use polyhaul_model::render::{Parameter, ParameterType, ParameterValues, Parameters, RenamedFiles, Render};
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{Color, FolderPlace, MapKind, Material, SourceFolder};
use polyhaul_text::parse::number;
pub(crate) use same::SameFiles;

use copies::{Copies, CopySource};
use locate::{Located, LocatedFile, Locator};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::path::{Component, Path, PathBuf};

/// Keyword of PLY comments that refer to a texture.
const PLY_TEXTURE: &str = "texturefile";
/// Options of texture maps whose value is a word.
const WORD_OPTIONS: [&str; 3] = ["-imfchan", "-type", "-colorspace"];

const COPY_HINT: &str = "use `--copy-assets` to copy it next to the output";

/// The kind of a reference.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// It is a file name.
    File,
    /// It may be something other than a file name.
    Maybe,
    /// A material library that was not read, which reading already warned about. It is not copied, because its own
    /// references are unknown.
    Library,
}

/// Result of resolving a file to embed in the output.
#[cfg(feature = "gltf")]
pub(crate) enum Found {
    /// The file can be read.
    At(FoundAt),
    /// The file may not be read; contains the remedy.
    Outside(&'static str),
    /// No such file.
    Nothing,
}

/// Output folder.
struct Target {
    /// As written by the caller.
    folder: PathBuf,
    /// Canonical path.
    real: PathBuf,
}

/// Rewrites names of referenced files, relative to the output.
pub(crate) struct Relinker<'o> {
    options: &'o WriteOptions,
    reading: ReadOptions,
    /// `None` for a stream, which is treated like a file next to the source.
    target: Option<Target>,
    output: String,
    locator: Locator,
    /// New names by folder and name, or `None` if a name is kept.
    known: HashMap<String, Option<String>>,
    copies: Copies,
    /// Warnings issued so far, so that each is issued only once.
    warned: HashSet<String>,
    warnings: Warnings,
}

impl<'o> Relinker<'o> {
    /// Creates a relinker for an asset written to `output`.
    pub(crate) fn new(output: &Output, options: &'o WriteOptions) -> Result<Relinker<'o>> {
        let target = match file_of(output) {
            Some(path) => {
                let folder = folder_of(path);
                // If the folder does not exist, writing fails later.
                place::real(&folder).ok().map(|real| Target { folder, real })
            }
            None if options.copy_assets => {
                let message = "referenced files cannot be copied: the output is not a file";
                return Err(Error::new(ErrorKind::Usage, message).with_hint("write to a file, or omit `--copy-assets`"));
            }
            None => None,
        };
        let mut links = Relinker {
            options,
            reading: ReadOptions { run: options.run.clone(), ..ReadOptions::default() },
            target,
            output: name_of(output).into_owned(),
            locator: Locator::default(),
            known: HashMap::new(),
            copies: Copies::default(),
            warned: HashSet::new(),
            warnings: Warnings::default(),
        };
        if let Output::Path(path) = output {
            links.reserve(&path.file_name().unwrap_or_default().to_string_lossy());
        }
        Ok(links)
    }

    /// Reserves a name in the output's folder, so that no copy uses it.
    pub(crate) fn reserve(&mut self, name: &str) {
        self.copies.taken.insert(name.to_lowercase());
    }

    /// Reserves all names with this prefix.
    pub(crate) fn reserve_prefix(&mut self, prefix: &str) {
        self.copies.reserved_prefix = Some(prefix.to_lowercase());
    }

    /// Lowercase names that other files of the output must not use.
    pub(crate) fn taken(&self) -> &HashSet<String> {
        &self.copies.taken
    }

    /// Writes copies as temporary files, to be renamed before the main file, and passes on the warnings.
    pub(crate) fn finish(mut self, warnings: &mut Warnings) -> Result<Vec<Written>> {
        warnings.extend(self.warnings);
        warnings.refuse_losses(self.options.strictness())?;
        let mut written = Vec::new();
        if let Some(target) = &self.target {
            self.copies.write(&target.folder, self.options, &mut written)?;
        }
        Ok(written)
    }

    /// Whether names may change: files are copied, or the output is in another folder than the file that contains the
    /// names.
    fn is_active(&self, place: &FolderPlace, included: &str) -> bool {
        let file = place.library.as_ref().unwrap_or(&place.scene);
        let moves = match &self.target {
            Some(target) => place.in_archive || place::real(file).ok().as_ref() != Some(&target.real),
            None => place.library.as_ref().is_some_and(|library| *library != place.scene),
        };
        let moves = moves && !planted("link-stale");
        self.options.copy_assets || moves || !included.is_empty()
    }

    /// Returns the new name for `name`, or `None` if it is kept. Readers resolve it relative to `folder`, then to
    /// `included`, which is relative to `folder`.
    pub(crate) fn relink(
        &mut self,
        folder: &SourceFolder,
        included: &str,
        name: &str,
        need: Need,
    ) -> Result<Option<String>> {
        let Some(place) = folder.place().filter(|_| !name.is_empty()) else {
            if self.options.copy_assets && !name.is_empty() && need == Need::File {
                let why = "its path is relative to an unknown folder, because the scene was not read from a file";
                self.warn("uncopied-reference", format!("{} was not copied: {why}", quoted(name)), None);
            }
            return Ok(None);
        };
        let key = format!("{}\0{included}\0{name}", place.library.as_ref().unwrap_or(&place.scene).display());
        if let Some(renamed) = self.known.get(&key) {
            return Ok(renamed.clone());
        }
        let new = self.resolve(place, included, name, need)?;
        self.known.try_reserve(1).map_err(|_| Error::memory("names"))?;
        self.known.insert(key, new.clone());
        Ok(new)
    }

    fn resolve(&mut self, place: &FolderPlace, included: &str, name: &str, need: Need) -> Result<Option<String>> {
        let is_active = self.is_active(place, included);
        // Names that are not ASCII may have been read as Latin-1; they would be written as UTF-8, which are different
        // bytes.
        if !is_active && name.is_ascii() && !is_inner_name(name) {
            return Ok(None);
        }
        match self.locator.locate(place, included, name, &self.reading)? {
            Located::File(file) if need == Need::Library => self.link(place, name, &file, is_active, true),
            Located::File(file) => self.place_file(place, name, file, is_active),
            Located::Inner(file) => self.extract(place, name, file),
            Located::Member(member) => match &self.target {
                Some(target) if self.options.copy_assets && need != Need::Library => {
                    let new = self.copies.plan(CopySource::Member(member), &target.folder, self.options)?;
                    Ok((new != name).then_some(new))
                }
                _ => {
                    let message = format!("{} is in an archive, which the output cannot refer to", quoted(name));
                    self.warn("unresolved-reference", message, Some(COPY_HINT));
                    Ok(None)
                }
            },
            Located::Irregular if is_active && need == Need::File => {
                let message = format!("{} is not a regular file; the reference is written unchanged", quoted(name));
                self.warn("unresolved-reference", message, None);
                Ok(None)
            }
            Located::Missing if is_active && need == Need::File && !place.has_resolver => {
                let message = format!("{} was not found; the reference is written unchanged", quoted(name));
                self.warn("missing-reference", message, None);
                Ok(None)
            }
            Located::Missing | Located::Irregular => Ok(None),
        }
    }

    /// Finds a file to embed in the output. Unless outside files are allowed, it must be in the folder of the scene or
    /// the output, or in the scene's archive, whose members all have the same origin.
    #[cfg(feature = "gltf")]
    pub(crate) fn find_to_embed(&mut self, place: &FolderPlace, name: &str) -> Result<Found> {
        let mut located = self.locator.locate(place, "", name, &self.reading)?;
        if matches!(located, Located::Missing)
            && place.in_archive
            && let Some((archive, _)) = containers::split(&place.scene.join("scene"))
        {
            let mut whole = place.clone();
            whole.library.get_or_insert(std::mem::replace(&mut whole.scene, archive));
            located = self.locator.locate(&whole, "", name, &self.reading)?;
        }
        Ok(match located {
            Located::File(file) | Located::Inner(file) => {
                let is_in_output = |target: &Target| file.real.starts_with(&target.real);
                if place.allow_outside
                    || is_below(&file.real, &place.scene)
                    || self.target.as_ref().is_some_and(is_in_output)
                {
                    let shown = file.base.join(&file.path).display().to_string();
                    Found::At(FoundAt::File { real: file.real, shown })
                } else {
                    Found::Outside("use `--allow-outside` to embed it")
                }
            }
            Located::Member(member) => Found::At(FoundAt::Member(member)),
            Located::Irregular | Located::Missing => Found::Nothing,
        })
    }

    /// Plans to extract a file inside a file next to the output, since other programs cannot read inner files. Returns
    /// the new name.
    fn extract(&mut self, place: &FolderPlace, name: &str, file: LocatedFile) -> Result<Option<String>> {
        let Some(target) = &self.target else {
            let message = format!("{} is embedded in a file, which the output cannot refer to", quoted(name));
            self.warn("unresolved-reference", message, Some("write to a file: it is extracted next to the output"));
            return Ok(None);
        };
        if !place.allow_outside && !is_below(&file.real, &place.scene) {
            let message = format!("{} was not extracted: it is outside the scene's folder", quoted(name));
            self.warn("uncopied-reference", message, Some("use `--allow-outside` to extract it too"));
            return Ok(None);
        }
        let source = CopySource::Inner { path: file.real, allow_outside: place.allow_outside };
        match source.open(&self.reading) {
            Ok(_) => self.copies.plan(source, &target.folder, self.options).map(Some),
            Err(error) if matches!(error.kind(), ErrorKind::Cancelled | ErrorKind::Memory) => Err(error),
            Err(error) => {
                let message = format!("{} cannot be read; the reference is written unchanged: {error}", quoted(name));
                self.warn("missing-reference", message, None);
                Ok(None)
            }
        }
    }

    fn place_file(
        &mut self,
        place: &FolderPlace,
        name: &str,
        file: LocatedFile,
        is_active: bool,
    ) -> Result<Option<String>> {
        if let Some(target) = self.target.as_ref().filter(|_| self.options.copy_assets)
            && !file.real.starts_with(&target.real)
        {
            if place.allow_outside || is_below(&file.real, &place.scene) {
                let new = self.copies.plan(CopySource::File(file.real), &target.folder, self.options)?;
                return Ok((new != name).then_some(new));
            }
            let message = format!("{} was not copied: it is outside the scene's folder", quoted(name));
            self.warn("uncopied-reference", message, Some("use `--allow-outside` to copy it too"));
        }
        self.link(place, name, &file, is_active, !self.options.copy_assets)
    }

    /// Returns the name of a file that is not copied. `is_noted` is whether to warn if the file is outside; a file that
    /// could not be copied already has a warning.
    fn link(
        &mut self,
        place: &FolderPlace,
        name: &str,
        file: &LocatedFile,
        is_active: bool,
        is_noted: bool,
    ) -> Result<Option<String>> {
        let beside = || place::real(&place.scene).ok();
        let Some(target) = self.target.as_ref().map(|target| target.real.clone()).or_else(beside) else {
            return Ok(None);
        };
        let Some(new) = name_from(&target, file).and_then(safe_on_a_line) else {
            let message = format!("the path from the output to {} is not valid as a file name", quoted(name));
            self.warn("unresolved-reference", message, Some(COPY_HINT));
            return Ok(None);
        };
        if !is_active {
            return Ok(None);
        }
        // A name with the same meaning keeps its spelling.
        let stays = text(&slashed(name)).as_ref() == Some(&new);
        if is_noted && (leads_out(&new) || !file.real.starts_with(&target)) {
            // No relative path leads from a bucket to a disk or back.
            let can_lead = place::is_url(&file.real) == place::is_url(&target);
            let more = if can_lead { ", or read the output with `--allow-outside`" } else { "" };
            let hint = format!("{COPY_HINT}{more}");
            self.warn("outside-reference", format!("{} is outside the output's folder", quoted(&new)), Some(&hint));
        }
        if file.is_other_case {
            let message = format!("{} is written as {}, its name on disk", quoted(name), quoted(&new));
            self.warn("changed-reference", message, None);
        }
        Ok((!stays).then_some(new))
    }

    fn warn(&mut self, code: &'static str, message: String, hint: Option<&str>) {
        if self.warned.insert(format!("{code} {message}")) {
            let place = Place { file: self.output.as_str().into(), ..Place::default() };
            let hint = hint.map(str::to_owned);
            self.warnings.push(code, Diagnostic { hint, place, ..Diagnostic::new(message) });
        }
    }

    /// Rewrites the file names in a material; `scene` is the folder of its scene.
    pub(crate) fn material<'m>(&mut self, material: &'m Material, scene: &SourceFolder) -> Result<Cow<'m, Material>> {
        let folder = material.folder.or(scene);
        with_names(material, &mut |name| self.relink(folder, "", name, Need::File))
    }

    /// Rewrites the file names in all materials of a scene.
    pub(crate) fn materials<'m>(
        &mut self,
        materials: &'m [Material],
        scene: &SourceFolder,
    ) -> Result<Cow<'m, [Material]>> {
        let mut linked = Cow::Borrowed(materials);
        for (number, material) in materials.iter().enumerate() {
            if let Cow::Owned(new) = self.material(material, scene)? {
                linked.to_mut()[number] = new;
            }
        }
        Ok(linked)
    }

    /// Rewrites the diffuse map of each material that is `used`; resolves no other file.
    pub(crate) fn textures<'m>(
        &mut self,
        materials: &'m [Material],
        used: &[bool],
        scene: &SourceFolder,
    ) -> Result<Cow<'m, [Material]>> {
        let mut linked = Cow::Borrowed(materials);
        let used = materials.iter().enumerate().zip(used).filter(|(_, is_used)| **is_used);
        for ((number, material), _) in used {
            let Some(map) = material.maps_of(MapKind::Diffuse).next().map(|(map, _)| map) else { continue };
            let folder = material.folder.or(scene);
            if let Some(new) = self.relink(folder, "", &material.maps[map].file, Need::File)? {
                linked.to_mut()[number].maps[map].file = new;
            }
        }
        Ok(linked)
    }

    /// Rewrites the textures in PLY comments.
    pub(crate) fn comments<'c>(&mut self, comments: &'c [String], folder: &SourceFolder) -> Result<Cow<'c, [String]>> {
        let mut linked = Cow::Borrowed(comments);
        for (number, comment) in comments.iter().enumerate() {
            let Some((word, name)) = comment.trim_start().split_once([' ', '\t']) else { continue };
            if !word.eq_ignore_ascii_case(PLY_TEXTURE) {
                continue;
            }
            if let Some(new) = self.relink(folder, "", name.trim(), Need::File)? {
                linked.to_mut()[number] = format!("{word} {new}");
            }
        }
        Ok(linked)
    }

    /// Returns the file names in a pbrt scene that change.
    pub(crate) fn render<'a>(&mut self, render: &'a Render, folder: &SourceFolder) -> Result<RenamedFiles<'a>> {
        let mut renamed = RenamedFiles::default();
        let render_folder = render.folder.as_ref().map_or_else(SourceFolder::default, SourceFolder::new);
        let folder = folder.or(&render_folder);
        let is_one_file = render.segments.iter().all(|segment| segment.folder.is_empty());
        if folder.place().is_none_or(|place| is_one_file && !self.is_active(place, "")) && !self.options.copy_assets {
            return Ok(renamed);
        }
        each(render, &mut |parameters| {
            for parameter in parameters.iter() {
                let ParameterValues::Strings(strings) = parameter.values else { continue };
                let Some(name) = strings.get(0).filter(|_| parameter.names_file()) else { continue };
                let key = (parameters.folder(), name);
                if renamed.names.contains_key(&key) {
                    continue;
                }
                let new = self.relink(folder, key.0, name, need(&parameter))?;
                renamed.names.try_reserve(1).map_err(|_| Error::memory("names"))?;
                renamed.names.insert(key, new);
            }
            Ok(())
        })?;
        renamed.names.retain(|_, new| new.is_some());
        Ok(renamed)
    }
}

/// Replaces file names in a material with the result of `name_of`, if it returns one.
pub(crate) fn with_names<'m>(
    material: &'m Material,
    name_of: &mut dyn FnMut(&str) -> Result<Option<String>>,
) -> Result<Cow<'m, Material>> {
    let mut linked = Cow::Borrowed(material);
    for (number, map) in material.maps.iter().enumerate() {
        if let Some(new) = name_of(&map.file)? {
            linked.to_mut().maps[number].file = new;
        }
    }
    for (number, color) in colors(material).into_iter().enumerate() {
        let Some(Color::Spectral { file, factor }) = color else { continue };
        if let Some(file) = name_of(file)? {
            let factor = *factor;
            *colors_mut(linked.to_mut())[number] = Some(Color::Spectral { file, factor });
        }
    }
    for (number, statement) in material.other.iter().enumerate() {
        let Some(at) = file_in_statement(statement) else { continue };
        if let Some(new) = name_of(&statement[at..])? {
            linked.to_mut().other[number] = format!("{}{new}", &statement[..at]);
        }
    }
    Ok(linked)
}

/// Rewrites a file name in a pbrt scene so that it is relative to the scene's folder.
pub(crate) fn from_scene_folder(folder: &SourceFolder, included: &str, name: &str) -> Result<Option<String>> {
    let Some(place) = folder.place().filter(|_| !included.is_empty()) else { return Ok(None) };
    let options = WriteOptions::default();
    let output = Output::Stdout;
    let mut links = Relinker::new(&output, &options)?;
    links.resolve(place, included, name, Need::Maybe)
}

/// Lowercase names of mesh files that a pbrt scene refers to, after renaming; new files must not use them.
pub(crate) fn taken(render: &Render, renamed: &RenamedFiles<'_>) -> Result<HashSet<String>> {
    let mut taken = HashSet::new();
    for shape in render.shapes().filter(|shape| shape.class() == "plymesh") {
        let parameters = shape.parameters();
        let Some(name) = parameters.string("filename") else { continue };
        let new = renamed.names.get(&(parameters.folder(), name)).and_then(Option::as_deref).unwrap_or(name);
        if let Some(name) = text(&slashed(new)) {
            taken.try_reserve(1).map_err(|_| Error::memory("names"))?;
            taken.insert(name.to_lowercase());
        }
    }
    Ok(taken)
}

/// Spectra and apertures can have values that are not file names.
fn need(parameter: &Parameter<'_>) -> Need {
    match parameter.kind {
        ParameterType::String if parameter.name != "aperture" => Need::File,
        _ => Need::Maybe,
    }
}

/// Calls `see` with all parameters that may contain a file name.
fn each<'a>(render: &'a Render, see: &mut dyn FnMut(Parameters<'a>) -> Result<()>) -> Result<()> {
    let entities = render.camera.iter().chain(&render.media).chain(&render.lights).chain(&render.area_lights);
    let entities = entities.chain(render.textures.iter().map(|texture| &texture.entity));
    let entities = entities.chain(render.materials.iter().map(|material| &material.entity));
    let mut entities = entities.chain(render.attributes.iter().map(|attribute| &attribute.entity));
    entities.try_for_each(|entity| see(render.parameters(entity)))?;
    render.shapes().try_for_each(|shape| see(shape.parameters()))
}

fn colors(m: &Material) -> [&Option<Color>; 5] {
    [&m.ambient, &m.diffuse, &m.specular, &m.emission, &m.transmission]
}

fn colors_mut(m: &mut Material) -> [&mut Option<Color>; 5] {
    [&mut m.ambient, &mut m.diffuse, &mut m.specular, &mut m.emission, &mut m.transmission]
}

/// Offset of a file name in an unknown MTL statement, such as `map_RMA -bm 1 a b.png`.
fn file_in_statement(statement: &str) -> Option<usize> {
    let (keyword, mut rest) = statement.split_once([' ', '\t'])?;
    keyword.get(..4).filter(|start| start.eq_ignore_ascii_case("map_"))?;
    let is_number = |word: &str| number::f64(word.as_bytes()).is_some();
    let is_value = |word: &str| is_number(word) || ["on", "off"].contains(&word);
    let mut option = None;
    loop {
        rest = rest.trim_start();
        let word = rest.split([' ', '\t']).next().filter(|word| !word.is_empty())?;
        let takes_word = option.take().is_some_and(|option| WORD_OPTIONS.contains(&option));
        if word.starts_with('-') && !is_number(word) {
            option = Some(word);
        // The last word is the file, even if it looks like a value.
        } else if !takes_word && (!is_value(word) || word.len() == rest.len()) {
            return Some(statement.len() - rest.len());
        }
        rest = &rest[word.len()..];
    }
}

fn quoted(name: &str) -> String {
    format!("`{}`", names::shown(name))
}

/// Name of a file relative to a folder. Absolute names outside the folder are kept.
fn name_from(target: &Path, file: &LocatedFile) -> Option<String> {
    if file.path.is_absolute() {
        let inside = file.real.strip_prefix(target).ok();
        return inside.map_or_else(|| file.path.to_str().map(str::to_owned), text);
    }
    let linked = place::real(&file.base).ok().and_then(|base| place::cleaned(&base.join(&file.path)));
    let way = linked.and_then(|linked| way_between(target, &linked));
    // `..` after a symlink leads elsewhere than its text suggests.
    let leads_there = |way: &PathBuf| place::real(&target.join(way)).is_ok_and(|real| real == file.real);
    match way.filter(leads_there).or_else(|| way_between(target, &file.real)) {
        Some(way) => text(&way),
        None => file.real.to_str().map(str::to_owned),
    }
}

/// Relative path between folders, or `None` if there is none, as between Windows drives or buckets.
fn way(from: &Path, to: &Path) -> Option<PathBuf> {
    let shared = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(shared).map(|_| Component::ParentDir);
    // The first two components are the scheme and the bucket, which must be equal.
    let min = if place::is_url(from) || place::is_url(to) { 2 } else { 1 };
    (shared >= min).then(|| up.chain(to.components().skip(shared)).collect())
}

/// Relative path from a folder to a file.
fn way_between(from: &Path, file: &Path) -> Option<PathBuf> {
    Some(way(from, file.parent()?)?.join(file.file_name()?))
}

/// Formats a path for scenes: with slashes, without redundant components.
fn text(path: &Path) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.components() {
        match part {
            Component::RootDir | Component::Prefix(_) => return path.to_str().map(str::to_owned),
            Component::CurDir => {}
            Component::ParentDir if parts.last().is_some_and(|last| *last != "..") => _ = parts.pop(),
            part => parts.push(part.as_os_str().to_str()?),
        }
    }
    Some(parts.join("/"))
}

/// Makes a name safe at the end of a line that may start with options. Returns `None` if that is impossible.
fn safe_on_a_line(name: String) -> Option<String> {
    // White space at the end of a line is trimmed, and a backslash there joins lines.
    let is_safe = !name.contains(char::is_control) && !name.ends_with([' ', '\t', '\\']);
    let is_misread = name.starts_with(['-', '#', ' ', '\t']);
    is_safe.then(|| if is_misread { format!("./{name}") } else { name })
}

/// Whether a canonical path is in a folder or below it.
fn is_below(real: &Path, folder: &Path) -> bool {
    place::real(folder).is_ok_and(|folder| real.starts_with(folder))
}

fn leads_out(name: &str) -> bool {
    let start = Path::new(name).components().next();
    matches!(start, Some(Component::ParentDir | Component::RootDir | Component::Prefix(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_lead_from_folder_to_folder() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let way = |from: &str, to: &str| {
            let [from, to] = [from, to].map(|folder| root.join(folder).canonicalize().unwrap());
            text(&way(&from, &to).unwrap()).unwrap()
        };
        assert_eq!(way("src", "src"), "");
        assert_eq!(way("src/inspect", "src/rows"), "../rows");
        assert_eq!(way(".", "tests/all/images"), "tests/all/images");
        assert_eq!(way("tests/all/images", "."), "../../..");
    }

    #[test]
    fn names_are_short_and_have_slashes() {
        for (path, name) in [("./a.ply", "a.ply"), ("../a/../b/c.ply", "../b/c.ply"), ("a/../../b", "../b")] {
            assert_eq!(text(Path::new(path)).as_deref(), Some(name));
        }
        assert!(leads_out("../a") && leads_out("/a") && !leads_out("..a") && !leads_out("a/b"));
    }

    #[test]
    fn statements_have_their_file_at_the_end() {
        let file = |statement: &'static str| file_in_statement(statement).map(|at| &statement[at..]);
        assert_eq!(file("map_RMA a b.png"), Some("a b.png"));
        assert_eq!(file("MAP_orm -s 1 2 3 -clamp on -imfchan r x.png"), Some("x.png"));
        assert_eq!(file("map_x -type sphere 1.png"), Some("1.png"));
        assert_eq!(file("map_x 7"), Some("7"));
        assert_eq!([file("map_x"), file("subd 1 a.png"), file("map_x -bm 1")], [None, None, Some("1")]);
    }

    #[test]
    fn names_on_a_line_are_no_options() {
        assert_eq!(safe_on_a_line("-o 1.png".into()).as_deref(), Some("./-o 1.png"));
        assert_eq!([safe_on_a_line("a\n".into()), safe_on_a_line("a ".into())], [None, None]);
    }
}
