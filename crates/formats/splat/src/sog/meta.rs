//! Parses the JSON of SOG. Both versions yield the same kind of lookup tables.

use crate::records::ByteTable;
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Place, Result, elements_hint};
use polyhaul_model::limits::Limits;
use polyhaul_model::names;
use polyhaul_model::splats::logit_of;
use serde::Deserialize;
use std::sync::Arc;

/// Indices of images in [`SogMeta::files`].
pub(super) const MEANS: [usize; 2] = [0, 1];
pub(super) const SCALES: usize = 2;
pub(super) const QUATS: usize = 3;
pub(super) const SH0: usize = 4;
pub(super) const CENTROIDS: usize = 5;
pub(super) const LABELS: usize = 6;

/// Maximum number of palette entries, because labels have 16 bits.
const MAX_ENTRIES: u64 = 1 << 16;
/// Minimum number of known property names that must occur in the first bytes of a file.
const KNOWN_WORDS: usize = 2;

/// A value, or an error message.
type Checked<T> = std::result::Result<T, String>;

/// Returns whether text starts like the JSON of SOG, with its members in any order.
pub fn looks_like_sog(head: &[u8]) -> bool {
    let words: [&[u8]; 6] = [b"\"means\"", b"\"mins\"", b"\"codebook\"", b"\"quats\"", b"\"sh0\"", b"\"scales\""];
    let has = |word: &&[u8]| head.windows(word.len()).any(|window| window == *word);
    head.trim_ascii_start().starts_with(b"{") && words.iter().filter(|word| has(word)).count() >= KNOWN_WORDS
}

/// Content of the JSON.
pub(super) struct SogMeta {
    pub(super) count: usize,
    pub(super) is_antialiased: bool,
    /// File names of the images.
    pub(super) files: Vec<String>,
    /// Minimum and maximum logarithm for each of x, y and z.
    pub(super) means: [[f64; 2]; 3],
    pub(super) scales: [ByteTable; 3],
    pub(super) colors: [ByteTable; 3],
    pub(super) opacities: ByteTable,
    pub(super) harmonics: Option<Harmonics>,
}

/// Harmonics above the constant.
pub(super) struct Harmonics {
    /// Degree, from 1 to 3; `None` in version 1, in which the width of the palette determines it.
    pub(super) bands: Option<usize>,
    /// Number of palette entries; `None` in version 1, in which the image determines it.
    pub(super) count: Option<usize>,
    pub(super) table: ByteTable,
}

#[derive(Deserialize)]
struct SogDocument {
    version: Option<u64>,
    count: Option<u64>,
    #[serde(default)]
    antialias: bool,
    /// Rendering mode that the splats were trained for, such as `antialiased`. Only newer files have it.
    model: Option<serde_json::Value>,
    means: SogPart<Vec<f64>>,
    scales: SogPart<Vec<f64>>,
    quats: SogPart<Vec<f64>>,
    sh0: SogPart<Vec<f64>>,
    #[serde(rename = "shN")]
    sh_n: Option<SogPart<f64>>,
}

/// A property, whose ranges have type `R`.
#[derive(Deserialize)]
struct SogPart<R> {
    /// Number of splats, followed by the number of values.
    shape: Option<Vec<u64>>,
    mins: Option<R>,
    maxs: Option<R>,
    /// The numbers of the codebook. Some writers store null instead of the first number.
    codebook: Option<Vec<Option<f64>>>,
    files: Vec<String>,
    count: Option<u64>,
    bands: Option<u64>,
}

impl SogMeta {
    /// Parses the JSON of `file`.
    pub(super) fn parse(text: &[u8], file: &Arc<str>, limits: &Limits) -> Result<SogMeta> {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let document: SogDocument = serde_json::from_slice(text).map_err(|error| invalid(&error, file))?;
        let is_first = document.version.is_none_or(|version| version == 1);
        if let Some(version) = document.version.filter(|version| !(1..=2).contains(version)) {
            let message = format!("unsupported SOG version {version}; expected 1 or 2");
            return Err(in_file(file, message).into_error(ErrorKind::Unsupported));
        }
        // In version 1, the count may be only in the shape of `means`.
        let shape = document.means.shape.as_ref().and_then(|shape| shape.first().copied());
        let count = document.count.or(shape.filter(|_| is_first));
        let count = count.ok_or_else(|| wrong(file, "missing number of splats (`count`)"))?;
        let count = checked_count(count, file, limits)?;
        SogMeta::from_document(document, is_first, count).map_err(|message| wrong(file, message))
    }

    fn from_document(document: SogDocument, is_first: bool, count: usize) -> Checked<SogMeta> {
        let tables = if is_first { SogTables::of_ranges(&document)? } else { SogTables::of_codebooks(&document)? };
        let SogTables { scales, colors, opacities, harmonics } = tables;
        let is_model = document.model.as_ref().is_some_and(|model| model == "antialiased");
        let is_antialiased = document.antialias || is_model;
        let means = means(&document.means)?;
        let files = files(document)?;
        Ok(SogMeta { count, is_antialiased, files, means, scales, colors, opacities, harmonics })
    }
}

/// Creates the error for inconsistent JSON or images.
pub(super) fn wrong(file: &Arc<str>, message: impl Into<String>) -> Error {
    in_file(file, message).into_error(ErrorKind::Malformed)
}

/// Creates a message about a whole file.
pub(super) fn in_file(file: &Arc<str>, message: impl Into<String>) -> Diagnostic {
    let place = Place { file: file.clone(), ..Place::default() };
    Diagnostic { place, ..Diagnostic::new(message) }
}

/// Creates the error for invalid JSON.
fn invalid(error: &serde_json::Error, file: &Arc<str>) -> Error {
    let text = error.to_string();
    let what = text.rfind(" at line ").map_or(&*text, |end| &text[..end]);
    let line = Some(error.line().max(1) as u64);
    let column = Some(error.column().max(1) as u64);
    let place = Place { file: file.clone(), line, column, ..Place::default() };
    let subject = if error.is_data() { "SOG" } else { "JSON" };
    let message = match what.strip_prefix("EOF while parsing ") {
        Some(part) => format!("invalid {subject}: unexpected end of file in {part}"),
        None => format!("invalid {subject}: {}", names::shown(what)),
    };
    Diagnostic { place, ..Diagnostic::new(message) }.into_error(ErrorKind::Malformed)
}

fn checked_count(count: u64, file: &Arc<str>, limits: &Limits) -> Result<usize> {
    let limit = limits.elements.min(u64::from(u32::MAX) - 1);
    match usize::try_from(count) {
        Ok(checked) if count <= limit => Ok(checked),
        _ => {
            let message = format!("more splats than the limit `elements` ({limit})");
            let diagnostic = Diagnostic { hint: elements_hint(limit), ..in_file(file, message) };
            Err(diagnostic.into_error(ErrorKind::Limit))
        }
    }
}

/// Returns the image names, in the order of [`SogMeta::files`].
fn files(document: SogDocument) -> Checked<Vec<String>> {
    let SogDocument { means, scales, quats, sh0, sh_n, .. } = document;
    let more = sh_n.map(|part| ("shN", part.files, 2));
    let required =
        [("means", means.files, 2), ("scales", scales.files, 1), ("quats", quats.files, 1), ("sh0", sh0.files, 1)];
    let mut files = Vec::new();
    for (name, names, count) in required.into_iter().chain(more) {
        if names.len() != count {
            return Err(format!("`{name}.files` has length {}; expected {count}", names.len()));
        }
        files.extend(names);
    }
    Ok(files)
}

/// Returns the ranges of x, y and z.
fn means(part: &SogPart<Vec<f64>>) -> Checked<[[f64; 2]; 3]> {
    let ranges = ranges::<3>("means", part)?;
    // Positions become `f32`, so the limits of the ranges must fit.
    let is_finite = |value: f64| (value.abs().exp_m1() as f32).is_finite();
    match ranges.as_flattened().iter().find(|value| !is_finite(**value)) {
        Some(value) => Err(format!("invalid range of `means`: {value} is too large for a position")),
        None => Ok(ranges),
    }
}

/// Returns the minimum and maximum values of a property.
fn ranges<const N: usize>(name: &str, part: &SogPart<Vec<f64>>) -> Checked<[[f64; 2]; N]> {
    let side = |side: &Option<Vec<f64>>, which: &str| -> Checked<[f64; N]> {
        let values = side.as_deref().unwrap_or_default();
        values.try_into().map_err(|_| format!("`{name}.{which}` has length {}; expected {N}", values.len()))
    };
    let [mins, maxs] = [side(&part.mins, "mins")?, side(&part.maxs, "maxs")?];
    Ok(std::array::from_fn(|at| [mins[at], maxs[at]]))
}

/// Lookup tables that map image bytes to values.
struct SogTables {
    scales: [ByteTable; 3],
    colors: [ByteTable; 3],
    opacities: ByteTable,
    harmonics: Option<Harmonics>,
}

impl SogTables {
    /// Builds the tables of version 1 from ranges.
    fn of_ranges(document: &SogDocument) -> Checked<SogTables> {
        let even = |name: &str, range: [f64; 2]| table(name, |byte| range[0] + (range[1] - range[0]) * byte / 255.0);
        let [x, y, z] = ranges::<3>("scales", &document.scales)?;
        let [red, green, blue, opacity] = ranges::<4>("sh0", &document.sh0)?;
        let harmonics = match &document.sh_n {
            Some(part) => {
                let missing = || "missing `shN.mins` or `shN.maxs`".to_owned();
                let min = part.mins.ok_or_else(missing)?;
                let max = part.maxs.ok_or_else(missing)?;
                Some(Harmonics { bands: None, count: None, table: even("shN", [min, max])? })
            }
            None => None,
        };
        Ok(SogTables {
            scales: [even("scales", x)?, even("scales", y)?, even("scales", z)?],
            colors: [even("sh0", red)?, even("sh0", green)?, even("sh0", blue)?],
            opacities: even("sh0", opacity)?,
            harmonics,
        })
    }

    /// Builds the tables of version 2 from codebooks.
    fn of_codebooks(document: &SogDocument) -> Checked<SogTables> {
        let harmonics = match &document.sh_n {
            Some(part) => {
                let bands = part
                    .bands
                    .filter(|bands| (1..4).contains(bands))
                    .ok_or("missing or invalid `shN.bands`; expected 1 to 3")?;
                let is_possible = |count: &u64| (1..=MAX_ENTRIES).contains(count);
                let count =
                    part.count.filter(is_possible).ok_or("missing or invalid `shN.count`; expected 1 to 65536")?;
                let table = codebook("shN", part.codebook.as_deref())?;
                Some(Harmonics { bands: Some(bands as usize), count: Some(count as usize), table })
            }
            None => None,
        };
        Ok(SogTables {
            // In version 2, all axes or channels share one codebook.
            scales: [codebook("scales", document.scales.codebook.as_deref())?; 3],
            colors: [codebook("sh0", document.sh0.codebook.as_deref())?; 3],
            opacities: std::array::from_fn(|byte| logit_of(byte as f32 / 255.0)),
            harmonics,
        })
    }
}

/// Returns the numbers of a codebook. If the first number is null, it is extrapolated: it differs from the second
/// number by 1/255 of the range from the second to the last number, as in the format's viewer.
fn codebook(name: &str, values: Option<&[Option<f64>]>) -> Checked<ByteTable> {
    let values = values.unwrap_or_default();
    let Ok(values) = <&[Option<f64>; 256]>::try_from(values) else {
        return Err(format!("`{name}.codebook` has length {}; expected 256", values.len()));
    };
    let mut numbers = values.map(|value| value.unwrap_or(f64::NAN));
    if values[0].is_none() {
        numbers[0] = numbers[1] + (numbers[1] - numbers[255]) / 255.0;
    }
    table(name, |byte| numbers[byte as usize])
}

/// Builds a table from the value of each byte.
fn table(name: &str, value: impl Fn(f64) -> f64) -> Checked<ByteTable> {
    let table: ByteTable = std::array::from_fn(|byte| value(byte as f64) as f32);
    match table.iter().find(|value| !value.is_finite()) {
        Some(_) => Err(format!("a value of `{name}` is not a finite number")),
        None => Ok(table),
    }
}
