//! The formats that polyhaul reads and writes, and how to tell them apart.

use polyhaul_bytes::Codec;
use polyhaul_mesh::table::TableFormat;
use std::path::Path;

/// A file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Wavefront OBJ with its material library, MTL.
    Obj,
    /// PLY, the Stanford polygon format.
    Ply,
    /// STL, triangles for printers.
    Stl,
    /// pbrt-v4, scenes for a renderer.
    Pbrt,
    /// Numbers parted by commas.
    Csv,
    /// Numbers parted by tabs.
    Tsv,
    /// Numbers parted by blanks, or as the first rows tell.
    Txt,
    /// Points as lines of `x y z` and more.
    Xyz,
    /// Points as lines of `x y z`, intensity and colour, behind a line with their count.
    Pts,
    /// An array of numpy.
    Npy,
    /// TGA, images.
    Tga,
    /// Radiance HDR, images of light.
    Hdr,
    /// PNG, images.
    Png,
    /// JPEG, photographs.
    Jpeg,
    /// OpenEXR, images of light.
    Exr,
    /// Windows bitmaps; they are read only.
    Bmp,
    /// Photoshop documents, of which the picture of all layers is read.
    Psd,
    /// DDS, textures.
    Dds,
    /// KTX 2, textures.
    Ktx2,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 19] = [
        Format::Obj,
        Format::Ply,
        Format::Stl,
        Format::Pbrt,
        Format::Csv,
        Format::Tsv,
        Format::Txt,
        Format::Xyz,
        Format::Pts,
        Format::Npy,
        Format::Tga,
        Format::Hdr,
        Format::Png,
        Format::Jpeg,
        Format::Exr,
        Format::Bmp,
        Format::Psd,
        Format::Dds,
        Format::Ktx2,
    ];

    /// Its name, which is its extension too.
    pub fn name(self) -> &'static str {
        match self {
            Format::Obj => "obj",
            Format::Ply => "ply",
            Format::Stl => "stl",
            Format::Pbrt => "pbrt",
            Format::Csv => "csv",
            Format::Tsv => "tsv",
            Format::Txt => "txt",
            Format::Xyz => "xyz",
            Format::Pts => "pts",
            Format::Npy => "npy",
            Format::Tga => "tga",
            Format::Hdr => "hdr",
            Format::Png => "png",
            Format::Jpeg => "jpg",
            Format::Exr => "exr",
            Format::Bmp => "bmp",
            Format::Psd => "psd",
            Format::Dds => "dds",
            Format::Ktx2 => "ktx2",
        }
    }

    /// The format of that name, in any case; `jpeg` is one of `jpg`.
    pub fn named(name: &str) -> Option<Format> {
        let is_other = |format| format == Format::Jpeg && name.eq_ignore_ascii_case("jpeg");
        Format::ALL.into_iter().find(|&format| format.name().eq_ignore_ascii_case(name) || is_other(format))
    }

    /// The format that a file name's extension names; that of a codec (`.gz`, `.zst`, `.lz4`) may
    /// follow it.
    pub fn of_path(path: &Path) -> Option<Format> {
        // Only the end counts: what is no UTF-8 may stand before it.
        let name = path.file_name()?.to_string_lossy();
        let plain = Codec::of_name(&name).map_or(&*name, |(_, plain)| plain);
        Format::named(Path::new(plain).extension()?.to_str()?)
    }

    /// Whether it holds tables: those of numbers alone, and PLY.
    pub(crate) fn has_tables(self) -> bool {
        self.is_table() || self == Format::Ply
    }

    /// Whether scenes, tables or images are written in it. Textures are written by [`crate::textures`].
    pub fn is_written(self) -> bool {
        !matches!(self, Format::Bmp | Format::Psd | Format::Dds | Format::Ktx2)
    }

    /// Whether it holds an image.
    pub fn is_image(self) -> bool {
        use Format::{Bmp, Dds, Exr, Hdr, Jpeg, Ktx2, Png, Psd, Tga};
        matches!(self, Tga | Hdr | Png | Jpeg | Exr | Bmp | Psd | Dds | Ktx2)
    }

    /// The names of those that hold images, for messages.
    pub(crate) fn images() -> String {
        let images = Format::ALL.into_iter().filter(|format| format.is_image());
        images.map(Format::name).collect::<Vec<_>>().join(", ")
    }

    /// Whether it holds a table and nothing else.
    pub(crate) fn is_table(self) -> bool {
        self.table().is_some()
    }

    /// Which tables of numbers it holds, if it holds such alone.
    pub(crate) fn table(self) -> Option<TableFormat> {
        Some(match self {
            Format::Csv => TableFormat::Csv,
            Format::Tsv => TableFormat::Tsv,
            Format::Txt => TableFormat::Txt,
            Format::Xyz => TableFormat::Xyz,
            Format::Pts => TableFormat::Pts,
            Format::Npy => TableFormat::Npy,
            _ => return None,
        })
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn names_need_not_be_text() {
        let path = |name: &'static [u8]| Path::new(OsStr::from_bytes(name));
        for name in [&b"a\xff.obj"[..], b"\xff.OBJ.gz", b"\xff/a.obj"] {
            assert_eq!(Format::of_path(path(name)), Some(Format::Obj));
        }
        assert_eq!(Format::of_path(path(b"a.ob\xff")), None);
    }
}
