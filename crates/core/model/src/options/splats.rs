//! Options for Gaussian splats.

crate::options! {
    /// Options for reading Gaussian splats.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct SplatReadOptions in "splats" {
        /// The axes of SPZ files. When reading, it applies only to files that do not declare their axes.
        pub spz_axes: SpzAxes = SpzAxes::Rub, with_spz_axes => [spz];
    }
}

crate::options! {
    /// Options for writing Gaussian splats: SPZ, `.splat`, compressed PLY and glTF.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct SplatWriteOptions in "splats" {
        /// The version of SPZ files.
        pub spz_version: u8 = 3, with_spz_version => [spz] in 2..=4;
        /// The compression level of SPZ files, from 1 (fast) to 12 (small), or to 22 for version 4.
        pub spz_level: i32 = 1, with_spz_level => [spz] in 1..=22;
        /// The axes of SPZ files. When reading, it applies only to files that do not declare their axes.
        pub spz_axes: SpzAxes = SpzAxes::Rub, with_spz_axes => [spz];
        /// The highest degree of spherical harmonics to write. Formats that store fewer degrees write only those.
        pub sh_degree: u8 = 4, with_sh_degree => [spz, splat, compressed_ply, glb] in 0..=4;
        /// Keep the order of splats. By default compressed PLY sorts them by position, which makes positions, scales
        /// and colors more precise, because each block of 256 consecutive splats shares one value range.
        pub keep_order: bool = false, with_keep_order => [compressed_ply];
    }
}

crate::choices! {
    /// The axes of SPZ files: the directions of x, y and z.
    pub enum SpzAxes = Rub {
        /// Right, up, back, as the format specifies.
        "rub" => Rub,
        /// Right, down, forward, as in PLY: some programs store these axes.
        "rdf" => Rdf,
    }
}
