//! Draws binary STL while reading it: its triangles share no corners, so no mesh is needed.
//!
//! Blocks of corners are passed to JavaScript as they are read; `shapes` draws all other formats. Colors follow
//! Materialise Magics, as in three.js: `COLOR=` in the header sets the default color, and the lower 15 bits of a
//! triangle's attribute set its own color.

use crate::host;
use crate::request::Request;
use crate::shapes::{Shape, ShapeKind, Use, light};
use polyhaul::consumer::{KnownPositions, MeshConsumer, MeshPiece};
use polyhaul::{Format, Reader, Report, Result};
use polyhaul_stl as stl;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Sizes of the header with the triangle count, and of the title alone.
const HEADER_BYTES: usize = 84;
const TITLE_BYTES: usize = 80;

/// The triangles of a binary STL file.
pub(crate) struct DrawnFacets {
    count: u32,
    /// The default color and alpha, from the header.
    color: Option<[u8; 4]>,
    corners: Mutex<FacetCorners>,
}

/// Attributes of a block: a normal and a color per corner.
#[derive(Default)]
struct FacetCorners {
    normals: Vec<[[f32; 3]; 3]>,
    colors: Vec<[[f32; 3]; 3]>,
}

impl DrawnFacets {
    /// Opens the file of a request if it is binary STL.
    pub(crate) fn of(request: &Request) -> Option<DrawnFacets> {
        let format = request.options.format.or_else(|| Format::of_path(Path::new(&request.name)));
        (format == Some(Format::Stl))
            .then(|| DrawnFacets::found(&host::File::main().head(), host::File::main().bytes()?))?
    }

    /// Parses the head of a file. Only the size distinguishes binary from text files reliably.
    fn found(head: &[u8; HEADER_BYTES], bytes: u64) -> Option<DrawnFacets> {
        let (title, count) = head.split_at(TITLE_BYTES);
        let count = u32::from_le_bytes(count.try_into().ok()?);
        (stl::fits(head, Some(bytes)) && count > 0).then(|| DrawnFacets {
            count,
            color: color_of(title),
            corners: Mutex::default(),
        })
    }

    /// Passes all triangles to JavaScript; returns the report and their shape.
    pub(crate) fn draw(&self, reader: Reader) -> Result<Option<(Report, Shape)>> {
        host::start_facets(self.count, self.color.is_some());
        Ok(reader.pieces(self)?.map(|report| (report, self.shape())))
    }

    fn shape(&self) -> Shape {
        let corners = 3 * self.count as usize;
        let uses = vec![Use { smooth: true, end: corners, ..Use::default() }];
        let alpha = self.color.map(|[.., alpha]| f64::from(alpha) / 255.0);
        let has_colors = self.color.is_some();
        Shape { kind: ShapeKind::Faces, corners, has_normals: true, has_colors, uses, alpha, ..Shape::default() }
    }
}

impl MeshConsumer for DrawnFacets {
    fn start(&self, _: KnownPositions<'_>) -> Result<()> {
        Ok(())
    }

    fn take(&self, piece: &MeshPiece<'_>) -> Result<()> {
        let mut corners = self.corners.lock().unwrap_or_else(PoisonError::into_inner);
        corners.fill(piece, self.color);
        host::facets(piece.first_face, piece.positions, corners.normals.as_flattened(), corners.colors.as_flattened());
        Ok(())
    }
}

impl FacetCorners {
    fn fill(&mut self, piece: &MeshPiece<'_>, color: Option<[u8; 4]>) {
        self.normals.clear();
        self.normals.extend(piece.face_normals.iter().map(|&normal| [normal; 3]));
        self.colors.clear();
        if let Some([mesh_color @ .., _]) = color {
            let mesh_color = mesh_color.map(|value| light(f32::from(value) / 255.0));
            let of = |&attribute: &u16| if attribute & 0x8000 == 0 { packed(attribute) } else { mesh_color };
            self.colors.extend(piece.face_attributes.iter().map(|attribute| [of(attribute); 3]));
        }
    }
}

/// Decodes a color with five bits each for red, green and blue, starting at the lowest bit.
fn packed(attribute: u16) -> [f32; 3] {
    [0, 5, 10].map(|shift| light(f32::from(attribute >> shift & 31) / 31.0))
}

/// The RGBA color in a title; the last color if there are several.
fn color_of(title: &[u8]) -> Option<[u8; 4]> {
    // three.js ignores the last byte of the title.
    let mut colors = title[..title.len() - 1].windows(10).rev().filter_map(|text| text.strip_prefix(b"COLOR="));
    colors.next().and_then(|color| color.try_into().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use polyhaul::consumer::PieceFaces;

    fn head(title: &[u8], count: u32) -> [u8; HEADER_BYTES] {
        let mut head = [0; HEADER_BYTES];
        head[..title.len()].copy_from_slice(title);
        head[TITLE_BYTES..].copy_from_slice(&count.to_le_bytes());
        head
    }

    #[test]
    fn files_of_the_size_that_their_header_tells_are_binary() {
        let corner_count = |bytes| DrawnFacets::found(&head(b"solid", 2), bytes).map(|facets| facets.shape().corners);
        assert_eq!([183, 184, 185].map(corner_count), [None, Some(6), None]);
        assert!(DrawnFacets::found(&head(b"", 0), 84).is_none());
    }

    #[test]
    fn triangles_have_their_own_color_or_that_of_the_header() {
        let facets = DrawnFacets::found(&head(b"a COLOR=\xff\x00\x80\x33 b", 2), 184).unwrap();
        assert_eq!((facets.color, facets.shape().alpha), (Some([255, 0, 128, 51]), Some(0.2)));
        let piece = MeshPiece {
            positions: &[[0.0; 3]; 6],
            faces: PieceFaces::Triangles,
            face_normals: &[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
            face_attributes: &[0x8000, 31 << 5],
            ..MeshPiece::default()
        };
        let mut corners = FacetCorners::default();
        corners.fill(&piece, facets.color);
        assert_eq!(corners.normals, [[[1.0, 0.0, 0.0]; 3], [[0.0, 1.0, 0.0]; 3]]);
        assert_eq!(corners.colors, [[[1.0, 0.0, light(128.0 / 255.0)]; 3], [[0.0, 1.0, 0.0]; 3]]);
        corners.fill(&piece, None);
        assert!(corners.colors.is_empty());
    }
}
