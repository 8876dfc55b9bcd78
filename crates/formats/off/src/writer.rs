//! Writes meshes as OFF: the header, then pages of lines.
//!
//! All vertices come first, then all faces, then lines as faces with two corners, and points as faces with one corner.
//! `plan` determines the lines; this module formats them.

use super::header::OffForm;
use super::losses;
use super::losses::OffChannels;
use super::plan::{OffPiece, OffSource, OffVertices, offsets_of};
use super::split::{OffSplit, has_vertex_normals};
use polyhaul_geometry::lines::{edge_count, edge_starts};
use polyhaul_geometry::parts;
use polyhaul_geometry::parts::{Part, homes};
use polyhaul_model::error::{Error, ErrorKind, Result, try_push};
use polyhaul_model::names;
use polyhaul_model::options::Digits;
use polyhaul_model::warnings::Warnings;
use polyhaul_pipeline::out::Out;
use polyhaul_pipeline::write::{Pages, Writing};
use polyhaul_spill::paced;
use polyhaul_text::format::{FixedLine, IndexLine, NumberLines, Page};
use std::ops::Range;

/// Approximate bytes per page, and thus per `write` call.
const PAGE_BYTES: usize = 512 << 10;
/// Number of vertices per batch.
const BLOCK: usize = 128;
/// Maximum number of values per vertex.
const MAX_VALUES: usize = 12;

/// A scene to write as OFF.
pub(crate) type Job<'a> = parts::PartsJob<'a, ()>;

/// Writes all meshes of a scene as a single mesh.
///
/// # Errors
/// [`ErrorKind::Limit`] for more than 2^32 - 2 vertices or faces, [`ErrorKind::Unsupported`] for losses if the job is
/// strict, and errors of the sink.
pub fn write(job: &Job<'_>, writing: &mut Writing<'_, '_>, warnings: &mut Warnings) -> Result<()> {
    let splits = splits(job)?;
    let channels = OffChannels::of(homes(job.parts).map(|part| part.mesh).filter(|_| job.options.scene.colors));
    let off = OffScene::new(job, &splits, &channels)?;
    losses::note(&off, &channels, warnings);
    warnings.refuse_losses(job.strict)?;
    let header = off.header()?;
    let pages = OffWritePages::new(&off)?;
    writing.announce(header.len() as u64 + pages.cost);
    writing.set_head(header);
    writing.pages(&pages, &mut (), pages.cost / pages.page_cost + 1, pages.slot_bytes())
}

/// Computes how the corners of each mesh split its positions, once per mesh even if several objects use it.
fn splits(job: &Job<'_>) -> Result<Vec<Option<OffSplit>>> {
    let mut splits = Vec::new();
    splits.try_reserve_exact(job.scene.meshes.len())?;
    splits.resize_with(job.scene.meshes.len(), || None);
    for part in homes(job.parts) {
        if splits[part.number].is_none() {
            splits[part.number] = OffSplit::of(part.mesh, job.options.scene, job.run)?;
        }
    }
    Ok(splits)
}

/// The vertices of a part, and the index of its first vertex in the file.
struct OffHome<'a> {
    vertices: OffVertices<'a>,
    base: u32,
}

/// A scene prepared for writing.
pub(super) struct OffScene<'a> {
    pub(super) job: &'a Job<'a>,
    form: OffForm,
    /// Whether colors are written as bytes.
    pub(super) as_bytes: bool,
    homes: Vec<OffHome<'a>>,
    /// Index of each part's home in `homes`.
    home_of_part: Vec<usize>,
    vertex_count: u64,
}

impl<'a> OffScene<'a> {
    fn new(job: &'a Job<'a>, splits: &'a [Option<OffSplit>], channels: &OffChannels) -> Result<Self> {
        let split_of = |part: &Part<'_>| splits.get(part.number).and_then(Option::as_ref);
        let form = OffForm {
            has_normals: homes(job.parts).any(|part| has_vertex_normals(part.mesh, job.options.scene)),
            has_colors: channels.any,
            has_uvs: job.options.scene.uv && homes(job.parts).any(|part| !part.mesh.uvs.is_empty()),
            is_color_first: false,
        };
        // Ambiguous bytes are written as floats, because a reader could not distinguish them from values from 0 to 1.
        let as_bytes = !job.options.scene.float_colors && !channels.is_ambiguous();
        let mut off = OffScene { job, form, as_bytes, homes: Vec::new(), home_of_part: Vec::new(), vertex_count: 0 };
        for (place, part) in paced(job.parts).enumerate() {
            if part.home == place {
                let vertices = OffVertices { part, split: split_of(part), form, as_bytes };
                // Whether all indices fit is checked below, once the vertices are counted.
                try_push(&mut off.homes, OffHome { vertices, base: off.vertex_count as u32 }, "the plan")?;
                off.vertex_count += vertices.count() as u64;
            }
            let home = if part.home == place { off.homes.len() - 1 } else { off.home_of_part[part.home] };
            try_push(&mut off.home_of_part, home, "the plan")?;
        }
        check_count(off.vertex_count, "vertices")?;
        Ok(off)
    }

    /// Returns the sources of all rows, each with its number of rows: vertices, then faces, lines and points.
    fn sources(&self) -> Result<Vec<(OffSource<'a>, usize)>> {
        let mut sources = Vec::new();
        for home in paced(&self.homes) {
            try_push(&mut sources, (OffSource::Vertices(home.vertices), home.vertices.count()), "the plan")?;
        }
        for (part, home) in self.parts() {
            let mesh = part.mesh;
            let corners = home.vertices.split.map_or(mesh.faces.corner_positions.as_slice(), |split| &split.corners);
            let offsets = offsets_of(&mesh.faces, part.faces.clone());
            let is_mirrored = part.frame.is_some_and(|frame| frame.is_mirrored);
            let faces = OffSource::Faces { offsets, corners, base: home.base, is_mirrored };
            try_push(&mut sources, (faces, part.faces.len()), "the plan")?;
        }
        for (part, home) in self.parts() {
            let lines = &part.mesh.lines;
            let offsets = offsets_of(lines, part.lines.clone());
            let edges = OffSource::Edges { offsets, corners: &lines.corner_positions, base: home.base };
            try_push(&mut sources, (edges, edge_count(offsets)), "the plan")?;
        }
        for home in paced(&self.homes) {
            let points = &home.vertices.part.mesh.points;
            try_push(&mut sources, (OffSource::Points { points, base: home.base }, points.len()), "the plan")?;
        }
        Ok(sources)
    }

    fn parts(&self) -> impl Iterator<Item = (&'a Part<'a>, &OffHome<'a>)> {
        paced(self.job.parts).zip(self.home_of_part.iter().map(|&home| &self.homes[home]))
    }

    /// Formats the keyword, the comments, and the numbers of vertices and faces.
    fn header(&self) -> Result<Vec<u8>> {
        let is_row = |source: &OffSource<'_>| !matches!(source, OffSource::Vertices(_));
        let faces = self.sources()?.iter().filter(|(source, _)| is_row(source)).map(|(_, rows)| *rows as u64).sum();
        check_count(faces, "faces")?;
        let mut header = self.form.keyword();
        header.push('\n');
        for comment in self.job.comments {
            // Drops the empty line that splitting CR LF leaves, but keeps a comment that is empty as a whole.
            for line in comment.split(['\n', '\r']).filter(|line| !line.is_empty() || comment.is_empty()) {
                let line = names::remark(line);
                header.try_reserve(line.len() + 3).map_err(|_| Error::memory("the header"))?;
                header.extend([if line.is_empty() { "#" } else { "# " }, &line, "\n"]);
            }
        }
        header += &format!("{} {faces} 0\n", self.vertex_count);
        Ok(header.into_bytes())
    }
}

fn check_count(count: u64, what: &str) -> Result<()> {
    if count < u64::from(u32::MAX) {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Limit, format!("cannot write OFF files with more than 2^32 - 2 {what}")))
}

/// Pages with all rows.
struct OffWritePages<'a> {
    pieces: Vec<OffPiece<'a>>,
    digits: Digits,
    as_bytes: bool,
    /// Estimated bytes of the file's rows.
    cost: u64,
    /// Estimated bytes per page.
    page_cost: u64,
}

/// A page in flight.
#[derive(Default)]
struct OffPageSlot {
    number: u64,
    text: Out,
}

impl<'a> OffWritePages<'a> {
    fn new(off: &OffScene<'a>) -> Result<Self> {
        let page_cost = off.job.run.chunk_bytes.unwrap_or(PAGE_BYTES).clamp(1, 1 << 30) as u64;
        let digits = off.job.options.scene.digits_or_shortest();
        let mut pages = OffWritePages { pieces: Vec::new(), digits, as_bytes: off.as_bytes, cost: 0, page_cost };
        for (source, rows) in off.sources()?.into_iter().filter(|(_, rows)| *rows > 0) {
            let piece = OffPiece { source, rows, start: pages.cost };
            pages.cost = piece.end();
            try_push(&mut pages.pieces, piece, "the plan")?;
        }
        Ok(pages)
    }

    /// Memory budget of a slot in bytes. Its text can be longer than estimated, and its memory grows by doubling.
    fn slot_bytes(&self) -> usize {
        usize::try_from(3 * self.page_cost.max(PAGE_BYTES as u64 / 2)).unwrap_or(usize::MAX)
    }

    /// Returns the rows that start in page `number`, piece by piece.
    fn shares(&self, number: u64) -> impl Iterator<Item = (&OffPiece<'a>, Range<usize>)> {
        let share = number.saturating_mul(self.page_cost)..(number + 1).saturating_mul(self.page_cost);
        let first = self.pieces.partition_point(|piece| piece.end() <= share.start);
        let pieces = self.pieces[first..].iter().take_while(move |piece| piece.start < share.end);
        pieces.map(move |piece| (piece, piece.first_at(share.start)..piece.first_at(share.end)))
    }
}

impl Pages for OffWritePages<'_> {
    type Slot = OffPageSlot;
    type State = ();

    fn slot(&self) -> Result<OffPageSlot> {
        Ok(OffPageSlot::default())
    }

    fn take(&self, number: u64, slot: &mut OffPageSlot) -> Result<bool> {
        slot.number = number;
        slot.text.clear();
        Ok(number.saturating_mul(self.page_cost) < self.cost)
    }

    fn format(&self, slot: &mut OffPageSlot) -> Result<()> {
        self.shares(slot.number).try_for_each(|(piece, rows)| match piece.source {
            OffSource::Vertices(vertices) => self.vertices(&vertices, rows, &mut slot.text),
            OffSource::Faces { offsets, corners, base, is_mirrored } => {
                let offsets = offsets.get(rows.start..=rows.end).unwrap_or_default();
                faces(offsets, corners, base, is_mirrored, &mut slot.text)
            }
            OffSource::Edges { offsets, corners, base } => {
                let line = IndexLine::new(b"2");
                let ends = edge_starts(offsets, rows).map(|at| [at, at + 1]);
                let index = |at: usize| corners.get(at).map_or(0, |corner| corner.wrapping_add(base));
                index_lines(&line, ends.map(|ends| ends.map(index)), &mut slot.text)
            }
            OffSource::Points { points, base } => {
                let points = points.get(rows).unwrap_or_default();
                let indices = points.iter().map(|point| [point.wrapping_add(base)]);
                index_lines(&IndexLine::new(b"1"), indices, &mut slot.text)
            }
        })
    }

    fn bytes<'a>(&'a self, slot: &'a OffPageSlot) -> &'a [u8] {
        slot.text.text()
    }
}

impl OffWritePages<'_> {
    /// Writes vertices whose positions have double precision. The other numbers come from `values`.
    fn exact(&self, vertices: &OffVertices<'_>, rows: Range<usize>, values: &[f32], out: &mut Out) -> Result<()> {
        let form = vertices.form;
        let colors = form.color()..form.color() + 4;
        let is_byte = |place: &usize| self.as_bytes && form.has_colors && colors.contains(place);
        for (row, rest) in rows.zip(values.chunks_exact(form.width())) {
            let position = vertices.exact_position(row);
            out.whole(|page| {
                for (place, &value) in rest.iter().enumerate() {
                    if place > 0 {
                        page.byte(b' ');
                    }
                    match (position.get(place), self.digits) {
                        (Some(&value), Digits::Shortest) => page.shortest_f64(value),
                        (Some(&value), Digits::Fixed(digits)) => page.fixed_f64(value, digits.into()),
                        (None, _) if is_byte(&place) => page.u32(value as u32),
                        (None, Digits::Shortest) => page.shortest_f32(value),
                        (None, Digits::Fixed(digits)) => page.fixed_f32(value, digits.into()),
                    }
                }
                page.byte(b'\n');
            })?;
        }
        Ok(())
    }

    fn vertices(&self, vertices: &OffVertices<'_>, rows: Range<usize>, out: &mut Out) -> Result<()> {
        let width = vertices.form.width();
        let mut tile = [0.0; BLOCK * MAX_VALUES];
        for start in rows.clone().step_by(BLOCK) {
            let block = start..rows.end.min(start + BLOCK);
            let values = &mut tile[..block.len() * width];
            vertices.fill(block.clone(), values);
            if vertices.part.mesh.is_exact() {
                self.exact(vertices, block, values, out)?;
                continue;
            }
            match self.digits {
                Digits::Shortest => shortest(values, width, out)?,
                Digits::Fixed(digits) if self.as_bytes && vertices.form.has_colors => {
                    mixed(values, vertices.form, digits.into(), out)?;
                }
                Digits::Fixed(digits) => fixed(values, width, digits.into(), out)?,
            }
        }
        Ok(())
    }
}

/// Writes lines of numbers with the minimum number of digits that read back as the same numbers. Bytes are written
/// without a decimal point.
fn shortest(values: &[f32], width: usize, out: &mut Out) -> Result<()> {
    let lines = NumberLines::new(width, b' ', [b"\n"]);
    let mut written = 0;
    out.format(|page| {
        written += page.shortest_lines(&lines, written, &values[written..]);
        written == values.len()
    })
}

/// Writes lines of numbers with `digits` decimal places.
fn fixed(values: &[f32], width: usize, digits: usize, out: &mut Out) -> Result<()> {
    macro_rules! by_width {
        ($($count:literal)+) => {
            match width {
                $($count => fixed_rows::<$count>(values, digits, out),)+
                _ => Err(Error::new(ErrorKind::Internal, "vertices have no such width")),
            }
        };
    }
    by_width!(3 5 6 7 8 9 10 12)
}

fn fixed_rows<const N: usize>(values: &[f32], digits: usize, out: &mut Out) -> Result<()> {
    let line = FixedLine::new(b"", digits);
    let mut rest = values.as_chunks::<N>().0;
    out.format(|page| {
        rest = &rest[page.fixed_lines(&line, rest)..];
        rest.is_empty()
    })
}

/// Like `fixed`, but with colors as bytes.
fn mixed(values: &[f32], form: OffForm, digits: usize, out: &mut Out) -> Result<()> {
    let colors = form.color()..form.color() + 4;
    let mut rows = values.chunks_exact(form.width()).peekable();
    out.format(|page| {
        while let Some(row) = rows.peek() {
            let is_whole = page.whole(|page| {
                for (place, &value) in row.iter().enumerate() {
                    if place > 0 {
                        page.byte(b' ');
                    }
                    if colors.contains(&place) { page.u32(value as u32) } else { page.fixed_f32(value, digits) }
                }
                page.byte(b'\n');
            });
            if !is_whole {
                return false;
            }
            rows.next();
        }
        true
    })
}

/// Writes faces. `offsets` delimits the corners of each face.
fn faces(offsets: &[u32], corners: &[u32], base: u32, is_mirrored: bool, out: &mut Out) -> Result<()> {
    let three = IndexLine::new(b"3");
    let four = IndexLine::new(b"4");
    let index = |corner: &u32| [corner.wrapping_add(base)];
    let mut rest = offsets;
    out.format(|page| {
        while let [start, end, ..] = *rest {
            let face = corners.get(start as usize..end as usize).unwrap_or_default();
            let fits = match face.len() {
                3 if !is_mirrored => page.whole(|page| page.index_line(&three, face.iter().map(index))),
                4 if !is_mirrored => page.whole(|page| page.index_line(&four, face.iter().map(index))),
                _ => page.whole(|page| polygon(page, face, base, is_mirrored)),
            };
            if !fits {
                return false;
            }
            rest = &rest[1..];
        }
        true
    })
}

/// Writes a face with any number of corners. Mirroring reverses all corners except the first.
fn polygon(page: &mut Page<'_>, face: &[u32], base: u32, is_mirrored: bool) {
    page.u32(face.len() as u32);
    let mut corner = |corner: u32| {
        page.byte(b' ');
        page.u32(corner.wrapping_add(base));
        !page.overflowed()
    };
    let Some((&first, others)) = face.split_first() else { return page.byte(b'\n') };
    corner(first);
    // Stop when the page is full, because the face may be long.
    if is_mirrored {
        others.iter().rev().all(|&other| corner(other));
    } else {
        others.iter().all(|&other| corner(other));
    }
    page.byte(b'\n');
}

/// Writes lines of `N` indices each.
fn index_lines<const N: usize>(
    line: &IndexLine<'_>,
    rows: impl Iterator<Item = [u32; N]>,
    out: &mut Out,
) -> Result<()> {
    let mut rows = rows.peekable();
    out.format(|page| {
        while let Some(row) = rows.peek() {
            if !page.whole(|page| page.index_line(line, row.iter().map(|&index| [index]))) {
                return false;
            }
            rows.next();
        }
        true
    })
}
