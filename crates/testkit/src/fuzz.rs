//! What must hold for any bytes: the bodies of the fuzz targets, which also run as normal tests.
//!
//! A body panics where something does not hold; everything else, errors included, is fine. How much it does with one
//! input is in `fuzz/trial.rs`: see [`Effort`]. What must hold for each kind of bytes is in the other modules.

mod archives;
mod convert;
mod images;
mod numbers;
mod obj;
mod pbrt;
mod scans;
mod tables;
mod trial;

pub use archives::{packed, zip};
pub use convert::convert;
pub use images::{bmp, dds, exr, hdr, jpeg, ktx2, png, psd, tga};
pub use numbers::numbers;
pub use obj::{complete, mtl, obj};
pub use pbrt::pbrt;
pub use scans::{ply, stl};
pub use tables::table;
pub use trial::Effort;

use polyhaul::{Error, ErrorKind};

/// No input may come to these.
fn no_fault(error: &Error) {
    assert!(!matches!(error.kind(), ErrorKind::Internal | ErrorKind::Memory), "{error}");
}
