//! A scene to OBJ text in Blender's dialect: the job that the pipeline runs, chunk by chunk.
//!
//! The order of things is in [`super::plan`], state lines and corners are in [`super::elements`];
//! here are numbers, headers, curves, and the buffer that they go to.

use super::elements;
use super::plan::{Piece, PieceKind, Plan, Section};
use crate::error::{Error, Result};
use crate::formats::names;
use crate::model::{Curve, Material, Mesh, Object, ObjectKind, Scene};
use crate::options::{Digits, ObjOptions, RunOptions};
use crate::pipeline::run::{Crew, Job, run};
use polyhaul_text::format::{FixedLine, MAX_FIXED_F32, Page};

/// About how many bytes of text a chunk has: one `write` call each.
const CHUNK_BYTES: usize = 256 << 10;
/// Text may be longer than planned; a slot is counted with room for that.
const SLOT_FACTOR: usize = 4;

/// Where the text goes, in order.
pub(crate) type Write<'a> = &'a mut (dyn FnMut(&[u8]) -> Result<()> + Send);

struct ObjJob<'a> {
    plan: Plan<'a>,
    text: Text<'a>,
    library: Option<&'a str>,
    chunk_cost: u64,
    run: &'a RunOptions,
}

/// What formatting needs to know.
pub(super) struct Text<'a> {
    pub(super) materials: &'a [Material],
    pub(super) options: &'a ObjOptions,
}

struct State<'a> {
    write: Write<'a>,
    done: u64,
}

/// The text of a chunk. It grows to what the longest chunk takes and is reused.
#[derive(Default)]
pub(super) struct Out {
    bytes: Vec<u8>,
    len: usize,
}

impl Out {
    /// Formats into the spare room; where `format` says that it was not enough, it is called
    /// again with more.
    pub(super) fn format(&mut self, mut format: impl FnMut(&mut Page<'_>) -> bool) -> Result<()> {
        loop {
            let mut page = Page::new(&mut self.bytes[self.len..]);
            let done = format(&mut page);
            let written = page.len();
            self.len += written;
            if done {
                return Ok(());
            }
            self.grow()?;
        }
    }

    /// As [`Out::format`] for what is written as a whole.
    pub(super) fn whole(&mut self, mut write: impl FnMut(&mut Page<'_>)) -> Result<()> {
        self.format(|page| page.whole(&mut write))
    }

    fn grow(&mut self) -> Result<()> {
        let wanted = (self.bytes.len() * 2).max(CHUNK_BYTES * 2);
        let more = wanted - self.bytes.len();
        self.bytes.try_reserve_exact(more).map_err(|_| Error::memory("a chunk of text"))?;
        self.bytes.resize(wanted, 0);
        Ok(())
    }
}

/// A chunk in flight.
pub(super) struct Slot {
    pieces: Vec<Piece>,
    out: Out,
}

/// Writes `scene` as OBJ text; `materials` are those that its runs name, and `library` is what the
/// `mtllib` line says.
///
/// Returns how many threads worked.
pub(crate) fn write(
    scene: &Scene,
    materials: &[Material],
    library: Option<&str>,
    options: &ObjOptions,
    run_options: &RunOptions,
    write: Write<'_>,
) -> Result<usize> {
    let plan = Plan::new(scene, materials, options)?;
    let chunk_bytes = run_options.chunk_bytes.unwrap_or(CHUNK_BYTES).clamp(1, 1 << 30);
    let chunk_cost = chunk_bytes as u64;
    let chunk_count = usize::try_from(plan.cost() / chunk_cost + 1).unwrap_or(usize::MAX);
    let threads = run_options.worker_threads().min(chunk_count);
    let slot_bytes = SLOT_FACTOR * chunk_bytes.max(CHUNK_BYTES / 4);
    let crew = Crew::new(threads, run_options.memory_limit, slot_bytes);
    let job = ObjJob { plan, text: Text { materials, options }, library, chunk_cost, run: run_options };
    let mut state = State { write, done: 0 };
    run(&job, &mut state, crew, &run_options.cancel)?;
    Ok(crew.threads)
}

impl<'s> Job for ObjJob<'s> {
    type Slot = Slot;
    type State = State<'s>;

    fn takes_in_order(&self) -> bool {
        false
    }

    fn slot(&self) -> Result<Slot> {
        Ok(Slot { pieces: Vec::new(), out: Out::default() })
    }

    fn take(&self, number: u64, slot: &mut Slot) -> Result<bool> {
        slot.pieces.clear();
        slot.out.len = 0;
        if number > 0 && number.saturating_mul(self.chunk_cost) >= self.plan.cost() {
            return Ok(false);
        }
        for piece in self.plan.chunk(number, self.chunk_cost) {
            slot.pieces.try_reserve(1).map_err(|_| Error::memory("the plan"))?;
            slot.pieces.push(piece);
        }
        if number == 0 {
            file_header(&mut slot.out, self.library)?;
        }
        Ok(true)
    }

    fn work(&self, slot: &mut Slot) -> Result<()> {
        let Slot { pieces, out } = slot;
        for piece in pieces.iter() {
            self.text.piece(piece, self.plan.section(piece.object), out)?;
        }
        Ok(())
    }

    fn commit(&self, state: &mut State<'s>, slot: &mut Slot) -> Result<()> {
        (state.write)(&slot.out.bytes[..slot.out.len])?;
        state.done += slot.out.len as u64;
        if let Some(progress) = &self.run.progress {
            (progress.0)(state.done, Some(self.plan.cost().max(state.done)));
        }
        Ok(())
    }

    fn publish(&self, _: &mut Slot) -> Result<()> {
        Ok(())
    }
}

fn file_header(out: &mut Out, library: Option<&str>) -> Result<()> {
    out.whole(|page| {
        page.bytes(concat!("# polyhaul ", env!("CARGO_PKG_VERSION"), "\n").as_bytes());
        if let Some(library) = library {
            page.bytes(b"mtllib ");
            page.bytes(names::written(library).as_bytes());
            page.byte(b'\n');
        }
    })
}

impl Text<'_> {
    /// Formats a part of a piece.
    fn piece(&self, piece: &Piece, section: Section<'_>, out: &mut Out) -> Result<()> {
        let mesh = section.mesh;
        let range = piece.range.start as usize..piece.range.end as usize;
        match piece.kind {
            PieceKind::Header => self.header(section.object, out),
            PieceKind::Positions => self.positions(mesh, range, out),
            PieceKind::Normals => rows(out, b"vn ", self.options.normal_digits, &mesh.normals[range]),
            PieceKind::Uvs => self.uvs(mesh, range, out),
            PieceKind::Curves => range.into_iter().try_for_each(|curve| self.curve(section, curve, out)),
            PieceKind::Faces => elements::faces(self, section, piece.range.clone(), out),
            PieceKind::Lines => elements::lines(self, section, piece.range.clone(), out),
            PieceKind::Points => elements::points(self, section, piece.range.clone(), out),
        }
    }

    fn header(&self, object: &Object, out: &mut Out) -> Result<()> {
        let is_group = object.kind == ObjectKind::Group || self.options.export_object_groups;
        out.whole(|page| {
            page.bytes(if is_group { b"g " } else { b"o " });
            page.bytes(names::written(&object.name).as_bytes());
            page.byte(b'\n');
        })
    }

    fn positions(&self, mesh: &Mesh, range: std::ops::Range<usize>, out: &mut Out) -> Result<()> {
        let has_colors = self.options.export_colors && !mesh.colors.is_empty();
        if mesh.position_weights.is_empty() && !has_colors {
            return rows(out, b"v ", self.options.position_digits, &mesh.positions[range]);
        }
        for index in range {
            let weight = mesh.position_weights.get(index).copied().filter(|&weight| weight != 1.0);
            let color = mesh.colors.get(index).filter(|color| has_colors && !color.iter().all(|c| c.is_nan()));
            out.whole(|page| {
                page.byte(b'v');
                numbers(page, &mesh.positions[index], self.options.position_digits);
                if let Some(&[red, green, blue, alpha]) = color {
                    numbers(page, &[red, green, blue], self.options.color_digits);
                    if alpha != 1.0 {
                        numbers(page, &[alpha], self.options.color_digits);
                    }
                } else if let Some(weight) = weight {
                    numbers(page, &[weight], self.options.position_digits);
                }
                page.byte(b'\n');
            })?;
        }
        Ok(())
    }

    fn uvs(&self, mesh: &Mesh, range: std::ops::Range<usize>, out: &mut Out) -> Result<()> {
        let digits = self.options.uv_digits;
        if mesh.uv_depths.is_empty() {
            return rows(out, b"vt ", digits, &mesh.uvs[range]);
        }
        for index in range {
            let depth = mesh.uv_depths[index];
            out.whole(|page| {
                page.bytes(b"vt");
                numbers(page, &mesh.uvs[index], digits);
                if depth != 0.0 {
                    numbers(page, &[depth], digits);
                }
                page.byte(b'\n');
            })?;
        }
        Ok(())
    }

    /// A curve with its positions, which it names by counting backwards, as Blender writes it.
    fn curve(&self, section: Section<'_>, index: usize, out: &mut Out) -> Result<()> {
        let curve = &section.mesh.curves[index];
        let positions = section.curve_positions(index);
        out.whole(|page| {
            page.bytes(if curve.rational { b"cstype rat bspline\ndeg " } else { b"cstype bspline\ndeg " });
            page.u32(curve.degree);
            page.byte(b'\n');
        })?;
        self.positions(section.mesh, positions.start as usize..positions.end as usize, out)?;
        let add = section.planned.bases.add[0];
        let count = positions.end.wrapping_add(add);
        out.whole(|page| curve_body(page, curve, add, count, self.options.position_digits))
    }
}

fn curve_body(page: &mut Page<'_>, curve: &Curve, add: u32, count: u32, digits: Digits) {
    page.bytes(b"curv");
    numbers(page, &curve.range, digits);
    for point in &curve.control_points {
        page.byte(b' ');
        page.i64(i64::from(point.wrapping_add(add)) - i64::from(count));
    }
    page.bytes(b"\nparm u");
    numbers(page, &curve.knots, digits);
    page.bytes(b"\nend\n");
}

/// A blank before each number.
fn numbers(page: &mut Page<'_>, values: &[f32], digits: Digits) {
    for &value in values {
        page.byte(b' ');
        match digits {
            Digits::Fixed(digits) => page.fixed_f32(value, usize::from(digits)),
            Digits::Shortest => page.shortest_f32(value),
        }
    }
}

/// A line for each row: the prefix, then the numbers.
fn rows<const N: usize>(out: &mut Out, prefix: &[u8], digits: Digits, rows: &[[f32; N]]) -> Result<()> {
    const { assert!(N * MAX_FIXED_F32 < CHUNK_BYTES) };
    let mut rest = rows;
    match digits {
        Digits::Fixed(digits) => {
            let line = FixedLine::new(prefix, usize::from(digits));
            out.format(|page| {
                let done = page.fixed_lines(&line, rest);
                rest = &rest[done..];
                rest.is_empty()
            })
        }
        Digits::Shortest => rows.iter().try_for_each(|row| {
            out.whole(|page| {
                page.bytes(&prefix[..prefix.len() - 1]);
                numbers(page, row, digits);
                page.byte(b'\n');
            })
        }),
    }
}
