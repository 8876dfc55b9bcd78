//! Converts attributes of any domain to index streams, for code that works on streams.

use crate::dedup::number_rows;
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::{Array, Domain, Elements, Mesh};
use polyhaul_pipeline::arrays::zeroed;
use polyhaul_pipeline::options::RunOptions;

/// Adds an index stream to uvs and normals that are stored per corner, per position or per face, so that both become
/// [`Domain::Indexed`]. Corners with equal values per corner or per face receive the index of the first such value, so
/// that [`crate::weld`] merges them into one vertex if they share a position. 0 equals -0, and NaN is unequal to
/// everything. Values are not copied.
///
/// Values are not compared if each corner has its own position, since such corners are never merged. Uvs with a third
/// coordinate are not compared either.
///
/// # Errors
///
/// [`ErrorKind::Usage`] if the number of values does not match the domain, or the face offsets do not match the
/// corners; [`ErrorKind::Memory`]; [`ErrorKind::Cancelled`].
///
/// # Examples
///
/// ```
/// use polyhaul_model::{Domain, Elements, Mesh};
/// use polyhaul_pipeline::options::RunOptions;
///
/// let corner_positions = vec![0, 1, 2, 2, 1, 0];
/// let mut mesh = Mesh {
///     positions: vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]].into(),
///     uvs: vec![[0.5; 2], [0.0; 2], [1.0; 2], [1.0; 2], [0.0; 2], [0.25; 2]].into(),
///     uv_domain: Domain::Corner,
///     normals: vec![[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]].into(),
///     normal_domain: Domain::Face,
///     faces: Elements {
///         offsets: vec![0, 3, 6].into(),
///         corner_positions: corner_positions.into(),
///         ..Elements::default()
///     },
///     ..Mesh::default()
/// };
/// polyhaul_geometry::domains::index_attributes(&mut mesh, &RunOptions::default())?;
/// assert_eq!(mesh.faces.corner_uvs, [0, 1, 2, 2, 1, 5]);
/// assert_eq!(mesh.faces.corner_normals, [0, 0, 0, 1, 1, 1]);
/// # Ok::<(), polyhaul_model::error::Error>(())
/// ```
pub fn index_attributes(mesh: &mut Mesh, run: &RunOptions) -> Result<()> {
    index_unless(mesh, |_| false, Some(run))
}

/// Same as [`index_attributes`], but only for per-corner and per-face attributes, the ones affected by cutting faces.
/// Without `merging`, equal values keep their own indices.
pub(super) fn index_cut_attributes(mesh: &mut Mesh, merging: Option<&RunOptions>) -> Result<()> {
    index_unless(mesh, |domain| domain == Domain::Vertex, merging)
}

fn index_unless(mesh: &mut Mesh, stays: impl Fn(Domain) -> bool, merging: Option<&RunOptions>) -> Result<()> {
    let positions = mesh.positions.len();
    if !stays(mesh.uv_domain) {
        let uvs = DomainValues { values: &mesh.uvs, domain: mesh.uv_domain, noun: "UV" };
        // Equal uvs may differ in their third coordinate.
        let merging = merging.filter(|_| mesh.uv_depths.is_empty());
        if let Some(stream) = uvs.stream(&mesh.faces, positions, merging)? {
            mesh.faces.corner_uvs = stream;
        }
        mesh.uv_domain = Domain::Indexed;
    }
    if !stays(mesh.normal_domain) {
        let normals = DomainValues { values: &mesh.normals, domain: mesh.normal_domain, noun: "normal" };
        if let Some(stream) = normals.stream(&mesh.faces, positions, merging)? {
            mesh.faces.corner_normals = stream;
        }
        mesh.normal_domain = Domain::Indexed;
    }
    Ok(())
}

/// An attribute and its domain.
struct DomainValues<'a, const N: usize> {
    values: &'a [[f32; N]],
    domain: Domain,
    noun: &'static str,
}

impl<const N: usize> DomainValues<'_, N> {
    /// Returns a new index stream for the attribute, or `None` if it already has one or has no values.
    fn stream(&self, faces: &Elements, positions: usize, merging: Option<&RunOptions>) -> Result<Option<Array<u32>>> {
        let corners = faces.corner_positions.len();
        let count = self.values.len();
        let (expected, of) = match self.domain {
            Domain::Indexed => return Ok(None),
            // An empty attribute has no domain.
            _ if count == 0 => return Ok(None),
            Domain::Corner => (corners, "corner"),
            Domain::Vertex => (positions, "position"),
            Domain::Face => (faces.len(), "face"),
        };
        // Offsets are checked, too, because the ranges of faces are used to index the stream.
        let fits = count == expected && faces.offsets.last().map_or(0, |&end| end as usize) == corners;
        if !fits || !faces.offsets.is_sorted() {
            let message = format!("expected {expected} {}s, one per {of}, found {count}", self.noun);
            return Err(Error::new(ErrorKind::Usage, message));
        }
        if self.domain == Domain::Vertex {
            return Ok(Some(faces.corner_positions.try_clone()?));
        }
        let indices = self.indices(faces, positions, merging)?;
        if self.domain == Domain::Corner {
            return Ok(Some(indices.into()));
        }
        let mut stream: Vec<u32> = zeroed(corners, "an index stream")?;
        for (face, &index) in indices.iter().enumerate() {
            stream[faces.corners(face)].fill(index);
        }
        Ok(Some(stream.into()))
    }

    /// Returns, for each value, the index of the first equal value, or its own index without merging.
    fn indices(&self, faces: &Elements, positions: usize, merging: Option<&RunOptions>) -> Result<Vec<u32>> {
        let Some(run) = merging.filter(|_| !is_soup(&faces.corner_positions)) else {
            let mut indices = zeroed(self.values.len(), "an index stream")?;
            indices.iter_mut().zip(0..).for_each(|(place, index)| *place = index);
            return Ok(indices);
        };
        // Corners with equal values mostly share a position.
        let hints = (self.domain == Domain::Corner).then_some((&faces.corner_positions[..], positions));
        let unique = number_rows(self.values, hints, run.worker_threads(), &run.cancel)?;
        let mut indices = unique.of_item;
        if unique.first.len() == indices.len() {
            return Ok(indices);
        }
        // Values are not compacted, so their numbers become indices of the first equal values.
        indices.iter_mut().for_each(|index| *index = unique.first[*index as usize]);
        Ok(indices)
    }
}

/// Returns whether corner i has position i for every i, as in STL files.
fn is_soup(corner_positions: &[u32]) -> bool {
    corner_positions.iter().zip(0..).all(|(&position, corner)| position == corner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn indexed(uvs: &[[f32; 2]], corners: &[u32]) -> Mesh {
        let mut mesh = Mesh {
            positions: vec![[0.0; 3]; 6].into(),
            uvs: uvs.to_vec().into(),
            uv_domain: Domain::Corner,
            faces: Elements {
                offsets: vec![0, corners.len() as u32].into(),
                corner_positions: corners.to_vec().into(),
                ..Elements::default()
            },
            ..Mesh::default()
        };
        index_attributes(&mut mesh, &RunOptions::default()).unwrap();
        mesh
    }

    #[test]
    fn equal_values_share_the_first_index() {
        let uvs = [[0.0, 1.0], [f32::NAN, 1.0], [-0.0, 1.0], [f32::NAN, 1.0], [2.0, 1.0]];
        assert_eq!(indexed(&uvs, &[0, 1, 0, 1, 0]).faces.corner_uvs, [0, 1, 0, 3, 4]);
        // Each corner has its own position, so nothing is compared.
        assert_eq!(indexed(&uvs, &[0, 1, 2, 3, 4]).faces.corner_uvs, [0, 1, 2, 3, 4]);
        assert!(indexed(&[], &[]).faces.corner_uvs.is_empty());
    }

    #[test]
    fn uvs_of_different_depth_stay_apart() {
        let corners = vec![0, 1, 0];
        let mut mesh = Mesh {
            uvs: vec![[0.5; 2]; 3].into(),
            uv_depths: vec![1.0, 2.0, 3.0].into(),
            uv_domain: Domain::Corner,
            faces: Elements { offsets: vec![0, 3].into(), corner_positions: corners.into(), ..Elements::default() },
            ..Mesh::default()
        };
        index_attributes(&mut mesh, &RunOptions::default()).unwrap();
        assert_eq!(mesh.faces.corner_uvs, [0, 1, 2]);
    }
}
