//! Files of the host page or program, whose bytes JavaScript copies into our memory.
//!
//! This module declares all imports for reading, and `Math.pow`. On targets other than WebAssembly, there are no files;
//! the module then exists only so that tests can be built.

use polyhaul::{HostRead, Input};
use std::io;

/// An open file, by number; 0 is the file of the request.
pub(crate) struct File {
    number: u32,
    at: u64,
}

impl File {
    /// The file of the request.
    pub(crate) fn main() -> File {
        File { number: 0, at: 0 }
    }

    /// The first `N` bytes, padded with zeros.
    pub(crate) fn head<const N: usize>(&mut self) -> [u8; N] {
        let mut head = [0; N];
        imported::read(self.number, 0, &mut head);
        head
    }

    /// The size, if known.
    pub(crate) fn bytes(&self) -> Option<u64> {
        let bytes = imported::size(self.number);
        (bytes >= 0.0).then_some(bytes as u64)
    }
}

/// Opens a file that a scene refers to. Returns `None` if JavaScript does not find it.
pub(crate) fn find(name: &str) -> Option<Input> {
    let number = u32::try_from(imported::find(name)).ok()?;
    Some(Input::Host(Box::new(File { number, at: 0 }), name.to_owned()))
}

impl HostRead for File {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = imported::read(self.number, self.at, out);
        let count = usize::try_from(count).map_err(|_| io::Error::other("the file cannot be read"))?;
        self.at += count as u64;
        Ok(count)
    }

    fn seek(&mut self, offset: u64) -> io::Result<bool> {
        self.at = offset;
        Ok(true)
    }

    fn size(&mut self) -> Option<u64> {
        self.bytes()
    }
}

/// Announces the number of triangles, and whether they have colors.
pub(crate) fn start_facets(count: u32, has_colors: bool) {
    imported::start_facets(count, has_colors);
}

/// Passes triangles to JavaScript, starting with number `first`: three positions and normals each, and three colors if
/// announced.
pub(crate) fn facets(first: u64, positions: &[[f32; 3]], normals: &[[f32; 3]], colors: &[[f32; 3]]) {
    imported::facets(first, positions, normals, colors);
}

/// `Math.pow`. Rust's `powf` needs tables, which would enlarge every module.
pub(crate) fn power(base: f64, exponent: f64) -> f64 {
    imported::power(base, exponent)
}

#[cfg(target_family = "wasm")]
mod imported {
    /// Byte counts are `f64`, which is exact up to 2^53: an `i64` would be a BigInt in JavaScript.
    mod functions {
        #[link(wasm_import_module = "polyhaul")]
        unsafe extern "C" {
            /// Copies up to `bytes` from `offset` of a file to `out`; returns the count, 0 at the end, or -1 on
            /// failure.
            pub(super) fn read(file: u32, offset: f64, out: *mut u8, bytes: usize) -> i32;
            /// The size of a file, or -1 if unknown.
            pub(super) fn size(file: u32) -> f64;
            /// `Math.pow`.
            pub(super) fn power(base: f64, exponent: f64) -> f64;
            /// Opens a file by name; returns its number, or -1.
            pub(super) fn find(name: *const u8, bytes: usize) -> i32;
            /// Announces the number of triangles, and whether they have colors.
            pub(super) fn start_facets(count: u32, has_colors: u32);
            /// Receives triangles, starting with number `first`: three positions, normals and colors each.
            pub(super) fn facets(
                first: f64,
                count: usize,
                positions: *const [f32; 3],
                normals: *const [f32; 3],
                colors: *const [f32; 3],
            );
        }
    }

    pub(super) fn read(file: u32, offset: u64, out: &mut [u8]) -> i32 {
        // SAFETY: pointer and length describe `out`; JavaScript writes no more than that (`Engine` in
        // `surfaces/wasm/npm/engine.js`).
        let count = unsafe { functions::read(file, offset as f64, out.as_mut_ptr(), out.len()) };
        count.min(out.len() as i32)
    }

    pub(super) fn size(file: u32) -> f64 {
        // SAFETY: the call takes a number.
        unsafe { functions::size(file) }
    }

    pub(super) fn power(base: f64, exponent: f64) -> f64 {
        // SAFETY: the call takes numbers.
        unsafe { functions::power(base, exponent) }
    }

    pub(super) fn find(name: &str) -> i32 {
        // SAFETY: pointer and length describe the name, which JavaScript only reads.
        unsafe { functions::find(name.as_ptr(), name.len()) }
    }

    pub(super) fn start_facets(count: u32, has_colors: bool) {
        // SAFETY: the call takes numbers.
        unsafe { functions::start_facets(count, has_colors.into()) }
    }

    pub(super) fn facets(first: u64, positions: &[[f32; 3]], normals: &[[f32; 3]], colors: &[[f32; 3]]) {
        let count = positions.len().min(normals.len()) / 3;
        // SAFETY: positions and normals have three items per triangle, and so do colors if they were announced.
        // JavaScript only reads the arrays, and reads colors only if they were announced.
        unsafe {
            functions::facets(first as f64, count, positions.as_ptr(), normals.as_ptr(), colors.as_ptr());
        }
    }
}

#[cfg(not(target_family = "wasm"))]
mod imported {
    pub(super) fn read(_: u32, _: u64, _: &mut [u8]) -> i32 {
        -1
    }

    pub(super) fn size(_: u32) -> f64 {
        -1.0
    }

    pub(super) fn power(base: f64, exponent: f64) -> f64 {
        base.powf(exponent)
    }

    pub(super) fn find(_: &str) -> i32 {
        -1
    }

    pub(super) fn start_facets(_: u32, _: bool) {}

    pub(super) fn facets(_: u64, _: &[[f32; 3]], _: &[[f32; 3]], _: &[[f32; 3]]) {}
}
