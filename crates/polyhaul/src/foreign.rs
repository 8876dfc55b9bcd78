//! Recognizes unsupported files, for the hint of an error.
//!
//! Signatures have at most eight bytes, which are also available for streams. The signature of tar archives is at
//! offset 257, so such archives are recognized only if the format is detected by content. Called only after an error,
//! or for a table without rows: no file is rejected because of its signature.

/// A kind of content: its signatures, its name, and the remedy.
pub(crate) struct ForeignContent {
    starts: &'static [&'static [u8]],
    pub(crate) name: &'static str,
    pub(crate) remedy: &'static str,
}

const CONVERT: &str = "export it as glTF, OBJ or PLY from a program that reads it";
const DOWNLOAD: &str = "the server may have sent an error instead of the file: download it again";

const EXTRACT: &str = "extract it first";
const DECOMPRESS: &str = "decompress it first, or use gzip, zstd or lz4";
/// Offset and signature of a tar archive.
const TAR_START: (usize, &[u8]) = (257, b"ustar");
static TAR: ForeignContent = content(&[], "a tar archive", EXTRACT);

/// Contents that commonly replace a file by mistake or have a wrong extension. Letters match in any case.
static CONTENTS: [ForeignContent; 22] = [
    content(&[b"version "], "a Git LFS pointer", "fetch the file itself with `git lfs pull`"),
    content(&[b"<!doctyp", b"<html", b"<head", b"<body"], "a web page", DOWNLOAD),
    content(&[b"<error"], "an error message in XML", DOWNLOAD),
    content(&[b"{\"error", b"{\"messa", b"{\"code", b"{\"statu"], "an error message in JSON", DOWNLOAD),
    content(&[b"<collada", b"<?xml"], "an XML document, such as COLLADA, X3D or an error of a server", CONVERT),
    content(&[b"kaydara ", b"; fbx"], "FBX", CONVERT),
    content(&[b"blender"], "a Blender file", CONVERT),
    content(&[b"pxr-usdc", b"#usda"], "USD", CONVERT),
    content(&[b"ogawa"], "Alembic", CONVERT),
    content(&[b"# vtk da", b"<vtkfile"], "a VTK file", CONVERT),
    content(&[b"lasf"], "LAS", CONVERT),
    content(&[b"astm-e57"], "E57", CONVERT),
    content(&[b"# .pcd"], "PCD", CONVERT),
    content(&[b"\x89hdf"], "HDF5", CONVERT),
    content(&[b"%pdf"], "a PDF document", CONVERT),
    content(&[b"pk\x03\x04"], "a ZIP archive", "append the member name to the archive path: `a.zip/model.obj`"),
    content(&[b"rar!"], "a RAR archive", EXTRACT),
    content(&[b"7z\xbc\xaf"], "a 7z archive", EXTRACT),
    content(&[b"bzh"], "bzip2", DECOMPRESS),
    content(&[b"\xfd7zxz\0"], "xz", DECOMPRESS),
    content(&[b"\x1f\x9d"], "compress", DECOMPRESS),
    content(&[b"gif8", b"riff"], "an image or a sound file", "check the file name"),
];

const fn content(starts: &'static [&'static [u8]], name: &'static str, remedy: &'static str) -> ForeignContent {
    ForeignContent { starts, name, remedy }
}

impl ForeignContent {
    pub(crate) fn hint(&self) -> String {
        format!("the content looks like {}: {}", self.name, self.remedy)
    }
}

/// Returns the kind of content that starts with `head`, if it is recognized.
pub(crate) fn recognize(head: &[u8]) -> Option<&'static ForeignContent> {
    if head.get(TAR_START.0..).is_some_and(|rest| rest.starts_with(TAR_START.1)) {
        return Some(&TAR);
    }
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let is_start = |start: &&[u8]| text.get(..start.len()).is_some_and(|text| text.eq_ignore_ascii_case(start));
    CONTENTS.iter().find(|content| content.starts.iter().any(is_start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_content_is_named_with_a_remedy() {
        for (head, name) in [
            (&b"version https://git-lfs.github.com/spec/v1\noid sha256:"[..], "a Git LFS pointer"),
            (b"\xef\xbb\xbf\r\n <!DOCTYPE HTML PUBLIC", "a web page"),
            (b"<Error><Code>NoSuchKey</Code>", "an error message in XML"),
            (b"{\"message\":\"Not Found\"}", "an error message in JSON"),
            (b"Kaydara FBX Binary  \0", "FBX"),
            (b"BLENDER-v300", "a Blender file"),
            (b"# .PCD v0.7 - Point Cloud Data", "PCD"),
            (b"BZh91AY&SY", "bzip2"),
            (b"\xfd7zXZ\0\0\x04", "xz"),
            (&[b"a.obj", &[0; 252][..], b"ustar\x0000"].concat(), "a tar archive"),
        ] {
            let hint = recognize(head).unwrap().hint();
            assert!(hint.starts_with(&format!("the content looks like {name}: ")), "{hint}");
        }
        for head in ["v 0 0 0\n", "", "ply\n", "versions\n", "{}", "# vt 1 2", "\0\0\0\0"] {
            assert!(recognize(head.as_bytes()).is_none(), "{head}");
        }
    }
}
