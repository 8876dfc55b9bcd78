//! SPZ: compressed Gaussian splats, with one to three bytes for each number, by attribute.
//!
//! Facts from <https://github.com/nianticlabs/spz>. Numbers are little-endian. Versions 1 to 3 are one gzip member; a
//! header comes first in it:
//!
//! | offset | bytes | |
//! |---|---|---|
//! | 0 | 4 | `NGSP` |
//! | 4 | 4 | version |
//! | 8 | 4 | number of splats |
//! | 12 | 1 | degree of spherical harmonics, 0 to 4 |
//! | 13 | 1 | fractional bits of positions |
//! | 14 | 1 | flags: 1 for antialiased splats, 2 for extensions |
//! | 15 | 1 | 0; in version 4, the number of streams |
//!
//! Version 4 is not compressed as a whole: the header continues with the offset of a table (4 bytes) and 12 zero bytes,
//! and extensions may follow. The table has two u64s for each stream, its compressed and its plain size. After it come
//! the streams, each compressed by zstd.
//!
//! The attributes, in this order:
//!
//! | attribute | bytes | |
//! |---|---|---|
//! | positions | 9 | three signed integers of 24 bits; in version 1, three halves (6 bytes) |
//! | opacities | 1 | 0 to 255 for 0 to 1 |
//! | colors | 3 | constant harmonics, `(byte / 255 - 0.5) / 0.15` |
//! | scales | 3 | logarithms, `byte / 16 - 10` |
//! | rotations | 4 | the number of the largest part (x, y, z, w) in two bits, the others as sign and nine bits |
//! | | 3 | before version 3: x, y, z, `byte / 127.5 - 1`; w is not negative |
//! | harmonics | 0 to 72 | red, green, blue of each harmonic, `(byte - 128) / 128` |
//!
//! SPZ has y up and z backward, where PLY has y down and z forward. Like other programs, polyhaul rotates splats when
//! it reads and writes SPZ, so that splats in memory have the coordinates of PLY; that is lossless (`turn`). Files can
//! declare other axes in an extension; some programs store the axes of PLY without that (`axes`).
//!
//! `axes`: the axes that files declare. `extensions`: what follows the header, or the attributes. `header`: headers.
//! `quantize`: single values. `turn`: the change of axes. `read`, `write`: whole files. `frames`: writing the streams
//! of version 4.

mod axes;
mod extensions;
mod frames;
mod header;
mod quantize;
mod read;
mod turn;
mod write;

pub use header::looks_like_spz;
pub use read::read;
pub(crate) use write::{bytes_after_positions, streams_after_positions, target, write_packed};
pub use write::{check_options, write};
