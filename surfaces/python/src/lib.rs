//! The native module `polyhaul._polyhaul`, which calls the library for the Python files of the package.
//!
//! It exchanges plain data (buffers, dicts, tuples) and checks only what safety requires; `surfaces/python/polyhaul`
//! has the public classes, their messages and their documentation. Work runs in [`job`], on a thread that never
//! attaches to Python. Buffers of numpy arrays are passed without copies ([`arrays`], [`fitting`]); callbacks and file
//! objects are called on the calling thread ([`streams`]).

mod arrays;
mod arrow;
mod calls;
mod command;
mod errors;
mod fitting;
mod gather;
mod hint;
mod images;
mod job;
mod material;
mod mesh;
mod options;
mod preview;
mod profile;
mod render;
mod report;
mod rows;
mod scan;
mod scene;
mod shapes;
mod sources;
mod streams;
mod tables;
mod textures;

use polyhaul_spill::SpillAllocator;
use pyo3::prelude::*;

/// Spills arrays that do not fit in memory to disk.
#[global_allocator]
static ALLOCATOR: SpillAllocator = SpillAllocator;

/// Native code of polyhaul. Use the package `polyhaul`; this module may change at any time.
#[pymodule]
mod _polyhaul {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::arrays::Array;
    #[pymodule_export]
    use super::arrow::{table_from_arrow, table_to_arrow, table_to_arrow_schema};
    #[pymodule_export]
    use super::calls::{convert, info, read, validate, write};
    #[pymodule_export]
    use super::command::run_command;
    #[pymodule_export]
    use super::gather::gather;
    #[pymodule_export]
    use super::images::{read_image, write_image};
    #[pymodule_export]
    use super::mesh::NativeMesh;
    #[pymodule_export]
    use super::options::{NativeReadOptions, NativeWriteOptions, format_of_name, option_rows, parse_size};
    #[pymodule_export]
    use super::preview::{preview, preview_scene};
    #[pymodule_export]
    use super::profile::NativeProfile;
    #[pymodule_export]
    use super::render::NativeRender;
    #[pymodule_export]
    use super::rows::{format_rows, write_rows};
    #[pymodule_export]
    use super::scan::{NativeBatches, check_filter};
    #[pymodule_export]
    use super::shapes::{
        flat_sections, mesh_check, mesh_is_clean, mesh_normals, mesh_section, mesh_transform, mesh_triangulate,
        mesh_weld, per_corner, topologies,
    };
    #[pymodule_export]
    use super::tables::{read_array, read_tables, write_tables};
    #[pymodule_export]
    use super::textures::import_texture;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("CAN_OPEN_URLS", cfg!(feature = "cloud"))?;
        module.add("FORMATS", super::options::format_names())?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
