//! Compresses views for `EXT_meshopt_compression`, in parallel. [`crate::views`] assigns their offsets in the file.

use crate::pages::GltfData;
use crate::views::GltfView;
use polyhaul_model::error::{Error, Result};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::try_for_each_item;
use polyhaul_spill::paced;

/// Compresses each view separately, so that the bytes do not depend on the number of threads.
pub(crate) fn compress(data: &GltfData<'_>, views: &[GltfView], run: &RunOptions) -> Result<Vec<Vec<u8>>> {
    let mut compressed = Vec::new();
    compressed.try_reserve_exact(views.len())?;
    compressed.resize_with(views.len(), Vec::new);
    let work = |raw: &mut Vec<u8>, (view, bytes): (&GltfView, &mut Vec<u8>)| {
        raw.clear();
        // Reserve here, because `emit` cannot report a failed allocation.
        raw.try_reserve_exact(usize::try_from(view.bytes).map_err(|_| Error::memory("values"))?)?;
        paced(&view.spans).for_each(|span| data.emit(span, 0..span.count, raw));
        *bytes = codec::encode(view.kind, raw)?;
        // The encoder allocates for the worst case, and all compressed views stay in memory until they are written.
        polyhaul_spill::shrink(bytes);
        Ok(())
    };
    try_for_each_item(run.worker_threads(), &run.cancel, views.iter().zip(&mut compressed), Vec::new, work)?;
    Ok(compressed)
}

#[cfg(feature = "meshopt")]
mod codec {
    //! Encodes vertices in version 0 of the codec and indices in version 1, as the extension requires.

    use crate::spans::{ViewKind, ViewMode};
    use polyhaul_model::error::{Error, ErrorKind, Result};

    /// Version that the extension requires.
    const VERTEX_VERSION: Option<i32> = Some(0);
    /// Compression level. It has no effect in version 0.
    const VERTEX_LEVEL: i32 = 2;

    /// Encodes the values of a view.
    pub(super) fn encode(kind: ViewKind, raw: &[u8]) -> Result<Vec<u8>> {
        match (kind.mode(), kind.stride()) {
            (ViewMode::Attributes, 4) => vertices::<4>(raw),
            (ViewMode::Attributes, 8) => vertices::<8>(raw),
            (ViewMode::Attributes, 12) => vertices::<12>(raw),
            // `ViewKind::stride` has no other strides for attributes.
            (ViewMode::Attributes, _) => vertices::<16>(raw),
            (mode, stride) => indices(mode, stride == 4, raw),
        }
        .map_err(|error| Error::new(ErrorKind::Internal, format!("meshopt: {error}")))
    }

    fn vertices<const STRIDE: usize>(raw: &[u8]) -> meshopt::Result<Vec<u8>> {
        meshopt::encode_vertex_buffer_level(raw.as_chunks::<STRIDE>().0, VERTEX_LEVEL, VERTEX_VERSION)
    }

    fn indices(mode: ViewMode, are_wide: bool, raw: &[u8]) -> meshopt::Result<Vec<u8>> {
        let indices: Vec<u32> = if are_wide {
            raw.as_chunks().0.iter().map(|&index| u32::from_le_bytes(index)).collect()
        } else {
            raw.as_chunks().0.iter().map(|&index| u32::from(u16::from_le_bytes(index))).collect()
        };
        // The encoder only derives the maximum size of its output from this count.
        let vertices = indices.iter().max().map_or(0, |&index| index as usize + 1);
        match mode {
            ViewMode::Triangles => meshopt::encode_index_buffer(&indices, vertices),
            _ => meshopt::encode_index_sequence(&indices, vertices),
        }
    }
}

#[cfg(not(feature = "meshopt"))]
mod codec {
    use crate::spans::ViewKind;
    use polyhaul_model::error::{Error, ErrorKind, Result};

    pub(super) fn encode(_: ViewKind, _: &[u8]) -> Result<Vec<u8>> {
        let error = Error::new(ErrorKind::Unsupported, "this build cannot compress glTF with meshopt");
        Err(error.with_hint("build polyhaul with the feature `meshopt`"))
    }
}
