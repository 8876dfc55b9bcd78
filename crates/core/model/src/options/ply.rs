//! Options for writing PLY. OFF has only those of scenes.

crate::options! {
    /// Options for writing PLY.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct PlyWriteOptions in "ply" {
        /// Write big-endian binary data.
        pub big_endian: bool = false, with_big_endian => [ply];
    }
}
