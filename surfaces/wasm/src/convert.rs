//! Writing, which only the larger module supports.
//!
//! The output is passed to JavaScript block by block.

use crate::given::{self, GivenArray};
use crate::request::Request;
use crate::{INSTANCE, Instance, answer, reader};
use polyhaul::options::Digits;
use polyhaul::{Error, ErrorKind, HostWrite, Output, Report, Result, Writer};
use std::cell::RefCell;
use std::io;

thread_local! {
    /// The arrays for the next file to write.
    static GIVEN: RefCell<Vec<GivenArray>> = RefCell::default();
}

/// Converts the file of the request to another format; returns whether that succeeded. The answer contains the warnings
/// or the error.
#[unsafe(no_mangle)]
pub extern "C" fn polyhaul_convert() -> bool {
    INSTANCE.with_borrow_mut(|instance| instance.run(convert))
}

/// Allocates an array of zeros for the caller to fill; returns its address, or null if out of memory or if the type is
/// not supported. Lines refer to it by the number of arrays allocated before. `kind` is the index of the number type in
/// i8, u8, i16, u16, i32, u32, i64, u64, f32, f64; `width` is the count of numbers per item: 1 for any type, up to 4
/// for f32, or 3 for f64.
#[unsafe(no_mangle)]
pub extern "C" fn polyhaul_array(kind: u32, width: u32, count: usize) -> *mut u8 {
    let Some((array, at)) = GivenArray::zeros(kind, width, count) else { return std::ptr::null_mut() };
    GIVEN.with_borrow_mut(|given| given.push(array));
    at
}

/// Writes the arrays as a file; otherwise like [`polyhaul_convert`].
#[unsafe(no_mangle)]
pub extern "C" fn polyhaul_write() -> bool {
    INSTANCE.with_borrow_mut(|instance| instance.run(write))
}

fn convert(_: &mut Instance, request: Request) -> Result<String> {
    let output = Output::Host(Box::new(Out), request.to.clone());
    Ok(written(&reader(request).convert(Writer::new(output))?))
}

fn write(_: &mut Instance, request: Request) -> Result<String> {
    let usage = |message| Error::new(ErrorKind::Usage, message);
    let scene = given::scene(&request.given, GIVEN.take()).map_err(usage)?;
    let output = Output::Host(Box::new(Out), request.to);
    let writer = Writer::new(output).options(&request.write_options).digits(Digits::Shortest).threads(1);
    let is_table = scene.meshes.is_empty();
    let report = if is_table { writer.tables(&scene.tables) } else { writer.scene(&scene) };
    Ok(written(&report?))
}

/// Describes the written file.
fn written(report: &Report) -> String {
    answer::text(|json| {
        json.key("bytes").integer(report.bytes_out);
        answer::warned(json, &report.warnings);
    })
}

/// The output, which JavaScript collects.
struct Out;

impl HostWrite for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        imported::write(bytes);
        Ok(bytes.len())
    }
}

#[cfg(target_family = "wasm")]
mod imported {
    mod functions {
        #[link(wasm_import_module = "polyhaul")]
        unsafe extern "C" {
            /// Receives the next bytes of the output.
            pub(super) fn write(from: *const u8, bytes: usize);
        }
    }

    pub(super) fn write(bytes: &[u8]) {
        // SAFETY: pointer and length describe `bytes`, which JavaScript only reads (`Engine` in
        // `surfaces/wasm/npm/engine.js`).
        unsafe { functions::write(bytes.as_ptr(), bytes.len()) }
    }
}

#[cfg(not(target_family = "wasm"))]
mod imported {
    pub(super) fn write(_: &[u8]) {}
}
