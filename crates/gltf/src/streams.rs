//! Attributes of vertices: those of all primitives of a mesh, one after another, into the arrays of the model.
//!
//! Primitives that have the same attributes share their vertices. A normal or uv that only some primitives have gets an
//! index stream, and other values that are missing are NaN. Nothing here knows faces.

use crate::accessors::{Component, Layout, Values, width};
use crate::color::screen;
use crate::log::{Log, malformed, over_limit};
use polyhaul_model::error::{Error, Result, try_push, try_string};
use polyhaul_model::{Array, Column, Domain, Mesh, NONE, Values as ColumnValues};
use std::collections::{BTreeMap, BTreeSet};

/// The vertices of one or more primitives.
pub(crate) struct VertexSet<'a> {
    pub(crate) attributes: &'a BTreeMap<String, usize>,
    /// Names the first primitive with these attributes.
    pub(crate) path: String,
    pub(crate) positions: Layout,
    /// The index of the first vertex in the mesh.
    pub(crate) base: u32,
}

/// Where the values of an attribute of each vertex set begin; all are empty if each vertex has a value.
#[derive(Default)]
pub(crate) struct Starts {
    pub(crate) domain: Domain,
    /// By vertex set; `None` for those without the attribute.
    starts: Vec<Option<u32>>,
}

impl Starts {
    /// What is added to the index of a vertex of a set to get that of its value; `None` if it has no value.
    pub(crate) fn shift(&self, set: usize, base: u32) -> Option<u32> {
        let start = self.starts.get(set).copied().flatten()?;
        Some(start.wrapping_sub(base))
    }

    pub(crate) fn is_indexed(&self) -> bool {
        self.domain == Domain::Indexed && !self.starts.is_empty()
    }

    /// Appends the index of the value of each vertex.
    pub(crate) fn append(&self, set: usize, base: u32, vertices: &[u32], out: &mut Vec<u32>) -> Result<()> {
        if !self.is_indexed() {
            return Ok(());
        }
        out.try_reserve(vertices.len())?;
        match self.shift(set, base) {
            Some(shift) => out.extend(vertices.iter().map(|&vertex| vertex.wrapping_add(shift))),
            None => out.resize(out.len() + vertices.len(), NONE),
        }
        Ok(())
    }
}

/// Reads the attributes of the vertex sets of a mesh.
pub(crate) struct Streams<'s, 'v, 'a, 'f> {
    pub(crate) values: &'v mut Values<'a, 'f>,
    pub(crate) log: &'v mut Log,
    pub(crate) sets: &'s [VertexSet<'a>],
    /// The number of vertices.
    pub(crate) total: usize,
}

impl Streams<'_, '_, '_, '_> {
    /// Fills the arrays of a mesh; returns where uvs and normals begin.
    pub(crate) fn fill(&mut self, mesh: &mut Mesh) -> Result<(Starts, Starts)> {
        let mut positions = Vec::new();
        positions.try_reserve_exact(self.total).map_err(|_| Error::memory("positions"))?;
        for set in self.sets {
            self.values.floats(&set.positions, &mut positions, |position: [f32; 3]| position)?;
        }
        mesh.positions = positions.into();
        // The origin of uvs is the upper left corner of an image.
        let (uvs, uv_starts) = self.stream("TEXCOORD_0", |[u, v]: [f32; 2]| [u, 1.0 - v])?;
        let (normals, normal_starts) = self.stream("NORMAL", |normal: [f32; 3]| normal)?;
        (mesh.uvs, mesh.uv_domain) = (uvs, uv_starts.domain);
        (mesh.normals, mesh.normal_domain) = (normals, normal_starts.domain);
        mesh.colors = self.colors()?;
        self.columns(mesh)?;
        self.losses()?;
        Ok((uv_starts, normal_starts))
    }

    /// The number of sets that have an attribute.
    fn owners(&self, name: &str) -> usize {
        self.sets.iter().filter(|set| set.attributes.contains_key(name)).count()
    }

    /// The checked accessor of an attribute of a set, if it has it.
    fn layout(&mut self, set: usize, name: &str, widths: &[usize]) -> Result<Option<Layout>> {
        let set = &self.sets[set];
        let Some(&index) = set.attributes.get(name) else { return Ok(None) };
        let user = format!("{}.attributes.{}", set.path, polyhaul_model::names::shown(name));
        let layout = self.values.layout(index, &user, widths, self.log)?;
        if layout.component == Component::U32 {
            return Err(malformed(format!("{user}: accessors[{index}] has the wrong componentType 5125")));
        }
        if layout.count == set.positions.count {
            return Ok(Some(layout));
        }
        let counts = format!("{} elements for {} positions", layout.count, set.positions.count);
        Err(malformed(format!("{user}: accessors[{index}] has {counts}")))
    }

    /// The values of an attribute that may be missing.
    fn stream<const N: usize>(
        &mut self,
        name: &str,
        finish: impl Fn([f32; N]) -> [f32; N],
    ) -> Result<(Array<[f32; N]>, Starts)> {
        let owners = self.owners(name);
        if owners == 0 {
            return Ok((Array::default(), Starts::default()));
        }
        let is_whole = owners == self.sets.len();
        let mut values = Vec::new();
        if is_whole {
            values.try_reserve_exact(self.total).map_err(|_| Error::memory("attributes"))?;
        }
        let mut starts = Vec::new();
        for set in 0..self.sets.len() {
            let start = values.len() as u32;
            let layout = self.layout(set, name, &[N])?;
            if let Some(layout) = &layout {
                self.values.floats(layout, &mut values, &finish)?;
            }
            if !is_whole {
                try_push(&mut starts, layout.map(|_| start), "primitives")?;
            }
        }
        let domain = if is_whole { Domain::Vertex } else { Domain::Indexed };
        Ok((values.into(), Starts { domain, starts }))
    }

    /// The first colors, as on a screen. Integers are normalized even where the accessor does not say so.
    fn colors(&mut self) -> Result<Array<[f32; 4]>> {
        let mut colors: Vec<[f32; 4]> = Vec::new();
        if self.owners("COLOR_0") == 0 {
            return Ok(Array::default());
        }
        colors.try_reserve_exact(self.total).map_err(|_| Error::memory("colors"))?;
        for set in 0..self.sets.len() {
            let first = colors.len();
            match self.layout(set, "COLOR_0", &[3, 4])? {
                Some(layout) if layout.width == 3 => {
                    self.values.floats(&layout.as_normalized(), &mut colors, |[r, g, b]: [f32; 3]| [r, g, b, 1.0])?;
                }
                Some(layout) => self.values.floats(&layout.as_normalized(), &mut colors, |color: [f32; 4]| color)?,
                None => self.pad(set, &mut colors, [f32::NAN; 4])?,
            }
            self.note_cut(&colors[first..])?;
            to_screen(&mut colors[first..]);
        }
        Ok(colors.into())
    }

    /// Counts colors that are brighter than the model's.
    fn note_cut(&mut self, colors: &[[f32; 4]]) -> Result<()> {
        let is_cut = |color: &&[f32; 4]| color[..3].iter().any(|value| *value < 0.0 || *value > 1.0);
        let count = colors.iter().filter(is_cut).count() as u64;
        self.log.lose("clamped-color", count, || "vertex colors were cut to values from 0 to 1".into())
    }

    /// Appends `value` for each vertex of a set.
    fn pad<T: Clone>(&mut self, set: usize, out: &mut Vec<T>, value: T) -> Result<()> {
        let count = self.sets[set].positions.count;
        self.values.budget.charge_each(count, size_of::<T>())?;
        out.try_reserve(count)?;
        out.resize(out.len() + count, value);
        Ok(())
    }

    /// Other uvs, other colors, and the attributes of applications.
    fn columns(&mut self, mesh: &mut Mesh) -> Result<()> {
        let names: BTreeSet<&str> = self
            .sets
            .iter()
            .flat_map(|set| set.attributes.keys())
            .map(String::as_str)
            .filter(|name| is_column(name))
            .collect();
        let limit = self.values.limits.columns;
        if names.len() as u64 > limit {
            return Err(over_limit(&format!("{} attributes", names.len()), limit, "columns"));
        }
        for name in names {
            let mut has_lists = false;
            let mut is_readable = true;
            for set in self.sets {
                let Some(&index) = set.attributes.get(name) else { continue };
                let Some(accessor) = self.values.document.accessors.get(index) else { continue };
                has_lists |= accessor.kind != "SCALAR";
                let is_wide = accessor.component_type == crate::document::component::UNSIGNED_INT;
                is_readable &= width(&accessor.kind).is_some() && !is_wide;
            }
            if !is_readable {
                let shown = polyhaul_model::names::shown(name);
                let message = || format!("the attribute `{shown}` of matrices or of 32-bit integers was dropped");
                self.log.lose_about("left-out-attributes", 1, message, Some(name))?;
                continue;
            }
            let column = if has_lists { self.lists(name)? } else { self.numbers(name)? };
            let name = try_string(name.strip_prefix('_').unwrap_or(name))?;
            try_push(&mut mesh.vertex_columns, Column { name, ..column }, "columns")?;
        }
        Ok(())
    }

    /// A column with a number per vertex.
    fn numbers(&mut self, name: &str) -> Result<Column> {
        let mut numbers = Vec::new();
        for set in 0..self.sets.len() {
            match self.layout(set, name, &[1])? {
                Some(layout) => self.values.floats(&layout, &mut numbers, |[number]: [f32; 1]| number)?,
                None => self.pad(set, &mut numbers, f32::NAN)?,
            }
        }
        Ok(Column { values: ColumnValues::F32(numbers.into()), ..Column::default() })
    }

    /// A column with a list per vertex, which is empty where the attribute is missing.
    fn lists(&mut self, name: &str) -> Result<Column> {
        let mut numbers: Vec<f32> = Vec::new();
        let mut offsets: Vec<u32> = Vec::new();
        try_push(&mut offsets, 0, "columns")?;
        for set in 0..self.sets.len() {
            let width = match self.layout(set, name, crate::accessors::ANY)? {
                Some(layout) => {
                    self.append_flat(&layout, &mut numbers)?;
                    layout.width as u32
                }
                None => 0,
            };
            let count = self.sets[set].positions.count;
            self.values.budget.charge_each(if width == 0 { count } else { 0 }, size_of::<u32>())?;
            offsets.try_reserve(count)?;
            let start = offsets.last().copied().unwrap_or(0);
            if u64::from(start) + count as u64 * u64::from(width) >= u64::from(NONE) {
                let limit = u64::from(NONE) - 1;
                return Err(over_limit("too many values of an attribute", limit, "elements"));
            }
            offsets.extend((1..=count as u32).map(|row| start + row * width));
        }
        Ok(Column { values: ColumnValues::F32(numbers.into()), offsets: Some(offsets.into()), ..Column::default() })
    }

    fn append_flat(&mut self, layout: &Layout, out: &mut Vec<f32>) -> Result<()> {
        match layout.width {
            1 => self.append_rows::<1>(layout, out),
            2 => self.append_rows::<2>(layout, out),
            3 => self.append_rows::<3>(layout, out),
            _ => self.append_rows::<4>(layout, out),
        }
    }

    fn append_rows<const N: usize>(&mut self, layout: &Layout, out: &mut Vec<f32>) -> Result<()> {
        let mut rows: Vec<[f32; N]> = Vec::new();
        self.values.floats(layout, &mut rows, |row: [f32; N]| row)?;
        out.try_reserve(rows.as_flattened().len())?;
        out.extend_from_slice(rows.as_flattened());
        Ok(())
    }

    /// Counts what the model has no place for.
    fn losses(&mut self) -> Result<()> {
        for set in self.sets {
            let count = set.positions.count as u64;
            for name in set.attributes.keys().filter(|name| !is_column(name)) {
                let (code, what) = match name.as_str() {
                    "POSITION" | "NORMAL" | "TEXCOORD_0" | "COLOR_0" => continue,
                    "TANGENT" => ("left-out-tangents", "tangents"),
                    _ if name.starts_with("JOINTS_") || name.starts_with("WEIGHTS_") => {
                        ("left-out-skin-weights", "joints and weights")
                    }
                    _ => ("left-out-attributes", "attributes with unknown names"),
                };
                self.log.lose(code, count, || format!("{}: {what} were dropped", set.path))?;
            }
        }
        Ok(())
    }
}

/// Whether an attribute becomes a column.
fn is_column(name: &str) -> bool {
    let is_later = |prefix| name.strip_prefix(prefix).is_some_and(|number| number != "0");
    name.starts_with('_') || is_later("TEXCOORD_") || is_later("COLOR_")
}

/// Linear colors to those on a screen; neighbors often have the same.
fn to_screen(colors: &mut [[f32; 4]]) {
    let (mut last, mut shown) = ([0.0; 3], [0.0; 3]);
    for color in colors {
        let [r, g, b, alpha] = *color;
        if [r, g, b] != last {
            (last, shown) = ([r, g, b], [r, g, b].map(screen));
        }
        *color = [shown[0], shown[1], shown[2], alpha];
    }
}
