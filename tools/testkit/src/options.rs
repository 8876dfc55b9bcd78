//! Shortcuts for write options that many tests set.

use polyhaul::WriteOptions;
use polyhaul::options::{PlyWriteOptions, SceneWriteOptions};

/// Encoding of a PLY file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlyEncoding {
    /// Text.
    Ascii,
    /// Little-endian binary.
    LittleEndian,
    /// Big-endian binary.
    BigEndian,
}

impl PlyEncoding {
    /// All encodings.
    pub const ALL: [PlyEncoding; 3] = [PlyEncoding::Ascii, PlyEncoding::LittleEndian, PlyEncoding::BigEndian];

    /// Returns the default options with this encoding.
    pub fn options(self) -> WriteOptions {
        let mut options = WriteOptions::default();
        self.set(&mut options);
        options
    }

    /// Sets this encoding in `options`.
    pub fn set(self, options: &mut WriteOptions) {
        options.scene.ascii = self == PlyEncoding::Ascii;
        options.ply = PlyWriteOptions::default().with_big_endian(self == PlyEncoding::BigEndian);
    }
}

/// Returns the default options with `change` applied to the scene options.
pub fn scene_options(change: impl FnOnce(&mut SceneWriteOptions)) -> WriteOptions {
    let mut options = WriteOptions::default();
    change(&mut options.scene);
    options
}
