//! Files of the page or the program around us: JavaScript finds them and copies their bytes into our memory.
//!
//! It has all imports of reading, and a function that JavaScript has anyway. Elsewhere than in WebAssembly there are no
//! files, so that tests can be built.

use polyhaul::{HostRead, Input};
use std::io;

/// A file that is open, by its number: 0 is the one that the request is about.
pub(crate) struct File {
    number: u32,
    at: u64,
}

impl File {
    /// The file of the request.
    pub(crate) fn main() -> File {
        File { number: 0, at: 0 }
    }

    /// Its first bytes; zeros where it has none.
    pub(crate) fn head<const N: usize>(&mut self) -> [u8; N] {
        let mut head = [0; N];
        imported::read(self.number, 0, &mut head);
        head
    }

    /// Its size, if it is known.
    pub(crate) fn bytes(&self) -> Option<u64> {
        let bytes = imported::size(self.number);
        (bytes >= 0.0).then_some(bytes as u64)
    }
}

/// A file that a scene refers to, if there is one of this name.
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

/// So many triangles will come, with colors or without.
pub(crate) fn start_facets(count: u32, has_colors: bool) {
    imported::start_facets(count, has_colors);
}

/// Triangles from the number `first` on: three positions, normals and, if there are any, colors of each.
pub(crate) fn facets(first: u64, positions: &[[f32; 3]], normals: &[[f32; 3]], colors: &[[f32; 3]]) {
    imported::facets(first, positions, normals, colors);
}

/// A power, as `Math.pow` has it: Rust's own needs tables, which would be in every module.
pub(crate) fn power(base: f64, exponent: f64) -> f64 {
    imported::power(base, exponent)
}

#[cfg(target_family = "wasm")]
mod imported {
    /// Byte counts are f64s, which are exact for every file: i64s would be BigInts there.
    mod functions {
        #[link(wasm_import_module = "polyhaul")]
        unsafe extern "C" {
            /// Copies up to `bytes` from `offset` of a file to `out`; returns how many, 0 at the end, -1 if it failed.
            pub(super) fn read(file: u32, offset: f64, out: *mut u8, bytes: usize) -> i32;
            /// The size of a file, or -1.
            pub(super) fn size(file: u32) -> f64;
            /// `Math.pow`.
            pub(super) fn power(base: f64, exponent: f64) -> f64;
            /// Opens the file of a name; returns its number, or -1.
            pub(super) fn find(name: *const u8, bytes: usize) -> i32;
            /// Announces the number of triangles that follow, and whether they have colors.
            pub(super) fn start_facets(count: u32, has_colors: u32);
            /// Takes triangles from the number `first` on: three positions, normals and colors of each.
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
        // SAFETY: `out` is as long as it says; JavaScript writes no more than that (`Engine` in
        // `surfaces/wasm/npm/engine.js`).
        let count = unsafe { functions::read(file, offset as f64, out.as_mut_ptr(), out.len()) };
        count.min(out.len() as i32)
    }

    pub(super) fn size(file: u32) -> f64 {
        // SAFETY: it takes a number.
        unsafe { functions::size(file) }
    }

    pub(super) fn power(base: f64, exponent: f64) -> f64 {
        // SAFETY: it takes numbers.
        unsafe { functions::power(base, exponent) }
    }

    pub(super) fn find(name: &str) -> i32 {
        // SAFETY: the text is as long as it says, and is read alone.
        unsafe { functions::find(name.as_ptr(), name.len()) }
    }

    pub(super) fn start_facets(count: u32, has_colors: bool) {
        // SAFETY: it takes numbers.
        unsafe { functions::start_facets(count, has_colors.into()) }
    }

    pub(super) fn facets(first: u64, positions: &[[f32; 3]], normals: &[[f32; 3]], colors: &[[f32; 3]]) {
        let count = positions.len().min(normals.len()) / 3;
        // SAFETY: positions and normals have three for each triangle, and so have colors, if JavaScript was notified of
        // any. They are read alone.
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
