//! Writes a scene as elements: `vertex`, `face` and `edge` for all meshes together, then the scene's tables.
//!
//! Vertices: `x y z`, then, if requested and present in a mesh, `nx ny nz`, `s t` (Blender's names), `red green blue`
//! and, unless it is 1 everywhere, `alpha`; then the vertex columns. Positions whose corners have several uvs or
//! normals are split (`split`). Face normals become `nx ny nz` of the face. If a mesh lacks an attribute that another
//! mesh has, its values are 0, or white for colors. In Blender's dialect, colors precede uvs and always have `alpha`,
//! and missing colors are 0.

use super::fields::{Pick, Picked, PlyColorForm, PlyField, PlyFieldsRows, PlyTurn};
use super::split::{PlySplit, list_offsets};
use super::tables;
use super::tables::{PlyNeed, count_type, longest};
use super::text::PlyKind;
use super::textures::PlyTextures;
use super::{PlyElement, PlyProperty, Remarks};
use crate::header::EDGE_ENDS;
use crate::scene::EDGE;
use crate::textures::TEXTURE_NUMBER;
use crate::vectors::{self, component_name};
use polyhaul_geometry::lines::edge_count;
use polyhaul_geometry::losses::{LeftOut, note_changed, note_left_out};
use polyhaul_geometry::parts;
use polyhaul_geometry::parts::{Part, THIRD_COORDINATES, homeless, homes, is_between_bytes, named};
use polyhaul_model::error::{Error, ErrorKind, Result, try_push};
use polyhaul_model::options::{Dialect, PlyWriteOptions};
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{Column, Domain, Mesh, Scalar, Scene, Table, Values, names};
use polyhaul_pipeline::write::Writing;
use polyhaul_spill::paced;
use std::ops::Range;

/// A scene to write as PLY.
pub(crate) type PlyJob<'a> = parts::PartsJob<'a, PlyWriteOptions>;

/// Writes a scene.
pub fn write(job: &PlyJob<'_>, writing: &mut Writing<'_, '_>, warnings: &mut Warnings) -> Result<()> {
    let PlyJob { scene, parts, options, run, .. } = *job;
    let spans = [|part: &Part<'_>| part.faces.clone(), |part: &Part<'_>| part.lines.clone()];
    let [faces, lines] = spans.map(|range| PlySpan::from_parts(parts, range));
    let faces = faces?;
    let lines = lines?;
    let textures = PlyTextures::new(job, &faces)?;
    let kinds = textures.left_out(job.materials).into_iter().chain(homeless(parts, &[]));
    let depths = homes(parts).map(|part| part.mesh.uv_depths.len() as u64).sum();
    let others = [named(parts), LeftOut::new("left-out-uv-depths", THIRD_COORDINATES, depths)];
    note_left_out("PLY", kinds.chain(others), job.output, warnings);
    super::note_losses(&scene.tables, [&scene.comments, &scene.infos], job.output, warnings);
    let splits = splits(job)?;
    let vertices = PlyVertices::new(job, &splits, warnings)?;
    let mut elements = Vec::new();
    let edge_table = edge_table(scene, parts, &lines);
    let others = scene.tables.iter().filter(|&table| edge_table.is_none_or(|edges| !std::ptr::eq(edges, table)));
    let tables = tables::elements(others)?;
    let has_vertices = paced(&vertices.homes).any(|home| home.count > 0);
    if has_vertices || tables.is_empty() {
        try_push(&mut elements, vertices.element()?, "the plan")?;
    }
    if has_vertices {
        if !faces.is_empty() {
            try_push(&mut elements, vertices.faces(&faces, &textures, warnings)?, "the plan")?;
        }
        if !lines.is_empty() {
            try_push(&mut elements, vertices.edges(&lines, edge_table)?, "the plan")?;
        }
    }
    for table in tables {
        if let Some(taken) = elements.iter().find(|element| element.name == table.name) {
            let message = format!("table name `{}` is reserved for a mesh element: rename the table", taken.name);
            return Err(Error::new(ErrorKind::Usage, message));
        }
        try_push(&mut elements, table, "the plan")?;
    }
    warnings.refuse_losses(job.strict)?;
    let comments = if textures.comments.is_empty() { job.comments } else { &textures.comments };
    let remarks = Remarks { comments, infos: &scene.infos };
    super::write(&elements, &remarks, options, run, writing)
}

/// Finds the table that the reader creates for the other properties of edges: it has one row per edge.
fn edge_table<'a>(scene: &'a Scene, parts: &[Part<'_>], lines: &[PlySpan]) -> Option<&'a Table> {
    let count_of = |span: &PlySpan| edge_count(&parts[span.part].mesh.lines.offsets[span.start..=span.end]);
    let count = paced(lines).map(count_of).sum::<usize>();
    let has_ends = |table: &Table| table.columns.iter().any(|column| EDGE_ENDS.contains(&column.name.as_str()));
    let is_of_edges = |table: &&Table| table.name == EDGE && table.row_count == count && !has_ends(table);
    scene.tables.iter().find(is_of_edges).filter(|_| count > 0)
}

/// Computes how the corners of each mesh split its positions, once per mesh even if several objects use it.
fn splits(job: &PlyJob<'_>) -> Result<Vec<Option<PlySplit>>> {
    let mut splits = Vec::new();
    splits.try_reserve_exact(job.scene.meshes.len())?;
    splits.resize_with(job.scene.meshes.len(), || None);
    for part in homes(job.parts) {
        if splits[part.number].is_none() {
            splits[part.number] = PlySplit::from_mesh(part.mesh, job.options, job.run)?;
        }
    }
    Ok(splits)
}

/// The vertices of a part, and their position in the file.
struct PlySceneHome<'a> {
    part: &'a Part<'a>,
    split: Option<&'a PlySplit>,
    count: usize,
    /// Index of its first vertex.
    base: u32,
}

/// All vertices of the file.
struct PlyVertices<'a> {
    job: &'a PlyJob<'a>,
    homes: Vec<PlySceneHome<'a>>,
    /// Index of each part's home.
    home_of_part: Vec<usize>,
    has_normals: bool,
    has_uvs: bool,
    has_colors: bool,
    has_alpha: bool,
    columns: PlyColumns<'a>,
    /// Index types of faces and of edges.
    index: [Scalar; 2],
}

impl<'a> PlySceneHome<'a> {
    /// Mapping for attributes with one value per position.
    fn own(&self) -> Pick<'a> {
        match self.split {
            Some(split) => Pick::Then { own: split.own, more: &split.more },
            None => Pick::Own(0),
        }
    }

    /// Returns the mapping from vertices to the values of an attribute; `None` if vertices have no values.
    fn pick(&self, domain: Domain, count: usize, listed: fn(&PlySplit) -> &[u32]) -> Option<Pick<'a>> {
        match (domain, self.split) {
            (Domain::Vertex, _) if count > 0 => Some(self.own()),
            (_, Some(split)) if !listed(split).is_empty() => Some(Pick::Listed(listed(split))),
            _ => None,
        }
    }

    fn normals(&self) -> Option<Pick<'a>> {
        let mesh = self.part.mesh;
        self.pick(mesh.normal_domain, mesh.normals.len(), |split| split.places(&split.normals))
    }

    fn uvs(&self) -> Option<Pick<'a>> {
        let mesh = self.part.mesh;
        self.pick(mesh.uv_domain, mesh.uvs.len(), |split| split.places(&split.uvs))
    }

    /// Creates the field of a vertex column; `place` is its index among the mesh's columns.
    fn column(&self, place: usize, column: &'a Column, count: Option<Scalar>) -> PlyField<'a> {
        match (&column.offsets, count) {
            (Some(own), Some(count)) => {
                let picked = Picked { pick: self.own(), offsets: own };
                let offsets = list_offsets(self.split, place, column);
                PlyField::Lists { offsets, values: &column.values, picked, count }
            }
            _ => PlyField::Numbers(&column.values, self.own()),
        }
    }
}

impl<'a> PlyVertices<'a> {
    fn new(job: &'a PlyJob<'a>, splits: &'a [Option<PlySplit>], warnings: &mut Warnings) -> Result<Self> {
        let mut vertex_homes = Vec::new();
        let mut home_of_part = Vec::new();
        let mut base = 0u64;
        for (place, part) in paced(job.parts).enumerate() {
            if part.home == place {
                let split = splits.get(part.number).and_then(Option::as_ref);
                let count = split.map_or(part.mesh.positions.len(), PlySplit::count);
                // Whether all indices fit is checked below, once the vertices are counted.
                try_push(&mut vertex_homes, PlySceneHome { part, split, count, base: base as u32 }, "the plan")?;
                base += count as u64;
            }
            let home = if part.home == place { vertex_homes.len() - 1 } else { home_of_part[part.home] };
            try_push(&mut home_of_part, home, "the plan")?;
        }
        if base > u64::from(u32::MAX) {
            return Err(Error::new(ErrorKind::Limit, "cannot write PLY files with more than 2^32 - 1 vertices"));
        }
        let options = job.options;
        let is_blenders = options.scene.dialect == Dialect::Blender;
        let colors = PlyChannels::from_meshes(homes(job.parts).map(|part| part.mesh).filter(|_| options.scene.colors));
        colors.note(job, warnings);
        let mut vertices = PlyVertices {
            job,
            has_normals: options.scene.normals && paced(&vertex_homes).any(|home| home.normals().is_some()),
            has_uvs: options.scene.uv && paced(&vertex_homes).any(|home| home.uvs().is_some()),
            has_colors: colors.any,
            has_alpha: colors.has_alpha || (is_blenders && colors.any),
            homes: vertex_homes,
            home_of_part,
            columns: PlyColumns::default(),
            index: [is_blenders, false]
                // The largest index is `base - 1`, so up to 2^31 vertices fit in a signed type.
                .map(|is_unsigned| if is_unsigned || base > 1 << 31 { Scalar::U32 } else { Scalar::I32 }),
        };
        let taken = vertices.properties()?;
        let meshes = || homes(job.parts).map(|part| part.mesh.vertex_columns.as_slice());
        vertices.columns = PlyColumns::from_meshes(meshes(), &taken, job.output, warnings)?;
        vertices.columns.find_vectors(meshes(), &taken, job.output, warnings);
        Ok(vertices)
    }

    /// Returns the properties that are not columns.
    fn properties(&self) -> Result<Vec<PlyProperty<'a>>> {
        let color = if self.job.options.scene.float_colors { Scalar::F32 } else { Scalar::U8 };
        let mut groups: [(bool, &[&'static str], Scalar); 5] = [
            (true, &["x", "y", "z"], if self.is_exact() { Scalar::F64 } else { Scalar::F32 }),
            (self.has_normals, &NORMAL, Scalar::F32),
            (self.has_uvs, &["s", "t"], Scalar::F32),
            (self.has_colors, &["red", "green", "blue"], color),
            (self.has_alpha, &["alpha"], color),
        ];
        if self.is_blenders() {
            // Blender writes colors before uvs.
            groups[2..].rotate_left(1);
        }
        let mut properties = Vec::new();
        for (_, names, scalar) in groups.into_iter().filter(|(is_there, ..)| *is_there) {
            for name in names {
                try_push(&mut properties, PlyProperty::number(name, scalar), "the plan")?;
            }
        }
        Ok(properties)
    }

    fn element(&self) -> Result<PlyElement<'a>> {
        let mut properties = self.properties()?;
        self.columns.add_properties(&mut properties)?;
        let mut pieces = Vec::new();
        for home in paced(&self.homes) {
            try_push(&mut pieces, PlyFieldsRows::new(home.count, self.fields(home)?), "the plan")?;
        }
        PlyElement::new(names::VERTEX, properties, pieces)
    }

    fn fields(&self, home: &PlySceneHome<'a>) -> Result<Vec<PlyField<'a>>> {
        let part = home.part;
        let mesh = home.part.mesh;
        let mut fields = Vec::new();
        fields.try_reserve_exact(4 + self.columns.all.len())?;
        let turn = part.frame.map_or(PlyTurn::Nothing, PlyTurn::Position);
        fields.push(if mesh.is_exact() {
            // Already in the file's coordinates: see `polyhaul_geometry::exact`.
            PlyField::Exact(&mesh.exact_positions, home.own())
        } else {
            PlyField::Vectors(&mesh.positions, home.own(), turn)
        });
        if self.has_normals {
            let turn = part.frame.map_or(PlyTurn::Nothing, PlyTurn::Normal);
            fields
                .push(home.normals().map_or(PlyField::Zeros(12), |pick| PlyField::Vectors(&mesh.normals, pick, turn)));
        }
        let uvs = home.uvs().map_or(PlyField::Zeros(8), |pick| PlyField::Pairs(&mesh.uvs, pick));
        let mut others = [(self.has_uvs, uvs), (self.has_colors, self.colors(home))];
        if self.is_blenders() {
            others.reverse();
        }
        fields.extend(others.into_iter().filter(|(is_there, _)| *is_there).map(|(_, field)| field));
        self.columns.add_fields(&mesh.vertex_columns, &mut fields, home.own(), |place, column, count| {
            home.column(place, column, count)
        })?;
        Ok(fields)
    }

    /// Returns whether positions have double precision. If one mesh has it, all do.
    fn is_exact(&self) -> bool {
        paced(&self.homes).any(|home| home.part.mesh.is_exact())
    }

    fn is_blenders(&self) -> bool {
        self.job.options.scene.dialect == Dialect::Blender
    }

    fn colors(&self, home: &PlySceneHome<'a>) -> PlyField<'a> {
        let mesh = home.part.mesh;
        let has_alpha = self.has_alpha;
        let form = match (self.job.options.scene.float_colors, self.job.options.scene.dialect) {
            (true, _) => PlyColorForm::Floats,
            (false, Dialect::Common) => PlyColorForm::Nearest,
            (false, Dialect::Blender) if mesh.colors.is_empty() => return PlyField::Zeros(4),
            (false, Dialect::Blender) => PlyColorForm::Below,
        };
        PlyField::Colors { colors: &mesh.colors, pick: home.own(), has_alpha, form }
    }

    fn home(&self, part: usize) -> &PlySceneHome<'a> {
        &self.homes[self.home_of_part[part]]
    }

    fn faces(&self, spans: &[PlySpan], textures: &'a PlyTextures, warnings: &mut Warnings) -> Result<PlyElement<'a>> {
        let has_normals = self.job.options.scene.normals && paced(&self.homes).any(|home| by_face(home.part.mesh));
        let sizes = |span: &PlySpan| longest(&self.home(span.part).part.mesh.faces.offsets[span.start..=span.end]);
        let count = count_type(paced(spans).map(sizes).max().unwrap_or(0));
        let mut properties = Vec::new();
        let kind = PlyKind { scalar: self.index[0], count: Some(count) };
        try_push(&mut properties, PlyProperty { name: "vertex_indices".into(), kind }, "the plan")?;
        for name in NORMAL.iter().filter(|_| has_normals) {
            try_push(&mut properties, PlyProperty::number(name, Scalar::F32), "the plan")?;
        }
        if !textures.numbers.is_empty() {
            try_push(&mut properties, PlyProperty::number(TEXTURE_NUMBER, Scalar::I32), "the plan")?;
        }
        let meshes = paced(&self.homes).map(|home| home.part.mesh.face_columns.as_slice());
        let columns = PlyColumns::from_meshes(meshes, &properties, self.job.output, warnings)?;
        columns.add_properties(&mut properties)?;
        let mut pieces = Vec::new();
        for (number, span) in paced(spans).enumerate() {
            let fields = self.face_fields(span, count, has_normals, textures.numbers.get(number), &columns)?;
            try_push(&mut pieces, PlyFieldsRows::new(span.end - span.start, fields), "the plan")?;
        }
        PlyElement::new("face", properties, pieces)
    }

    fn face_fields(
        &self,
        span: &PlySpan,
        count: Scalar,
        has_normals: bool,
        textures: Option<&'a Values>,
        columns: &PlyColumns<'a>,
    ) -> Result<Vec<PlyField<'a>>> {
        let home = self.home(span.part);
        let frame = home.part.frame;
        let mesh = home.part.mesh;
        let mut fields = Vec::new();
        fields.try_reserve_exact(3 + columns.all.len())?;
        fields.push(PlyField::Corners {
            offsets: &mesh.faces.offsets[span.start..=span.end],
            corners: home.split.map_or(mesh.faces.corner_positions.as_slice(), |split| &split.corners),
            add: home.base,
            is_mirrored: frame.is_some_and(|frame| frame.is_mirrored && !self.is_blenders()),
            count,
        });
        if has_normals {
            let turn = frame.map_or(PlyTurn::Nothing, PlyTurn::Normal);
            let normals = PlyField::Vectors(&mesh.normals, Pick::Own(span.start), turn);
            fields.push(if by_face(mesh) { normals } else { PlyField::Zeros(12) });
        }
        fields.extend(textures.map(|numbers| PlyField::Numbers(numbers, Pick::Own(0))));
        columns.add_fields(&mesh.face_columns, &mut fields, Pick::Own(span.start), |_, column, count| {
            tables::field(column, span.start..span.end, count)
        })?;
        Ok(fields)
    }

    /// Creates the element for edges, with the columns of a table that has one row per edge.
    fn edges(&self, spans: &[PlySpan], table: Option<&'a Table>) -> Result<PlyElement<'a>> {
        let columns = table.map_or(&[][..], |table| &table.columns);
        let mut pieces = Vec::new();
        let mut row = 0;
        let mut properties = Vec::new();
        for name in EDGE_ENDS {
            try_push(&mut properties, PlyProperty::number(name, self.index[1]), "the plan")?;
        }
        for column in columns {
            let kind = PlyNeed::from_column(column)?.kind();
            try_push(&mut properties, PlyProperty { name: column.name.as_str().into(), kind }, "the plan")?;
        }
        for span in spans {
            let home = self.home(span.part);
            let lines = &home.part.mesh.lines;
            let offsets = &lines.offsets[span.start..=span.end];
            let mut fields = Vec::new();
            let renumbered = home.split.map(|split| &split.lines[..]).filter(|lines| !lines.is_empty());
            let corners = renumbered.unwrap_or(&lines.corner_positions);
            let edges = PlyField::Edges { offsets, corners, add: home.base };
            try_push(&mut fields, edges, "the plan")?;
            let count = edge_count(offsets);
            for (column, property) in columns.iter().zip(&properties[EDGE_ENDS.len()..]) {
                try_push(&mut fields, tables::field(column, row..row + count, property.kind.count), "the plan")?;
            }
            row += count;
            try_push(&mut pieces, PlyFieldsRows::new(count, fields), "the plan")?;
        }
        PlyElement::new(EDGE, properties, pieces)
    }
}

const NORMAL: [&str; 3] = ["nx", "ny", "nz"];

/// Returns whether a mesh has one normal per face.
fn by_face(mesh: &Mesh) -> bool {
    mesh.normal_domain == Domain::Face && !mesh.normals.is_empty()
}

/// Consecutive elements of a part's mesh.
pub(super) struct PlySpan {
    /// One of the parts that share this home.
    pub(super) part: usize,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl PlySpan {
    /// Collects the elements of all parts; adjacent ranges form one span.
    fn from_parts(parts: &[Part<'_>], range: fn(&Part<'_>) -> Range<usize>) -> Result<Vec<PlySpan>> {
        let mut spans: Vec<PlySpan> = Vec::new();
        for (number, part) in paced(parts).enumerate() {
            let Range { start, end } = range(part);
            match spans.last_mut() {
                _ if start == end => {}
                Some(last) if parts[last.part].home == part.home && last.end == start => last.end = end,
                _ => try_push(&mut spans, PlySpan { part: number, start, end }, "the plan")?,
            }
        }
        Ok(spans)
    }
}

/// Use of color channels in the meshes.
#[derive(Default)]
struct PlyChannels {
    any: bool,
    has_alpha: bool,
    /// Number of colors that the source left undefined.
    missing: u64,
    /// Number of colors with a channel outside 0 to 1.
    outside: u64,
    /// Number of colors that bytes cannot represent exactly.
    rounded: u64,
}

/// Hint for writing colors exactly.
const FLOATS: Option<&str> = Some("use `--float-colors` to keep them");

impl PlyChannels {
    fn from_meshes<'a>(meshes: impl Iterator<Item = &'a Mesh>) -> PlyChannels {
        let mut channels = PlyChannels::default();
        for mesh in meshes {
            channels.any |= !mesh.colors.is_empty();
            for color in &mesh.colors {
                let is_missing = color.iter().any(|channel| channel.is_nan());
                channels.missing += u64::from(is_missing);
                channels.has_alpha |= !is_missing && color[3] != 1.0;
                let is_outside = |channel: &f32| !channel.is_nan() && !(0.0..=1.0).contains(channel);
                channels.outside += u64::from(color.iter().any(is_outside));
                channels.rounded += u64::from(color.iter().any(|&channel| is_between_bytes(channel)));
            }
        }
        channels
    }

    fn note(&self, job: &PlyJob<'_>, warnings: &mut Warnings) {
        let [outside, rounded] = if job.options.scene.float_colors { [0; 2] } else { [self.outside, self.rounded] };
        let kinds = [
            (
                "missing-color",
                ["vertex without a color was written as white", "vertices without a color were written as white"],
                self.missing,
                None,
            ),
            (
                "clamped-color",
                ["color value outside 0 to 1 was clamped", "color values outside 0 to 1 were clamped"],
                outside,
                FLOATS,
            ),
            (
                "changed-colors",
                ["color value was rounded to a byte", "color values were rounded to bytes"],
                rounded,
                FLOATS,
            ),
        ];
        note_changed(kinds, job.output, warnings);
    }
}

/// Columns of several meshes as properties of one element.
#[derive(Default)]
struct PlyColumns<'a> {
    all: Vec<(&'a str, PlyNeed)>,
}

impl<'a> PlyColumns<'a> {
    /// Merges columns with the same name. Drops columns that are named like another property.
    fn from_meshes(
        meshes: impl Iterator<Item = &'a [Column]>,
        taken: &[PlyProperty<'_>],
        output: &str,
        warnings: &mut Warnings,
    ) -> Result<Self> {
        let mut columns = PlyColumns::default();
        for (number, mesh) in meshes.enumerate() {
            let mut left_out = Vec::new();
            for (place, column) in mesh.iter().enumerate() {
                if taken.iter().any(|property| property.name == column.name.as_str()) {
                    try_push(&mut left_out, column.name.as_str(), "names")?;
                    continue;
                }
                let need = PlyNeed::from_column(column)?;
                let index = if number == 0 { None } else { columns.find(place, &column.name) };
                match index.and_then(|index| columns.all.get_mut(index)) {
                    Some((_, joined)) => *joined = joined.join(need).ok_or_else(|| of_two_types(&column.name))?,
                    None => try_push(&mut columns.all, (column.name.as_str(), need), "the plan")?,
                }
            }
            let nouns = [
                "column whose name is already used by a property",
                "columns whose names are already used by properties",
            ];
            note_left_out("PLY", [LeftOut::named("left-out-columns", nouns, left_out)], output, warnings);
        }
        Ok(columns)
    }

    /// Returns the index of a column, which is usually `place`.
    fn find(&self, place: usize, name: &str) -> Option<usize> {
        let is_there = self.all.get(place).is_some_and(|(column, _)| *column == name);
        if is_there { Some(place) } else { self.all.iter().position(|(column, _)| *column == name) }
    }

    fn add_properties(&self, properties: &mut Vec<PlyProperty<'a>>) -> Result<()> {
        for (name, need) in &self.all {
            let kind = need.kind();
            let Some(width) = need.width else {
                try_push(properties, PlyProperty { name: (*name).into(), kind }, "the plan")?;
                continue;
            };
            for at in 0..width {
                try_push(properties, PlyProperty { name: component_name(name, at).into(), kind }, "the plan")?;
            }
        }
        Ok(())
    }

    /// Finds attributes that are written as one property per component.
    fn find_vectors(
        &mut self,
        meshes: impl Iterator<Item = &'a [Column]> + Clone,
        taken: &[PlyProperty<'_>],
        output: &str,
        warnings: &mut Warnings,
    ) {
        for place in 0..self.all.len() {
            let name = self.all[place].0;
            let mut columns = meshes.clone().flatten().filter(|column| column.name == name);
            let Some(width) = columns.next().and_then(vectors::width) else { continue };
            let is_taken = |name: &str| {
                taken.iter().any(|property| property.name == name) || self.all.iter().any(|(other, _)| *other == name)
            };
            if columns.any(|column| vectors::width(column) != Some(width))
                || (0..width).any(|at| is_taken(&component_name(name, at)))
            {
                continue;
            }
            self.all[place].1.width = Some(width);
            let columns = meshes.clone().flatten().filter(|column| column.name == name);
            let count = columns.map(vectors::empty_lists).sum();
            let messages =
                ["vertex has no `", "vertices have no `"].map(|what| format!("{what}{name}`: 0 was written instead"));
            let kind = ("changed-columns", messages.each_ref().map(|message| &**message), count, None);
            note_changed([kind], output, warnings);
        }
    }

    /// Adds a mesh's fields for these columns. If the mesh lacks a column, adds zeros.
    fn add_fields(
        &self,
        columns: &'a [Column],
        fields: &mut Vec<PlyField<'a>>,
        pick: Pick<'a>,
        field: impl Fn(usize, &'a Column, Option<Scalar>) -> PlyField<'a>,
    ) -> Result<()> {
        for (place, (name, need)) in self.all.iter().enumerate() {
            let kind = need.kind();
            let is_there = columns.get(place).is_some_and(|column| column.name == *name);
            let index = if is_there { Some(place) } else { columns.iter().position(|column| column.name == *name) };
            let zeros = kind.count.unwrap_or(kind.scalar).bytes();
            for at in 0..need.width.unwrap_or(1) {
                let field = |index: usize| match need.width {
                    Some(_) => component(&columns[index], pick, at),
                    None => field(index, &columns[index], kind.count),
                };
                try_push(fields, index.map_or(PlyField::Zeros(zeros), field), "the plan")?;
            }
        }
        Ok(())
    }
}

/// Creates the field of a component of an attribute.
fn component<'a>(column: &'a Column, pick: Pick<'a>, at: usize) -> PlyField<'a> {
    let offsets = column.offsets.as_deref().unwrap_or_default();
    PlyField::Component { values: &column.values, picked: Picked { pick, offsets }, at }
}

fn of_two_types(name: &str) -> Error {
    let message = format!("column `{name}` has different types in different meshes");
    Error::new(ErrorKind::Usage, message).with_hint("use one type for the column, or write each mesh to its own file")
}
