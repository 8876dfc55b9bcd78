//! Sends faces to a consumer: stores a chunk's faces, then hands them over as a piece.

use super::sink::{PlyScratch, PlySink, PlySinkBlock, SinkFound};
use super::store::PlyStore;
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_pipeline::consumer::{MeshConsumer, MeshPiece, PieceFaces};
use polyhaul_pipeline::options::ParseOptions;
use polyhaul_pipeline::parallel::try_for_each_item;

/// Points per piece.
const POINTS: usize = 64 << 10;

/// Sends the faces of a mesh, with its vertices, to a consumer.
#[derive(Clone, Copy)]
pub(super) struct PlyPieces<'a> {
    pub(super) consumer: &'a dyn MeshConsumer,
    pub(super) positions: &'a [[f32; 3]],
    pub(super) colors: &'a [[u8; 4]],
}

impl PlyPieces<'_> {
    /// Stores the faces in the rows of a block, to be sent once they are checked. `faces` is reused memory.
    pub(super) fn store(
        block: &PlySinkBlock<'_>,
        sink: &PlySink,
        faces: &mut Option<PlySink>,
        scratch: &mut PlyScratch,
    ) -> Result<SinkFound> {
        if faces.is_none() {
            *faces = Some(sink.of_lists()?);
        }
        let Some(stored) = faces else { return Err(Error::new(ErrorKind::Internal, "no room for faces")) };
        let total = match block.shape {
            Some(shape) => shape.totals(block.rows as u64).sum::<u64>(),
            None => block.totals.iter().sum(),
        };
        stored.reserve_rows(block.rows as u64)?;
        stored.reserve_values(&[total])?;
        let first_row = block.first_row;
        // SAFETY: only this chunk uses the arrays, and slots for its rows and their values are reserved.
        let mut findings = unsafe { stored.publish(&PlySinkBlock { first_row: 0, bases: &[], ..*block }, scratch)? };
        findings.mismatch = findings.mismatch.map(|row| row + first_row);
        findings.flaws.iter_mut().for_each(|flaw| flaw.row += first_row);
        Ok(findings)
    }

    /// Sends the first `rows` stored faces.
    ///
    /// # Safety
    /// The faces were stored by [`PlyPieces::store`], without an error.
    pub(super) unsafe fn hand_over(&self, faces: &mut PlySink, first_face: u64, rows: usize) -> Result<()> {
        let Some((list, true)) = faces.lists.first_mut().map(|list| (list, rows > 0)) else { return Ok(()) };
        let PlyStore::Bytes4(values) = &mut list.values else { return Ok(()) };
        // SAFETY: by this function's contract, the offsets of `rows` rows and the 0 before them were written, and as
        // many values as the last offset.
        let (offsets, corners) = unsafe {
            let offsets = list.offsets.written(rows + 1);
            (offsets, values.written(offsets.last().map_or(0, |&end| end as usize)))
        };
        let faces = PieceFaces::Lists { offsets, corners };
        self.consumer.take(&MeshPiece {
            first_face,
            positions: self.positions,
            colors: self.colors,
            faces,
            ..MeshPiece::default()
        })
    }

    /// Sends all positions as points.
    pub(super) fn points(&self, options: &ParseOptions) -> Result<()> {
        let threads = options.run.worker_threads();
        let cancel = &options.run.cancel;
        try_for_each_item(
            threads,
            cancel,
            self.positions.chunks(POINTS).enumerate(),
            || (),
            |(), (number, positions)| {
                let first = number * POINTS;
                let colors = self.colors.get(first..first + positions.len()).unwrap_or_default();
                let faces = PieceFaces::Points;
                self.consumer.take(&MeshPiece {
                    first_face: first as u64,
                    positions,
                    colors,
                    faces,
                    ..MeshPiece::default()
                })
            },
        )
    }
}
