//! Limits set by the caller, and the policy for invalid data.

use crate::severity::{Severity, Strict, Strictness, severity};

crate::choices! {
    /// What to do when data violates the rules of its format.
    pub enum OnError = Raise {
        /// Stop with the first error, by position.
        "raise" => Raise,
        /// Skip the malformed statement, count it as a warning, and continue.
        "warn" => Warn,
    }
}

crate::options! {
    /// Resource limits for reading, set by the caller. Exceeding one is an error that names it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Limits in "limits" {
        /// The longest logical line, in bytes (default 256 MiB, at most 1 GiB); for pbrt, the longest span between two
        /// lines that start with a directive. This memory is in addition to the memory limit.
        pub line_bytes: u64 = 256 << 20, with_line_bytes => [];
        /// The longest name of an object, group, material or file, in bytes (default 64 KiB).
        pub name_bytes: u64 = 64 << 10, with_name_bytes => [];
        /// The maximum number of elements of each kind (default 2^32 - 2, the largest that the index type allows).
        pub elements: u64 = u64::from(u32::MAX) - 1, with_elements => [];
        /// The maximum number of objects, and of distinct groups, that an OBJ file declares (default 1,000,000). An
        /// empty object takes about 320 bytes of memory. In glTF, it limits the JSON, to 8 times as many objects and 64
        /// times as many values.
        pub objects: u64 = 1_000_000, with_objects => [obj, glb];
        /// The maximum number of materials that an OBJ file uses, or a material library defines (default 100,000). A
        /// material takes about 700 bytes of memory.
        pub materials: u64 = 100_000, with_materials => [obj];
        /// The maximum number of pixels in an image, or in all images of a texture together (default 2^28: 16,384 x
        /// 16,384). In an image with more than four channels, every four channels count as one image.
        pub pixels: u64 = 1 << 28, with_pixels => [images];
        /// The maximum bytes of pixels per byte of a compressed image file, checked for images that take more than 512
        /// MiB in memory (default 100).
        pub image_ratio: u64 = 100, with_image_ratio => [images];
        /// The maximum number of columns in a table (default 100,000).
        pub columns: u64 = 100_000, with_columns => [tables];
        /// The maximum number of elements and properties together in the header of a PLY file (default 10,000). Each
        /// takes a few hundred bytes of memory.
        pub properties: u64 = 10_000, with_properties => [ply];
        /// The longest header of a PLY or EXR file, and the longest JSON of SOG, in bytes (default 8 MiB).
        pub header_bytes: u64 = 8 << 20, with_header_bytes => [ply, exr, sog];
        /// The maximum number of files that a scene may refer to (default 10,000). In pbrt, every Include and Import
        /// counts, even of the same file, because the file is read each time.
        pub files: u64 = 10_000, with_files => [];
        /// The maximum decompressed bytes that repeated Includes and Imports of the same files may add to a pbrt scene;
        /// in glTF, the maximum bytes that accessors may read repeatedly or without a buffer view, and the maximum
        /// decompressed size of compressed buffer views (default 256 MiB). The effective limit in pbrt is at least the
        /// total size of the scene's distinct files; in glTF, it is at least twice the size of the buffers for
        /// accessors, and at least 16 times that size for compressed buffer views.
        pub included_bytes: u64 = 256 << 20, with_included_bytes => [pbrt, glb];
        /// The maximum number of vertices, and of faces, after expanding instances for a format that does not support
        /// them (default 1,000,000,000). Meshes that are not repeated do not count.
        pub instanced_elements: u64 = 1_000_000_000, with_instanced_elements => [];
        /// The maximum number of objects or shapes that instances may be expanded to (default 10,000,000).
        pub instanced_objects: u64 = 10_000_000, with_instanced_objects => [];
        /// The maximum size of a file that a scene refers to, in bytes, after decompression (default 64 MiB).
        pub referenced_file_bytes: u64 = 64 << 20, with_referenced_file_bytes => [];
        /// The maximum decompressed size of a compressed input, in bytes (default: no limit).
        pub decompressed_bytes: u64 = u64::MAX, with_decompressed_bytes => [];
        /// The maximum compression ratio, checked after the first 64 MiB of output (default 2000, which gzip and lz4
        /// cannot reach).
        pub decompressed_ratio: u64 = 2000, with_decompressed_ratio => [];
    }
}

/// The policy for invalid data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultPolicy {
    /// The policy for malformed data.
    pub on_error: OnError,
    /// Which warnings are errors.
    pub strict: Strictness,
    /// The format that a conversion writes, which decides on severities; empty if the file is read for a program.
    pub target: &'static str,
    /// Whether to check also for problems that affect only programs that use the content; set by validation.
    pub is_thorough: bool,
}

impl FaultPolicy {
    /// Whether the first malformed statement stops reading with an error, whatever its kind.
    pub fn raises(self) -> bool {
        self.on_error == OnError::Raise || self.strict.level != Strict::Off && self.strict.allow.is_empty()
    }

    /// The severity of a kind of warning in this job.
    pub fn severity(self, code: &str) -> Severity {
        severity(code, self.target)
    }

    /// Whether a warning of this kind is an error.
    pub fn refuses(self, code: &str) -> bool {
        self.strict.level != Strict::Off && self.strict.refuses(code, self.severity(code))
    }
}
