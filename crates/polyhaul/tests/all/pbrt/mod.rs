//! Tests of reading pbrt scenes: what the files of `testdata/pbrt` say, and that no cut, thread or byte changes it.

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
