//! Writes a scene as OBJ text, as a chunked pipeline job.
//!
//! [`super::plan`] determines the order, and [`super::elements`] writes state lines and corners; this module writes
//! numbers, headers and curves. Objects that are written as evaluated meshes are in [`super::evaluated`].

use super::plan::{ObjPlan, ObjPlanPiece, ObjSection, PieceKind};
use super::text::{ObjCoordinate, ObjDigits, ObjText, ObjWritten, chunk_bytes, numbers, rows, slot_bytes};
use super::{elements, evaluated};
use polyhaul_model::error::{Error, Result, try_push};
use polyhaul_model::names;
use polyhaul_model::options::{FormatOptions, ObjWriteOptions};
use polyhaul_model::{Curve, Material, Mesh, Object, ObjectKind, Scene};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::out::Out;
use polyhaul_pipeline::write::{Pages, Writing};
use polyhaul_spill::paced;

struct ObjPages<'a> {
    plan: ObjPlan<'a>,
    text: &'a ObjText<'a>,
    chunk_cost: u64,
}

/// A chunk in flight.
struct ObjPageSlot {
    pieces: Vec<ObjPlanPiece>,
    out: Out,
}

/// Writes `scene` as OBJ text. The material runs of its meshes and the slots of its objects refer to `materials`;
/// `library` is the file name for the `mtllib` line.
pub fn write(
    scene: &Scene,
    materials: &[Material],
    library: Option<&str>,
    options: FormatOptions<'_, ObjWriteOptions>,
    run_options: &RunOptions,
    writing: &mut Writing<'_, '_>,
) -> Result<()> {
    writing.set_head(file_header(scene, library)?);
    let objects = scene.listed_objects()?;
    writing.announce(paced(objects.iter()).map(|object| about_bytes(scene, object)).sum());
    let text = ObjText { materials, options, digits: ObjDigits::new(options) };
    let mut written = ObjWritten::default();
    // Batches of consecutive objects that are either all evaluated or all written as is.
    let flags = scene.evaluated_meshes(&objects)?;
    let evaluated = |object: &Object| flags[object.mesh];
    for batch in objects.chunk_by(|a, b| evaluated(a) == evaluated(b)) {
        written = if batch.first().is_some_and(evaluated) {
            evaluated::write(scene, batch, &text, run_options, written, writing)?
        } else {
            as_read(scene, batch, &text, run_options, written, writing)?
        };
    }
    Ok(())
}

/// Estimates the bytes of an object's text, for progress.
fn about_bytes(scene: &Scene, object: &Object) -> u64 {
    let Some(mesh) = scene.meshes.get(object.mesh) else { return 0 };
    let faces = u64::from(object.end.faces.saturating_sub(object.start.faces));
    let corners = faces * mesh.faces.corner_positions.len() as u64 / mesh.faces.len().max(1) as u64;
    let rows = u64::from(object.end.positions.saturating_sub(object.start.positions));
    64 * rows + 21 * corners
}

/// Writes objects as they are stored in the arrays of their meshes.
fn as_read(
    scene: &Scene,
    objects: &[Object],
    text: &ObjText<'_>,
    run_options: &RunOptions,
    written: ObjWritten,
    writing: &mut Writing<'_, '_>,
) -> Result<ObjWritten> {
    let plan = ObjPlan::new(scene, objects, text.materials, text.options, written)?;
    let chunk_bytes = chunk_bytes(run_options);
    let written = plan.written();
    let count = plan.cost() / chunk_bytes as u64 + 1;
    let pages = ObjPages { plan, text, chunk_cost: chunk_bytes as u64 };
    writing.pages(&pages, &mut (), count, slot_bytes(chunk_bytes))?;
    Ok(written)
}

impl Pages for ObjPages<'_> {
    type Slot = ObjPageSlot;
    type State = ();

    fn slot(&self) -> Result<ObjPageSlot> {
        Ok(ObjPageSlot { pieces: Vec::new(), out: Out::default() })
    }

    fn take(&self, number: u64, slot: &mut ObjPageSlot) -> Result<bool> {
        slot.pieces.clear();
        slot.out.clear();
        if number > 0 && number.saturating_mul(self.chunk_cost) >= self.plan.cost() {
            return Ok(false);
        }
        for piece in self.plan.chunk(number, self.chunk_cost) {
            try_push(&mut slot.pieces, piece, "the plan")?;
        }
        Ok(true)
    }

    fn format(&self, slot: &mut ObjPageSlot) -> Result<()> {
        let ObjPageSlot { pieces, out } = slot;
        for piece in pieces.iter() {
            self.text.piece(piece, self.plan.section(piece.object), out)?;
        }
        Ok(())
    }

    fn bytes<'a>(&'a self, slot: &'a ObjPageSlot) -> &'a [u8] {
        slot.out.text()
    }
}

/// Formats the lines before the first object. Comments come from other formats, because the OBJ reader keeps none.
fn file_header(scene: &Scene, library: Option<&str>) -> Result<Vec<u8>> {
    let library = library.map(names::written);
    let mut head = Vec::new();
    head.try_reserve(64 + library.as_ref().map_or(0, |name| name.len()))?;
    head.extend_from_slice(concat!("# polyhaul ", env!("CARGO_PKG_VERSION"), "\n").as_bytes());
    for remark in scene.comments.iter().chain(&scene.infos) {
        let line = names::remark(remark);
        head.try_reserve(line.len() + 3).map_err(|_| Error::memory("the header"))?;
        head.extend_from_slice(b"# ");
        head.extend_from_slice(line.as_bytes());
        head.push(b'\n');
    }
    if let Some(library) = library {
        head.extend_from_slice(b"mtllib ");
        head.extend_from_slice(library.as_bytes());
        head.push(b'\n');
    }
    Ok(head)
}

impl ObjText<'_> {
    /// Formats a piece.
    fn piece(&self, piece: &ObjPlanPiece, section: ObjSection<'_>, out: &mut Out) -> Result<()> {
        let mesh = section.mesh;
        let range = piece.range.start as usize..piece.range.end as usize;
        match piece.kind {
            PieceKind::Header => {
                elements::groups_before_header(self, &section, out)?;
                self.header(section.object, out)
            }
            PieceKind::Positions => self.positions(mesh, range, out),
            PieceKind::Normals => rows(out, b"vn ", self.digits.normals, &mesh.normals[range]),
            PieceKind::Uvs => self.uvs(mesh, range, out),
            PieceKind::Curves => range.into_iter().try_for_each(|curve| self.curve(section, curve, out)),
            PieceKind::Faces => elements::faces(self, section, piece.range.clone(), out),
            PieceKind::Lines => elements::lines(self, section, piece.range.clone(), out),
            PieceKind::Points => elements::points(self, section, piece.range.clone(), out),
            PieceKind::Trailing => elements::trailing(self, &section, out),
        }
    }

    fn header(&self, object: &Object, out: &mut Out) -> Result<()> {
        let is_group = object.kind == ObjectKind::Group || self.options.own.object_groups;
        out.whole(|page| {
            page.bytes(if is_group { b"g " } else { b"o " });
            page.bytes(names::written(&object.name).as_bytes());
            page.byte(b'\n');
        })
    }

    pub(super) fn positions(&self, mesh: &Mesh, range: std::ops::Range<usize>, out: &mut Out) -> Result<()> {
        let has_rest = !mesh.position_weights.is_empty() || self.has_colors(mesh);
        match (mesh.is_exact(), has_rest) {
            (false, false) => rows(out, b"v ", self.digits.positions, &mesh.positions[range]),
            (true, false) => rows(out, b"v ", self.digits.of_positions(mesh), &mesh.exact_positions[range]),
            (false, true) => {
                range.into_iter().try_for_each(|index| self.position(mesh, index, mesh.positions[index], out))
            }
            (true, true) => {
                range.into_iter().try_for_each(|index| self.position(mesh, index, mesh.exact_positions[index], out))
            }
        }
    }

    /// Returns whether position lines include colors.
    pub(super) fn has_colors(&self, mesh: &Mesh) -> bool {
        self.options.scene.colors && !mesh.colors.is_empty()
    }

    /// Writes the line of a position, with its weight or color.
    pub(super) fn position<R: ObjCoordinate>(
        &self,
        mesh: &Mesh,
        index: usize,
        position: [R; 3],
        out: &mut Out,
    ) -> Result<()> {
        // A weight of 1 is the default, and is omitted.
        let weight = mesh.position_weights.get(index).copied().filter(|&weight| weight != 1.0);
        let has_color = |color: &&[f32; 4]| self.has_colors(mesh) && !color.iter().all(|c| c.is_nan());
        let color = mesh.colors.get(index).filter(has_color);
        out.whole(|page| {
            page.byte(b'v');
            numbers(page, &position, self.digits.of_positions(mesh));
            if let Some(&[red, green, blue, _]) = color {
                // Six numbers, like Blender. `losses` counts the alpha values that are dropped.
                numbers(page, &[red, green, blue], self.digits.colors);
            } else if let Some(weight) = weight {
                numbers(page, &[weight], self.digits.positions);
            }
            page.byte(b'\n');
        })
    }

    fn uvs(&self, mesh: &Mesh, range: std::ops::Range<usize>, out: &mut Out) -> Result<()> {
        let digits = self.digits.uvs;
        if mesh.uv_depths.is_empty() {
            return rows(out, b"vt ", digits, &mesh.uvs[range]);
        }
        for index in range {
            let depth = mesh.uv_depths[index];
            out.whole(|page| {
                page.bytes(b"vt");
                numbers(page, &mesh.uvs[index], digits);
                // A depth of 0 can be omitted, but `-0` cannot.
                if depth.to_bits() != 0 {
                    numbers(page, &[depth], digits);
                }
                page.byte(b'\n');
            })?;
        }
        Ok(())
    }

    /// Writes a curve and its positions. The curve refers to them with negative indices, as in Blender's files.
    fn curve(&self, section: ObjSection<'_>, index: usize, out: &mut Out) -> Result<()> {
        let curve = &section.mesh.curves[index];
        let positions = section.curve_positions(index);
        self.curve_head(curve, out)?;
        self.positions(section.mesh, positions.start as usize..positions.end as usize, out)?;
        let add = section.planned.bases.add[0];
        self.curve_body(curve, add, positions.end.wrapping_add(add), out)
    }

    /// Writes the lines before a curve's positions.
    pub(super) fn curve_head(&self, curve: &Curve, out: &mut Out) -> Result<()> {
        out.whole(|page| {
            page.bytes(if curve.rational { b"cstype rat bspline\ndeg " } else { b"cstype bspline\ndeg " });
            page.u32(curve.degree);
            page.byte(b'\n');
        })
    }

    /// Writes the lines after a curve's positions. `count` is one more than the index of the last position in the file.
    pub(super) fn curve_body(&self, curve: &Curve, add: u32, count: u32, out: &mut Out) -> Result<()> {
        let digits = self.digits.positions;
        out.whole(|page| {
            page.bytes(b"curv");
            numbers(page, &curve.range, digits);
            for point in &curve.control_points {
                page.byte(b' ');
                page.i64(i64::from(point.wrapping_add(add)) - i64::from(count));
            }
            page.bytes(b"\nparm u");
            numbers(page, &curve.knots, digits);
            page.bytes(b"\nend\n");
        })
    }
}
