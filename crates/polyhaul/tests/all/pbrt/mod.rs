//! Tests of reading pbrt scenes: the files of `testdata/pbrt`, and independence of chunks, threads and changed bytes.

mod amplifiers;
mod bytes_read;
mod changes;
mod contents;
mod dump;
mod files;
mod good;
mod matrix;
mod places;
mod scenes;
mod single;
mod support;
mod traps;
mod validated;
mod versions;
