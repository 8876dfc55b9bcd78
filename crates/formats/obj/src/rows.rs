//! Parses runs of plain lines with the kernels of `polyhaul_text` into [`ObjParsed`].
//!
//! The kernels accept only plain lines. All other lines are left to [`Statement`](super::statement::Statement), which
//! is slower but yields the same values for plain lines. Called by [`parse`](super::parse).

use super::parsed::{ObjParsed, ObjSegment, RelativeRun};
use super::relative::relate;
use super::tokens::ObjChunkText;
use polyhaul_model::error::{Error, Result, try_push};
use polyhaul_pipeline::precision::PrecisionPass;
use polyhaul_text::parse::positions::position_rows;
use polyhaul_text::parse::rows::{CornerForm, FaceRows, VALUE_SLACK, Window, face_rows, float_rows, long_float_rows};

/// Parses the run of lines of one kind that starts at `line`. Returns the number of lines parsed.
pub(super) fn rows(
    window: Window<'_>,
    line: usize,
    start: usize,
    text: ObjChunkText<'_>,
    precision: PrecisionPass,
    out: &mut ObjParsed,
) -> Result<usize> {
    // The kernel checks the whole keyword; two bytes are only used to choose the kernel. The padding after the text
    // makes both readable.
    match [text.padded[start], text.padded[start + 1]] {
        [b'v', b' ' | b'\t'] => {
            // A `g` directly before positions starts an object (see the crate documentation).
            let mark = out.group_pending.then(|| out.counts());
            let taken = positions(window, line, precision.has_doubles(), out)?;
            if let Some(at) = mark
                && taken > 0
            {
                out.positions_follow(at, start - text.start)?;
            }
            Ok(taken)
        }
        [b'v', b'n'] => {
            let normals = out.normals.spare(lines_from(window, line))?;
            let taken = any_rows(window, line, b"vn", normals, &mut out.long_rows);
            out.normals.advance(taken);
            Ok(taken)
        }
        [b'v', b't'] => uvs(window, line, out),
        [b'f', b' ' | b'\t'] => {
            let taken = faces(window, line, (start - text.start) as u32, out)?;
            out.group_pending &= taken == 0;
            Ok(taken)
        }
        _ => Ok(0),
    }
}

/// Returns the number of lines from `line` to the end. Memory is reserved only for these, because small files should
/// not reserve memory for a full window.
fn lines_from(window: Window<'_>, line: usize) -> usize {
    window.index.lines().len() - line
}

/// Maximum number of lines to convert one number at a time before the fast kernel is tried again.
const MAX_LONG: usize = 64;
/// Number of lines per batch if their values must be split.
const PARTED: usize = 64;

/// Parses rows of `N` numbers: in batches as long as they are plain, otherwise one by one for `long` lines. `long`
/// doubles while plain rows are rare, so that failed attempts cost no measurable time.
fn any_rows<const N: usize>(
    window: Window<'_>,
    line: usize,
    keyword: &[u8],
    out: &mut [[f32; N]],
    long: &mut usize,
) -> usize {
    let plain = float_rows(window, line, keyword, out);
    if plain > 0 {
        *long = 1;
        return plain;
    }
    let max_rows = (*long).clamp(1, MAX_LONG).min(out.len());
    *long = 2 * max_rows;
    long_float_rows(window, line, keyword, &mut out[..max_rows])
}

/// Parses positions, optionally followed by an RGB or RGBA color. All lines of the run have the same form. Positions
/// with a weight are left to [`Statement`](super::statement::Statement).
fn positions(window: Window<'_>, line: usize, has_doubles: bool, out: &mut ObjParsed) -> Result<usize> {
    match window.tokens(line).len() {
        4 => {
            let ObjParsed { positions, exact, loss, .. } = out;
            let room = lines_from(window, line);
            let exact_rows = if has_doubles { exact.spare(room)? } else { &mut [] };
            let taken = position_rows(window, line, b"v", positions.spare(room)?, exact_rows, loss);
            positions.advance(taken);
            if has_doubles {
                exact.advance(taken);
            }
            Ok(taken)
        }
        7 => colored::<6>(window, line, has_doubles, out, |rest| [rest[0], rest[1], rest[2], 1.0]),
        8 => colored::<7>(window, line, has_doubles, out, |rest| [rest[0], rest[1], rest[2], rest[3]]),
        _ => Ok(0),
    }
}

/// Parses rows of `N` numbers: positions, followed by numbers from which `color` computes a color.
fn colored<const N: usize>(
    window: Window<'_>,
    line: usize,
    has_doubles: bool,
    out: &mut ObjParsed,
    color: impl Fn(&[f32]) -> [f32; 4],
) -> Result<usize> {
    let mut values = [[0.0; N]; PARTED];
    let mut doubles = [[0.0; N]; PARTED];
    let exact_rows = if has_doubles { &mut doubles[..] } else { &mut [] };
    let taken = position_rows(window, line, b"v", &mut values, exact_rows, &mut out.loss);
    let first = out.positions.len() as u32;
    out.colors.try_reserve(taken).map_err(|_| Error::memory("statements"))?;
    for (at, (place, row)) in (first..).zip(out.positions.spare(taken)?.iter_mut().zip(&values[..taken])) {
        let (position, rest) = row.split_at(3);
        place.copy_from_slice(position);
        out.colors.push((at, color(rest)));
    }
    out.positions.advance(taken);
    if has_doubles {
        for (place, row) in out.exact.spare(taken)?.iter_mut().zip(&doubles[..taken]) {
            place.copy_from_slice(&row[..3]);
        }
        out.exact.advance(taken);
    }
    Ok(taken)
}

/// Parses texture coordinates with two or three numbers.
fn uvs(window: Window<'_>, line: usize, out: &mut ObjParsed) -> Result<usize> {
    if window.tokens(line).len() != 4 {
        let taken = any_rows(window, line, b"vt", out.uvs.spare(lines_from(window, line))?, &mut out.long_rows);
        out.uvs.advance(taken);
        return Ok(taken);
    }
    let mut values = [[0.0; 3]; PARTED];
    let taken = any_rows(window, line, b"vt", &mut values, &mut out.long_rows);
    let first = out.uvs.len() as u32;
    out.uv_depths.try_reserve(taken).map_err(|_| Error::memory("statements"))?;
    for (at, (uv, &[u, v, depth])) in (first..).zip(out.uvs.spare(taken)?.iter_mut().zip(&values[..taken])) {
        *uv = [u, v];
        out.uv_depths.push((at, depth));
    }
    out.uvs.advance(taken);
    Ok(taken)
}

fn faces(window: Window<'_>, line: usize, line_offset: u32, out: &mut ObjParsed) -> Result<usize> {
    let at = out.counts();
    let faces = &mut out.elements[0];
    let first = faces.values.len();
    let values = faces.values.spare(window.index.tokens_from(line) + VALUE_SLACK)?;
    let row_ends = faces.row_ends.spare(lines_from(window, line))?;
    let FaceRows { rows, values: count, form, is_negative } = face_rows(window, line, b"f", values, row_ends);
    if rows == 0 {
        return Ok(0);
    }
    let has = match form {
        CornerForm::Position => [true, false, false],
        CornerForm::PositionUv => [true, true, false],
        CornerForm::PositionNormal => [true, false, true],
        CornerForm::All => [true; 3],
    };
    let stride = form.stride();
    if is_negative {
        let before = [at.positions, at.uvs, at.normals];
        let lowest = relate(&mut values[..count], stride, has, before);
        let run = RelativeRun { values: first..first + count, stride, has, lowest, line_offset };
        try_push(&mut out.relative_runs, run, "faces")?;
    }
    faces.values.advance(count);
    faces.row_ends.advance(rows);
    let segment = ObjSegment { stride: stride as u8, has, rows: rows as u32, values: count as u32, line_offset };
    try_push(&mut faces.segments, segment, "faces")?;
    Ok(rows)
}
