//! Options for reading STL. Writing it has only those of scenes.

crate::options! {
    /// Options for reading STL.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct StlReadOptions in "stl" {
        /// Merge positions with equal coordinates. Otherwise each triangle has three of its own, as in the file.
        pub weld: bool = false, with_weld => [stl];
    }
}
