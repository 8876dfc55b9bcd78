//! Converts the axes of SPZ files, declared by the file or selected by the caller.
//!
//! There are sixteen systems, numbered from 1. The first eight name the directions of x (left, right), y (down, up) and
//! z (back, forward), in the order LDB, RDB, LUB, RUB, LDF, RDF, LUF, RUF. The other eight are the same systems after a
//! quarter turn about x, in the same order: (x, y, z) becomes (x, -z, y), so that z points down or up. Sources: the
//! enumeration in <https://github.com/nianticlabs/spz>, and files that declare each system.

use polyhaul_geometry::affine;
use polyhaul_geometry::linear::Matrix4;
use polyhaul_model::Mesh;
use polyhaul_model::error::Result;
use polyhaul_model::options::SpzAxes;
use polyhaul_pipeline::options::RunOptions;

/// Number of systems.
const SYSTEMS: u32 = 16;
/// Number of systems without the quarter turn. These come first.
const UNTURNED: u32 = 8;
/// The systems of SPZ and of PLY.
const RUB: u32 = 4;
const RDF: u32 = 6;

/// Axis system of stored splats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SpzSystem(u32);

impl SpzSystem {
    /// Converts a number from a file. Returns `None` if it is invalid. 0 is the default of SPZ.
    pub(super) fn from_number(number: u32) -> Option<SpzSystem> {
        match number {
            0 => Some(SpzSystem(RUB)),
            1..=SYSTEMS => Some(SpzSystem(number)),
            _ => None,
        }
    }

    pub(super) fn from_axes(axes: SpzAxes) -> SpzSystem {
        match axes {
            SpzAxes::Rub => SpzSystem(RUB),
            SpzAxes::Rdf => SpzSystem(RDF),
        }
    }

    /// Returns the number that represents the system in files.
    pub(super) fn number(self) -> u32 {
        self.0
    }

    /// Corrects splats that were read as if the file had SPZ's axes.
    ///
    /// # Errors
    /// As for [`affine::transform`].
    pub(super) fn correct(self, mesh: &mut Mesh, run: &RunOptions) -> Result<()> {
        if self.0 == RUB { Ok(()) } else { affine::transform(mesh, &self.correction(), run) }
    }

    /// Returns the matrix for this correction.
    fn correction(self) -> Matrix4 {
        let signs = |system: u32, plain: u32| {
            // The numbers minus 1 have one bit per axis, so an XOR yields the axes that differ.
            let differs = (system - 1) ^ (plain - 1);
            [0, 1, 2].map(|axis| if differs >> axis & 1 == 1 { -1.0 } else { 1.0 })
        };
        // Restores the stored numbers first. This works because the conversion between SPZ and PLY is its own inverse.
        let stored = signs(RUB, RDF);
        let is_turned = self.0 > UNTURNED;
        let placed = signs(if is_turned { self.0 - UNTURNED } else { self.0 }, RDF);
        let mut matrix = [[0.0; 4]; 4];
        for (row, sign) in placed.into_iter().enumerate() {
            let (column, turn) = match row {
                1 if is_turned => (2, 1.0),
                2 if is_turned => (1, -1.0),
                row => (row, 1.0),
            };
            matrix[row][column] = sign * turn * stored[column];
        }
        matrix[3][3] = 1.0;
        matrix
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_system_comes_to_the_axes_of_ply() {
        // Right, down and forward in the axes of each system.
        let expected = [
            (1, [[-1, 0, 0], [0, 1, 0], [0, 0, -1]]),
            (4, [[1, 0, 0], [0, -1, 0], [0, 0, -1]]),
            (6, [[1, 0, 0], [0, 1, 0], [0, 0, 1]]),
            (8, [[1, 0, 0], [0, -1, 0], [0, 0, 1]]),
            // RFU: forward is y, up is z.
            (12, [[1, 0, 0], [0, 0, -1], [0, 1, 0]]),
            (16, [[1, 0, 0], [0, 0, -1], [0, -1, 0]]),
        ];
        for (number, directions) in expected {
            let system = SpzSystem::from_number(number).unwrap();
            for (axis, direction) in directions.into_iter().enumerate() {
                let [x, y, z] = direction.map(|value| value as f32);
                // As the reader converts positions.
                let mut mesh = Mesh { positions: vec![[x, -y, -z]].into(), ..Mesh::default() };
                system.correct(&mut mesh, &RunOptions::default()).unwrap();
                let mut unit = [0.0; 3];
                unit[axis] = 1.0;
                assert_eq!(mesh.positions[0].map(|value| value + 0.0), unit, "{number}");
            }
        }
        assert_eq!(SpzSystem::from_number(0), SpzSystem::from_number(RUB));
        assert_eq!(SpzSystem::from_number(17), None);
        assert_eq!(SpzSystem::from_axes(SpzAxes::Rdf).number(), RDF);
    }
}
