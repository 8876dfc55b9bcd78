//! Converts columns to binary rows, a block of rows at a time.
//!
//! Each field writes its part of all rows of a block, which stays in the L1 cache, and advances the rows' cursors. This
//! way, a type is matched once per block, and the loop per row is a load and a store. Text is formatted from the same
//! rows: see `text`.

use polyhaul_geometry::dedup::{BATCH, prefetch};
use polyhaul_geometry::frame::Frame;
use polyhaul_geometry::lines::edge_starts;
use polyhaul_model::{NONE, Scalar, Values, with_values};
use std::ops::Range;

/// Maximum rows per block.
pub(super) const BLOCK: usize = 256;
/// Approximate bytes per block: they stay in the L1 cache, together with the columns.
const BLOCK_BYTES: usize = 16 << 10;

/// A part of each row, and its source.
pub(super) enum PlyField<'a> {
    /// A number. 64-bit integers are written as 32-bit integers, which can represent their values.
    Numbers(&'a Values, Pick<'a>),
    /// Item `at` of each list of a column; 0 for shorter lists.
    Component { values: &'a Values, picked: Picked<'a>, at: usize },
    /// Positions or normals.
    Vectors(&'a [[f32; 3]], Pick<'a>, PlyTurn),
    /// Positions in double precision.
    Exact(&'a [[f64; 3]], Pick<'a>),
    /// Uvs.
    Pairs(&'a [[f32; 2]], Pick<'a>),
    /// Colors with three or four channels.
    Colors { colors: &'a [[f32; 4]], pick: Pick<'a>, has_alpha: bool, form: PlyColorForm },
    /// Lists of numbers. `offsets` are the offsets of the lists of these rows.
    Lists { offsets: &'a [u32], values: &'a Values, picked: Picked<'a>, count: Scalar },
    /// Corner lists of faces, with `add` added to each corner.
    Corners { offsets: &'a [u32], corners: &'a [u32], add: u32, is_mirrored: bool, count: Scalar },
    /// Edges of polylines, with `add` added to both endpoints. `offsets` are the offsets of the lines of these rows.
    Edges { offsets: &'a [u32], corners: &'a [u32], add: u32 },
    /// This many zero bytes.
    Zeros(usize),
}

/// Conversion of color channels.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum PlyColorForm {
    /// Unchanged floats.
    Floats,
    /// Rounded to the nearest of 256 steps.
    Nearest,
    /// Rounded down to one of 256 steps.
    Below,
}

/// Mapping from rows to values.
#[derive(Clone, Copy)]
pub(super) enum Pick<'a> {
    /// Consecutive: row `i` has value `first + i`.
    Own(usize),
    /// Row `i` below `own` has value `i`; later rows have listed values.
    Then { own: usize, more: &'a [u32] },
    /// Listed values; [`NONE`] is written as zeros.
    Listed(&'a [u32]),
}

/// Mapping from rows to lists.
#[derive(Clone, Copy)]
pub(super) struct Picked<'a> {
    pub(super) pick: Pick<'a>,
    /// Offsets of the column itself.
    pub(super) offsets: &'a [u32],
}

/// Transformation of vectors.
#[derive(Clone, Copy)]
pub(super) enum PlyTurn {
    Nothing,
    Position(Frame),
    Normal(Frame),
}

impl Pick<'_> {
    #[inline]
    fn get(self, row: usize) -> Option<usize> {
        let listed = |place: &u32| if *place == NONE { None } else { Some(*place as usize) };
        match self {
            Pick::Own(first) => Some(first + row),
            Pick::Then { own, .. } if row < own => Some(row),
            Pick::Then { own, more } => more.get(row - own).and_then(listed),
            Pick::Listed(places) => places.get(row).and_then(listed),
        }
    }
}

impl Pick<'_> {
    fn prefetch<T>(self, values: &[T], rows: Range<usize>) {
        if let Pick::Own(first) = self {
            prefetch_all(values, first + rows.start..first + rows.end);
        }
    }
}

/// Prefetches a range of values, one access per cache line.
fn prefetch_all<T>(values: &[T], range: Range<usize>) {
    range.step_by((64 / size_of::<T>()).max(1)).for_each(|at| prefetch(values, at));
}

/// Byte order of numbers.
pub(super) trait PlyFieldsOrder {
    const IS_BIG: bool;
}

/// Little-endian.
pub(super) struct Little;
/// Big-endian.
pub(super) struct PlyBig;

impl PlyFieldsOrder for Little {
    const IS_BIG: bool = false;
}
impl PlyFieldsOrder for PlyBig {
    const IS_BIG: bool = true;
}

/// A value to store in a row.
pub(super) trait PlyBytes {
    fn bytes(&self) -> &[u8];
}

impl<const N: usize> PlyBytes for [u8; N] {
    #[inline(always)]
    fn bytes(&self) -> &[u8] {
        self
    }
}
impl<const N: usize, const M: usize> PlyBytes for [[u8; M]; N] {
    #[inline(always)]
    fn bytes(&self) -> &[u8] {
        self.as_flattened()
    }
}

/// A number as bytes.
trait PlyNumber: Copy + Default {
    type Bytes: PlyBytes;
    fn to_bytes<O: PlyFieldsOrder>(self) -> Self::Bytes;
}

macro_rules! numbers {
    ($($type:ident as $written:ident: $size:literal,)+) => {
        $(impl PlyNumber for $type {
            type Bytes = [u8; $size];
            #[inline(always)]
            fn to_bytes<O: PlyFieldsOrder>(self) -> [u8; $size] {
                let value = self as $written;
                if O::IS_BIG { value.to_be_bytes() } else { value.to_le_bytes() }
            }
        })+
    };
}

numbers! {
    i8 as i8: 1, u8 as u8: 1, i16 as i16: 2, u16 as u16: 2, i32 as i32: 4, u32 as u32: 4,
    i64 as i32: 4, u64 as u32: 4, f32 as f32: 4, f64 as f64: 8,
}

/// Bytes of a number in the file.
pub(super) fn written_bytes(scalar: Scalar) -> usize {
    if scalar == Scalar::F64 { 8 } else { scalar.bytes().min(4) }
}

/// A block of partially written rows.
struct PlyFieldsBlock<'p> {
    page: &'p mut [u8],
    rows: Cursors<'p>,
}

/// Write offsets of the rows.
enum Cursors<'p> {
    /// One offset per row.
    Each(&'p mut [usize]),
    /// Rows of `stride` bytes each, the first `written` of which are already written.
    Alike { stride: usize, written: usize },
}

impl PlyFieldsBlock<'_> {
    /// Appends the next value to each row.
    #[inline(always)]
    fn put<B: PlyBytes>(&mut self, rows: impl Iterator<Item = B>) {
        match &mut self.rows {
            Cursors::Each(cursors) => {
                cursors.iter_mut().zip(rows).for_each(|(at, row)| put(self.page, at, row.bytes()));
            }
            Cursors::Alike { stride, written } => {
                for (place, row) in self.page.chunks_exact_mut(*stride).zip(rows) {
                    if let Some(place) = place.get_mut(*written..*written + size_of::<B>()) {
                        place.copy_from_slice(row.bytes());
                    }
                }
                *written += size_of::<B>();
            }
        }
    }
}

impl PlyFieldsBlock<'_> {
    /// Calls `write` to append to each row.
    #[inline(always)]
    fn each(&mut self, mut write: impl FnMut(&mut [u8], &mut usize)) {
        match &mut self.rows {
            Cursors::Each(cursors) => cursors.iter_mut().for_each(|at| write(self.page, at)),
            Cursors::Alike { stride, written } => {
                let mut end = *written;
                for row in self.page.chunks_exact_mut(*stride) {
                    end = *written;
                    write(row, &mut end);
                }
                *written = end;
            }
        }
    }
}

/// Writes bytes at a row's write offset. They fit, because sizes were computed beforehand.
#[inline(always)]
fn put(page: &mut [u8], at: &mut usize, bytes: &[u8]) {
    if let Some(place) = page.get_mut(*at..*at + bytes.len()) {
        place.copy_from_slice(bytes);
    }
    *at += bytes.len();
}

impl PlyField<'_> {
    /// Bytes that the field takes in every row.
    pub(super) fn fixed_bytes(&self) -> usize {
        match self {
            PlyField::Numbers(values, _) | PlyField::Component { values, .. } => written_bytes(values.scalar()),
            PlyField::Vectors(..) => 12,
            PlyField::Exact(..) => 24,
            PlyField::Pairs(..) | PlyField::Edges { .. } => 8,
            PlyField::Colors { has_alpha, form, .. } => {
                (3 + usize::from(*has_alpha)) * if *form == PlyColorForm::Floats { 4 } else { 1 }
            }
            PlyField::Lists { count, .. } | PlyField::Corners { count, .. } => count.bytes(),
            PlyField::Zeros(count) => *count,
        }
    }

    /// Returns the offsets of its lists, and the bytes per number in them.
    pub(super) fn lists(&self) -> Option<(&[u32], usize)> {
        match self {
            PlyField::Lists { offsets, values, .. } => Some((offsets, written_bytes(values.scalar()))),
            PlyField::Corners { offsets, .. } => Some((offsets, 4)),
            _ => None,
        }
    }

    /// Prefetches the sources of rows.
    fn prefetch(&self, rows: Range<usize>) {
        match self {
            PlyField::Numbers(values, pick) => with_values!(values, array => pick.prefetch(array, rows)),
            PlyField::Vectors(vectors, pick, _) => pick.prefetch(vectors, rows),
            PlyField::Exact(vectors, pick) => pick.prefetch(vectors, rows),
            PlyField::Pairs(pairs, pick) => pick.prefetch(pairs, rows),
            PlyField::Colors { colors, pick, .. } => pick.prefetch(colors, rows),
            PlyField::Corners { offsets, corners, .. } => {
                prefetch_all(offsets, rows.clone());
                let at = |row: usize| offsets.get(row).map_or(0, |&offset| offset as usize);
                prefetch_all(corners, at(rows.start)..at(rows.end));
            }
            PlyField::Component { .. } | PlyField::Lists { .. } | PlyField::Edges { .. } | PlyField::Zeros(_) => {}
        }
    }

    fn put<O: PlyFieldsOrder>(&self, rows: Range<usize>, block: &mut PlyFieldsBlock<'_>) {
        match self {
            PlyField::Numbers(values, pick) => {
                with_values!(values, array => put_numbers::<O, _>(array, *pick, rows, block))
            }
            PlyField::Component { values, picked, at } => {
                with_values!(values, array => put_component::<O, _>(array, *picked, *at, rows, block))
            }
            PlyField::Vectors(vectors, pick, turn) => put_vectors::<O>(vectors, *pick, *turn, rows, block),
            PlyField::Exact(vectors, pick) => put_rows::<O, f64, 3>(vectors, *pick, rows, block),
            PlyField::Pairs(pairs, pick) => put_rows::<O, f32, 2>(pairs, *pick, rows, block),
            PlyField::Colors { colors, pick, has_alpha, form } => {
                let color = |row| pick.get(row).and_then(|place| colors.get(place)).map_or([1.0; 4], whole);
                let more = if *form == PlyColorForm::Below { 0.0 } else { 0.5 };
                let byte = |channel: f32| (channel * 255.0 + more) as u8;
                match (form, has_alpha) {
                    (PlyColorForm::Floats, true) => block.put(rows.map(|row| color(row).map(f32::to_bytes::<O>))),
                    (PlyColorForm::Floats, _) => block.put(rows.map(|row| rgb(color(row)).map(f32::to_bytes::<O>))),
                    (_, true) => block.put(rows.map(|row| color(row).map(byte))),
                    (_, false) => block.put(rows.map(|row| rgb(color(row)).map(byte))),
                }
            }
            PlyField::Lists { offsets, values, picked, count } => {
                with_values!(values, array => put_lists::<O, _>(offsets, array, *picked, *count, rows, block));
            }
            PlyField::Corners { offsets, corners, add, is_mirrored, count } => {
                put_corners::<O>(offsets, corners, *add, *is_mirrored, *count, rows, block);
            }
            PlyField::Edges { offsets, corners, add } => put_edges::<O>(offsets, corners, *add, rows, block),
            PlyField::Zeros(count) => (0..*count).for_each(|_| block.put(rows.clone().map(|_| [0]))),
        }
    }
}

/// Replaces missing channels with 1 (white).
fn whole(color: &[f32; 4]) -> [f32; 4] {
    color.map(|channel| if channel.is_nan() { 1.0 } else { channel })
}

fn rgb([red, green, blue, _]: [f32; 4]) -> [f32; 3] {
    [red, green, blue]
}

fn put_numbers<O: PlyFieldsOrder, T: PlyNumber>(
    values: &[T],
    pick: Pick<'_>,
    rows: Range<usize>,
    block: &mut PlyFieldsBlock<'_>,
) {
    match pick {
        Pick::Own(first) => {
            let row_values = values.get(first + rows.start..first + rows.end).unwrap_or_default();
            block.put(row_values.iter().map(|value| value.to_bytes::<O>()));
        }
        _ => block.put(rows.map(|row| {
            let value = pick.get(row).and_then(|place| values.get(place));
            value.copied().unwrap_or_default().to_bytes::<O>()
        })),
    }
}

fn put_component<O: PlyFieldsOrder, T: PlyNumber>(
    values: &[T],
    picked: Picked<'_>,
    at: usize,
    rows: Range<usize>,
    block: &mut PlyFieldsBlock<'_>,
) {
    block.put(rows.map(|row| {
        let list = picked.pick.get(row).and_then(|place| picked.offsets.get(place..place + 2)).unwrap_or(&[0, 0]);
        let value = values.get(list[0] as usize..list[1] as usize).and_then(|list| list.get(at));
        value.copied().unwrap_or_default().to_bytes::<O>()
    }));
}

fn put_rows<O: PlyFieldsOrder, T: PlyNumber + Default, const N: usize>(
    values: &[[T; N]],
    pick: Pick<'_>,
    rows: Range<usize>,
    block: &mut PlyFieldsBlock<'_>,
) where
    [T::Bytes; N]: PlyBytes,
{
    match pick {
        Pick::Own(first) => {
            let row_values = values.get(first + rows.start..first + rows.end).unwrap_or_default();
            block.put(row_values.iter().map(|row| row.map(T::to_bytes::<O>)));
        }
        _ => block.put(rows.map(|row| {
            let value = pick.get(row).and_then(|place| values.get(place));
            value.copied().unwrap_or([T::default(); N]).map(T::to_bytes::<O>)
        })),
    }
}

fn put_vectors<O: PlyFieldsOrder>(
    vectors: &[[f32; 3]],
    pick: Pick<'_>,
    turn: PlyTurn,
    rows: Range<usize>,
    block: &mut PlyFieldsBlock<'_>,
) {
    let vector = |row| pick.get(row).and_then(|place| vectors.get(place)).copied().unwrap_or([0.0; 3]);
    match turn {
        PlyTurn::Nothing => put_rows::<O, f32, 3>(vectors, pick, rows, block),
        PlyTurn::Position(frame) => block.put(rows.map(|row| frame.position(vector(row)).map(f32::to_bytes::<O>))),
        PlyTurn::Normal(frame) => {
            let mut batch = [[0.0; 3]; BATCH];
            let mut lanes = [[0.0; BATCH]; 3];
            let mut turned = [[0.0; 3]; BLOCK];
            for (turned, start) in turned.chunks_mut(BATCH).zip(rows.clone().step_by(BATCH)) {
                batch.iter_mut().zip(start..rows.end).for_each(|(place, row)| *place = vector(row));
                frame.normals(&batch, &mut lanes);
                let [xs, ys, zs] = &lanes;
                let vectors = xs.iter().zip(ys).zip(zs).map(|((x, y), z)| [*x, *y, *z]);
                turned.iter_mut().zip(vectors).for_each(|(place, vector)| *place = vector);
            }
            block.put(turned.iter().take(rows.len()).map(|vector| vector.map(f32::to_bytes::<O>)));
        }
    }
}

/// Returns the `B` bytes of a face with `N` corners: the count and the corners.
#[inline(always)]
fn face_bytes<const N: usize, const B: usize>(corners: [[u8; 4]; N]) -> [u8; B] {
    const { assert!(B == 1 + 4 * N) };
    let mut face = [N as u8; B];
    face[1..].copy_from_slice(corners.as_flattened());
    face
}

/// Writes the count of a list.
#[inline(always)]
fn put_count<O: PlyFieldsOrder>(page: &mut [u8], at: &mut usize, size: usize, count: Scalar) {
    match count {
        Scalar::U8 => put(page, at, &(size as u8).to_bytes::<O>()),
        Scalar::U16 => put(page, at, &(size as u16).to_bytes::<O>()),
        _ => put(page, at, &(size as u32).to_bytes::<O>()),
    }
}

fn put_lists<O: PlyFieldsOrder, T: PlyNumber>(
    offsets: &[u32],
    values: &[T],
    picked: Picked<'_>,
    count: Scalar,
    rows: Range<usize>,
    block: &mut PlyFieldsBlock<'_>,
) {
    let mut sizes = offsets.get(rows.start..=rows.end).unwrap_or_default().windows(2).zip(rows);
    block.each(|page, at| {
        let Some((size, row)) = sizes.next() else { return };
        let size = (size[1] - size[0]) as usize;
        put_count::<O>(page, at, size, count);
        let start = picked.pick.get(row).and_then(|place| picked.offsets.get(place)).map_or(0, |&start| start as usize);
        for value in values.get(start..start + size).unwrap_or_default() {
            put(page, at, value.to_bytes::<O>().bytes());
        }
    });
}

fn put_corners<O: PlyFieldsOrder>(
    offsets: &[u32],
    corners: &[u32],
    add: u32,
    is_mirrored: bool,
    count: Scalar,
    rows: Range<usize>,
    block: &mut PlyFieldsBlock<'_>,
) {
    let corner = |corner: u32| corner.wrapping_add(add).to_bytes::<O>();
    let offsets = offsets.get(rows.start..=rows.end).unwrap_or_default();
    if let [first, .., last] = offsets
        && matches!(block.rows, Cursors::Alike { .. })
        && count == Scalar::U8
        && !is_mirrored
    {
        let faces = corners.get(*first as usize..*last as usize).unwrap_or_default();
        // Since all rows have the same size, all faces have the same number of corners.
        match faces.len() / rows.len() {
            3 => return block.put(faces.as_chunks::<3>().0.iter().map(|face| face_bytes::<3, 13>(face.map(corner)))),
            4 => return block.put(faces.as_chunks::<4>().0.iter().map(|face| face_bytes::<4, 17>(face.map(corner)))),
            _ => {}
        }
    }
    let mut faces = offsets.windows(2);
    block.each(|page, at| {
        let Some(face) = faces.next() else { return };
        let face = corners.get(face[0] as usize..face[1] as usize).unwrap_or_default();
        put_count::<O>(page, at, face.len(), count);
        match *face {
            [a, b, c] if !is_mirrored => put(page, at, [a, b, c].map(corner).bytes()),
            [a, b, c, d] if !is_mirrored => put(page, at, [a, b, c, d].map(corner).bytes()),
            [first, ref others @ ..] => {
                put(page, at, &corner(first));
                // Mirroring reverses the corners except the first.
                if is_mirrored {
                    others.iter().rev().for_each(|&other| put(page, at, &corner(other)))
                } else {
                    others.iter().for_each(|&other| put(page, at, &corner(other)))
                }
            }
            [] => {}
        }
    });
}

fn put_edges<O: PlyFieldsOrder>(
    offsets: &[u32],
    corners: &[u32],
    add: u32,
    rows: Range<usize>,
    block: &mut PlyFieldsBlock<'_>,
) {
    let end = |place: usize| corners.get(place).map_or(0, |corner| corner.wrapping_add(add));
    let edges = edge_starts(offsets, rows);
    block.put(edges.map(|start| [end(start), end(start + 1)].map(u32::to_bytes::<O>)));
}

/// Returns the values of the first four fields if they are columns of consecutive floats: together they take one store
/// per row.
fn four_floats<'f>(fields: &'f [PlyField<'_>], rows: &Range<usize>) -> Option<[&'f [f32]; 4]> {
    let mut columns: [&[f32]; 4] = [&[]; 4];
    for (column, field) in columns.iter_mut().zip(fields.first_chunk::<4>()?) {
        let PlyField::Numbers(Values::F32(values), Pick::Own(first)) = field else { return None };
        *column = values.get(first + rows.start..first + rows.end)?;
    }
    Some(columns)
}

/// Rows of an element with the same source arrays.
pub(super) struct PlyFieldsRows<'a> {
    pub(super) count: usize,
    fields: Vec<PlyField<'a>>,
    /// Bytes of a row, excluding the numbers in its lists.
    fixed_bytes: usize,
}

impl<'a> PlyFieldsRows<'a> {
    pub(super) fn new(count: usize, fields: Vec<PlyField<'a>>) -> Self {
        let fixed_bytes = fields.iter().map(PlyField::fixed_bytes).sum();
        PlyFieldsRows { count, fields, fixed_bytes }
    }

    /// Bytes of all rows before `row`.
    pub(super) fn bytes_before(&self, row: usize) -> u64 {
        let lists = self.fields.iter().filter_map(PlyField::lists);
        let in_lists = lists.map(|(offsets, width)| match (offsets.first(), offsets.get(row)) {
            (Some(&first), Some(&end)) => width as u64 * u64::from(end - first),
            _ => 0,
        });
        (row * self.fixed_bytes) as u64 + in_lists.sum::<u64>()
    }

    /// Writes the rows `range` to the start of `page`, which is large enough.
    pub(super) fn put<O: PlyFieldsOrder>(&self, range: Range<usize>, mut page: &mut [u8]) {
        let mut starts = [0; BLOCK];
        let block_rows = (BLOCK_BYTES / self.fixed_bytes.max(1)).clamp(16, BLOCK);
        for start in range.clone().step_by(block_rows) {
            let rows = start..range.end.min(start + block_rows);
            let next = rows.end..range.end.min(rows.end + block_rows);
            self.fields.iter().for_each(|field| field.prefetch(next.clone()));
            let (end, cursors) = match self.stride(rows.clone()) {
                Some(stride) => (stride * rows.len(), Cursors::Alike { stride, written: 0 }),
                None => {
                    let starts = &mut starts[..rows.len()];
                    (self.find_starts(rows.clone(), starts), Cursors::Each(starts))
                }
            };
            let (filled, rest) = page.split_at_mut_checked(end).unwrap_or_default();
            let mut block = PlyFieldsBlock { page: filled, rows: cursors };
            self.put_block::<O>(rows, &mut block);
            page = rest;
        }
    }

    fn put_block<O: PlyFieldsOrder>(&self, rows: Range<usize>, block: &mut PlyFieldsBlock<'_>) {
        let mut fields = &self.fields[..];
        while let [field, others @ ..] = fields {
            let Some([a, b, c, d]) = four_floats(fields, &rows) else {
                field.put::<O>(rows.clone(), block);
                fields = others;
                continue;
            };
            let values = a.iter().zip(b).zip(c).zip(d);
            block.put(values.map(|(((a, b), c), d)| [*a, *b, *c, *d].map(f32::to_bytes::<O>)));
            fields = &fields[4..];
        }
    }

    /// Returns the bytes per row, if all rows are known to have the same nonzero size.
    fn stride(&self, rows: Range<usize>) -> Option<usize> {
        let mut lists = self.fields.iter().filter_map(PlyField::lists);
        let stride = match (lists.next(), lists.next()) {
            (None, _) => self.fixed_bytes,
            (Some((offsets, width)), None) => {
                let starts = offsets.get(rows.clone())?;
                let ends = offsets.get(rows.start + 1..=rows.end)?;
                let size = ends.first()?.wrapping_sub(*starts.first()?);
                let sizes = starts.iter().zip(ends).map(|(start, end)| end.wrapping_sub(*start));
                // No branch per row, so that the loop vectorizes.
                if !sizes.fold(true, |alike, other| alike & (other == size)) {
                    return None;
                }
                self.fixed_bytes + width * size as usize
            }
            // With several lists, rows of equal size can still have lists of different sizes.
            _ => return None,
        };
        (stride > 0).then_some(stride)
    }

    /// Computes the starts of rows, and returns the end of the last row.
    fn find_starts(&self, rows: Range<usize>, starts: &mut [usize]) -> usize {
        let mut sizes = [self.fixed_bytes; BLOCK];
        for (offsets, width) in self.fields.iter().filter_map(PlyField::lists) {
            let lists = offsets.get(rows.start..=rows.end).unwrap_or_default().windows(2);
            sizes.iter_mut().zip(lists).for_each(|(size, list)| *size += width * (list[1] - list[0]) as usize);
        }
        let mut end = 0;
        for (start, size) in starts.iter_mut().zip(sizes) {
            *start = end;
            end += size;
        }
        end
    }
}
