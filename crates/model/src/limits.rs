//! The caller's caps, and what to do with faults in the data.

/// What reading does when data breaks the rules of its format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnError {
    /// Stop with the first error, by position.
    #[default]
    Raise,
    /// Leave the broken statement out, count it as a warning, and go on.
    Warn,
}

crate::options! {
    /// The caller's caps. Passing one is an error that names it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Limits {
        /// The longest logical line, in bytes (default 256 MiB, at most 1 GiB); of pbrt, the longest text from one line
        /// that begins with a directive to the next. It counts on top of the memory limit.
        pub line_bytes: u64 = 256 << 20, with_line_bytes;
        /// The longest name of an object, group, material or file, in bytes (default 64 KiB).
        pub name_bytes: u64 = 64 << 10, with_name_bytes;
        /// The most elements of each kind (default 2^32 - 2, which the index type sets).
        pub elements: u64 = u64::from(u32::MAX) - 1, with_elements;
        /// The maximum number of objects, and of distinct groups, that an OBJ file declares (default 1,000,000). An
        /// empty object takes about 250 bytes of memory.
        pub objects: u64 = 1_000_000, with_objects;
        /// The maximum number of materials that an OBJ file uses, or a material library defines (default 100,000). A
        /// material takes about 700 bytes of memory.
        pub materials: u64 = 100_000, with_materials;
        /// The maximum pixels of an image, or of all pictures of a texture (default 2^28: 16,384 x 16,384). Of an image
        /// with more than four channels each four count as a picture.
        pub pixels: u64 = 1 << 28, with_pixels;
        /// The maximum bytes of pixels per byte of a compressed image file, checked for images that take more than 512
        /// MiB in memory (default 100).
        pub image_ratio: u64 = 100, with_image_ratio;
        /// The most columns of a table (default 100,000).
        pub columns: u64 = 100_000, with_columns;
        /// The most elements and properties, in all, that the header of a PLY file declares (default 10,000). A few
        /// hundred bytes belong to each.
        pub properties: u64 = 10_000, with_properties;
        /// The longest header of a PLY or EXR file, in bytes (default 8 MiB).
        pub header_bytes: u64 = 8 << 20, with_header_bytes;
        /// The most files that one scene may refer to (default 10,000). Of pbrt each Include and Import counts, also of
        /// a file that was there before: it is read each time.
        pub files: u64 = 10_000, with_files;
        /// Max bytes of text that a pbrt scene may read again, decompressed: of each Include and Import of a file that
        /// was read before (default 256 MiB). The scene's files, each once, may always be read as often again.
        pub included_bytes: u64 = 256 << 20, with_included_bytes;
        /// Max vertices, and max faces, that the instances of a scene may multiply its meshes to where a format without
        /// instances is written (default 1,000,000,000). Meshes that are not repeated do not count.
        pub instanced_elements: u64 = 1_000_000_000, with_instanced_elements;
        /// Max objects that the instances of a scene may multiply to where they become objects or shapes of their own
        /// (default 10,000,000).
        pub instanced_objects: u64 = 10_000_000, with_instanced_objects;
        /// The largest file that a scene refers to, in bytes, plain where it is compressed (default 64 MiB).
        pub referenced_file_bytes: u64 = 64 << 20, with_referenced_file_bytes;
        /// The most plain bytes that a compressed input may unpack to (default: no limit).
        pub decompressed_bytes: u64 = u64::MAX, with_decompressed_bytes;
        /// The most plain bytes per compressed byte, looked at once 64 MiB came out (default 2000, which no gzip and
        /// no lz4 can reach).
        pub decompressed_ratio: u64 = 2000, with_decompressed_ratio;
    }
}

/// What to do with faults in the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultPolicy {
    /// What to do with data that breaks its format's rules.
    pub on_error: OnError,
    /// Treat warnings as errors.
    pub strict: bool,
}

impl FaultPolicy {
    /// Whether a broken statement ends the reading.
    pub fn raises(self) -> bool {
        self.strict || self.on_error == OnError::Raise
    }
}
