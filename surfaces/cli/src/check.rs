//! `polyhaul check IN...`: prints holes and other faults of surfaces, with areas and volumes, as text and JSON.
//!
//! The check itself is in the library (`polyhaul::inspect::check`).

use crate::args::check::CheckArgs;
use crate::contents::{Extent, wide_bounds_row};
use crate::exit::{DONE, FAILED, USAGE};
use crate::json::JsonInput;
use crate::session::{JsonTo, Session};
use crate::{console, human, many, standard};
use polyhaul::inspect::{self, CheckedSurface, SurfaceCheck, SurfaceCounts};
use polyhaul::many::claimed_bytes;
use polyhaul::ops::{Surface, SurfacePositions};
use polyhaul::place;
use polyhaul::{Error, ErrorKind, ReadOptions, Report};
use serde::{Serialize, Serializer};
use std::fmt::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Maximum number of edges, faces and surfaces in the text.
const SHOWN: usize = 8;
/// Maximum number of edges and faces per surface in JSON.
const LISTED: usize = 1000;
/// The width of names in the table.
const NAME_WIDTH: usize = 20;

#[derive(Serialize)]
struct CheckDetails<'a> {
    /// Whether all inputs are free of faults, or `null` if one could not be checked and the others are free of faults.
    clean: Option<bool>,
    #[serde(serialize_with = "by_name")]
    counts: SurfaceCounts,
    files: Vec<CheckFile<'a>>,
}

#[derive(Serialize)]
struct CheckFile<'a> {
    file: String,
    clean: Option<bool>,
    #[serde(serialize_with = "by_name")]
    counts: SurfaceCounts,
    area: f64,
    /// `null` unless all surfaces are closed and consistently oriented.
    volume: Option<f64>,
    bounds: Option<Extent>,
    surfaces: Vec<CheckEntry<'a>>,
    #[serde(flatten)]
    input: JsonInput<'a>,
}

#[derive(Serialize)]
struct CheckEntry<'a> {
    name: &'a str,
    mesh: usize,
    first_face: usize,
    objects: u64,
    watertight: bool,
    consistent: bool,
    #[serde(serialize_with = "by_name")]
    counts: SurfaceCounts,
    euler_number: i64,
    area: f64,
    volume: Option<f64>,
    bounds: Option<Extent>,
    open_edges: &'a [[u32; 2]],
    non_manifold_edges: &'a [[u32; 2]],
    flipped_edges: &'a [[u32; 2]],
    duplicate_faces: &'a [u32],
    degenerate_faces: &'a [u32],
}

fn by_name<S: Serializer>(counts: &SurfaceCounts, to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(counts.by_name())
}

/// The result for one input.
struct CheckedInput {
    path: PathBuf,
    /// Empty if the input could not be checked.
    check: SurfaceCheck,
    error: Option<Error>,
    /// Whether the input is free of faults, or `None` if it could not be checked.
    is_clean: Option<bool>,
}

/// Checks each input.
pub fn run(session: &Session, args: &CheckArgs) -> u8 {
    let is_included = |format: polyhaul::Format| !format.is_image() && !format.is_texture();
    let find = |options: &ReadOptions| many::find_all(&args.inputs, &args.find, options, is_included);
    let prepared = session.read_options(&args.read).and_then(|options| Ok((find(&options)?, options)));
    let (sources, options) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return session.fail("check", &error, JsonTo::Stdout).max(USAGE),
    };
    let paths: Vec<_> = sources.iter().map(|source| &*source.path).collect();
    let mut results = Vec::new();
    let mut is_open = true;
    let ran = session.each(
        "reading",
        &paths,
        claimed_bytes,
        |number, run| check(paths[number], args, &options.clone().with_run(run)),
        |_, checked| {
            is_open = show(session, &checked);
            results.push(checked);
            if is_open { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        },
    );
    match ran {
        Err(error) if error.kind() != ErrorKind::Cancelled => session.fail("check", &error, JsonTo::Stdout).max(USAGE),
        ran if is_open => finish(session, &results, ran.err()),
        _ => USAGE,
    }
}

fn check(path: &Path, args: &CheckArgs, options: &ReadOptions) -> CheckedInput {
    let which = if args.no_merge { SurfacePositions::Stored } else { SurfacePositions::Merged };
    let path = path.to_owned();
    match standard::input_of(&path).and_then(|input| inspect::check(input, which, options)) {
        Ok(check) => {
            let counts = check.counts();
            let fault_count: u64 = faults(&counts).iter().map(|(_, count)| count).sum();
            let is_clean = fault_count == if args.allow_open { counts.open_edges } else { 0 };
            CheckedInput { path, check, error: None, is_clean: Some(is_clean) }
        }
        Err(error) => CheckedInput { path, check: SurfaceCheck::default(), error: Some(error), is_clean: None },
    }
}

/// The count of each kind of fault.
fn faults(counts: &SurfaceCounts) -> [(&'static str, u64); 5] {
    [
        ("open edge", counts.open_edges),
        ("non-manifold edge", counts.non_manifold_edges),
        ("flipped edge", counts.flipped_edges),
        ("duplicate face", counts.duplicate_faces),
        ("degenerate face", counts.degenerate_faces),
    ]
}

/// Prints one result. Returns `false` if standard output is closed.
fn show(session: &Session, checked: &CheckedInput) -> bool {
    let check = &checked.check;
    if let Some(error) = &checked.error {
        session.show_error(error);
        return true;
    }
    session.show_warnings(&check.report);
    session.show_work(&check.report);
    if session.everywhere.json || session.everywhere.quiet {
        return true;
    }
    let size = human::input(human::file_bytes(&checked.path), &check.report);
    let title = format!("{}  ({size})\n", human::path(&checked.path));
    console::result(&(title + &table(check)))
}

/// Formats the table for people.
fn table(check: &SurfaceCheck) -> String {
    let counts = check.counts();
    let mut text = String::new();
    let mut row = |name: &str, value: String, note: String| {
        let gap = if note.is_empty() { "" } else { "  " };
        let _ = writeln!(text, "  {name:<NAME_WIDTH$}{value:>14}{gap}{note}");
    };
    row("surfaces", human::count(counts.surfaces), String::new());
    row("components", human::count(counts.components), String::new());
    row("faces", human::count(counts.faces), String::new());
    row("edges", human::count(counts.edges), String::new());
    let single = if let [checked] = &check.surfaces[..] { Some(&checked.surface) } else { None };
    let notes = single.map(fault_notes).unwrap_or_default();
    for ((name, count), note) in faults(&counts).into_iter().zip(notes) {
        row(&format!("{name}s"), human::count(count), note);
    }
    let is_watertight = counts.surfaces > 0 && counts.watertight == counts.surfaces;
    let watertight = format!("{} of {}", human::count(counts.watertight), human::count(counts.surfaces));
    let note = if is_watertight || counts.surfaces < 2 { String::new() } else { watertight };
    row("watertight", if is_watertight { "yes" } else { "no" }.into(), note);
    row("area", human::number(check.area()), String::new());
    match check.volume() {
        Some(volume) => row("volume", human::number(volume), String::new()),
        None if is_watertight => row("volume", "none".into(), "flipped faces".into()),
        None => row("volume", "none".into(), "not closed".into()),
    }
    text.push_str(&wide_bounds_row(check.bounds(), NAME_WIDTH));
    if single.is_none() {
        text.push_str(&faulty_surfaces(&check.surfaces));
    }
    text
}

/// Lists the first edges and faces of each kind of fault.
fn fault_notes(surface: &Surface) -> [String; 5] {
    let edges = |edges: &[[u32; 2]]| listed(edges.iter().map(|[a, b]| format!("{a}-{b}")));
    let faces = |faces: &[u32]| listed(faces.iter().map(u32::to_string));
    [
        edges(&surface.open_edges),
        edges(&surface.non_manifold_edges),
        edges(&surface.flipped_edges),
        faces(&surface.duplicate_faces),
        faces(&surface.degenerate_faces),
    ]
}

fn listed(items: impl ExactSizeIterator<Item = String>) -> String {
    let more = if items.len() > SHOWN { " ..." } else { "" };
    items.take(SHOWN).collect::<Vec<_>>().join(" ") + more
}

/// Lists the first surfaces with faults.
fn faulty_surfaces(surfaces: &[CheckedSurface]) -> String {
    let faulty: Vec<_> = surfaces.iter().filter(|checked| !checked.surface.is_clean()).collect();
    let mut text = String::new();
    for checked in faulty.iter().take(SHOWN) {
        let name = if checked.name.is_empty() { format!("mesh {}", checked.mesh) } else { human::safe(&checked.name) };
        let kinds = faults(&checked.counts()).into_iter().filter(|(_, count)| *count > 0);
        let words: Vec<_> = kinds.map(|(name, count)| human::plural(count, name)).collect();
        let _ = writeln!(text, "    {name}: {}", words.join(", "));
    }
    if faulty.len() > SHOWN {
        let _ = writeln!(text, "    and {} more surfaces with faults", human::count((faulty.len() - SHOWN) as u64));
    }
    text
}

/// Prints the JSON object and returns the exit code.
fn finish(session: &Session, results: &[CheckedInput], ended: Option<Error>) -> u8 {
    let error = ended.as_ref().or(results.iter().rev().find_map(|checked| checked.error.as_ref()));
    let is_faulty = results.iter().any(|checked| checked.is_clean == Some(false));
    // 1 means that all files were read and some have faults, as in comparison tools such as diff(1).
    let code = match error {
        Some(error) if error.kind() == ErrorKind::Cancelled => session.exit_code(Some(error)),
        Some(error) => session.exit_code(Some(error)).max(USAGE),
        None if is_faulty => FAILED,
        None => DONE,
    };
    let clean = if is_faulty { Some(false) } else { error.is_none().then_some(true) };
    let mut counts = SurfaceCounts::default();
    let mut report = Report::default();
    for checked in results {
        counts.add(&checked.check.counts());
        report.extend(checked.check.report.clone());
    }
    session.show_verdict(&report);
    let details = CheckDetails { clean, counts, files: results.iter().map(entry).collect() };
    let ended = session.finish("check", Some(details), &report, (code, error), JsonTo::Stdout);
    // A failure to print is not a fault of a file.
    if ended == code { code } else { ended.max(USAGE) }
}

/// Creates an entry of the array `files`.
fn entry(checked: &CheckedInput) -> CheckFile<'_> {
    let CheckedInput { path, check, error, is_clean } = checked;
    CheckFile {
        file: place::shown(path),
        clean: *is_clean,
        counts: check.counts(),
        area: check.area(),
        volume: check.volume(),
        bounds: check.bounds().map(Extent::from),
        surfaces: check.surfaces.iter().map(surface_entry).collect(),
        input: JsonInput::new(path, &check.report, error.as_ref()),
    }
}

fn surface_entry(checked: &CheckedSurface) -> CheckEntry<'_> {
    let surface = &checked.surface;
    CheckEntry {
        name: &checked.name,
        mesh: checked.mesh,
        first_face: checked.faces.start,
        objects: checked.objects,
        watertight: surface.is_watertight(),
        consistent: surface.is_consistent(),
        counts: checked.counts(),
        euler_number: surface.euler_number,
        area: surface.area,
        volume: surface.is_solid().then_some(surface.volume),
        bounds: surface.bounds.map(Extent::from),
        open_edges: first(&surface.open_edges),
        non_manifold_edges: first(&surface.non_manifold_edges),
        flipped_edges: first(&surface.flipped_edges),
        duplicate_faces: first(&surface.duplicate_faces),
        degenerate_faces: first(&surface.degenerate_faces),
    }
}

fn first<T>(items: &[T]) -> &[T] {
    items.get(..LISTED).unwrap_or(items)
}
