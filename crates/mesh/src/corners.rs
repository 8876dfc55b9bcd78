//! The value of an attribute at every corner of the faces, whatever its domain.

use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::{Domain, Mesh};
use polyhaul_pipeline::arrays::{PIECE, gather, zeroed};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::for_each_item;

/// Returns the uv of every corner, `missing` for those without one; `None` if the mesh has none.
///
/// # Errors
///
/// [`ErrorKind::Usage`] if there is not one value for each element of the domain or an index is out of range;
/// [`ErrorKind::Memory`].
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
/// let uvs = polyhaul_mesh::corners::corner_uvs(&mesh, [f32::NAN; 2], &RunOptions::default())?;
/// assert_eq!(uvs, Some(vec![[1.0, 1.0], [0.5, 0.0], [0.0, 0.0]]));
/// # Ok::<(), polyhaul_model::error::Error>(())
/// ```
pub fn corner_uvs(mesh: &Mesh, missing: [f32; 2], options: &RunOptions) -> Result<Option<Vec<[f32; 2]>>> {
    at_corners(mesh, (&mesh.uvs, mesh.uv_domain, &mesh.faces.corner_uvs), missing, options)
}

/// Returns the normal of every corner, `missing` for those without one; `None` if the mesh has none.
///
/// # Errors
///
/// As for [`corner_uvs`].
pub fn corner_normals(mesh: &Mesh, missing: [f32; 3], options: &RunOptions) -> Result<Option<Vec<[f32; 3]>>> {
    at_corners(mesh, (&mesh.normals, mesh.normal_domain, &mesh.faces.corner_normals), missing, options)
}

/// Returns the color of every corner; `None` if the mesh has none.
///
/// # Errors
///
/// As for [`corner_uvs`].
pub fn corner_colors(mesh: &Mesh, options: &RunOptions) -> Result<Option<Vec<[f32; 4]>>> {
    at_corners(mesh, (&mesh.colors, Domain::Vertex, &[]), [f32::NAN; 4], options)
}

fn at_corners<const N: usize>(
    mesh: &Mesh,
    (values, domain, stream): (&[[f32; N]], Domain, &[u32]),
    missing: [f32; N],
    options: &RunOptions,
) -> Result<Option<Vec<[f32; N]>>> {
    let (corners, threads) = (mesh.faces.corner_positions.len(), options.worker_threads());
    let stream = match domain {
        _ if values.is_empty() => return Ok(None),
        Domain::Indexed if stream.is_empty() => return Ok(None),
        Domain::Indexed => stream,
        Domain::Vertex => &mesh.faces.corner_positions,
        Domain::Corner => {
            check(values.len(), corners)?;
            let mut copy = Vec::new();
            copy.try_reserve_exact(corners)?;
            copy.extend_from_slice(values);
            return Ok(Some(copy));
        }
        Domain::Face => return of_faces(mesh, values, threads).map(Some),
    };
    check(stream.len(), corners)?;
    gather(threads, values, stream, missing).map(Some)
}

/// The value of each corner's face.
fn of_faces<const N: usize>(mesh: &Mesh, values: &[[f32; N]], threads: usize) -> Result<Vec<[f32; N]>> {
    check(values.len(), mesh.faces.len())?;
    let mut all = zeroed(mesh.faces.corner_positions.len(), "values of corners")?;
    let fits = mesh.faces.offsets.is_sorted()
        && mesh.faces.offsets.first() == Some(&0)
        && mesh.faces.offsets.last().is_some_and(|&end| end as usize == all.len());
    check(usize::from(fits), 1)?;
    let mut rest = &mut all[..];
    let pieces = values.chunks(PIECE).enumerate().map(|(piece, values)| {
        let first = piece * PIECE;
        let offsets = &mesh.faces.offsets[first..=first + values.len()];
        let own = rest.split_off_mut(..(offsets[values.len()] - offsets[0]) as usize).unwrap_or_default();
        (offsets, values, own)
    });
    for_each_item(
        threads,
        pieces,
        || (),
        |(), (offsets, values, own)| {
            for (ends, value) in offsets.windows(2).zip(values) {
                own[(ends[0] - offsets[0]) as usize..(ends[1] - offsets[0]) as usize].fill(*value);
            }
        },
    );
    Ok(all)
}

fn check(found: usize, wanted: usize) -> Result<()> {
    if found == wanted {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Usage, format!("expected {wanted} values for the corners of faces, found {found}")))
}
