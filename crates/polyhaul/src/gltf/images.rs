//! Images inside glTF files, which have names like paths: `chair.glb#image0.png`.
//!
//! Such a name is valid wherever the path of an image is, unless a file has it. The file with the image must be a
//! regular file on disk or an object; whether it may be opened is up to `resolve` and `references`. Only the JSON and
//! the bytes of the image are read.

use crate::open::{Near, Opened};
use crate::options::ReadOptions;
use crate::resolve::{Origin, Resolver};
use polyhaul_bytes::{Codec, Source, place};
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_pipeline::bytes::Bytes;
use std::io;
use std::path::{Path, PathBuf};

/// The path of an image inside a file.
struct InnerImage {
    file: PathBuf,
    index: usize,
    /// `#image0.png`.
    suffix: String,
}

impl InnerImage {
    /// `None` for other paths, and if there is no such file, or one whose name is the whole path.
    fn at(path: &Path) -> Option<InnerImage> {
        let name = path.file_name()?.to_str()?;
        let (file, index) = polyhaul_gltf::split_image_name(name)?;
        let suffix = name.get(file.len()..)?.to_owned();
        let file = path.with_file_name(file);
        // A web server would ignore what follows the `#`.
        let is_taken = !place::is_url(path) && place::find(path).is_ok();
        (!is_taken && place::is_file(&file)).then_some(InnerImage { file, index, suffix })
    }
}

/// Whether a path is that of an image inside a file that exists.
pub(crate) fn is_image_at(path: &Path) -> bool {
    InnerImage::at(path).is_some()
}

/// Whether a name may be that of an image inside a file.
pub(crate) fn may_be_image(name: &str) -> bool {
    polyhaul_gltf::split_image_name(name).is_some()
}

/// The path without links; for an image inside a file, that of the file with the same ending.
///
/// # Errors
/// Errors of the system.
pub(crate) fn real(path: &Path) -> io::Result<PathBuf> {
    let Some(image) = InnerImage::at(path) else { return place::real(path) };
    let mut real = place::real(&image.file)?.into_os_string();
    real.push(image.suffix);
    Ok(real.into())
}

/// The name of a file for an image inside a file: `chair_image0.png`.
pub(crate) fn file_name(path: &Path) -> Option<String> {
    let InnerImage { file, suffix, .. } = InnerImage::at(path)?;
    let name = file.file_name()?.to_string_lossy();
    let plain = Codec::of_name(&name).map_or(&*name, |(_, plain)| plain);
    let stem = Path::new(plain).file_stem()?.to_string_lossy();
    Some(format!("{stem}_{}", suffix.trim_start_matches('#')))
}

/// The image inside a file that `path` names; `None` for other paths.
pub(crate) fn image_at(path: &Path, options: &ReadOptions) -> Result<Option<Source<'static>>> {
    let Some(InnerImage { file, index, .. }) = InnerImage::at(path) else { return Ok(None) };
    let plain = Opened::file(&file, options)?.plain(options)?;
    let (bytes, near) = (Bytes::new(plain.source(), plain.garbage()), Near::File(file));
    let mut beside = |name: &str, offset: u64, count: usize| read_range(&near, options, name, offset, count);
    let (parse, most) = (plain.options(options), options.limits.referenced_file_bytes);
    let image = polyhaul_gltf::read_image(bytes, index, &parse, most, &mut beside)?;
    Ok(Some(Source::named_memory(image, place::shown(path))))
}

/// Bytes of a buffer beside the file.
fn read_range(near: &Near, options: &ReadOptions, name: &str, offset: u64, count: usize) -> Result<Vec<u8>> {
    let mut resolver = Resolver::beside(near, options);
    let origin = resolver.find(name)?.origin;
    // An image in a buffer that is an image could go on forever.
    if let Origin::File { real: path, .. } | Origin::Host(crate::Input::Path(path), _) = &origin
        && is_image_at(path)
    {
        return Err(Error::new(ErrorKind::Unsupported, "a buffer is an image inside a file"));
    }
    let plain = resolver.open(origin)?.0.plain(options)?;
    let (bytes, mut found) = (Bytes::new(plain.source(), plain.garbage()), Vec::new());
    if !bytes.in_order() {
        bytes.read_as_claimed(offset, count, &mut found)?;
        return Ok(found);
    }
    let skipped = usize::try_from(offset).unwrap_or(usize::MAX);
    bytes.read_as_claimed(0, skipped.saturating_add(count), &mut found)?;
    found.drain(..skipped.min(found.len()));
    Ok(found)
}
