//! Writing: what only the larger module has.
//!
//! The bytes of the file that is written go to JavaScript one block after another.

use crate::request::Request;
use crate::{INSTANCE, Instance, answer, reader};
use polyhaul::{HostWrite, Output, Result, Writer};
use std::io;

/// Reads the file of the request and writes it as another; returns whether that went well. The answer has the warnings
/// or the error.
#[unsafe(no_mangle)]
pub extern "C" fn polyhaul_convert() -> bool {
    INSTANCE.with_borrow_mut(|instance| instance.run(convert))
}

fn convert(_: &mut Instance, request: Request) -> Result<String> {
    let output = Output::Host(Box::new(Out), request.to.clone());
    let report = reader(request).convert(Writer::new(output))?;
    Ok(answer::text(|json| {
        json.key("bytes").integer(report.bytes_out);
        answer::warned(json, &report.warnings);
    }))
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
        // SAFETY: the bytes are as many as it says, and are read alone (`Engine` in `npm/engine.js`).
        unsafe { functions::write(bytes.as_ptr(), bytes.len()) }
    }
}

#[cfg(not(target_family = "wasm"))]
mod imported {
    pub(super) fn write(_: &[u8]) {}
}
