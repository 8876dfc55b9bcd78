//! Converts the positions of a scene to rows of a table, with colors if all positions have them, and likewise with
//! normals. Warns about everything in the scene that the table does not store.
//!
//! Copies nothing: lanes refer to the arrays of the meshes, and transforms are applied during writing. `scene` converts
//! in the opposite direction.

use super::TableFormat;
use super::scene::{COLOR, NORMAL, POSITION};
use super::writer::{Placed, Rows, TableBlock, TableRole, TableWriterLane, TableWriterNumbers};
use polyhaul_geometry::losses::{LeftOut, note_changed, note_dropped, note_left_out};
use polyhaul_geometry::parts::{Part, THIRD_COORDINATES, homeless, homes, is_between_bytes, named, tables};
use polyhaul_model::error::{Result, try_push};
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{Domain, Material, Mesh, Scene};

/// A scene as points: the rows, and the attributes that the points have.
pub struct Points<'a> {
    parts: &'a [Part<'a>],
    format: TableFormat,
    has_colors: bool,
    has_normals: bool,
    /// Number of columns that are not positions, colors or normals.
    columns: usize,
    /// One row per point.
    pub rows: Rows<'a>,
}

impl<'a> Points<'a> {
    /// Collects the positions of all parts that write positions.
    pub fn of_parts(parts: &'a [Part<'a>], format: TableFormat) -> Result<Points<'a>> {
        let is_colored = |mesh: &Mesh| mesh.colors.len() == mesh.positions.len();
        let has_normals =
            |mesh: &Mesh| mesh.normal_domain == Domain::Vertex && mesh.normals.len() == mesh.positions.len();
        let meshes = || homes(parts).map(|part| part.mesh).filter(|mesh| !mesh.positions.is_empty());
        let has_colors = meshes().all(is_colored);
        let has_normals = meshes().all(has_normals) && format != TableFormat::Pts;
        // Several meshes may have different columns, but all rows of a table have the same ones.
        let others = match (meshes().next(), meshes().count()) {
            (Some(mesh), 1) => others(mesh, format)?,
            _ => Vec::new(),
        };
        let columns = others.len();
        // In point files without names, the intensity comes before the color, and all other columns come after it.
        let (intensity, others): (Vec<_>, Vec<_>) = others.into_iter().partition(|(name, _)| *name == "intensity");
        let mut rows = Rows { names: POSITION.to_vec(), blocks: Vec::new() };
        rows.names.extend(intensity.iter().map(|(name, _)| *name));
        rows.names.extend(if has_colors { &COLOR[..3] } else { &[] });
        rows.names.extend(if has_normals { &NORMAL[..] } else { &[] });
        rows.names.extend(others.iter().map(|(name, _)| *name));
        for part in homes(parts).filter(|part| !part.mesh.positions.is_empty()) {
            let mesh = part.mesh;
            let mut lanes = Vec::new();
            let positions = if mesh.is_exact() {
                TableWriterNumbers::F64(mesh.exact_positions.as_flattened())
            } else {
                TableWriterNumbers::F32(mesh.positions.as_flattened())
            };
            lanes.extend((0..3).map(|first| TableWriterLane {
                numbers: positions,
                first,
                step: 3,
                role: TableRole::Position,
            }));
            lanes.extend(intensity.iter().map(|(_, lane)| *lane));
            let colors = TableWriterNumbers::Unit(mesh.colors.as_flattened());
            let channels = 0..if has_colors { 3 } else { 0 };
            lanes.extend(channels.map(|first| TableWriterLane {
                numbers: colors,
                first,
                step: 4,
                role: TableRole::Other,
            }));
            let normals = TableWriterNumbers::F32(mesh.normals.as_flattened());
            let axes = 0..if has_normals { 3 } else { 0 };
            lanes.extend(axes.map(|first| TableWriterLane {
                numbers: normals,
                first,
                step: 3,
                role: TableRole::Normal,
            }));
            lanes.extend(others.iter().map(|(_, lane)| *lane));
            let normals = if has_normals { mesh.normals.as_slice() } else { &[] };
            let placed = part.frame.map(|frame| Placed { frame, positions: &mesh.positions, normals });
            try_push(&mut rows.blocks, TableBlock { row_count: mesh.positions.len(), lanes, placed }, "the plan")?;
        }
        Ok(Points { parts, format, has_colors, has_normals, columns, rows })
    }

    /// Warns about everything in the scene that the table does not store. `materials` are the scene's materials.
    /// `has_names` is `false` if column names are not written and the caller did not request that.
    pub fn note_losses(
        &self,
        scene: &Scene,
        materials: &[Material],
        has_names: bool,
        output: &str,
        warnings: &mut Warnings,
    ) {
        let parts = self.parts;
        let sum = |count: &dyn Fn(&Mesh) -> usize| homes(parts).map(|part| count(part.mesh) as u64).sum::<u64>();
        let columns = sum(&|mesh| mesh.vertex_columns.len() + mesh.face_columns.len());
        let has_colors = self.has_colors;
        let has_normals = self.has_normals;
        let others = [
            ("left-out-faces", ["face", "faces"], sum(&|mesh| mesh.faces.len())),
            ("left-out-lines", ["line", "lines"], sum(&|mesh| mesh.lines.len())),
        ];
        // Tables could store these, so the warnings must not say that they cannot.
        let unwritten = [
            ("left-out-column-names", ["column name", "column names"], if has_names { 0 } else { self.columns as u64 }),
            ("left-out-uvs", ["UV", "UVs"], sum(&|mesh| mesh.uvs.len())),
            ("left-out-uv-depths", THIRD_COORDINATES, sum(&|mesh| mesh.uv_depths.len())),
            ("left-out-normals", ["normal", "normals"], sum(&|mesh| if has_normals { 0 } else { mesh.normals.len() })),
            ("left-out-columns", ["column", "columns"], columns.saturating_sub(self.columns as u64)),
        ];
        let name = self.format.name().to_uppercase();
        let left_out = homeless(parts, materials).into_iter().chain([named(parts)]).chain(others.map(LeftOut::from));
        note_left_out(&name, left_out, output, warnings);
        let tables = LeftOut { nouns: ["other table", "other tables"], ..tables(scene) };
        note_dropped(&format!(", because {name} stores one table"), [tables], output, warnings);
        note_dropped(&format!(", which polyhaul does not write to {name}"), unwritten, output, warnings);
        if has_colors {
            ByteColors::from_meshes(homes(parts).map(|part| part.mesh)).note(&name, output, warnings);
        } else {
            let count = sum(&|mesh| mesh.colors.len());
            note_dropped(
                ": not every object has them",
                [("left-out-colors", ["color", "colors"], count)],
                output,
                warnings,
            );
        }
    }
}

/// Changes caused by converting colors to bytes of red, green and blue.
#[derive(Default)]
struct ByteColors {
    missing: u64,
    outside: u64,
    alpha: u64,
    rounded: u64,
}

impl ByteColors {
    fn from_meshes<'a>(meshes: impl Iterator<Item = &'a Mesh>) -> ByteColors {
        let mut counts = ByteColors::default();
        for &[red, green, blue, alpha] in meshes.flat_map(|mesh| mesh.colors.iter()) {
            let color = [red, green, blue];
            let is_missing = color.iter().any(|channel| channel.is_nan());
            counts.missing += u64::from(is_missing);
            counts.outside += u64::from(color.iter().any(|channel| *channel < 0.0 || *channel > 1.0));
            counts.rounded += u64::from(color.iter().any(|&channel| is_between_bytes(channel)));
            counts.alpha += u64::from(alpha != 1.0 && !alpha.is_nan());
        }
        counts
    }

    fn note(&self, format: &str, output: &str, warnings: &mut Warnings) {
        let missing = ["vertex without a color was written as black", "vertices without a color were written as black"];
        let outside = ["color value outside 0 to 1 was clamped", "color values outside 0 to 1 were clamped"];
        let rounded = ["color value was rounded to a byte", "color values were rounded to bytes"];
        let kinds = [
            ("missing-color", missing, self.missing, None),
            ("clamped-color", outside, self.outside, None),
            ("changed-colors", rounded, self.rounded, None),
        ];
        note_changed(kinds, output, warnings);
        let alpha = ["alpha value of a color", "alpha values of colors"];
        note_dropped(
            &format!(", which polyhaul does not write to {format}"),
            [("left-out-alpha", alpha, self.alpha)],
            output,
            warnings,
        );
    }
}

/// Returns the vertex columns to write: only the intensity for formats without column names, otherwise all columns with
/// one number per position.
fn others(mesh: &Mesh, format: TableFormat) -> Result<Vec<(&str, TableWriterLane<'_>)>> {
    let mut columns = Vec::new();
    for column in &mesh.vertex_columns {
        let is_written = match format {
            TableFormat::Xyz | TableFormat::Pts => column.name == "intensity",
            _ => true,
        };
        if is_written && column.offsets.is_none() && column.values.len() == mesh.positions.len() {
            let lane = TableWriterLane {
                numbers: TableWriterNumbers::from_values(&column.values),
                first: 0,
                step: 1,
                role: TableRole::Other,
            };
            try_push(&mut columns, (column.name.as_str(), lane), "columns")?;
        }
    }
    Ok(columns)
}
