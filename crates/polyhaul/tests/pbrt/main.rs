//! Tests of reading pbrt scenes: what the files of `testdata/pbrt` say, and that no cut, thread or byte changes it.

mod contents;
mod damage;
mod files;
mod good;
mod matrix;
mod places;
mod support;
