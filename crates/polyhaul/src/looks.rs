//! Which format the first bytes of a source look like.
//!
//! One function per format that can be recognized. Nothing here opens, reads on or parses; `detect` decides what the
//! answer means.

use crate::format::Format;
use polyhaul_image::{bmp, dds, exr, hdr, jpeg, ktx2, png, psd, tga};
use polyhaul_mesh::stl;
use polyhaul_pbrt as pbrt;

/// How many bytes of a source are examined.
pub(crate) const HEAD_BYTES: usize = 1024;

/// The first bytes of a source, and how many there are in all, where that is known.
struct Head<'a> {
    bytes: &'a [u8],
    size: Option<u64>,
}

/// Whether a source begins as files of a format do.
type Look = fn(&Head<'_>) -> bool;

/// The formats that their first bytes identify. A new format has its line here.
const LOOKS: [(Format, Look); 13] = [
    (Format::Ply, looks_like_ply),
    (Format::Npy, looks_like_npy),
    (Format::Stl, looks_like_stl),
    (Format::Pbrt, |head| pbrt::looks_like_scene(without_mark(head.bytes))),
    (Format::Hdr, |head| hdr::looks_like_hdr(head.bytes)),
    (Format::Png, |head| png::looks_like_png(head.bytes)),
    (Format::Jpeg, |head| jpeg::looks_like_jpeg(head.bytes)),
    (Format::Exr, |head| exr::looks_like_exr(head.bytes)),
    (Format::Bmp, |head| bmp::looks_like_bmp(head.bytes)),
    (Format::Psd, |head| psd::looks_like_psd(head.bytes)),
    (Format::Dds, |head| dds::looks_like_dds(head.bytes)),
    (Format::Ktx2, |head| ktx2::looks_like_ktx2(head.bytes)),
    // The last, because it has the weakest signature.
    (Format::Tga, |head| tga::looks_like_tga(head.bytes)),
];

/// The format that a source looks like: by its first [`HEAD_BYTES`], and how many there are in all.
pub(crate) fn of_content(bytes: &[u8], size: Option<u64>) -> Option<Format> {
    let head = Head { bytes, size };
    LOOKS.iter().find(|(_, look)| look(&head)).map(|(format, _)| *format)
}

/// The formats that content identifies, for messages; OBJ only where there is no extension.
pub(crate) fn names(with_obj: bool) -> String {
    let obj = with_obj.then_some(Format::Obj).into_iter();
    let names: Vec<_> = obj.chain(LOOKS.map(|(format, _)| format)).map(Format::name).collect();
    names.join(", ")
}

/// Whether text begins with a statement of OBJ; `None` where it has only blank lines and comments.
///
/// This is not one of [`LOOKS`]: such short words say little beside a name that says otherwise.
pub(crate) fn begins_as_obj(head: &[u8]) -> Option<bool> {
    let lines = without_mark(head).split(|byte| matches!(byte, b'\n' | b'\r'));
    let mut words = lines.map(|line| line.trim_ascii()).filter(|line| !line.is_empty() && line[0] != b'#');
    let line = words.next()?;
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let (keyword, next) = (words.next()?, words.next());
    Some(match keyword {
        b"o" | b"g" | b"usemtl" | b"mtllib" | b"cstype" | b"deg" | b"curv" | b"mg" | b"maplib" | b"usemap" => true,
        b"s" => next.is_some_and(|word| word == b"off" || word == b"on" || is_number(word)),
        b"v" | b"vt" | b"vn" | b"vp" | b"f" | b"fo" | b"l" | b"p" => next.is_some_and(is_number),
        _ => false,
    })
}

fn is_number(word: &[u8]) -> bool {
    word.first().is_some_and(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.'))
}

fn looks_like_ply(head: &Head<'_>) -> bool {
    head.bytes.strip_prefix(b"ply").is_some_and(|rest| matches!(rest.first(), Some(b'\n' | b'\r')))
}

fn looks_like_npy(head: &Head<'_>) -> bool {
    head.bytes.starts_with(b"\x93NUMPY")
}

/// Text behind the word `solid`, or as many triangles as the header counts. The size of a stream is not known.
fn looks_like_stl(head: &Head<'_>) -> bool {
    let text = without_mark(head.bytes).trim_ascii_start();
    let is_word = text.get(5).is_some_and(u8::is_ascii_whitespace);
    is_word && stl::is_text(head.bytes, head.size) || stl::fits(head.bytes, head.size)
}

/// Text without a byte order mark.
fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::of_content as format;
    use super::*;

    #[test]
    fn first_bytes_tell_formats() {
        let texts: [(&[u8], Option<Format>); 16] = [
            (b"# a scene\n\r\nLookAt 0 0 0", Some(Format::Pbrt)),
            (b"\xEF\xBB\xBFFilm\"rgb\"", Some(Format::Pbrt)),
            (b"# a scene", None),
            (b"Films \"rgb\"", None),
            (b"ply\nformat", Some(Format::Ply)),
            (b"ply\r", Some(Format::Ply)),
            (b"plywood 3\n", None),
            (b"ply", None),
            (b"\x93NUMPY\x01\x00", Some(Format::Npy)),
            (b"\x93NUMP", None),
            (b"solid\nendsolid\n", Some(Format::Stl)),
            (b"\xEF\xBB\xBF SOLID a\n", Some(Format::Stl)),
            (b"solidity,x\n1,2\n", None),
            (b"solid\0", None),
            (b"v 0 0 0\n", None),
            (b"", None),
        ];
        for (text, wanted) in texts {
            assert_eq!(format(text, None), wanted, "{text:?}");
            assert_eq!(format(text, Some(text.len() as u64)), wanted, "{text:?}");
        }
    }

    #[test]
    fn binary_stl_is_told_by_its_size() {
        let mut file = [7; 134];
        file[80..84].copy_from_slice(&1u32.to_le_bytes());
        assert_eq!(format(&file, Some(134)), Some(Format::Stl));
        assert_eq!([format(&file, Some(133)), format(&file, None), format(&file[..83], Some(83))], [None; 3]);
        file[80..84].copy_from_slice(&0u32.to_le_bytes());
        assert_eq!(format(&file[..84], Some(84)), Some(Format::Stl));
    }
}
