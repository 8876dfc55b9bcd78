//! Expands an attribute of any domain to one value per corner of the faces.

use polyhaul_model::error::{Error, ErrorKind, Result, try_copy};
use polyhaul_model::{Domain, Elements, Mesh, NONE};
use polyhaul_pipeline::arrays::{PIECE, gather, zeroed};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::for_each_item;
use std::ops::Range;

/// Returns the uv of every corner, or `missing` for corners without a uv. Returns `None` if no corner has a uv.
///
/// # Errors
///
/// [`ErrorKind::Usage`] if the number of values does not match the domain, the face offsets are invalid, or an index is
/// out of range; [`ErrorKind::Memory`].
///
/// # Examples
///
/// ```
/// use polyhaul_model::{Domain, Elements, Mesh};
/// use polyhaul_pipeline::options::RunOptions;
///
/// let mesh = Mesh {
///     positions: vec![[0.0; 3]; 3].into(),
///     uvs: vec![[0.0, 0.0], [0.5, 0.0], [1.0, 1.0]].into(),
///     uv_domain: Domain::Vertex,
///     faces: Elements { offsets: vec![0, 3].into(), corner_positions: vec![2, 1, 0].into(), ..Elements::default() },
///     ..Mesh::default()
/// };
/// let uvs = polyhaul_geometry::corners::corner_uvs(&mesh, [f32::NAN; 2], &RunOptions::default())?;
/// assert_eq!(uvs, Some(vec![[1.0, 1.0], [0.5, 0.0], [0.0, 0.0]]));
/// # Ok::<(), polyhaul_model::error::Error>(())
/// ```
pub fn corner_uvs(mesh: &Mesh, missing: [f32; 2], options: &RunOptions) -> Result<Option<Vec<[f32; 2]>>> {
    uvs_of(mesh, 0..mesh.faces.len(), missing, options.worker_threads())
}

/// Returns the normal of every corner, or `missing` for corners without a normal. Returns `None` if no corner has a
/// normal.
///
/// # Errors
///
/// As for [`corner_uvs`].
pub fn corner_normals(mesh: &Mesh, missing: [f32; 3], options: &RunOptions) -> Result<Option<Vec<[f32; 3]>>> {
    normals_of(mesh, 0..mesh.faces.len(), missing, options.worker_threads())
}

/// Returns the color of every corner, or `None` if no corner has a color.
///
/// # Errors
///
/// As for [`corner_uvs`].
pub fn corner_colors(mesh: &Mesh, options: &RunOptions) -> Result<Option<Vec<[f32; 4]>>> {
    let colors = CornerValues { values: &mesh.colors, domain: Domain::Vertex, stream: &[] };
    colors.at_corners(&mesh.faces, 0..mesh.faces.len(), [f32::NAN; 4], options.worker_threads())
}

/// Same as [`corner_uvs`], for a range of faces.
pub fn uvs_of(mesh: &Mesh, faces: Range<usize>, missing: [f32; 2], threads: usize) -> Result<Option<Vec<[f32; 2]>>> {
    let uvs = CornerValues { values: &mesh.uvs, domain: mesh.uv_domain, stream: &mesh.faces.corner_uvs };
    uvs.at_corners(&mesh.faces, faces, missing, threads)
}

/// Same as [`corner_normals`], for a range of faces.
pub fn normals_of(
    mesh: &Mesh,
    faces: Range<usize>,
    missing: [f32; 3],
    threads: usize,
) -> Result<Option<Vec<[f32; 3]>>> {
    let normals =
        CornerValues { values: &mesh.normals, domain: mesh.normal_domain, stream: &mesh.faces.corner_normals };
    normals.at_corners(&mesh.faces, faces, missing, threads)
}

/// Returns the index of each corner's face.
pub fn face_of_corners(faces: &Elements) -> Result<Vec<u32>> {
    let mut of_corner = Vec::new();
    of_corner.try_reserve_exact(faces.corner_positions.len())?;
    for face in 0..faces.len() {
        of_corner.extend(faces.corners(face).map(|_| face as u32));
    }
    Ok(of_corner)
}

/// An attribute and its domain.
struct CornerValues<'a, const N: usize> {
    values: &'a [[f32; N]],
    domain: Domain,
    /// Index per corner, for [`Domain::Indexed`].
    stream: &'a [u32],
}

impl<const N: usize> CornerValues<'_, N> {
    /// Returns the values at the corners of the faces in `range`.
    fn at_corners(
        &self,
        faces: &Elements,
        range: Range<usize>,
        missing: [f32; N],
        threads: usize,
    ) -> Result<Option<Vec<[f32; N]>>> {
        let values = self.values;
        let corner_count = faces.corner_positions.len();
        check_offsets(faces)?;
        // A mesh without faces may have no offsets at all, not even a 0.
        let at = |face: usize| faces.offsets.get(face).map_or(0, |&offset| offset as usize);
        let corners = at(range.start)..at(range.end);
        let stream = match self.domain {
            _ if values.is_empty() => return Ok(None),
            Domain::Indexed if self.stream.is_empty() => return Ok(None),
            Domain::Indexed => self.stream,
            Domain::Vertex => &faces.corner_positions,
            Domain::Corner => {
                check(values.len(), corner_count)?;
                return try_copy(part(values, corners)?, "corner values").map(Some);
            }
            Domain::Face => {
                check(values.len(), faces.len())?;
                let offsets = if range.is_empty() { &[] } else { part(&faces.offsets, range.start..range.end + 1)? };
                return of_faces(offsets, part(values, range)?, threads).map(Some);
            }
        };
        check(stream.len(), corner_count)?;
        let stream = part(stream, corners)?;
        if stream.iter().all(|&index| index == NONE) {
            return Ok(None);
        }
        gather(threads, values, stream, missing).map(Some)
    }
}

/// Repeats the value of each face for its corners.
fn of_faces<const N: usize>(offsets: &[u32], values: &[[f32; N]], threads: usize) -> Result<Vec<[f32; N]>> {
    let first = offsets.first().copied().unwrap_or(0);
    let last = offsets.last().copied().unwrap_or(0);
    // The subtractions of offsets below would underflow.
    if !offsets.is_sorted() {
        return Err(Error::new(ErrorKind::Usage, "the offsets of faces decrease"));
    }
    let mut of_corners = zeroed((last - first) as usize, "corner values")?;
    let mut rest = &mut of_corners[..];
    let pieces = values.chunks(PIECE).enumerate().map(|(piece, values)| {
        let first = piece * PIECE;
        let offsets = &offsets[first..=first + values.len()];
        let targets = rest.split_off_mut(..(offsets[values.len()] - offsets[0]) as usize).unwrap_or_default();
        (offsets, values, targets)
    });
    for_each_item(
        threads,
        pieces,
        || (),
        |(), (offsets, values, targets)| {
            for (ends, value) in offsets.windows(2).zip(values) {
                targets[(ends[0] - offsets[0]) as usize..(ends[1] - offsets[0]) as usize].fill(*value);
            }
        },
    );
    Ok(of_corners)
}

/// Returns `values[range]`, or an error if the range, which may come from invalid face offsets, is out of range.
fn part<T>(values: &[T], range: Range<usize>) -> Result<&[T]> {
    let message = || format!("faces or corners {} to {} are out of range", range.start, range.end);
    values.get(range.clone()).ok_or_else(|| Error::new(ErrorKind::Usage, message()))
}

/// Fails unless face offsets start at 0 and end at the number of corners. The offsets between them are not checked.
pub fn check_offsets(faces: &Elements) -> Result<()> {
    let first = faces.offsets.first().copied().unwrap_or(0);
    let last = faces.offsets.last().copied().unwrap_or(0);
    let corners = faces.corner_positions.len();
    if first == 0 && last as usize == corners {
        return Ok(());
    }
    let message = format!("face offsets range from {first} to {last}, but there are {corners} corners");
    Err(Error::new(ErrorKind::Usage, message))
}

fn check(count: usize, expected: usize) -> Result<()> {
    if count == expected {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Usage, format!("expected {expected} corner values, found {count}")))
}
