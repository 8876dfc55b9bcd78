//! No memory for a block is an error, never an abort, never a broken file. A binary of its own for its allocator, which
//! fails on request; each test works in child processes.

mod evaluated;
mod formats;
mod gltf;
mod images;
mod pbrt;
mod splats;
mod table;
mod textures;
mod write;

#[allow(dead_code, unused_imports, reason = "shared with tests that use all of it")]
#[path = "../all/evaluated/scenes.rs"]
mod scenes;
#[allow(dead_code, unused_imports, reason = "shared with tests that use all of it")]
#[path = "../all/evaluated/support.rs"]
mod support;

use polyhaul_testkit::alloc::Failing;

#[global_allocator]
static ALLOCATOR: Failing = Failing;
