//! Writes triangles as binary or text STL, in pages.

use super::reader::title_of;
use super::{FACET_BYTES, HEADER_BYTES};
use polyhaul_geometry::dedup::BATCH;
use polyhaul_geometry::frame::Frame;
use polyhaul_geometry::linear::{cross, dot, subtract, wide};
use polyhaul_geometry::losses::{LeftOut, note_changed, note_left_out};
use polyhaul_geometry::parts;
use polyhaul_geometry::parts::{Part, THIRD_COORDINATES, columns, homeless, homes, loose_vertices, tables};
use polyhaul_model::error::{Error, ErrorKind, Result, try_push};
use polyhaul_model::names;
use polyhaul_model::options::{Dialect, Digits, SceneWriteOptions};
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{Array, Column, Domain, Mesh, Scene, Values};
use polyhaul_pipeline::out::Out;
use polyhaul_pipeline::write::{Pages, Writing};
use polyhaul_spill::paced;
use polyhaul_text::format::{FixedLine, NumberLines, Page};
use std::borrow::Cow;
use std::ops::Range;

/// Approximate bytes per page.
const PAGE_BYTES: usize = 512 << 10;
/// Estimated bytes of text per triangle.
const TEXT_BYTES: usize = 240;

/// A scene to write as STL.
pub(crate) type StlJob<'a> = parts::PartsJob<'a, ()>;

/// Writes the triangles of a scene.
pub fn write(job: &StlJob<'_>, writing: &mut Writing<'_, '_>, warnings: &mut Warnings) -> Result<()> {
    note_all_left_out(job, warnings)?;
    warnings.refuse_losses(job.strict)?;
    let pages = StlPages::new(job)?;
    writing.announce(HEADER_BYTES as u64 + pages.count * pages.facet_bytes() as u64);
    match (job.options.scene.ascii, pages.is_one_solid(), pages.pieces.is_empty()) {
        (false, ..) => writing.set_head(header(job.scene, pages.count)?),
        (true, true, true) => writing.set_head(b"solid \nendsolid \n".to_vec()),
        (true, true, false) => writing.set_head(b"solid \n".to_vec()),
        (true, false, true) => writing.set_head(b"solid\nendsolid\n".to_vec()),
        (true, false, false) => {}
    }
    let slot_bytes = pages.page_facets * pages.facet_bytes() * if job.options.scene.ascii { 3 } else { 1 };
    writing.pages(&pages, &mut (), pages.count / pages.page_facets as u64 + 1, slot_bytes)
}

fn note_all_left_out(job: &StlJob<'_>, warnings: &mut Warnings) -> Result<()> {
    let sum = |count: &dyn Fn(&Mesh) -> usize| homes(job.parts).map(|part| count(part.mesh) as u64).sum::<u64>();
    let is_blenders = job.options.scene.dialect == Dialect::Blender;
    // Blender's exporter computes normals and drops stored normals, even face normals.
    let by_corner = |mesh: &Mesh| {
        let is_kept = mesh.normal_domain == Domain::Face && !is_blenders;
        if is_kept { 0 } else { mesh.normals.len() }
    };
    let is_first = |column: &Column, mesh: &Mesh| {
        mesh.face_columns.iter().find(|other| is_attribute(other)).is_some_and(|first| std::ptr::eq(first, column))
    };
    let is_kept = |column: &Column| {
        !job.options.scene.ascii && is_attribute(column) && homes(job.parts).any(|part| is_first(column, part.mesh))
    };
    let has_names = job.options.scene.ascii && !is_blenders;
    let is_nameless = |part: &&Part<'_>| !has_names || part.faces.is_empty();
    let names = paced(job.parts).filter(is_nameless).map(|part| part.object.name.as_str());
    let names =
        LeftOut::named("left-out-names", ["object name", "object names"], names.filter(|name| !name.is_empty()));
    let mut loose = 0;
    for part in homes(job.parts) {
        loose += loose_vertices(part.mesh, job.run.worker_threads())?;
    }
    let normals = if is_blenders { ["normal", "normals"] } else { ["vertex normal", "vertex normals"] };
    // Only a binary file has a header for a comment.
    let in_header = usize::from(!job.options.scene.ascii);
    let comments = job.scene.infos.len() + job.scene.comments.len().saturating_sub(in_header);
    let others = [
        ("left-out-vertices", ["unused vertex", "unused vertices"], loose),
        ("left-out-uvs", ["UV", "UVs"], sum(&|mesh| mesh.uvs.len())),
        ("left-out-uv-depths", THIRD_COORDINATES, sum(&|mesh| mesh.uv_depths.len())),
        ("left-out-normals", normals, sum(&by_corner)),
        ("left-out-colors", ["vertex color", "vertex colors"], sum(&|mesh| mesh.colors.len())),
        ("left-out-lines", ["line", "lines"], sum(&|mesh| mesh.lines.len())),
        ("left-out-remarks", ["comment", "comments"], comments as u64),
    ];
    let named = [names, columns(homes(job.parts).map(|part| part.mesh), is_kept), tables(job.scene)];
    let left_out = homeless(job.parts, job.materials).into_iter().chain(named).chain(others.map(LeftOut::from));
    note_left_out("STL", left_out, job.output, warnings);
    note_all_changed(job, has_names, warnings)
}

/// Warns about a changed header and, if the file `has_names`, about changed names of solids.
fn note_all_changed(job: &StlJob<'_>, has_names: bool, warnings: &mut Warnings) -> Result<()> {
    let is_title_changed = match job.scene.comments.first() {
        Some(comment) if !job.options.scene.ascii => title_of(&title(job.scene)?)? != comment.trim_ascii(),
        _ => false,
    };
    let is_changed = |part: &&Part<'_>| name(&part.object.name).trim_ascii() != part.object.name;
    let solids = paced(job.parts).filter(|part| has_names && !part.faces.is_empty());
    let changed = [
        (
            "changed-remarks",
            [
                "comment was shortened to the 80 bytes of the header, or replaced because it starts with `solid`",
                "comments were shortened to the 80 bytes of the header, or replaced because they start with `solid`",
            ],
            u64::from(is_title_changed),
            None,
        ),
        (
            "changed-names",
            [
                "name was changed: names in text STL have no control characters, outer blanks or `facet normal`",
                "names were changed: names in text STL have no control characters, outer blanks or `facet normal`",
            ],
            solids.filter(is_changed).count() as u64,
            None,
        ),
    ];
    note_changed(changed, job.output, warnings);
    Ok(())
}

/// Returns the attributes of the triangles, if the mesh has them.
fn attributes(mesh: &Mesh) -> Option<&[u16]> {
    let column = mesh.face_columns.iter().find(|column| is_attribute(column))?;
    match &column.values {
        Values::U16(values) => Some(values.as_slice()),
        _ => None,
    }
}

/// Whether a column contains the attributes of triangles.
fn is_attribute(column: &Column) -> bool {
    column.name == "attribute" && column.offsets.is_none() && matches!(column.values, Values::U16(_))
}

/// Returns the header of the file that the scene was read from, if the first comment still equals the text of that
/// header.
fn whole_header(scene: &Scene) -> Result<Option<[u8; HEADER_BYTES - 4]>> {
    let Some(&header) = scene.header.first_chunk().filter(|_| scene.header.len() == HEADER_BYTES - 4) else {
        return Ok(None);
    };
    let is_same = scene.comments.first().map_or("", String::as_str) == title_of(&header)?;
    Ok(is_same.then_some(header))
}

/// Formats the header of a binary file, which ends with the number of triangles.
fn header(scene: &Scene, count: u64) -> Result<Vec<u8>> {
    let count = u32::try_from(count)
        .map_err(|_| Error::new(ErrorKind::Limit, "cannot write STL files with more than 2^32 - 1 triangles"))?;
    let mut header = Vec::new();
    header.try_reserve_exact(HEADER_BYTES)?;
    header.extend_from_slice(&title(scene)?);
    header.extend_from_slice(&count.to_le_bytes());
    Ok(header)
}

/// Formats the text of a header: the original header or the first comment, truncated to fit.
fn title(scene: &Scene) -> Result<[u8; HEADER_BYTES - 4]> {
    if let Some(header) = whole_header(scene)? {
        return Ok(header);
    }
    let default_title = concat!("polyhaul ", env!("CARGO_PKG_VERSION"));
    let comment = scene.comments.first().map_or(default_title, String::as_str);
    // A header that starts with `solid` would make many readers interpret the file as text.
    let is_word = comment.trim_start().get(..5).is_some_and(|word| word.eq_ignore_ascii_case("solid"));
    let title = if is_word { default_title } else { comment };
    // Up to 80 bytes, without cutting a character in two.
    let size = (0..HEADER_BYTES - 3).rfind(|&size| title.is_char_boundary(size)).unwrap_or(0);
    let mut header = [0; HEADER_BYTES - 4];
    header[..size].copy_from_slice(&title.as_bytes()[..size]);
    Ok(header)
}

/// The triangles of a part.
struct StlPiece<'a> {
    part: &'a Part<'a>,
    normals: Option<&'a Array<[f32; 3]>>,
    attributes: Option<&'a [u16]>,
    is_blenders: bool,
    /// Number of triangles in the file before this piece.
    start: u64,
}

/// A triangle to write: its normal, then its positions.
type StlWrittenFacet = [[f32; 3]; 4];

impl<'a> StlPiece<'a> {
    fn new(part: &'a Part<'a>, start: u64, dialect: Dialect) -> Self {
        let is_blenders = dialect == Dialect::Blender;
        let has_normals = part.mesh.normal_domain == Domain::Face && !part.mesh.normals.is_empty();
        let normals = (has_normals && !is_blenders).then_some(&part.mesh.normals);
        StlPiece { part, normals, attributes: attributes(part.mesh), is_blenders, start }
    }

    /// Computes the normals and positions of up to [`BATCH`] triangles, the faces `faces` of the mesh.
    fn facets(&self, faces: Range<usize>, facets: &mut [StlWrittenFacet; BATCH]) {
        let mesh = self.part.mesh;
        let frame = &self.part.frame;
        let positions = mesh.positions.as_slice();
        let position = |corner: u32| positions.get(corner as usize).copied().unwrap_or_default();
        let corners = mesh.faces.corner_positions.get(3 * faces.start..3 * faces.end).unwrap_or_default();
        for (facet, &[a, b, c]) in facets.iter_mut().zip(corners.as_chunks::<3>().0) {
            // One by one, because `map` on arrays is slower.
            facet[1] = position(a);
            facet[2] = position(b);
            facet[3] = position(c);
        }
        let used = &mut facets[..faces.len()];
        if let Some(frame) = frame {
            for [_, corners @ ..] in used.iter_mut() {
                corners.iter_mut().for_each(|corner| *corner = frame.position(*corner));
                if frame.is_mirrored {
                    // A mirrored triangle needs the opposite order. Swapping the last two corners keeps the first one
                    // in its place.
                    corners.swap(if self.is_blenders { 0 } else { 1 }, 2);
                }
            }
        }
        match self.normals {
            Some(normals) => self.stored_normals(normals.get(faces).unwrap_or_default(), frame.as_ref(), facets),
            None if self.is_blenders => {
                used.iter_mut().for_each(|[place, corners @ ..]| *place = blenders_normal(*corners))
            }
            None => used.iter_mut().for_each(|[place, corners @ ..]| *place = normal(*corners)),
        }
    }

    fn stored_normals(&self, normals: &[[f32; 3]], frame: Option<&Frame>, facets: &mut [StlWrittenFacet; BATCH]) {
        let Some(frame) = frame else {
            facets.iter_mut().zip(normals).for_each(|(facet, normal)| facet[0] = *normal);
            return;
        };
        let mut batch = [[0.0; 3]; BATCH];
        let mut lanes = [[0.0; BATCH]; 3];
        batch.iter_mut().zip(normals).for_each(|(place, normal)| *place = *normal);
        frame.normals(&batch, &mut lanes);
        let [xs, ys, zs] = &lanes;
        let turned = xs.iter().zip(ys).zip(zs).map(|((x, y), z)| [*x, *y, *z]);
        facets.iter_mut().zip(turned).for_each(|(facet, normal)| facet[0] = normal);
    }
}

/// Returns the unit normal of a triangle. It is zero if the area of the triangle is 0 or not finite.
fn normal([a, b, c]: [[f32; 3]; 3]) -> [f32; 3] {
    // In double precision, in which no intermediate result of finite floats overflows.
    let [a, b, c] = [a, b, c].map(wide);
    let normal = cross(subtract(b, a), subtract(c, a));
    let length = dot(normal, normal).sqrt();
    // Adding 0 turns negative zero into zero.
    if length > 0.0 && length.is_finite() { normal.map(|part| (part / length + 0.0) as f32) } else { [0.0; 3] }
}

/// Returns the unit normal with exactly the bits that Blender computes: in f32, in Blender's order of operations, and
/// zero for small triangles.
fn blenders_normal([a, b, c]: [[f32; 3]; 3]) -> [f32; 3] {
    let normal = cross(subtract(a, b), subtract(b, c));
    let square = dot(normal, normal);
    let length = square.sqrt();
    if square > 1e-35 { normal.map(|part| part / length) } else { [0.0; 3] }
}

/// Pages of triangles.
struct StlPages<'a> {
    pieces: Vec<StlPiece<'a>>,
    count: u64,
    page_facets: usize,
    options: &'a SceneWriteOptions,
}

#[derive(Default)]
struct StlPageSlot {
    number: u64,
    bytes: Vec<u8>,
    len: usize,
    text: Out,
}

impl<'a> StlPages<'a> {
    fn new(job: &StlJob<'a>) -> Result<Self> {
        let mut pages = StlPages { pieces: Vec::new(), count: 0, page_facets: 0, options: job.options.scene };
        let page_bytes = job.run.chunk_bytes.unwrap_or(PAGE_BYTES).clamp(1, 1 << 30);
        pages.page_facets = (page_bytes / pages.facet_bytes()).max(1);
        for part in paced(job.parts).filter(|part| !part.faces.is_empty()) {
            try_push(&mut pages.pieces, StlPiece::new(part, pages.count, job.options.scene.dialect), "the plan")?;
            pages.count += part.faces.len() as u64;
        }
        Ok(pages)
    }

    /// Whether to write all objects as one text solid, as Blender does.
    fn is_one_solid(&self) -> bool {
        self.options.ascii && self.options.dialect == Dialect::Blender
    }

    /// Estimated bytes per triangle.
    fn facet_bytes(&self) -> usize {
        if self.options.ascii { TEXT_BYTES } else { FACET_BYTES }
    }

    /// Returns the triangles of page `number`, as ranges of the pieces.
    fn shares(&self, number: u64) -> impl Iterator<Item = (&StlPiece<'a>, Range<usize>)> {
        let start = number.saturating_mul(self.page_facets as u64);
        let end = start.saturating_add(self.page_facets as u64);
        let first = self.pieces.partition_point(|piece| piece.start + piece.part.faces.len() as u64 <= start);
        let pieces = self.pieces[first..].iter().take_while(move |piece| piece.start < end);
        pieces.map(move |piece| {
            let place = |at: u64| (at.saturating_sub(piece.start) as usize).min(piece.part.faces.len());
            (piece, place(start)..place(end))
        })
    }
}

impl StlPageSlot {
    /// Appends binary triangles.
    fn binary(&mut self, piece: &StlPiece<'_>, range: Range<usize>) -> Result<()> {
        let end = self.len + range.len() * FACET_BYTES;
        if end > self.bytes.len() {
            self.bytes.try_reserve_exact(end - self.bytes.len()).map_err(|_| Error::memory("a page"))?;
            self.bytes.resize(end, 0);
        }
        let rows = self.bytes[self.len..end].as_chunks_mut::<FACET_BYTES>().0;
        let faces = piece.part.faces.start + range.start..piece.part.faces.start + range.end;
        let mut facets = [[[0.0; 3]; 4]; BATCH];
        for (rows, start) in rows.chunks_mut(BATCH).zip(faces.step_by(BATCH)) {
            piece.facets(start..start + rows.len(), &mut facets);
            for ((row, facet), face) in rows.iter_mut().zip(&facets).zip(start..) {
                let attribute = piece.attributes.and_then(|values| values.get(face)).copied().unwrap_or(0);
                let (numbers, last) = row.as_chunks_mut::<4>();
                let values = numbers.iter_mut().zip(facet.as_flattened());
                values.for_each(|(place, value)| *place = value.to_le_bytes());
                last.copy_from_slice(&attribute.to_le_bytes());
            }
        }
        self.len = end;
        Ok(())
    }

    /// Writes triangles as text. Before the first triangle of a solid, also writes its `solid` line, and after the last
    /// one its `endsolid` line.
    fn lines(&mut self, piece: &StlPiece<'_>, range: Range<usize>, options: &SceneWriteOptions) -> Result<()> {
        let name = name(&piece.part.object.name);
        let is_solid = options.dialect == Dialect::Common;
        let form = if is_solid { &COMMON } else { &BLENDER };
        if is_solid && range.start == 0 {
            self.text.whole(|page| solid(page, b"solid", &name))?;
        }
        let first = piece.part.faces.start + range.start;
        let end = piece.part.faces.start + range.end;
        let mut facets = [[[0.0; 3]; 4]; BATCH];
        for start in (first..end).step_by(BATCH) {
            let count = BATCH.min(end - start);
            piece.facets(start..start + count, &mut facets);
            if piece.part.mesh.is_exact() {
                for (face, [normal, ..]) in (start..start + count).zip(&mut facets) {
                    exact_lines(&mut self.text, piece, face, normal, options.digits_or_shortest(), form)?;
                }
                continue;
            }
            match options.digits_or_shortest() {
                Digits::Shortest => shortest(&mut self.text, &facets[..count], form)?,
                Digits::Fixed(digits) => fixed(&mut self.text, &facets[..count], digits.into(), form)?,
            }
        }
        if is_solid && range.end == piece.part.faces.len() {
            self.text.whole(|page| solid(page, b"endsolid", &name))?;
        }
        Ok(())
    }
}

/// Replaces control characters, because a file with such characters would not be recognized as text, and the blank in
/// `facet normal `, because this text starts a triangle.
fn name(name: &str) -> Cow<'_, str> {
    const FACET: &[u8] = b"facet normal ";
    let mut written: Cow<'_, str> = if name.contains(|c: char| c.is_ascii_control()) {
        names::on_a_line(&name.replace(|c: char| c.is_ascii_control(), "_")).into_owned().into()
    } else {
        names::on_a_line(name)
    };
    let is_facet = |name: &[u8], at: usize| {
        let is_apart = at == 0 || name[at - 1] == b' ';
        is_apart && name.get(at..at + FACET.len()).is_some_and(|words| words.eq_ignore_ascii_case(FACET))
    };
    for at in 0..written.len() {
        if is_facet(written.as_bytes(), at) {
            let blank = at + b"facet".len();
            written.to_mut().replace_range(blank..=blank, "_");
        }
    }
    written
}

fn solid(page: &mut Page<'_>, word: &[u8], name: &str) {
    page.bytes(word);
    if !name.is_empty() {
        page.byte(b' ');
        page.bytes(name.as_bytes());
    }
    page.byte(b'\n');
}

/// Text around the numbers of a triangle.
struct StlText {
    outer: &'static [u8],
    vertex: &'static [u8],
    end: &'static [u8],
    /// Text after each line of numbers, including the start of the next line.
    ends: [&'static [u8]; 4],
    /// Whether to use Blender's number notation.
    is_blenders: bool,
}

const NORMAL: &[u8] = b"facet normal ";

/// Creates the [`StlText`] with these lines.
macro_rules! stl_text {
    ($outer:literal, $vertex:literal, $end:literal, $is_blenders:literal) => {
        StlText {
            outer: $outer.as_bytes(),
            vertex: $vertex.as_bytes(),
            end: $end.as_bytes(),
            ends: [
                concat!("\n", $outer, $vertex).as_bytes(),
                concat!("\n", $vertex).as_bytes(),
                concat!("\n", $vertex).as_bytes(),
                concat!("\n", $end, "facet normal ").as_bytes(),
            ],
            is_blenders: $is_blenders,
        }
    };
}

const COMMON: StlText = stl_text!("  outer loop\n", "    vertex ", "  endloop\nendfacet\n", false);
const BLENDER: StlText = stl_text!(" outer loop\n", "  vertex ", " endloop\nendfacet\n", true);

/// Writes triangles with the minimum number of digits that read back as the same numbers.
fn shortest(text: &mut Out, facets: &[StlWrittenFacet], form: &StlText) -> Result<()> {
    let lines = NumberLines::new(3, b' ', form.ends).python(form.is_blenders);
    let numbers = facets.as_flattened().as_flattened();
    let mut written = 0;
    let facet_len = StlWrittenFacet::default().as_flattened().len();
    text.format(|page| {
        let is_between = |written: usize| written.is_multiple_of(facet_len);
        if is_between(written) && !page.whole(|page| page.bytes(NORMAL)) {
            return false;
        }
        written += page.shortest_lines(&lines, written, &numbers[written..]);
        if is_between(written) {
            // The text after a triangle includes the start of the next triangle, which may be on another page or may
            // not exist.
            page.truncate(page.len() - NORMAL.len());
        }
        written == numbers.len()
    })
}

/// Writes a triangle whose positions have double precision. `normal_of_face` is its normal in single precision. If the
/// piece has no stored normals, the normal is computed from the exact positions instead.
fn exact_lines(
    text: &mut Out,
    piece: &StlPiece<'_>,
    face: usize,
    normal_of_face: &[f32; 3],
    digits: Digits,
    form: &StlText,
) -> Result<()> {
    let mesh = piece.part.mesh;
    let corner = |at: usize| mesh.faces.corner_positions.get(3 * face + at).map_or(0, |&index| index as usize);
    let corners = [0, 1, 2].map(|at| mesh.exact_positions.get(corner(at)).copied().unwrap_or_default());
    let [a, ..] = corners;
    let normal_of_face = match piece.normals {
        Some(_) => *normal_of_face,
        // Relative to a corner, the precision of floats suffices.
        None => normal(corners.map(|corner| subtract(corner, a).map(|part| part as f32))),
    };
    text.whole(|page| {
        page.bytes(NORMAL);
        separated(page, normal_of_face, |page, part| match digits {
            Digits::Shortest => page.shortest_f32(part),
            Digits::Fixed(digits) => page.fixed_f32(part, digits.into()),
        });
        page.byte(b'\n');
        page.bytes(form.outer);
        for corner in corners {
            page.bytes(form.vertex);
            separated(page, corner, |page, part| match digits {
                Digits::Shortest => page.shortest_f64(part),
                Digits::Fixed(digits) => page.fixed_f64(part, digits.into()),
            });
            page.byte(b'\n');
        }
        page.bytes(form.end);
    })
}

/// Writes three numbers, separated by spaces.
fn separated<T>(page: &mut Page<'_>, parts: [T; 3], mut write: impl FnMut(&mut Page<'_>, T)) {
    for (at, part) in parts.into_iter().enumerate() {
        if at > 0 {
            page.byte(b' ');
        }
        write(page, part);
    }
}

/// Writes triangles with `digits` decimal places.
fn fixed(text: &mut Out, mut facets: &[StlWrittenFacet], digits: usize, form: &StlText) -> Result<()> {
    let normals = FixedLine::new(NORMAL, digits);
    let vertices = FixedLine::new(form.vertex, digits);
    text.format(|page| {
        while let [[normal, corners @ ..], others @ ..] = facets {
            let is_whole = page.whole(|page| {
                page.fixed_line(&normals, *normal);
                page.bytes(form.outer);
                corners.iter().for_each(|corner| page.fixed_line(&vertices, *corner));
                page.bytes(form.end);
            });
            if !is_whole {
                return false;
            }
            facets = others;
        }
        true
    })
}

impl Pages for StlPages<'_> {
    type Slot = StlPageSlot;
    type State = ();

    fn slot(&self) -> Result<StlPageSlot> {
        Ok(StlPageSlot::default())
    }

    fn take(&self, number: u64, slot: &mut StlPageSlot) -> Result<bool> {
        slot.number = number;
        slot.len = 0;
        slot.text.clear();
        Ok(number.saturating_mul(self.page_facets as u64) < self.count)
    }

    fn format(&self, slot: &mut StlPageSlot) -> Result<()> {
        self.shares(slot.number).try_for_each(|(piece, range)| {
            if self.options.ascii { slot.lines(piece, range, self.options) } else { slot.binary(piece, range) }
        })?;
        let is_last = (slot.number + 1).saturating_mul(self.page_facets as u64) >= self.count;
        if self.is_one_solid() && is_last {
            slot.text.whole(|page| page.bytes(b"endsolid \n"))?;
        }
        Ok(())
    }

    fn bytes<'a>(&'a self, slot: &'a StlPageSlot) -> &'a [u8] {
        if self.options.ascii { slot.text.text() } else { &slot.bytes[..slot.len] }
    }
}
