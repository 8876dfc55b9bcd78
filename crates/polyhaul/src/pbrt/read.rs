//! Reads pbrt scenes with their included files and the meshes of their shapes.
//!
//! A name is resolved relative to the scene's folder or, if no such file exists, relative to the folder of the file
//! that contains the name. [`crate::resolve`] decides which files may be opened. [`polyhaul_pbrt`] parses the text.

use crate::containers::Near;
use crate::format::Format;
use crate::loaded::Loaded;
use crate::open::Opened;
use crate::options::ReadOptions;
use crate::paths::folder_of;
use crate::plain::Plain;
use crate::read_job::{FileSum, ReadJob, ReadMesh, SceneFiles};
use crate::report::Report;
use crate::resolve::{FoundFile, Resolver, note_case};
use polyhaul_bytes::place;
use polyhaul_model::Scene;
use polyhaul_model::error::Diagnostic;
use polyhaul_model::error::{Error, ErrorKind, Result, limit_hint, try_push, try_string};
use polyhaul_model::names;
use polyhaul_pbrt as pbrt;
use polyhaul_pbrt::{FileOpener, MeshUse, OpenFile};
use polyhaul_pipeline::chunk::TextChunks;
use polyhaul_pipeline::parallel::try_for_each_item;
use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The key of the scene's own file.
const MAIN: usize = usize::MAX;

/// Reads a pbrt scene, and records its files in the details of the job. `mesh_format` is the format of mesh files.
pub(crate) fn read(job: &mut ReadJob<'_>, mesh_format: Format) -> Result<Scene> {
    let plain = job.plain;
    let near = job.near;
    let options = job.options;
    let format = job.format;
    let opener = Opener { options, near, format, files: Mutex::default() };
    let identity = match near {
        Near::Nothing => None,
        Near::File(path) => place::real(path).ok(),
        Near::Archive(member) => Some(PathBuf::from(&**member.shown())),
    };
    let scene_file = pbrt::read(open_file(plain, None, options, identity, MAIN), &opener, &options.parse_options())?;
    // Each missing text file has one warning.
    let missing = scene_file.warnings.counts().get("missing-file").copied().unwrap_or(0);
    job.note(scene_file.threads, scene_file.warnings);
    let mut seen = std::mem::take(&mut *opener.files());
    job.report.extend(seen.noted);
    opener.files().other_names = seen.other_names;
    let bytes = job.report.bytes_in;
    let plain_bytes = job.report.plain_bytes_in;
    let text = FileSum { count: 1 + seen.closed, missing, bytes, plain_bytes };
    seen.folders.remove("");
    let mut files = SceneFiles { directives: scene_file.directives, text, meshes: None, folders: seen.folders };
    let mut render = scene_file.render;
    render.folder = near.path().map(folder_of);
    let mut scene = Scene { render: Some(Box::new(render)), ..Scene::default() };
    if options.load_meshes {
        let read = job.read_mesh;
        let meshes = Meshes { opener: &opener, options, mesh_format, read, report: &mut *job.report };
        let mut sum = meshes.read(&mut scene, &scene_file.meshes)?;
        sum.bytes = job.report.bytes_in - bytes;
        sum.plain_bytes = job.report.plain_bytes_in - plain_bytes;
        files.meshes = Some(sum);
    }
    job.details.files = Some(files);
    for (name, other) in &opener.files().other_names {
        note_case(name, other, &mut job.report.warnings);
    }
    Ok(scene)
}

/// Wraps an open file for the parser.
fn open_file(
    plain: &Plain,
    name: Option<&str>,
    options: &ReadOptions,
    identity: Option<PathBuf>,
    key: usize,
) -> OpenFile {
    let mut text = TextChunks::new(plain.source().clone()).tolerant(plain.garbage().cloned());
    if let Some(name) = name {
        text = text.named(name.into());
    }
    let chunk_bytes = plain.options(options).run.chunk_bytes;
    OpenFile { text, chunk_bytes, identity, folder: String::new(), key }
}

/// Opens the files that a scene includes.
struct Opener<'o> {
    options: &'o ReadOptions,
    near: &'o Near,
    format: Format,
    files: Mutex<Seen>,
}

/// State of included files.
#[derive(Default)]
struct Seen {
    /// Files that are still open.
    open: Vec<Option<Plain>>,
    /// Reports of closed files, in scene order.
    noted: Report,
    /// Number of closed files.
    closed: u64,
    /// Folders of included files, relative to the scene's folder.
    folders: BTreeSet<String>,
    /// Names that differ in case from the names of their files, with the actual names.
    other_names: BTreeSet<(String, String)>,
}

/// A file that was found and opened.
struct Named {
    opened: Opened,
    shown: String,
    identity: Option<PathBuf>,
    folder: String,
}

impl Opener<'_> {
    fn files(&self) -> MutexGuard<'_, Seen> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds and opens the file that another file, in `folder`, refers to as `name`.
    fn find(&self, name: &str, folder: &str) -> Result<Named> {
        let (file, name) = self.locate(name, folder)?;
        let folder = name.rfind(['/', '\\']).map_or(String::new(), |at| name[..=at].to_owned());
        let identity = file.real;
        let (opened, shown) = Resolver::beside(self.near, self.options).open(file.origin)?;
        Ok(Named { opened, shown, identity, folder })
    }

    /// Finds the file that another file, in `folder`, refers to as `name`; also returns its name relative to the
    /// scene's folder.
    fn locate(&self, name: &str, folder: &str) -> Result<(FoundFile, String)> {
        let mut resolver = Resolver::beside(self.near, self.options);
        let (file, place) = match resolver.find(name) {
            Err(error) if !folder.is_empty() && error.kind() == ErrorKind::Io => {
                let beside = format!("{folder}{name}");
                // Errors refer to the name in the scene.
                (resolver.find(&beside).map_err(|_| error)?, beside)
            }
            file => (file?, try_string(name)?),
        };
        if let Some(other) = &file.other_name {
            self.files().other_names.insert((try_string(name)?, try_string(other)?));
        }
        Ok((file, place))
    }
}

impl FileOpener for Opener<'_> {
    fn open(&self, name: &str, folder: &str) -> Result<OpenFile> {
        let Named { opened, shown, identity, folder } = self.find(name, folder)?;
        let plain = opened.plain(self.options)?;
        let mut files = self.files();
        let mut file = open_file(&plain, Some(&shown), self.options, identity, files.open.len());
        if !files.folders.contains(&folder) {
            files.folders.insert(try_string(&folder)?);
        }
        file.folder = folder;
        try_push(&mut files.open, Some(plain), "files")?;
        Ok(file)
    }

    fn close(&self, key: usize) -> Result<()> {
        let mut files = self.files();
        let Some(plain) = files.open.get_mut(key).and_then(Option::take) else { return Ok(()) };
        files.closed += 1;
        let noted = &mut files.noted;
        plain.note_name(self.options, &mut noted.warnings)?;
        plain.note_garbage(&mut noted.warnings);
        noted.note_read(plain.moved(self.format.name()));
        Ok(())
    }
}

/// Reads the mesh files of a scene.
struct Meshes<'a> {
    opener: &'a Opener<'a>,
    options: &'a ReadOptions,
    mesh_format: Format,
    read: ReadMesh,
    report: &'a mut Report,
}

/// A mesh file name, with its first use.
struct MeshFile<'a> {
    named: &'a MeshUse,
    /// The file that it refers to, until it is read.
    found: Option<Result<FoundFile>>,
    /// The result, or `None` if another name refers to the same file.
    result: Option<Result<Loaded<Scene>>>,
    /// Index of the name whose result is used: this name, or the first name of the same file.
    number: usize,
}

impl Meshes<'_> {
    /// Reads each file once, in parallel, and assigns the meshes to shapes; counts the files.
    fn read(self, scene: &mut Scene, uses: &[MeshUse]) -> Result<FileSum> {
        let mut numbers = HashMap::new();
        let mut files = Vec::new();
        let mut file_of_use = Vec::new();
        for named in uses {
            let key = (named.name.as_str(), named.folder.as_ref());
            let next = files.len();
            numbers.try_reserve(1).map_err(|_| Error::memory("meshes"))?;
            let number = *numbers.entry(key).or_insert(next);
            if number == next {
                self.check_count(next, named)?;
                let file = MeshFile { named, found: None, result: None, number: next };
                try_push(&mut files, file, "meshes")?;
            }
            try_push(&mut file_of_use, number, "meshes")?;
        }
        self.locate_all(&mut files)?;
        self.load_all(&mut files)?;
        let (mesh_of_file, sum) = self.take_all(scene, files)?;
        let Some(render) = &mut scene.render else { return Ok(sum) };
        for (named, &file) in uses.iter().zip(&file_of_use) {
            if let Some(mesh) = mesh_of_file[file] {
                try_push(&mut render.meshes, (named.shape, mesh), "meshes")?;
            }
        }
        Ok(sum)
    }

    fn check_count(&self, count: usize, named: &MeshUse) -> Result<()> {
        let limit = self.options.limits.files;
        if (count as u64) < limit {
            return Ok(());
        }
        let message = format!("the scene refers to more meshes than the limit `files` ({limit})");
        let error = Diagnostic { place: named.place.clone(), ..Diagnostic::new(message) }.into_error(ErrorKind::Limit);
        Err(error.with_hint(limit_hint("files")))
    }

    /// Locates the files, so that a file with several names is read only once. A host's resolver is only called when a
    /// file is read.
    fn locate_all(&self, files: &mut [MeshFile<'_>]) -> Result<()> {
        if self.options.resolver.is_some() {
            return Ok(());
        }
        let threads = self.options.run.worker_threads();
        let cancel = &self.options.run.cancel;
        let opener = self.opener;
        try_for_each_item(
            threads,
            cancel,
            files.iter_mut(),
            || (),
            |(), file| {
                let located = opener.locate(&file.named.name, &file.named.folder);
                file.found = Some(located.map(|(located, _)| located));
                Ok(())
            },
        )?;
        let mut first_of: HashMap<PathBuf, usize> = HashMap::new();
        for (number, file) in files.iter_mut().enumerate() {
            let Some(Ok(FoundFile { real: Some(real), .. })) = &file.found else { continue };
            match first_of.get(real) {
                Some(&first) => {
                    file.number = first;
                    file.found = None;
                }
                None => {
                    first_of.try_reserve(1).map_err(|_| Error::memory("meshes"))?;
                    first_of.insert(real.clone(), number);
                }
            }
        }
        Ok(())
    }

    /// Reads many files in parallel, one thread each; a few files sequentially, with all threads.
    fn load_all(&self, files: &mut [MeshFile<'_>]) -> Result<()> {
        let threads = self.options.run.worker_threads();
        let mut options = self.options.clone();
        options.format = Some(self.mesh_format);
        options.run.progress = None;
        // With fewer files than threads, parallel reads would leave threads idle.
        let together = if files.len() >= threads { threads } else { 1 };
        options.run.threads = Some(threads / together);
        options.run.memory_limit = self.options.run.memory_limit / together as u64;
        let cancel = &self.options.run.cancel;
        let opener = self.opener;
        let options = &options;
        let read = self.read;
        try_for_each_item(
            together,
            cancel,
            files.iter_mut().enumerate(),
            || (),
            |(), (number, file)| {
                let located = match file.found.take() {
                    Some(located) => located,
                    // Another name of the same file is read instead.
                    None if file.number != number => return Ok(()),
                    None => opener.locate(&file.named.name, &file.named.folder).map(|(located, _)| located),
                };
                let opened =
                    located.and_then(|located| Resolver::beside(opener.near, opener.options).open(located.origin));
                file.result = Some(opened.and_then(|(opened, _)| read(&opened, options)));
                Ok(())
            },
        )
    }

    /// Moves the meshes into the scene; returns the mesh index of each file.
    fn take_all(self, scene: &mut Scene, files: Vec<MeshFile<'_>>) -> Result<(Vec<Option<u32>>, FileSum)> {
        use ErrorKind::{Cancelled, Host, Limit, Memory};
        let mut numbers: Vec<Option<u32>> = Vec::new();
        let mut sum = FileSum::default();
        for MeshFile { named, result, number, .. } in files {
            let Some(result) = result else {
                let mesh = numbers.get(number).copied().flatten();
                try_push(&mut numbers, mesh, "meshes")?;
                continue;
            };
            let number = match result {
                Ok(Loaded { value: mut found, report }) => {
                    sum.count += 1;
                    report.reads.into_iter().for_each(|moved| self.report.note_read(moved));
                    self.report.warnings.extend(report.warnings);
                    let number = scene.meshes.len() as u32;
                    if found.meshes.is_empty() {
                        None
                    } else {
                        try_push(&mut scene.meshes, found.meshes.swap_remove(0), "meshes")?;
                        Some(number)
                    }
                }
                Err(error) if matches!(error.kind(), Limit | Memory | Host | Cancelled) => return Err(error),
                Err(error) if error.kind() == ErrorKind::Malformed => {
                    if self.options.raises() {
                        return Err(error);
                    }
                    sum.missing += 1;
                    self.report.warnings.push("broken-mesh", error.diagnostic().clone());
                    None
                }
                Err(error) => {
                    sum.missing += 1;
                    let why = match error.io_error() {
                        _ if named.name.is_empty() => "its file name is empty".to_owned(),
                        Some(io) if error.kind() == ErrorKind::Io => io.to_string(),
                        _ => error.diagnostic().message.clone(),
                    };
                    let message = format!("cannot read the mesh `{}`: {why}", names::shown(&named.name));
                    let hint = error.diagnostic().hint.clone();
                    let diagnostic =
                        Diagnostic { hint, place: named.place.clone(), ..Diagnostic::new(message).about(&*named.name) };
                    self.report.warnings.note(self.options.faults(), "missing-mesh", diagnostic)?;
                    None
                }
            };
            try_push(&mut numbers, number, "meshes")?;
        }
        Ok((numbers, sum))
    }
}
