//! Shared code of polyhaul's tests, benchmarks and fuzzers; not shipped.
//!
//! - [`scene`]: generated scenes, and a validator of the scene model
//! - [`generate`]: OBJ text of any size, and of adversarial shapes; [`naive`]: a slow reference reader
//! - [`pbrt`]: pbrt scenes of any size, and adversarial pbrt text; [`off`]: OFF text
//! - [`summary`]: scenes, warnings and errors as machine-independent text; [`slots`]: what each format can store
//! - [`hostile`]: readers, writers and callbacks with short transfers, errors and contract violations
//! - [`mutate`]: damaged text; [`fuzz`]: properties that must hold for any bytes
//! - [`alloc`]: allocators that count or fail; [`starve`]: work with each of its allocations failing in turn
//! - [`growth`]: checks for linear complexity; [`images`]: valid and adversarial image files; [`exr`]: EXR files with
//!   arbitrary parts and channels
//! - [`losses`]: attributes lost in conversions between formats; [`output`]: output in memory; [`options`]: write
//!   options; [`packed`]: compressed bytes; [`zip`]: archives
//! - [`worst`]: small inputs that are expensive to read
//! - [`corpus`]: the files under `testdata`, and temporary folders
//! - [`random`]: reproducible pseudorandom numbers

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
