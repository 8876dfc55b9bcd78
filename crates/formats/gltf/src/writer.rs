//! Writes a scene to a `.glb` file, or to a `.gltf` file and its buffer. [`crate::plan`] determines the content.

use crate::compress::compress;
use crate::container::{BINARY, CHUNK_HEADER_BYTES, HEADER_BYTES, JSON, MAGIC, VERSION};
use crate::document::Document;
use crate::job::GltfJob;
use crate::losses;
use crate::pages::{GltfData, GltfPages, PAGE_BYTES};
use crate::plan::{GltfPlan, plan};
use crate::serial::DocumentBytes;
use crate::uri::encode_name;
use crate::views::{FileLayout, lay_out};
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::warnings::Warnings;
use polyhaul_pipeline::write::Writing;

/// A planned file.
pub struct GltfFile<'a> {
    document: Document,
    data: GltfData<'a>,
    /// Bytes of compressed views.
    compressed: Vec<Vec<u8>>,
    layout: FileLayout,
}

impl<'a> GltfFile<'a> {
    /// Plans the file of a scene. Compresses views and keeps the compressed bytes in memory.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for values that glTF cannot store, such as coordinates that are not finite, and if
    /// this build does not support compression; [`ErrorKind::Usage`] for out-of-range indices; the first loss if
    /// [`GltfJob::strict`] refuses losses; [`ErrorKind::Memory`]; [`ErrorKind::Cancelled`].
    pub fn new(job: &GltfJob<'a>, warnings: &mut Warnings) -> Result<GltfFile<'a>> {
        let plan = plan(job)?;
        losses::note(job, &plan, warnings)?;
        warnings.refuse_losses(job.strict)?;
        let GltfPlan { mut document, data, mut views, .. } = plan;
        let is_compressed = job.options.meshopt;
        let compressed = if is_compressed { compress(&data, &views, job.run)? } else { Vec::new() };
        let layout = lay_out(&mut document, &mut views, is_compressed.then_some(&compressed), job.images)?;
        Ok(GltfFile { document, data, compressed, layout })
    }

    /// Returns the size of the binary part in bytes.
    pub fn binary_bytes(&self) -> u64 {
        self.layout.bytes
    }

    /// Writes the JSON and the binary part as `.glb`.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] if the file would exceed 4 GiB; [`ErrorKind::Memory`]; errors of the output.
    pub fn write_glb(&mut self, writing: &mut Writing<'_, '_>) -> Result<()> {
        let mut json = self.json(None)?;
        // Chunks are padded to 4 bytes: JSON with spaces, binary values with zeros.
        json.try_reserve(4)?;
        json.resize(json.len().next_multiple_of(4), b' ');
        let binary = self.layout.bytes.next_multiple_of(4);
        let chunks = if binary == 0 { CHUNK_HEADER_BYTES } else { 2 * CHUNK_HEADER_BYTES };
        let total = (HEADER_BYTES + chunks + json.len()) as u64 + binary;
        let total = u32::try_from(total).map_err(|_| {
            let message = format!("a .glb file cannot exceed 4 GiB, but this one would have {total} bytes");
            Error::new(ErrorKind::Limit, message).with_hint("write a .gltf file with its buffer in a separate file")
        })?;
        let mut head = Vec::new();
        head.try_reserve_exact(HEADER_BYTES + chunks + json.len())?;
        head.extend_from_slice(MAGIC);
        head.extend_from_slice(&VERSION.to_le_bytes());
        head.extend_from_slice(&total.to_le_bytes());
        // The casts of both lengths are lossless, because `total` includes them and fits in 32 bits.
        head.extend_from_slice(&(json.len() as u32).to_le_bytes());
        head.extend_from_slice(JSON);
        head.append(&mut json);
        if binary > 0 {
            head.extend_from_slice(&(binary as u32).to_le_bytes());
            head.extend_from_slice(BINARY);
        }
        writing.announce(u64::from(total));
        writing.set_head(head);
        self.write_binary(writing)?;
        writing.end(vec![0; (binary - self.layout.bytes) as usize])
    }

    /// Writes the binary part, which is the buffer of a `.gltf` file.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn write_binary(&self, writing: &mut Writing<'_, '_>) -> Result<()> {
        let pages = GltfPages::new(&self.data, &self.compressed, &self.layout.spans)?;
        writing.pages(&pages, &mut (), pages.count() as u64, PAGE_BYTES)
    }

    /// Serializes the JSON. `buffer` is the file name for its buffer; `None` means that the buffer is the second chunk.
    ///
    /// # Errors
    /// [`ErrorKind::Memory`].
    pub fn json(&mut self, buffer: Option<&str>) -> Result<Vec<u8>> {
        let document = &mut self.document;
        if let Some(first) = document.buffers.first_mut() {
            first.uri = buffer.map(encode_name);
        }
        let mut bytes = DocumentBytes::default();
        serde_json::to_writer(&mut bytes, document).map_err(|error| {
            // `DocumentBytes` fails only if an allocation fails.
            if error.is_io() {
                Error::memory("the document")
            } else {
                Error::new(ErrorKind::Internal, error.to_string())
            }
        })?;
        Ok(bytes.0)
    }
}
