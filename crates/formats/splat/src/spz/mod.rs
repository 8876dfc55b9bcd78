//! Reads and writes SPZ: Gaussian splats, quantized to 1 to 3 bytes per number and compressed attribute by attribute.
//!
//! Source: <https://github.com/nianticlabs/spz>. Numbers are little-endian. Versions 1 to 3 are a single gzip member
//! that starts with a header:
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
//! Version 4 is not compressed as a whole. The header continues with the offset of a table (4 bytes) and 12 zero bytes,
//! and extensions may follow. The table has two u64s per stream: its compressed and its uncompressed size. The streams
//! follow, each compressed with zstd.
//!
//! Attributes, in file order:
//!
//! | attribute | bytes | |
//! |---|---|---|
//! | positions | 9 | three signed integers of 24 bits; in version 1, three halves (6 bytes) |
//! | opacities | 1 | 0 to 255 for 0 to 1 |
//! | colors | 3 | constant harmonics, `(byte / 255 - 0.5) / 0.15` |
//! | scales | 3 | logarithms, `byte / 16 - 10` |
//! | rotations | 4 | index of the largest component (x, y, z, w) in 2 bits; the other components as a sign and 9 bits |
//! | | 3 | before version 3: x, y, z, `byte / 127.5 - 1`; w is not negative |
//! | harmonics | 0 to 72 | red, green, blue of each harmonic, `(byte - 128) / 128` |
//!
//! SPZ is Y-up with z backward, and PLY is Y-down with z forward. Like other programs, polyhaul rotates splats when
//! reading and writing SPZ, so that splats in memory have PLY's coordinates; this is lossless (`turn`). Files can
//! declare other axes in an extension; some programs store PLY's axes without declaring them (`axes`).
//!
//! `header`, `extensions` and `axes` parse and write these parts; `quantize` converts single values, `turn` the axes.
//! `read` and `write` process whole files; `frames` compresses the streams of version 4.

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
