//! Compares the content of two assets attribute by attribute, regardless of format, and finds the largest difference of
//! each attribute.
//!
//! Compares content, not its representation in a file:
//!
//! - Faces and their corners are compared in file order. If the order differs and matching faces by their corners fits
//!   better, the order counts as a single difference. Each corner has the position, normal, uv and color assigned by
//!   its indices, vertex or face, so split or merged vertices do not count as a difference. Vertices without a face are
//!   compared in order, lines edge by edge. If one file needs double precision, both are read in double precision.
//! - Objects are compared in world space, with each instance as an object. A pbrt scene is compared by its meshes;
//!   lights, cameras, media, settings and shapes other than meshes are only counted.
//! - Materials, groups and smoothing are compared face by face, materials by name, or by value if their names differ.
//!   Two file names are equal if they refer to the same file, or to files with the same bytes.
//! - Tables are compared column by column. Columns are matched by name, ignoring letter case if no name is equal, or by
//!   index if one of them has no name; case is reported except for names that PLY stores in lowercase. Values are
//!   compared; types are not. NaN equals NaN, and 0 equals -0.
//! - Pixels are compared as floats, with integers scaled to 0 to 1: in linear light, unless both images have the same
//!   type, channels and color space. If only one image has premultiplied alpha, that is a difference, and its colors
//!   are unpremultiplied first. Opaque alpha equals no alpha.
//! - Extra channels and attributes of images are compared by name: channels by value, whatever their type; attributes
//!   by type and bytes.
//! - Comments are not compared.
//!
//! The values are compared in `scene`, `table` and `image`. Nothing here writes or prints.

mod image;
mod order;
mod scene;
mod table;

use crate::format::Format;
use crate::input::Input;
use crate::load::{Content, ContentShape, ShapeOf, load_as};
use crate::loaded::Loaded;
use crate::loaded::Tables;
use crate::open::Opened;
use crate::options::ReadOptions;
use crate::report::Report;
use polyhaul_geometry::exact;
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::limits::Limits;
use polyhaul_model::names;
use polyhaul_model::warnings::{counted, grouped};
use polyhaul_model::{Precision, Scene};
use polyhaul_pipeline::crew::within;

/// A difference between two assets.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The kind of data that differs: `faces`, `positions`, `normals`, `uvs`, `colors`, `materials`, `columns`,
    /// `pixels`, `attributes` and so on.
    pub what: &'static str,
    /// A one-sentence description.
    pub message: String,
    /// The number of values, elements or names that differ.
    pub count: u64,
    /// The largest numeric difference, or `None` if the difference is not numeric.
    pub largest: Option<f64>,
    /// The location of the largest difference, or else of the first.
    pub place: Option<String>,
}

/// The result of comparing two assets.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// The kind of both assets: `scene`, `tables`, `image` or `texture`.
    pub kind: &'static str,
    /// The differences, by attribute; empty if the assets are equivalent.
    pub differences: Vec<Difference>,
    /// The report of reading both, including the warnings.
    pub report: Report,
}

impl Comparison {
    /// Whether the two assets are equivalent.
    pub fn is_equal(&self) -> bool {
        self.differences.is_empty()
    }
}

/// Compares the content of two assets. Numbers are equal if they differ by at most `tolerance` (absolute; 0 for an
/// exact comparison).
///
/// ```
/// use polyhaul::{Input, ReadOptions, diff};
///
/// let obj = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n".to_vec();
/// let moved = b"v 0 0 0\nv 1 0 0\nv 0 1.5 0\nf 1 2 3\n".to_vec();
/// let [a, b] = [obj, moved].map(|text| Input::Memory(text, "a.obj".into()));
/// let found = diff(a, b, &ReadOptions::default(), 0.0)?;
/// assert_eq!((found.differences[0].what, found.differences[0].largest), ("positions", Some(0.5)));
/// # Ok::<(), polyhaul::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Usage`] if the two kinds cannot be compared, such as an image and a scene, or if `tolerance` is
/// negative or NaN; also any error from [`crate::Reader::scene`].
pub fn diff(a: impl Into<Input>, b: impl Into<Input>, options: &ReadOptions, tolerance: f64) -> Result<Comparison> {
    let inputs = [a.into(), b.into()];
    within(&options.run, || compare(inputs, options, tolerance))
}

fn compare(inputs: [Input; 2], options: &ReadOptions, tolerance: f64) -> Result<Comparison> {
    if tolerance.is_nan() || tolerance < 0.0 {
        return Err(Error::new(ErrorKind::Usage, format!("the tolerance is {tolerance}; expected 0 or more")));
    }
    let mut report = Report::default();
    let [a, b] = inputs;
    // Both must be readable twice: with another shape, or in double precision.
    let opened =
        [Opened::new(a, options)?.kept(&options.run.cancel)?, Opened::new(b, options)?.kept(&options.run.cancel)?];
    let [a, b] = &opened;
    let first = read(a, options, &ContentShape::from_format, &mut report)?;
    let second = read(b, options, &ContentShape::from_format, &mut report)?;
    let formats = [first.1, second.1];
    // A table is compared with a PLY file as tables (its vertices), and with any other scene as points.
    let [a, b] = match (first.0, second.0) {
        (a @ Content::Tables(_), b @ Content::Tables(_)) => [a, b],
        (table @ Content::Tables(_), Content::Scene(_)) if formats[1].has_elements() => {
            [table, read(b, options, &|_| ContentShape::Tables, &mut report)?.0]
        }
        (Content::Scene(_), table @ Content::Tables(_)) if formats[0].has_elements() => {
            [read(a, options, &|_| ContentShape::Tables, &mut report)?.0, table]
        }
        (Content::Tables(_), scene @ Content::Scene(_)) => {
            [read(a, options, &|_| ContentShape::Scene, &mut report)?.0, scene]
        }
        (scene @ Content::Scene(_), Content::Tables(_)) => {
            [scene, read(b, options, &|_| ContentShape::Scene, &mut report)?.0]
        }
        (Content::Texture(_), image @ Content::Image(_)) => {
            [read(a, options, &|_| ContentShape::Image, &mut report)?.0, image]
        }
        (image @ Content::Image(_), Content::Texture(_)) => {
            [image, read(b, options, &|_| ContentShape::Image, &mut report)?.0]
        }
        (Content::Scene(first), Content::Scene(second)) => {
            alike([a, b], [first, second], options, &mut report)?.map(Content::Scene)
        }
        (a, b) => [a, b],
    };
    let mut differences = Differences { tolerance, all: Vec::new() };
    let kind = match (a, b) {
        (Content::Scene(a), Content::Scene(b)) => {
            scene::compare([a, b], &options.limits, &mut differences, &mut report)?;
            "scene"
        }
        (Content::Tables(a), Content::Tables(b)) => {
            compare_tables([a, b], formats, &mut differences)?;
            "tables"
        }
        (Content::Image(a), Content::Image(b)) => {
            image::compare([&a, &b], &mut differences, &options.run)?;
            "image"
        }
        (Content::Texture(a), Content::Texture(b)) => {
            image::compare_textures([&a, &b], &mut differences);
            "texture"
        }
        (a, b) => {
            let [a, b] = [(a, formats[0]), (b, formats[1])].map(|(content, format)| words(&content, format));
            return Err(Error::new(ErrorKind::Usage, format!("cannot compare {a} with {b}")));
        }
    };
    Ok(Comparison { kind, differences: differences.all, report })
}

/// Reads a scene again in double precision if the other one needs it, so that both have the same precision.
fn alike(inputs: [&Opened; 2], scenes: [Scene; 2], options: &ReadOptions, report: &mut Report) -> Result<[Scene; 2]> {
    let [first, second] = scenes;
    let is_exact = [exact::is_exact(&first)?, exact::is_exact(&second)?];
    if is_exact[0] == is_exact[1] || options.precision != Precision::Auto {
        return Ok([first, second]);
    }
    let double = ReadOptions { precision: Precision::Double, ..options.clone() };
    let mut again = |input| match read(input, &double, &|_| ContentShape::Scene, report)?.0 {
        Content::Scene(scene) => Ok(scene),
        _ => Err(Error::new(ErrorKind::Internal, "a scene was read as something else")),
    };
    if is_exact[0] { Ok([first, again(inputs[1])?]) } else { Ok([again(inputs[0])?, second]) }
}

/// Reads an input, and adds its report to `report`.
fn read(input: &Opened, options: &ReadOptions, shape: ShapeOf<'_>, report: &mut Report) -> Result<(Content, Format)> {
    let (read, read_report) = load_as(input, options, shape)?;
    report.extend(read_report);
    Ok((read.content, read.format))
}

/// Describes a file in messages.
fn words(content: &Content, format: Format) -> String {
    let kind = match content {
        Content::Scene(_) => "a scene",
        Content::Tables(_) => "a table",
        Content::Image(_) => "an image",
        Content::Texture(_) => "a texture",
    };
    format!("{kind} ({})", format.name())
}

/// Compares the tables of two files. If a PLY file has vertices, only its vertex table is compared; its other tables
/// count as a difference unless they are empty.
fn compare_tables(both: [Tables; 2], formats: [Format; 2], differences: &mut Differences) -> Result<()> {
    let [a, b] = both;
    let mut sides = [(a, formats[0]), (b, formats[1])];
    for (side, format) in &mut sides {
        let place = side.tables.iter().position(|table| table.name == names::VERTEX);
        if format.has_elements()
            && let Some(place) = place
        {
            let table = side.tables.swap_remove(place);
            let others = side.tables.iter().filter(|table| table.row_count > 0).count() as u64;
            if others > 0 {
                differences.only("tables", others, "only in the PLY file");
            }
            side.tables = vec![table];
        }
    }
    let [(a, _), (b, _)] = &sides;
    if a.tables.len() != b.tables.len() {
        differences.counts("tables", [a.tables.len() as u64, b.tables.len() as u64]);
    }
    a.tables.iter().zip(&b.tables).try_for_each(|(a, b)| table::compare([a, b], differences))
}

/// Converts a renderer scene to meshes. Returns any other scene unchanged.
fn flattened(scene: Scene, limits: &Limits, report: &mut Report) -> Result<Scene> {
    let loaded = Loaded::new(scene, Report::default()).flattened(limits)?;
    report.extend(loaded.report);
    Ok(loaded.value)
}

/// Differences found so far.
pub(crate) struct Differences {
    tolerance: f64,
    all: Vec<Difference>,
}

/// Differing numbers of one attribute.
#[derive(Default)]
struct Gap {
    count: u64,
    largest: f64,
    /// Location of the largest difference.
    place: Option<String>,
    /// Number of pairs in which one value is NaN.
    nan_count: u64,
}

impl Gap {
    /// Compares two numbers at `place`.
    fn compare(&mut self, a: f64, b: f64, tolerance: f64, place: impl FnOnce() -> String) {
        let difference = (a - b).abs();
        if a == b || a.is_nan() && b.is_nan() || difference <= tolerance {
            return;
        }
        // The distance to NaN, or between infinities, is undefined.
        let difference = if difference.is_nan() { f64::INFINITY } else { difference };
        self.count += 1;
        self.nan_count += u64::from(a.is_nan() || b.is_nan());
        if self.place.is_none() || difference > self.largest {
            self.largest = difference;
            self.place = Some(place());
        }
    }
}

impl Differences {
    /// Records a difference if the counts differ. Returns whether they are equal.
    fn counts(&mut self, what: &'static str, counts: [u64; 2]) -> bool {
        self.counts_of(what, what, counts)
    }

    /// Like [`Differences::counts`], with a different name in the message.
    fn counts_of(&mut self, what: &'static str, shown: &str, [a, b]: [u64; 2]) -> bool {
        if a != b {
            let message = format!("{shown}: {} and {}", grouped(a), grouped(b));
            self.all.push(Difference { what, message, count: a.abs_diff(b), largest: None, place: None });
        }
        a == b
    }

    /// Records a difference that is not numeric; `how` describes it.
    fn only(&mut self, what: &'static str, count: u64, how: &str) {
        let message = format!("{what}: {} {how}", grouped(count));
        self.all.push(Difference { what, message, count, largest: None, place: None });
    }

    /// Records differing numbers of an attribute.
    fn gap(&mut self, what: &'static str, name: &str, gap: Gap) {
        let Some(place) = gap.place else { return };
        let of = if name.is_empty() { String::new() } else { format!(" `{}`", polyhaul_model::names::shown(name)) };
        let by = match gap.nan_count {
            0 => format!("by {:e} at most", gap.largest),
            count => format!("{} of them NaN in only one of the files", grouped(count)),
        };
        let differ = counted(gap.count, ["value differs", "values differ"]);
        let message = format!("{what}{of}: {differ}, {by}, at {place}");
        let count = gap.count;
        let largest = Some(gap.largest);
        self.all.push(Difference { what, message, count, largest, place: Some(place) });
    }

    /// Records differences between two sequences, item by item. The array has the words for messages: the name of an
    /// item, and the phrases for one and for several differing items.
    fn each<T: PartialEq>(
        &mut self,
        what: &'static str,
        [item, one_differs, several_differ]: [&str; 3],
        first: impl Iterator<Item = T>,
        second: impl Iterator<Item = T>,
        show: impl Fn(&T) -> String,
    ) {
        // The shorter sequence is asked again after its end.
        let mut first = first.fuse();
        let mut second = second.fuse();
        let mut count = 0;
        let mut example = None;
        for number in 0_usize.. {
            let pair = [first.next(), second.next()];
            if pair.iter().all(Option::is_none) {
                break;
            }
            if pair[0] != pair[1] {
                count += 1;
                example = example.or_else(|| {
                    let shown = pair.each_ref().map(|value| value.as_ref().map_or("none".to_owned(), &show));
                    Some((number, shown))
                });
            }
        }
        let Some((number, [a, b])) = example else { return };
        let place = format!("{item} {number}");
        let differ = counted(count, [one_differs, several_differ]);
        let message = format!("{what}: {differ}; {place}: {a} in the first file, {b} in the second");
        self.all.push(Difference { what, message, count, largest: None, place: Some(place) });
    }
}
