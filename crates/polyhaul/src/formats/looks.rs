//! What the first bytes of a source look like.
//!
//! One function per format that can be told so. Nothing here opens, reads on or parses; who asks, and what becomes of
//! the answer, is in `detect`.

use super::{Format, bmp, dds, exr, hdr, jpeg, ktx2, pbrt, png, psd, stl, tga};

/// How much of a source is worth a look.
pub(crate) const HEAD_BYTES: usize = 1024;

/// The first bytes of a source, and how many there are in all, where that is known.
struct Head<'a> {
    bytes: &'a [u8],
    size: Option<u64>,
}

/// Whether something begins as files of a format do.
type Look = fn(&Head<'_>) -> bool;

/// What can be told by the first bytes. A new format has its line here.
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
    // The last, because it is told by little.
    (Format::Tga, |head| tga::looks_like_tga(head.bytes)),
];

/// The format that a source looks like: by its first [`HEAD_BYTES`], and how many there are in all.
pub(crate) fn of_content(bytes: &[u8], size: Option<u64>) -> Option<Format> {
    let head = Head { bytes, size };
    LOOKS.iter().find(|(_, look)| look(&head)).map(|(format, _)| *format)
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
