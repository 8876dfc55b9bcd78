//! Short ways to options that many tests set.

use polyhaul::WriteOptions;
use polyhaul::options::{PlyWriteOptions, SceneWriteOptions};

/// The encoding of numbers in a PLY file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlyEncoding {
    /// Text.
    Ascii,
    /// Binary, lowest byte first.
    LittleEndian,
    /// Binary, highest byte first.
    BigEndian,
}

impl PlyEncoding {
    /// All encodings.
    pub const ALL: [PlyEncoding; 3] = [PlyEncoding::Ascii, PlyEncoding::LittleEndian, PlyEncoding::BigEndian];

    /// The default options with this encoding.
    pub fn options(self) -> WriteOptions {
        let mut options = WriteOptions::default();
        self.set(&mut options);
        options
    }

    /// Sets this encoding.
    pub fn set(self, options: &mut WriteOptions) {
        options.scene.ascii = self == PlyEncoding::Ascii;
        options.ply = PlyWriteOptions::default().with_big_endian(self == PlyEncoding::BigEndian);
    }
}

/// The default options with these options of scenes.
pub fn scene_options(change: impl FnOnce(&mut SceneWriteOptions)) -> WriteOptions {
    let mut options = WriteOptions::default();
    change(&mut options.scene);
    options
}
