//! [`Samples`]: the samples of a format, and the ways of reading them.

use crate::content::{Content, Outcome, Reading};
use polyhaul::error::Place;
use polyhaul::options::{Limits, OnError, Resolve, RunOptions};
use polyhaul::{Error, ErrorKind, Format, Input, Loaded, ReadOptions, Reader};
use polyhaul_testkit::corpus::{self, Folder};
use polyhaul_testkit::hostile::{Fault, Hostile, Log, Sizes};
use polyhaul_testkit::packed::{CODECS, pack};
use std::fmt::{self, Debug, Formatter};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Splits bytes into the files that they stand for.
pub type SampleSplit = fn(&[u8]) -> Vec<FilePart>;

/// Samples of a format, for every promise. A format whose files refer to others has further rows for those.
pub struct Samples {
    pub format: Format,
    /// The kind of the bytes if they are not the main file, such as `mtl` for a material library of an OBJ file.
    pub part: &'static str,
    /// File name for reading the bytes.
    pub file_name: &'static str,
    /// All kinds of content that such a file can be read as.
    pub readings: &'static [Reading],
    /// Folders of test data, with the extension of the files.
    pub folders: &'static [(&'static str, &'static str)],
    /// Whether a file of the test data must be readable, by its name.
    pub is_good: fn(&str) -> bool,
    /// Whether reading a file of the test data must cause an error or a warning, by its name.
    pub is_refused: fn(&str) -> bool,
    /// Generated samples, for cases that the test data lacks.
    pub made: fn() -> Vec<Sample>,
    /// Splits the bytes into files. The first is read, and refers to the others by name.
    pub split: Option<SampleSplit>,
    /// Number of bytes to change one by one, over all samples; small if even small files take long.
    pub changed_bytes: usize,
    /// Memory beyond the promise that damaged files are known to take: a gap to close.
    pub known_excess: u64,
    /// Changes the options of every read.
    pub options: fn(&mut ReadOptions),
    /// Whether a stream of the bytes has the same meaning as a file, whose size is known.
    pub is_same_streamed: fn(&[u8]) -> bool,
    /// Whether no damage makes a read fail.
    pub is_always_read: bool,
    /// Whether the error of a malformed file of the given size has a location, as far as the format promises one.
    pub has_place: fn(&Place, usize) -> bool,
    /// Judges a strict prefix that was read without an error.
    pub prefix: fn(&Prefix<'_>) -> Option<String>,
    /// Samples that need a certain value of a limit.
    pub limits: fn() -> Vec<LimitSample>,
    /// Samples that demand much with few bytes.
    pub claims: fn() -> Vec<Sample>,
    /// Samples of any size: reading four times the bytes may take about four times the time.
    pub shapes: fn() -> Vec<Shape>,
}

/// A row without samples: the registry test lists what is missing.
pub const NO_SAMPLES: Samples = Samples {
    format: Format::Obj,
    part: "",
    file_name: "",
    readings: &[],
    folders: &[],
    is_good: |name| name.contains("/good/"),
    is_refused: |name| name.contains("/bad/"),
    made: Vec::new,
    split: None,
    changed_bytes: 3000,
    known_excess: 0,
    options: |_| {},
    is_same_streamed: |_| true,
    is_always_read: false,
    has_place: |_, _| true,
    prefix: |_| None,
    limits: Vec::new,
    claims: Vec::new,
    shapes: Vec::new,
};

/// A file's bytes, and their expected result.
#[derive(Clone, Debug)]
pub struct Sample {
    pub name: String,
    pub bytes: Vec<u8>,
    /// Whether it must be read without an error.
    pub is_good: bool,
    /// Whether reading it must cause an error or a warning.
    pub is_refused: bool,
}

/// A sample that must be readable.
pub fn good(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Sample {
    Sample { name: name.into(), bytes: bytes.into(), is_good: true, is_refused: false }
}

/// A sample that may cause an error.
pub fn bad(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Sample {
    Sample { is_good: false, ..good(name, bytes) }
}

/// A sample that breaks a rule of the format.
pub fn refused(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Sample {
    Sample { is_refused: true, ..bad(name, bytes) }
}

/// One of the files that a sample stands for.
#[derive(Clone)]
pub struct FilePart {
    pub name: String,
    pub bytes: Arc<Vec<u8>>,
}

/// Creates a file of a sample.
pub fn file_part(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> FilePart {
    FilePart { name: name.into(), bytes: Arc::new(bytes.into()) }
}

/// A strict prefix of a sample that was read without an error.
pub struct Prefix<'a> {
    pub whole_bytes: &'a [u8],
    pub whole: &'a Content,
    pub bytes: &'a [u8],
    pub content: &'a Content,
    /// Warnings as text.
    pub warnings: &'a str,
}

/// A sample that needs a certain value of a limit.
pub struct LimitSample {
    pub name: String,
    /// Name of the limit.
    pub limit: &'static str,
    pub needed: u64,
    pub bytes: Vec<u8>,
    /// The kind of content to read; `None` for the first in the row's list.
    pub reading: Option<Reading>,
    /// Other limits, which the sample respects.
    pub others: &'static [(&'static str, u64)],
    /// The format to convert it to, for limits on output.
    pub target: Option<Format>,
    /// Whether the sample is read if the limit allows it; otherwise it fails with another error.
    pub is_readable: bool,
}

/// Creates a sample that needs this limit.
pub fn limited(limit: &'static str, needed: u64, bytes: impl Into<Vec<u8>>) -> LimitSample {
    LimitSample {
        name: String::new(),
        limit,
        needed,
        bytes: bytes.into(),
        reading: None,
        others: &[],
        target: None,
        is_readable: true,
    }
}

impl LimitSample {
    pub fn read_as(self, reading: Reading) -> LimitSample {
        LimitSample { reading: Some(reading), ..self }
    }

    pub fn with(self, others: &'static [(&'static str, u64)]) -> LimitSample {
        LimitSample { others, ..self }
    }

    pub fn converted_to(self, target: Format) -> LimitSample {
        LimitSample { target: Some(target), ..self }
    }

    pub fn unreadable(self) -> LimitSample {
        LimitSample { is_readable: false, ..self }
    }
}

/// A generator of files of any size.
pub struct Shape {
    pub name: String,
    /// Generates a file of about this size.
    pub make: Box<dyn Fn(usize) -> Vec<u8>>,
}

/// Creates a generator from `make`.
pub fn shape(name: impl Into<String>, make: impl Fn(usize) -> Vec<u8> + 'static) -> Shape {
    Shape { name: name.into(), make: Box::new(make) }
}

/// Creates a generator that repeats `unit` after `header`.
pub fn repeated(header: &'static str, unit: &'static str) -> Shape {
    shape(format!("{header:?}, then {unit:?}"), move |size| {
        format!("{header}{}", unit.repeat(size / unit.len())).into_bytes()
    })
}

/// The source of the bytes of a file.
#[derive(Clone, Debug)]
pub enum Source {
    Memory,
    /// As a file in this folder.
    File(Arc<PathBuf>),
    Stream(Sizes),
    /// Compressed in members with this number of uncompressed bytes, in memory or as a stream.
    Packed {
        codec: usize,
        member_bytes: usize,
        is_streamed: bool,
    },
}

/// A way of reading the same bytes.
#[derive(Clone)]
pub struct Way {
    pub source: Source,
    pub fault: Fault,
    pub threads: usize,
    pub chunk_bytes: Option<usize>,
    pub on_error: OnError,
    pub strict: bool,
    pub limits: Limits,
}

/// From memory, on one thread, with default chunks; the first error stops the read.
impl Default for Way {
    fn default() -> Way {
        Way {
            source: Source::Memory,
            fault: Fault::Nothing,
            threads: 1,
            chunk_bytes: None,
            on_error: OnError::Raise,
            strict: false,
            limits: Limits::default(),
        }
    }
}

impl Debug for Way {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Way { source, fault, threads, chunk_bytes, on_error, strict, .. } = self;
        write!(f, "{source:?}, {fault:?}, {threads} threads, chunks of {chunk_bytes:?}, {on_error:?}, strict: {strict}")
    }
}

impl Way {
    /// Skips and counts malformed data.
    pub fn lenient() -> Way {
        Way { on_error: OnError::Warn, ..Way::default() }
    }

    pub fn with_source(&self, source: Source) -> Way {
        Way { source, ..self.clone() }
    }

    pub fn with_run(&self, threads: usize, chunk_bytes: Option<usize>) -> Way {
        Way { threads, chunk_bytes, ..self.clone() }
    }
}

impl Samples {
    /// Name of the row: the format, and the part if any.
    pub fn name(&self) -> String {
        if self.part.is_empty() { self.format.name().into() } else { format!("{}-{}", self.format.name(), self.part) }
    }

    /// All samples.
    pub fn all(&self) -> Vec<Sample> {
        let mut samples = (self.made)();
        for (folder, extension) in self.folders {
            let files = corpus::samples(folder, extension).into_iter();
            samples.extend(files.map(|file| Sample {
                is_good: (self.is_good)(&file.name),
                is_refused: (self.is_refused)(&file.name),
                bytes: file.bytes(),
                name: file.name,
            }));
        }
        samples
    }

    /// Samples that must be readable.
    pub fn good(&self) -> Vec<Sample> {
        self.all().into_iter().filter(|sample| sample.is_good).collect()
    }

    /// Samples that must cause an error or a warning.
    pub fn refused(&self) -> Vec<Sample> {
        self.all().into_iter().filter(|sample| sample.is_refused).collect()
    }

    /// Reads bytes as the first kind in the row's list, from memory on one thread.
    pub fn read_plainly(&self, bytes: &[u8]) -> Outcome {
        self.read(bytes, self.readings[0], &Way::default())
    }

    /// Reads bytes.
    pub fn read(&self, bytes: &[u8], reading: Reading, way: &Way) -> Outcome {
        self.read_logged(bytes, reading, way).0
    }

    /// Reads bytes; also returns the requests to each stream, if any.
    pub fn read_logged(&self, bytes: &[u8], reading: Reading, way: &Way) -> (Outcome, Vec<Arc<Log>>) {
        let logs = Arc::new(Mutex::new(Vec::new()));
        let mut options = self.options_of(way);
        let input = match self.split {
            None => input_of(self.file_name, bytes, way, &logs),
            Some(split) => {
                let mut parts = split(bytes);
                let main = parts.remove(0);
                let input = input_of(&main.name, &main.bytes, way, &logs);
                options.resolver = Some(resolver(parts, way.clone(), logs.clone()));
                input
            }
        };
        let result = read_as(reading, Reader::new(input).options(&options));
        let outcome = Outcome::new(result, self.names(&way.source));
        let logs = std::mem::take(&mut *logs.lock().unwrap());
        (outcome, logs)
    }

    /// Describes a rule that the result breaks, if any, whatever the bytes were.
    pub fn broken_rule(&self, bytes: &[u8], outcome: &Outcome) -> Option<String> {
        let Some(error) = outcome.error() else { return outcome.broken_rule() };
        if self.is_always_read {
            return Some(format!("it fails: {error}"));
        }
        let has_place = error.kind() != ErrorKind::Malformed || (self.has_place)(error.place(), bytes.len());
        outcome.broken_rule().or_else(|| (!has_place).then(|| format!("the error has no place: {error}")))
    }

    pub fn options_of(&self, way: &Way) -> ReadOptions {
        let run = RunOptions::default().with_threads(Some(way.threads)).with_chunk_bytes(way.chunk_bytes);
        let mut options = ReadOptions::default()
            .with_run(run)
            .with_on_error(way.on_error)
            .with_strict(way.strict)
            .with_limits(way.limits);
        (self.options)(&mut options);
        options
    }

    /// Name of the file in messages, if it differs from the name in memory, and that name.
    fn names(&self, source: &Source) -> Option<[String; 2]> {
        let main_name = || self.split.map_or(self.file_name.to_owned(), |split| split(&[]).remove(0).name);
        match source {
            Source::Memory | Source::Stream(_) => None,
            Source::File(folder) => Some([folder.join(main_name()).display().to_string(), main_name()]),
            Source::Packed { codec, .. } => Some([packed_name(&main_name(), *codec), main_name()]),
        }
    }

    /// Whether bytes from this source have the same meaning as in memory.
    pub fn is_same_from(&self, source: &Source, bytes: &[u8]) -> bool {
        match source {
            Source::Memory | Source::File(_) => true,
            Source::Stream(_) => (self.is_same_streamed)(bytes),
            // Only one layer of compression is decompressed.
            Source::Packed { .. } => (self.is_same_streamed)(bytes) && !bytes.is_empty() && !is_packed(bytes),
        }
    }
}

/// Whether bytes are themselves compressed, or an archive.
pub fn is_packed(bytes: &[u8]) -> bool {
    let signatures: [&[u8]; 4] = [b"\x1F\x8B", b"\x28\xB5\x2F\xFD", b"\x04\x22\x4D\x18", b"PK"];
    signatures.iter().any(|signature| bytes.starts_with(signature))
}

fn packed_name(name: &str, codec: usize) -> String {
    format!("{name}.{}", CODECS[codec].1)
}

/// Resolves the files of a sample.
fn resolver(parts: Vec<FilePart>, way: Way, logs: Arc<Mutex<Vec<Arc<Log>>>>) -> Resolve {
    // Faults are simulated in the main file only.
    let way = Way { fault: Fault::Nothing, ..way };
    Resolve(Arc::new(move |name| {
        let part = parts.iter().find(|part| part.name == name);
        Ok(part.map(|part| match &way.source {
            Source::Memory | Source::File(_) | Source::Packed { .. } => {
                Input::Shared(part.bytes.clone(), part.name.clone())
            }
            _ => input_of(&part.name, &part.bytes, &way, &logs),
        }))
    }))
}

fn input_of(name: &str, bytes: &[u8], way: &Way, logs: &Mutex<Vec<Arc<Log>>>) -> Input {
    let stream = |name: String, bytes: &[u8], sizes: &Sizes| {
        let reader = Hostile::new(bytes, sizes.clone()).with(way.fault);
        logs.lock().unwrap().push(reader.log());
        Input::Reader(Box::new(reader), name)
    };
    match &way.source {
        Source::Memory => Input::Memory(bytes.to_vec(), name.into()),
        Source::File(folder) => {
            let path = folder.join(name);
            std::fs::write(&path, bytes).unwrap();
            Input::Path(path)
        }
        Source::Stream(sizes) => stream(name.into(), bytes, sizes),
        Source::Packed { codec, member_bytes, is_streamed } => {
            let packed = pack(CODECS[*codec].0, bytes, *member_bytes);
            let name = packed_name(name, *codec);
            if *is_streamed { stream(name, &packed, &Sizes::All) } else { Input::Memory(packed, name) }
        }
    }
}

/// A source for files in a folder.
pub fn files_in(folder: &Folder) -> Source {
    Source::File(Arc::new(Path::to_path_buf(folder.path())))
}

pub fn read_as(reading: Reading, reader: Reader) -> Result<(Content, polyhaul::Report), Error> {
    fn pair<T>(loaded: Loaded<T>, content: fn(T) -> Content) -> (Content, polyhaul::Report) {
        (content(loaded.value), loaded.report)
    }
    match reading {
        Reading::Scene => reader.scene().map(|mut loaded| {
            // Differs between sources.
            loaded.value.folder = polyhaul::model::SourceFolder::default();
            pair(loaded, Content::Scene)
        }),
        Reading::Tables => reader.tables().map(|loaded| pair(loaded, Content::Tables)),
        Reading::Array => reader.array().map(|loaded| pair(loaded, Content::Array)),
        Reading::Image => reader.image().map(|loaded| pair(loaded, Content::Image)),
        Reading::Texture => reader.texture().map(|loaded| pair(loaded, Content::Texture)),
    }
}

/// The limit with this name.
pub fn limit_of<'a>(limits: &'a mut Limits, name: &str) -> &'a mut u64 {
    match name {
        "line_bytes" => &mut limits.line_bytes,
        "name_bytes" => &mut limits.name_bytes,
        "elements" => &mut limits.elements,
        "objects" => &mut limits.objects,
        "materials" => &mut limits.materials,
        "pixels" => &mut limits.pixels,
        "image_ratio" => &mut limits.image_ratio,
        "columns" => &mut limits.columns,
        "properties" => &mut limits.properties,
        "header_bytes" => &mut limits.header_bytes,
        "files" => &mut limits.files,
        "included_bytes" => &mut limits.included_bytes,
        "instanced_elements" => &mut limits.instanced_elements,
        "instanced_objects" => &mut limits.instanced_objects,
        "referenced_file_bytes" => &mut limits.referenced_file_bytes,
        "decompressed_bytes" => &mut limits.decompressed_bytes,
        "decompressed_ratio" => &mut limits.decompressed_ratio,
        _ => panic!("`{name}` is not the name of a limit"),
    }
}

/// Whether an error has a line or an offset.
pub fn has_line_or_offset(place: &Place, _: usize) -> bool {
    place.line.is_some() || place.offset.is_some()
}

/// Whether an error has an offset inside a file of `size` bytes.
pub fn has_offset(place: &Place, size: usize) -> bool {
    place.offset.is_some_and(|offset| offset <= size as u64)
}
