//! Options for writing PLY. OFF has only the options that all formats share.

crate::options! {
    /// Options for writing PLY.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct PlyWriteOptions in "ply" {
        /// Write big-endian binary data.
        pub big_endian: bool = false, with_big_endian => [ply];
    }
}
