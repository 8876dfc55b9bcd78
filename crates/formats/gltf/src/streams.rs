//! Reads the vertex attributes of all primitives of a mesh into the arrays of the model, in order.
//!
//! Primitives with the same attributes share their vertices. If only some primitives have normals or UVs, these get an
//! index stream; other missing values are NaN, 0 for splats, or empty lists. `meshes` reads the elements.

use crate::accessors::{ANY, AccessorValues, width};
use crate::convert::Finish;
use crate::fills::AccessorFill;
use crate::layout::{AccessorLayout, Component};
use crate::log::{GltfLog, malformed, over_limit};
use crate::splats::{self, SplatColumn};
use polyhaul_model::error::{Error, Result, try_push, try_string};
use polyhaul_model::names;
use polyhaul_model::warnings::counted;
use polyhaul_model::{Column, Domain, Mesh, NONE, Values};
use polyhaul_pipeline::arrays::zeroed;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicU64;

const TANGENTS: [&str; 2] = [
    "tangent was dropped (tangents in glTF files are not read)",
    "tangents were dropped (tangents in glTF files are not read)",
];

/// Vertices of one or more primitives.
pub(crate) struct VertexSet<'a> {
    pub(crate) attributes: &'a BTreeMap<String, usize>,
    /// JSON path of the first primitive with these attributes.
    pub(crate) path: String,
    pub(crate) positions: AccessorLayout,
    /// Index of the first vertex in the mesh.
    pub(crate) base: u32,
}

/// Start of an attribute's values for each vertex set. Empty if every vertex has a value.
#[derive(Default)]
pub(crate) struct StreamStarts {
    pub(crate) domain: Domain,
    /// Start for each vertex set; `None` for a set without the attribute.
    starts: Vec<Option<u32>>,
}

impl StreamStarts {
    /// Returns the offset (wrapping) to add to a vertex index to get the index of its value; `None` if the set has no
    /// values.
    pub(crate) fn shift(&self, set: usize, base: u32) -> Option<u32> {
        let start = self.starts.get(set).copied().flatten()?;
        Some(start.wrapping_sub(base))
    }

    pub(crate) fn is_indexed(&self) -> bool {
        self.domain == Domain::Indexed && !self.starts.is_empty()
    }

    /// Appends the value index of each vertex, or [`NONE`] if the set has no values. Appends nothing if the stream is
    /// not indexed.
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

/// Validated attributes of a mesh.
#[derive(Default)]
pub(crate) struct Streams {
    uvs: Layouts,
    normals: Layouts,
    colors: Layouts,
    columns: Vec<ColumnPlan>,
    /// Number of clamped colors.
    pub(crate) cut: AtomicU64,
    /// Number of clamped splat values.
    pub(crate) cut_splats: AtomicU64,
}

/// Accessor for each vertex set. Empty if no set has the attribute.
type Layouts = Vec<Option<AccessorLayout>>;

/// A column that is read from an attribute.
struct ColumnPlan {
    name: String,
    layouts: Layouts,
    /// Whether each vertex has a list of numbers rather than a single number.
    has_lists: bool,
    finish: Finish,
    /// Value for the vertices of sets without the attribute.
    missing: f32,
}

impl Streams {
    /// Returns the starts of UVs and normals.
    pub(crate) fn starts(&self) -> Result<(StreamStarts, StreamStarts)> {
        Ok((starts(&self.uvs)?, starts(&self.normals)?))
    }

    /// Allocates the values of all sets, which have `total` vertices.
    pub(crate) fn make_room(&self, sets: &[VertexSet<'_>], total: usize, mesh: &mut Mesh) -> Result<()> {
        mesh.positions = zeroed(total, "positions")?.into();
        mesh.uvs = zeroed(sum(&self.uvs), "uvs")?.into();
        mesh.uv_domain = domain(&self.uvs);
        mesh.normals = zeroed(sum(&self.normals), "normals")?.into();
        mesh.normal_domain = domain(&self.normals);
        mesh.colors = zeroed(if self.colors.is_empty() { 0 } else { total }, "colors")?.into();
        for column in &self.columns {
            let offsets = if column.has_lists { Some(column.offsets(sets, total)?) } else { None };
            let count = offsets.as_ref().map_or(total, |offsets| offsets.last().map_or(0, |&last| last as usize));
            let values = Values::F32(zeroed(count, "columns")?.into());
            let column = Column { name: try_string(&column.name)?, values, offsets: offsets.map(Into::into) };
            try_push(&mut mesh.vertex_columns, column, "columns")?;
        }
        Ok(())
    }

    /// Adds the reads of all attributes into the arrays of `mesh` that [`Streams::make_room`] allocated.
    pub(crate) fn add_fills<'m>(
        &'m self,
        sets: &[VertexSet<'_>],
        mesh: &'m mut Mesh,
        fills: &mut Vec<AccessorFill<'m>>,
    ) -> Result<()> {
        let Mesh { positions, uvs, normals, colors, vertex_columns, .. } = mesh;
        let mut adder = Adder { sets, fills };
        let form = |width, finish| AttributeForm { width: Some(width), finish, cut: &self.cut, missing: None };
        let position_layouts = sets.iter().map(|set| Some(&set.positions));
        adder.add(position_layouts, positions.to_mut()?.as_flattened_mut(), form(3, Finish::Keep))?;
        // The UV origin is the upper left corner of an image in glTF and the lower left corner in the model.
        adder.add(each(&self.uvs), uvs.to_mut()?.as_flattened_mut(), form(2, Finish::FlipV))?;
        adder.add(each(&self.normals), normals.to_mut()?.as_flattened_mut(), form(3, Finish::Unit))?;
        let color_form = AttributeForm { missing: Some(f32::NAN), ..form(4, Finish::Screen) };
        adder.add(each(&self.colors), colors.to_mut()?.as_flattened_mut(), color_form)?;
        for (plan, column) in self.columns.iter().zip(vertex_columns) {
            let Values::F32(values) = &mut column.values else { continue };
            let form = AttributeForm {
                width: if plan.has_lists { None } else { Some(1) },
                finish: plan.finish,
                cut: &self.cut_splats,
                missing: (!plan.has_lists).then_some(plan.missing),
            };
            adder.add(each(&plan.layouts), values.to_mut()?, form)?;
        }
        Ok(())
    }
}

impl ColumnPlan {
    /// Returns the offsets of the vertices' lists. If the attribute is missing, the lists are empty.
    fn offsets(&self, sets: &[VertexSet<'_>], total: usize) -> Result<Vec<u32>> {
        let mut offsets: Vec<u32> = Vec::new();
        offsets.try_reserve_exact(total.saturating_add(1)).map_err(|_| Error::memory("columns"))?;
        offsets.push(0);
        for (set, layout) in sets.iter().zip(&self.layouts) {
            let width = layout.map_or(0, |layout| layout.width as u32);
            let count = set.positions.count;
            let start = offsets.last().copied().unwrap_or(0);
            if u64::from(start) + count as u64 * u64::from(width) >= u64::from(NONE) {
                let limit = u64::from(NONE) - 1;
                return Err(over_limit("the values of an attribute", limit, "elements"));
            }
            offsets.extend((1..=count as u32).map(|row| start + row * width));
        }
        Ok(offsets)
    }
}

fn each(layouts: &Layouts) -> impl Iterator<Item = Option<&AccessorLayout>> {
    layouts.iter().map(Option::as_ref)
}

/// Returns the total number of values.
fn sum(layouts: &Layouts) -> usize {
    layouts.iter().flatten().map(|layout| layout.count).sum()
}

/// Returns the domain of an attribute: per vertex if all sets have it, otherwise indexed.
fn domain(layouts: &Layouts) -> Domain {
    match layouts.iter().all(Option::is_some) {
        _ if layouts.is_empty() => Domain::default(),
        true => Domain::Vertex,
        false => Domain::Indexed,
    }
}

fn starts(layouts: &Layouts) -> Result<StreamStarts> {
    let mut result = StreamStarts { domain: domain(layouts), starts: Vec::new() };
    if result.domain == Domain::Indexed {
        let mut start = 0;
        for layout in layouts {
            try_push(&mut result.starts, layout.map(|_| start), "primitives")?;
            start += layout.map_or(0, |layout| layout.count as u32);
        }
    }
    Ok(result)
}

/// Adds reads of attributes.
struct Adder<'m, 's> {
    sets: &'s [VertexSet<'s>],
    fills: &'s mut Vec<AccessorFill<'m>>,
}

/// Conversion of an attribute.
#[derive(Clone, Copy)]
struct AttributeForm<'m> {
    /// Components per element; `None` for the number of components in the file.
    width: Option<usize>,
    finish: Finish,
    /// Counts clamped values.
    cut: &'m AtomicU64,
    /// Value for vertex sets without the attribute; `None` if they have no values.
    missing: Option<f32>,
}

impl<'m> Adder<'m, '_> {
    /// Adds the reads of an attribute, given the accessor of each vertex set.
    fn add<'l>(
        &mut self,
        layouts: impl Iterator<Item = Option<&'l AccessorLayout>>,
        mut values: &'m mut [f32],
        form: AttributeForm<'m>,
    ) -> Result<()> {
        let AttributeForm { width, finish, cut, missing } = form;
        for (set, layout) in self.sets.iter().zip(layouts) {
            let width = width.or(layout.map(|layout| layout.width)).unwrap_or(0);
            let count = if layout.is_some() || missing.is_some() { set.positions.count * width } else { 0 };
            let part = values.split_off_mut(..count).unwrap_or_default();
            match layout {
                Some(layout) => {
                    // Only integers need to be normalized; floats keep their bits.
                    let is_exact = finish == Finish::Unit && layout.component == Component::F32;
                    let finish = if is_exact { Finish::Keep } else { finish };
                    try_push(self.fills, AccessorFill::floats(layout, part, width, finish, Some(cut)), "attributes")?;
                }
                None => part.fill(missing.unwrap_or(f32::NAN)),
            }
        }
        Ok(())
    }
}

/// Validates the attributes of a mesh's vertex sets.
pub(crate) struct StreamPlanner<'s, 'v, 'a, 'f> {
    pub(crate) values: &'v mut AccessorValues<'a, 'f>,
    pub(crate) log: &'v mut GltfLog,
    pub(crate) sets: &'s [VertexSet<'a>],
    /// Maximum degree of harmonics, if all sets are Gaussian splats.
    pub(crate) splats: Option<usize>,
}

impl StreamPlanner<'_, '_, '_, '_> {
    pub(crate) fn plan(&mut self) -> Result<Streams> {
        if let Some(degree) = self.splats {
            let columns = self.splat_columns(degree)?;
            self.losses()?;
            return Ok(Streams { columns, ..Streams::default() });
        }
        let uvs = self.layouts("TEXCOORD_0", &[2], 0)?;
        let normals = self.layouts("NORMAL", &[3], 0)?;
        // Integers are normalized even if the accessor does not declare it, because the specification allows no others.
        let mut colors = self.layouts("COLOR_0", &[3, 4], size_of::<[f32; 4]>())?;
        colors.iter_mut().flatten().for_each(|layout| *layout = layout.as_normalized());
        let columns = self.columns(Vec::new())?;
        self.losses()?;
        Ok(Streams { uvs, normals, colors, columns, ..Streams::default() })
    }

    /// Validates an attribute in all sets. For a set without it, charges `missing` bytes per vertex.
    fn layouts(&mut self, name: &str, widths: &[usize], missing: usize) -> Result<Layouts> {
        let mut layouts = Vec::new();
        if !self.sets.iter().any(|set| set.attributes.contains_key(name)) {
            return Ok(layouts);
        }
        layouts.try_reserve_exact(self.sets.len()).map_err(|_| Error::memory("attributes"))?;
        for set in self.sets {
            let layout = self.layout(set, name, widths)?;
            // Values that are filled in take memory, too.
            if layout.is_none() {
                self.values.budget.charge_each(set.positions.count, missing)?;
            }
            layouts.push(layout);
        }
        Ok(layouts)
    }

    /// Validates the accessor of an attribute in one set, if the set has the attribute.
    fn layout(&mut self, set: &VertexSet<'_>, name: &str, widths: &[usize]) -> Result<Option<AccessorLayout>> {
        let Some(&index) = set.attributes.get(name) else { return Ok(None) };
        let user = format!("{}.attributes.{}", set.path, names::shown(name));
        let layout = self.values.layout(index, &user, widths, self.log)?;
        if layout.component == Component::U32 {
            return Err(malformed(format!("{user}: accessors[{index}] has the wrong componentType 5125 (u32)")));
        }
        if layout.count == set.positions.count {
            return Ok(Some(layout));
        }
        let counts = format!("{} elements for {} positions", layout.count, set.positions.count);
        Err(malformed(format!("{user}: accessors[{index}] has {counts}")))
    }

    /// Plans the columns of splats, followed by application-specific attributes.
    fn splat_columns(&mut self, degree: usize) -> Result<Vec<ColumnPlan>> {
        let mut columns: Vec<ColumnPlan> = Vec::new();
        // Columns of the same attribute share its layouts, so that the attribute is validated and charged once.
        let mut attribute_layouts: BTreeMap<String, Layouts> = BTreeMap::new();
        for SplatColumn { name, attribute, component } in splats::columns(degree) {
            let attribute_name = attribute.name();
            let width = attribute.width();
            let is_unit = attribute.is_normalized();
            let layouts = match attribute_layouts.get(&attribute_name) {
                Some(layouts) => layouts,
                None => {
                    let layouts = self.layouts(&attribute_name, &[width], width * size_of::<f32>())?;
                    attribute_layouts.entry(attribute_name).or_insert(layouts)
                }
            };
            let part =
                |layout: AccessorLayout| if is_unit { layout.as_normalized() } else { layout }.component(component);
            let mut column_layouts: Layouts = Vec::new();
            column_layouts.try_reserve_exact(layouts.len()).map_err(|_| Error::memory("attributes"))?;
            column_layouts.extend(layouts.iter().map(|layout| layout.map(part)));
            let plan = ColumnPlan {
                name,
                layouts: column_layouts,
                has_lists: false,
                finish: attribute.finish(),
                missing: 0.0,
            };
            try_push(&mut columns, plan, "columns")?;
        }
        self.columns(columns)
    }

    /// Appends additional UVs and colors and application-specific attributes to `columns`. Drops attributes with the
    /// name of a splat column.
    fn columns(&mut self, mut columns: Vec<ColumnPlan>) -> Result<Vec<ColumnPlan>> {
        // A sorted set, so that columns do not depend on the order of primitives.
        let attribute_names: BTreeSet<&str> = self
            .sets
            .iter()
            .flat_map(|set| set.attributes.keys())
            .map(String::as_str)
            .filter(|name| is_column(name))
            .collect();
        let limit = self.values.limits.columns;
        if (columns.len() + attribute_names.len()) as u64 > limit {
            return Err(over_limit(&format!("{} attributes", columns.len() + attribute_names.len()), limit, "columns"));
        }
        let taken = columns.len();
        for name in attribute_names {
            let column_name = name.strip_prefix('_').unwrap_or(name);
            if self.splats.is_some() && columns[..taken].iter().any(|column| column.name == column_name) {
                let shown = names::shown(name);
                let message =
                    || format!("the attribute `{shown}` was dropped: splats already have a column of this name");
                self.log.lose_about("left-out-attributes", 1, message, Some(name))?;
                continue;
            }
            let has_lists = match self.has_lists(name) {
                Ok(has_lists) => has_lists,
                Err(message) => {
                    self.log.lose_about("left-out-attributes", 1, || message, Some(name))?;
                    continue;
                }
            };
            let layouts = self.layouts(name, if has_lists { ANY } else { &[1] }, size_of::<f32>())?;
            let plan = ColumnPlan {
                name: try_string(column_name)?,
                layouts,
                has_lists,
                finish: Finish::Keep,
                missing: f32::NAN,
            };
            try_push(&mut columns, plan, "columns")?;
        }
        Ok(columns)
    }

    /// Returns whether an attribute has several numbers per vertex, or the warning if it cannot become a column.
    fn has_lists(&self, name: &str) -> std::result::Result<bool, String> {
        let mut has_lists = false;
        for set in self.sets {
            let accessor = set.attributes.get(name).and_then(|&index| self.values.document.accessors.get(index));
            let Some(accessor) = accessor else { continue };
            has_lists |= accessor.kind != "SCALAR";
            let is_wide = accessor.component_type == crate::document::component::UNSIGNED_INT;
            let reason = match (width(&accessor.kind), is_wide) {
                (None, _) => "matrix attributes are not read",
                (_, true) => "32-bit integer attributes are not read",
                _ => continue,
            };
            let path = &set.path;
            return Err(format!("{path}: the attribute `{}` was dropped: {reason}", names::shown(name)));
        }
        Ok(has_lists)
    }

    /// Counts attributes that the model cannot store: known attributes by vertex, and each attribute with an unknown
    /// name once.
    fn losses(&mut self) -> Result<()> {
        for set in self.sets {
            let count = set.positions.count as u64;
            let path = &set.path;
            if set.attributes.keys().any(|name| is_of_skins(name)) {
                let vertices = counted(count, ["vertex", "vertices"]);
                let message = || {
                    format!(
                        "{path}: the joints and weights of {vertices} were dropped (skins in glTF files are not read)"
                    )
                };
                self.log.lose("left-out-skin-weights", count, message)?;
            }
            for name in set.attributes.keys().filter(|name| !is_column(name) && !is_of_skins(name)) {
                let (code, words) = match name.as_str() {
                    "POSITION" => continue,
                    // Computed from the splats, so it is not a loss.
                    "COLOR_0" if self.splats.is_some() => continue,
                    _ if self.splats.is_some_and(|degree| splats::is_attribute(name, degree)) => continue,
                    "NORMAL" if self.splats.is_some() => {
                        ("left-out-normals", ["normal of a splat was dropped", "normals of splats were dropped"])
                    }
                    "TEXCOORD_0" if self.splats.is_some() => {
                        ("left-out-uvs", ["UV of a splat was dropped", "UVs of splats were dropped"])
                    }
                    "NORMAL" | "TEXCOORD_0" | "COLOR_0" => continue,
                    "TANGENT" => ("left-out-tangents", TANGENTS),
                    _ => {
                        let shown = names::shown(name);
                        let message = || format!("{path}: the attribute `{shown}` was dropped: its name is unknown");
                        self.log.lose_about("left-out-attributes", 1, message, Some(name))?;
                        continue;
                    }
                };
                self.log.lose(code, count, || format!("{path}: {}", counted(count, words)))?;
            }
        }
        Ok(())
    }
}

/// Returns whether an attribute binds vertices to the joints of a skin.
fn is_of_skins(name: &str) -> bool {
    name.starts_with("JOINTS_") || name.starts_with("WEIGHTS_")
}

/// Returns whether an attribute becomes a column.
fn is_column(name: &str) -> bool {
    let is_later = |prefix| name.strip_prefix(prefix).is_some_and(|number| number != "0");
    name.starts_with('_') || is_later("TEXCOORD_") || is_later("COLOR_")
}
