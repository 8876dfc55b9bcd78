//! Shared code of polyhaul's tests, benchmarks and fuzzers. Nothing here is shipped.
//!
//! - [`scene`]: scenes made in memory, and the rules that every scene must keep
//! - [`generate`]: OBJ text of any size and of hostile shapes; [`naive`]: a slow reader to compare with
//! - [`pbrt`]: pbrt scenes of any size, and text designed to hurt their readers; [`off`]: OFF text
//! - [`summary`]: a scene, a warning, an error as text that is the same on every machine
//! - [`hostile`]: readers, writers and callbacks that do what a host may do, and what it must not do
//! - [`mutate`]: damaged text; [`fuzz`]: properties that must hold for any bytes
//! - [`alloc`]: allocators that count, and that fail; [`starve`]: work whose allocations fail one by one
//! - [`growth`]: checks that work is linear; [`images`]: image files, and those that hurt their readers; [`exr`]: EXR
//!   files with any parts and channels
//! - [`losses`]: what formats cannot store of each other; [`output`]: written bytes, in memory; [`packed`]: compressed
//!   bytes; [`zip`]: archives
//! - [`worst`]: small inputs that ask for much
//! - [`corpus`]: the files under `testdata`, and folders that remove themselves
//! - [`random`]: numbers that look random and are the same every time

pub mod alloc;
pub mod corpus;
pub mod exr;
pub mod fuzz;
pub mod generate;
pub mod growth;
pub mod hostile;
pub mod images;
pub mod losses;
pub mod mutate;
pub mod naive;
pub mod off;
pub mod options;
pub mod output;
pub mod packed;
pub mod pbrt;
pub mod random;
pub mod scene;
pub mod slots;
pub mod starve;
pub mod summary;
pub mod worst;
pub mod zip;
