//! Points: a table as the positions of a scene, and the other way round; what columns without a name mean.
//!
//! Positions are columns `x`, `y`, `z`, normals `nx`, `ny`, `nz`, colours `red`, `green`, `blue` and `alpha` (also `r`,
//! `g`,
//! `b`, `a`), in any case. Columns without names are told by their place: the first three are a position; then come,
//! as there are columns left, an intensity (one, or four), a colour where three are integers, a normal otherwise.
//! Integers of colours are from 0 to 255, floats from 0 to 1.

use super::writer::{Block, Lane, Numbers, Rows};
use crate::error::{Diagnostic, Error, ErrorKind, Place, Result, try_push};
use crate::formats::Format;
use crate::model::{Array, Axes, Column, Domain, Mesh, Scene, Table, Values};
use crate::options::RunOptions;
use crate::pipeline::parallel::for_each_item;
use std::sync::Arc;

const POSITION: [&str; 3] = ["x", "y", "z"];
const NORMAL: [&str; 3] = ["nx", "ny", "nz"];
const COLOR: [&str; 4] = ["red", "green", "blue", "alpha"];
const COLOR_SHORT: [&str; 4] = ["r", "g", "b", "a"];
/// Rows per parallel step.
const PIECE: usize = 1 << 15;

/// The names of the columns of a file: those of its header, or of points where it is one of points.
pub(super) fn names_of(format: Format, mut names: Vec<String>, values: &[Values]) -> Vec<String> {
    let is_unnamed = names.iter().all(String::is_empty);
    if matches!(format, Format::Xyz | Format::Pts) && is_unnamed {
        for (name, guess) in names.iter_mut().zip(guess(values)) {
            *name = guess.into();
        }
    }
    names
}

/// Whether a column of this name is one that meshes keep as f32s.
pub(super) fn is_coordinate(name: &str) -> bool {
    POSITION.iter().chain(&NORMAL).any(|known| known.eq_ignore_ascii_case(name))
}

fn is_integer(values: &Values) -> bool {
    !matches!(values, Values::F32(_) | Values::F64(_))
}

/// What columns without names are.
fn guess(values: &[Values]) -> impl Iterator<Item = &'static str> {
    let rest = values.get(3..).unwrap_or_default();
    let (intensity, rest) = rest.split_at(usize::from(rest.len() % 3 == 1));
    let (mut color, mut normal) = (Some(&COLOR[..3]), Some(&NORMAL[..]));
    let groups = rest.chunks_exact(3).map(move |group| {
        let names = if group.iter().all(is_integer) { color.take() } else { normal.take() };
        names.unwrap_or(&["", "", ""])
    });
    let groups: Vec<_> = groups.take(2).collect();
    let first = POSITION.into_iter().take(values.len());
    first.chain(intensity.iter().map(|_| "intensity")).chain(groups.into_iter().flatten().copied())
}

/// Gives columns of which none has a name those that their places tell.
pub(crate) fn name_points(columns: &mut [Column]) {
    if !columns.iter().all(|column| column.name.is_empty()) {
        return;
    }
    let values: Vec<_> = columns.iter_mut().map(|column| std::mem::take(&mut column.values)).collect();
    let names: Vec<_> = guess(&values).collect();
    for (number, (column, values)) in columns.iter_mut().zip(values).enumerate() {
        column.name = names.get(number).copied().unwrap_or_default().into();
        column.values = values;
    }
}

/// A table as the points of a scene; columns that are no part of points stay columns.
pub(crate) fn scene_of_table(mut table: Table, file: &Arc<str>, run: &RunOptions) -> Result<Scene> {
    let mut all = Vec::new();
    all.try_reserve_exact(table.columns.len())?;
    all.append(&mut table.columns);
    name_points(&mut all);
    let mut points = Points { columns: all, row_count: table.row_count, run };
    let Some(positions) = points.take(POSITION, |value| value as f32)? else {
        let message = "this table has no columns x, y and z, so it is not one of points";
        let place = Place { file: file.clone(), ..Place::default() };
        let error = Diagnostic { place, ..Diagnostic::new(message) }.into_error(ErrorKind::Malformed);
        return Err(error.with_hint("a table of other things can be read as a table, and written as one"));
    };
    let normals = points.take(NORMAL, |value| value as f32)?;
    let colors = points.colors()?;
    let mut mesh = Mesh { positions, vertex_columns: points.columns, ..Mesh::default() };
    if let Some(normals) = normals {
        (mesh.normals, mesh.normal_domain) = (normals, Domain::Vertex);
    }
    mesh.colors = colors.unwrap_or_default();
    let meshes = vec![mesh];
    Ok(Scene { meshes, axes: Axes::OBJ, ..Scene::default() })
}

/// Columns of points.
struct Points<'o> {
    columns: Vec<Column>,
    row_count: usize,
    run: &'o RunOptions,
}

impl Points<'_> {
    fn find(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name) && column.offsets.is_none())
    }

    /// Takes columns out and makes one array of them.
    fn take<const N: usize>(
        &mut self,
        names: [&str; N],
        convert: impl Fn(f64) -> f32 + Sync,
    ) -> Result<Option<Array<[f32; N]>>> {
        if names.iter().any(|name| self.find(name).is_none()) {
            return Ok(None);
        }
        let mut rows: Vec<[f32; N]> = Vec::new();
        rows.try_reserve_exact(self.row_count).map_err(|_| Error::memory("points"))?;
        rows.resize(self.row_count, [0.0; N]);
        for (place, name) in names.iter().enumerate() {
            let Some(number) = self.find(name) else { continue };
            let column = self.columns.remove(number);
            let pieces = rows.chunks_mut(PIECE).enumerate();
            for_each_item(
                self.run.worker_threads(),
                pieces,
                || (),
                |(), (piece, rows)| {
                    spread(rows, place, &column.values, piece * PIECE, &convert);
                },
            );
        }
        Ok(Some(rows.into()))
    }

    fn colors(&mut self) -> Result<Option<Array<[f32; 4]>>> {
        for names in [COLOR, COLOR_SHORT] {
            // All of them tell: a one may be the largest float, or the smallest step above nothing.
            let found = || names.iter().filter_map(|name| self.find(name));
            let factor = match found().all(|column| is_integer(&self.columns[column].values)) {
                true => 255.0,
                false => 1.0,
            };
            let unit = move |value: f64| (value / factor) as f32;
            if let Some(colors) = self.take(names, unit)? {
                return Ok(Some(colors));
            }
            let [red, green, blue, _] = names;
            if let Some(colors) = self.take([red, green, blue], unit)? {
                let mut whole: Vec<[f32; 4]> = Vec::new();
                whole.try_reserve_exact(colors.len()).map_err(|_| Error::memory("colours"))?;
                whole.extend(colors.iter().map(|&[red, green, blue]| [red, green, blue, 1.0]));
                return Ok(Some(whole.into()));
            }
        }
        Ok(None)
    }
}

/// Writes a part of a column to one place of each row.
fn spread<const N: usize>(
    rows: &mut [[f32; N]],
    place: usize,
    values: &Values,
    first: usize,
    convert: &impl Fn(f64) -> f32,
) {
    match values {
        Values::I8(values) => fill(rows, place, &values[first..], |value| convert(f64::from(value))),
        Values::U8(values) => fill(rows, place, &values[first..], |value| convert(f64::from(value))),
        Values::I16(values) => fill(rows, place, &values[first..], |value| convert(f64::from(value))),
        Values::U16(values) => fill(rows, place, &values[first..], |value| convert(f64::from(value))),
        Values::I32(values) => fill(rows, place, &values[first..], |value| convert(f64::from(value))),
        Values::U32(values) => fill(rows, place, &values[first..], |value| convert(f64::from(value))),
        Values::I64(values) => fill(rows, place, &values[first..], |value| convert(value as f64)),
        Values::U64(values) => fill(rows, place, &values[first..], |value| convert(value as f64)),
        Values::F32(values) => fill(rows, place, &values[first..], |value| convert(f64::from(value))),
        Values::F64(values) => fill(rows, place, &values[first..], convert),
    }
}

fn fill<const N: usize, T: Copy>(rows: &mut [[f32; N]], place: usize, values: &[T], convert: impl Fn(T) -> f32) {
    for (row, &value) in rows.iter_mut().zip(values) {
        row[place] = convert(value);
    }
}

/// The positions of a scene as rows, with the colours and normals that all of them have.
///
/// Transforms of objects are not applied.
pub(crate) fn rows_of_scene(scene: &Scene, format: Format) -> Result<Rows<'_>> {
    let is_colored = |mesh: &Mesh| mesh.colors.len() == mesh.positions.len();
    let has_normals = |mesh: &Mesh| mesh.normal_domain == Domain::Vertex && mesh.normals.len() == mesh.positions.len();
    let meshes = || scene.meshes.iter().filter(|mesh| !mesh.positions.is_empty());
    let (colored, normals) = (meshes().all(is_colored), meshes().all(has_normals) && format != Format::Pts);
    let mut rows = Rows { names: POSITION.to_vec(), blocks: Vec::new() };
    let others = match &scene.meshes[..] {
        [mesh] => others(mesh, format)?,
        _ => Vec::new(),
    };
    // In points without names an intensity stands before a colour, and everything else behind.
    let (intensity, others): (Vec<_>, Vec<_>) = others.into_iter().partition(|(name, _)| *name == "intensity");
    rows.names.extend(intensity.iter().map(|(name, _)| *name));
    rows.names.extend(if colored { &COLOR[..3] } else { &[] });
    rows.names.extend(if normals { &NORMAL[..] } else { &[] });
    rows.names.extend(others.iter().map(|(name, _)| *name));
    for mesh in meshes() {
        let mut lanes = Vec::new();
        let positions = Numbers::F32(mesh.positions.as_flattened());
        lanes.extend((0..3).map(|first| Lane { numbers: positions, first, step: 3 }));
        lanes.extend(intensity.iter().map(|(_, lane)| *lane));
        let colors = Numbers::Unit(mesh.colors.as_flattened());
        lanes.extend((0..if colored { 3 } else { 0 }).map(|first| Lane { numbers: colors, first, step: 4 }));
        let values = Numbers::F32(mesh.normals.as_flattened());
        lanes.extend((0..if normals { 3 } else { 0 }).map(|first| Lane { numbers: values, first, step: 3 }));
        lanes.extend(others.iter().map(|(_, lane)| *lane));
        try_push(&mut rows.blocks, Block { row_count: mesh.positions.len(), lanes }, "the plan")?;
    }
    Ok(rows)
}

/// What else is known of the positions: in files that cannot name columns the intensity alone.
fn others(mesh: &Mesh, format: Format) -> Result<Vec<(&str, Lane<'_>)>> {
    let mut found = Vec::new();
    for column in &mesh.vertex_columns {
        let is_written = match format {
            Format::Xyz | Format::Pts => column.name == "intensity",
            _ => true,
        };
        if is_written && column.offsets.is_none() && column.values.len() == mesh.positions.len() {
            let lane = Lane { numbers: Numbers::of(&column.values), first: 0, step: 1 };
            try_push(&mut found, (column.name.as_str(), lane), "columns")?;
        }
    }
    Ok(found)
}
