//! Writing: what only the larger module has.
//!
//! The bytes of the file that is written go to JavaScript one block after another.

use crate::given::{self, GivenArray};
use crate::request::Request;
use crate::{INSTANCE, Instance, answer, reader};
use polyhaul::options::Digits;
use polyhaul::{Error, ErrorKind, HostWrite, Output, Report, Result, Writer};
use std::cell::RefCell;
use std::io;

thread_local! {
    /// Arrays for the next file to be written.
    static GIVEN: RefCell<Vec<GivenArray>> = RefCell::default();
}

/// Reads the file of the request and writes it as another; returns whether that went well. The answer has the warnings
/// or the error.
#[unsafe(no_mangle)]
pub extern "C" fn polyhaul_convert() -> bool {
    INSTANCE.with_borrow_mut(|instance| instance.run(convert))
}

/// An array to be written, of zeros, which the caller fills; its number is how many there were before. `kind` is its
/// type: i8, u8, i16, u16, i32, u32, i64, u64, f32, f64; `width` is how many belong together: 1, or up to 4 of f32.
/// Null if out of memory.
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

/// What was written.
fn written(report: &Report) -> String {
    answer::text(|json| {
        json.key("bytes").integer(report.bytes_out);
        answer::warned(json, &report.warnings);
    })
}

/// The file that is written.
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
            /// Takes the next bytes of the file that is written.
            pub(super) fn write(from: *const u8, bytes: usize);
        }
    }

    pub(super) fn write(bytes: &[u8]) {
        // SAFETY: the bytes are as many as it says, and are read alone (`Engine` in `surfaces/wasm/npm/engine.js`).
        unsafe { functions::write(bytes.as_ptr(), bytes.len()) }
    }
}

#[cfg(not(target_family = "wasm"))]
mod imported {
    pub(super) fn write(_: &[u8]) {}
}
