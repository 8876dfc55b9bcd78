//! Options for writing Gaussian splats.

crate::options! {
    /// Options for writing Gaussian splats: SPZ, `.splat` and compressed PLY.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct SplatWriteOptions {
        /// The version of SPZ files, 2 to 4 (3).
        pub spz_version: u8 = 3, with_spz_version;
        /// The level of compression of SPZ files: of gzip, 1 to 12, or in version 4 of zstd, 1 to 22 (a fast one).
        pub spz_level: Option<i32> = None, with_spz_level;
        /// The highest degree of spherical harmonics to write, 0 to 4 (as many as the format stores).
        pub harmonics_degree: u8 = 4, with_harmonics_degree;
        /// Keep the order of the splats in compressed PLY. By default they are sorted by place, which makes positions,
        /// scales and colors more precise, because 256 splats in a row share their ranges.
        pub keep_order: bool = false, with_keep_order;
    }
}
