//! Fallible copies of models.
//!
//! `Clone` would abort the process when memory runs out. Small strings and the weights of vertex groups are still
//! cloned.

use crate::error::{Error, ErrorKind, Result, try_copy};
use crate::render::{Instances, Render, Segment};
use crate::{Array, Column, Curve, Elements, Mesh, Scene, Table, map_values};
use std::ops::Range;

/// Copies a scene without its materials, material libraries and renderer data, which callers set themselves.
pub fn scene(scene: &Scene) -> Result<Scene> {
    Ok(Scene {
        meshes: each(&scene.meshes, mesh)?,
        objects: array(&scene.objects)?,
        axes: scene.axes,
        tables: each(&scene.tables, table)?,
        comments: array(&scene.comments)?,
        header: array(&scene.header)?,
        infos: array(&scene.infos)?,
        folder: scene.folder.clone(),
        ..Scene::default()
    })
}

/// Copies a renderer scene. The copy shares the large arrays of its segments, which never change.
pub fn render(render: &Render) -> Result<Render> {
    let instances = &render.instances;
    Ok(Render {
        options: array(&render.options)?,
        attributes: array(&render.attributes)?,
        media: array(&render.media)?,
        textures: array(&render.textures)?,
        materials: array(&render.materials)?,
        lights: array(&render.lights)?,
        area_lights: array(&render.area_lights)?,
        states: array(&render.states)?,
        objects: array(&render.objects)?,
        instances: Instances { objects: array(&instances.objects)?, runs: array(&instances.runs)? },
        folder: render.folder.clone(),
        shapes: array(&render.shapes)?,
        moving: array(&render.moving)?,
        meshes: array(&render.meshes)?,
        names: array(&render.names)?,
        nodes: array(&render.nodes)?,
        segments: each(&render.segments, segment)?,
        ..*render
    })
}

fn segment(segment: &Segment) -> Result<Segment> {
    Ok(Segment {
        names: array(&segment.names)?.into(),
        declarations: array(&segment.declarations)?.into(),
        parameters: segment.parameters.clone(),
        floats: segment.floats.clone(),
        integers: segment.integers.clone(),
        bools: array(&segment.bools)?.into(),
        strings: segment.strings.clone(),
        doubles: segment.doubles.clone(),
        exact: array(&segment.exact)?.into(),
        folder: segment.folder.clone(),
    })
}

/// Rows to copy: a range, and then others.
#[derive(Clone, Debug, Default)]
pub struct CopiedRows<'a> {
    /// The first rows.
    pub range: Range<usize>,
    /// The rows after them, in any order.
    pub others: &'a [u32],
}

impl CopiedRows<'_> {
    fn iter(&self) -> impl Iterator<Item = usize> {
        self.range.clone().chain(self.others.iter().map(|&row| row as usize))
    }

    fn count(&self) -> usize {
        self.range.len() + self.others.len()
    }
}

impl From<Range<usize>> for CopiedRows<'_> {
    fn from(range: Range<usize>) -> Self {
        CopiedRows { range, others: &[] }
    }
}

impl<'a> From<&'a [u32]> for CopiedRows<'a> {
    fn from(others: &'a [u32]) -> Self {
        CopiedRows { range: 0..0, others }
    }
}

/// Copies some rows of a column. A row out of range is skipped in a column of numbers and becomes an empty list in a
/// column of lists.
pub fn rows(column: &Column, rows: &CopiedRows<'_>) -> Result<Column> {
    let name = column.name.clone();
    let Some(offsets) = &column.offsets else {
        return Ok(Column { name, values: map_values!(&column.values, array => pick(array, rows)?), offsets: None });
    };
    let mut ends = Vec::new();
    ends.try_reserve_exact(rows.count() + 1)?;
    ends.push(0u32);
    let mut end = 0u32;
    for row in rows.iter() {
        let list_len = u32::try_from(list(offsets, row).len()).ok();
        let next_end = list_len.and_then(|list_len| end.checked_add(list_len));
        end = next_end.ok_or_else(|| Error::new(ErrorKind::Limit, "a list column can have at most 2^32 - 1 values"))?;
        ends.push(end);
    }
    let values = map_values!(&column.values, array => pick_lists(array, offsets, rows, end)?);
    Ok(Column { name, values, offsets: Some(ends.into()) })
}

/// Returns the range of a list's values; an empty range for a row out of range.
fn list(offsets: &[u32], row: usize) -> Range<usize> {
    match offsets.get(row..).unwrap_or_default() {
        [start, end, ..] => *start as usize..*end as usize,
        _ => 0..0,
    }
}

/// Copies the elements in these rows, skipping rows out of range.
pub fn pick<T: Copy>(array: &Array<T>, rows: &CopiedRows<'_>) -> Result<Array<T>> {
    let mut picked = Vec::new();
    if !array.is_empty() {
        picked.try_reserve_exact(rows.count())?;
        picked.extend_from_slice(inside(array, rows.range.clone()));
        picked.extend(rows.others.iter().filter_map(|&row| array.get(row as usize)));
    }
    Ok(picked.into())
}

/// Copies the `count` values of lists.
fn pick_lists<T: Copy>(array: &Array<T>, offsets: &[u32], rows: &CopiedRows<'_>, count: u32) -> Result<Array<T>> {
    let mut picked = Vec::new();
    if !array.is_empty() {
        picked.try_reserve_exact(count as usize)?;
        rows.iter().for_each(|row| picked.extend_from_slice(inside(array, list(offsets, row))));
    }
    Ok(picked.into())
}

/// Returns the elements of a range that exist.
fn inside<T>(elements: &[T], range: Range<usize>) -> &[T] {
    let end = range.end.min(elements.len());
    &elements[range.start.min(end)..end]
}

/// Copies a mesh.
pub fn mesh(mesh: &Mesh) -> Result<Mesh> {
    Ok(Mesh {
        positions: mesh.positions.try_clone()?,
        exact_positions: mesh.exact_positions.try_clone()?,
        position_weights: mesh.position_weights.try_clone()?,
        colors: mesh.colors.try_clone()?,
        uvs: mesh.uvs.try_clone()?,
        uv_depths: mesh.uv_depths.try_clone()?,
        normals: mesh.normals.try_clone()?,
        faces: elements(&mesh.faces)?,
        lines: elements(&mesh.lines)?,
        points: mesh.points.try_clone()?,
        curves: each(&mesh.curves, curve)?,
        material_runs: array(&mesh.material_runs)?,
        group_runs: array(&mesh.group_runs)?,
        smoothing_runs: array(&mesh.smoothing_runs)?,
        groups: array(&mesh.groups)?,
        uv_domain: mesh.uv_domain,
        normal_domain: mesh.normal_domain,
        face_materials: mesh.face_materials.try_clone()?,
        face_smooth: mesh.face_smooth.try_clone()?,
        sharp_edges: mesh.sharp_edges.try_clone()?,
        vertex_groups: array(&mesh.vertex_groups)?,
        vertex_columns: each(&mesh.vertex_columns, column)?,
        face_columns: each(&mesh.face_columns, column)?,
    })
}

fn table(table: &Table) -> Result<Table> {
    Ok(Table { name: table.name.clone(), row_count: table.row_count, columns: each(&table.columns, column)? })
}

fn column(column: &Column) -> Result<Column> {
    let offsets = column.offsets.as_ref().map(Array::try_clone).transpose()?;
    Ok(Column { name: column.name.clone(), values: column.values.try_clone()?, offsets })
}

fn curve(curve: &Curve) -> Result<Curve> {
    let control_points = array(&curve.control_points)?;
    let knots = array(&curve.knots)?;
    let Curve { degree, rational, range, at, .. } = *curve;
    Ok(Curve { degree, rational, range, at, control_points, knots })
}

fn elements(elements: &Elements) -> Result<Elements> {
    Ok(Elements {
        offsets: elements.offsets.try_clone()?,
        corner_positions: elements.corner_positions.try_clone()?,
        corner_uvs: elements.corner_uvs.try_clone()?,
        corner_normals: elements.corner_normals.try_clone()?,
    })
}

fn each<T>(items: &[T], copy: impl Fn(&T) -> Result<T>) -> Result<Vec<T>> {
    let mut copies = Vec::new();
    copies.try_reserve_exact(items.len()).map_err(|_| Error::memory("a copy of the scene"))?;
    for item in items {
        copies.push(copy(item)?);
    }
    Ok(copies)
}

fn array<T: Clone>(items: &[T]) -> Result<Vec<T>> {
    try_copy(items, "a copy of the scene")
}
