//! Converts attributes of any domain to index streams, for code that works on streams.

use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::{Array, Domain, Elements, Mesh};
use polyhaul_pipeline::arrays::zeroed;

/// Adds an index stream per corner to uvs and normals of another domain (one per corner, per position, per face), so
/// that [`Domain::Indexed`] holds for both. Values are neither copied nor merged.
///
/// # Errors
///
/// [`ErrorKind::Usage`] if there is not one value for each element of the domain, or if face offsets do not fit the
/// corners; [`ErrorKind::Memory`].
///
/// # Examples
///
/// ```
/// use polyhaul_model::{Domain, Elements, Mesh};
///
/// let mut mesh = Mesh {
///     positions: vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]].into(),
///     normals: vec![[0.0, 0.0, 1.0]].into(),
///     normal_domain: Domain::Face,
///     faces: Elements { offsets: vec![0, 3].into(), corner_positions: vec![0, 1, 2].into(), ..Elements::default() },
///     ..Mesh::default()
/// };
/// polyhaul_geometry::domains::index_attributes(&mut mesh)?;
/// assert_eq!(mesh.faces.corner_normals, [0, 0, 0]);
/// # Ok::<(), polyhaul_model::error::Error>(())
/// ```
pub fn index_attributes(mesh: &mut Mesh) -> Result<()> {
    index_unless(mesh, |_| false)
}

/// Same as [`index_attributes`], only for attributes per corner or face, since cutting faces affects those.
pub(super) fn index_cut_attributes(mesh: &mut Mesh) -> Result<()> {
    index_unless(mesh, |domain| domain == Domain::Vertex)
}

fn index_unless(mesh: &mut Mesh, stays: impl Fn(Domain) -> bool) -> Result<()> {
    let positions = mesh.positions.len();
    if !stays(mesh.uv_domain) {
        if let Some(stream) = stream(&mesh.faces, mesh.uv_domain, "uv", mesh.uvs.len(), positions)? {
            mesh.faces.corner_uvs = stream;
        }
        mesh.uv_domain = Domain::Indexed;
    }
    if !stays(mesh.normal_domain) {
        if let Some(stream) = stream(&mesh.faces, mesh.normal_domain, "normal", mesh.normals.len(), positions)? {
            mesh.faces.corner_normals = stream;
        }
        mesh.normal_domain = Domain::Indexed;
    }
    Ok(())
}

/// Returns the stream of a domain; `None` if there is one already.
fn stream(faces: &Elements, domain: Domain, what: &str, count: usize, positions: usize) -> Result<Option<Array<u32>>> {
    let corners = faces.corner_positions.len();
    let (expected, of) = match domain {
        Domain::Indexed => return Ok(None),
        // An empty attribute has no domain.
        _ if count == 0 => return Ok(None),
        Domain::Corner => (corners, "corner"),
        Domain::Vertex => (positions, "position"),
        Domain::Face => (faces.len(), "face"),
    };
    let fits = count == expected && faces.offsets.last().map_or(0, |&end| end as usize) == corners;
    if !fits || !faces.offsets.is_sorted() {
        let message = format!("expected {expected} {what}s, one per {of}, found {count}");
        return Err(Error::new(ErrorKind::Usage, message));
    }
    if domain == Domain::Vertex {
        return Ok(Some(faces.corner_positions.try_clone()?));
    }
    let mut stream: Vec<u32> = zeroed(corners, "an index stream")?;
    match domain {
        Domain::Face => {
            for face in 0..faces.len() {
                stream[faces.corners(face)].fill(face as u32);
            }
        }
        _ => stream.iter_mut().zip(0..).for_each(|(place, corner)| *place = corner),
    }
    Ok(Some(stream.into()))
}
