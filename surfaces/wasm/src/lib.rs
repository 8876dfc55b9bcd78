//! polyhaul in WebAssembly: the functions that its JavaScript calls, by numbers and memory alone.
//!
//! An instance does one job at a time: a request is text in a buffer of this module, the answer is JSON in another one,
//! and arrays are read from memory, at the addresses in the answer. Nothing here depends on the DOM, workers or
//! three.js: that is the package's JavaScript (`npm/`). Files are read through `host`; `answer` describes what was
//! read, and `shapes` makes arrays of corners, as renderers draw them.
//!
//! A request is lines of a key, a space and a value:
//!
//! | key | value |
//! |---|---|
//! | `name` | the name of the file, which also selects the format |
//! | `format` | the format, if the name does not select one |
//! | `to` | the name of the file to write, which selects its format |
//! | `given` | a line about what is to be written, as `given` lists them |
//! | `floatColors` | `1`: colors in PLY are floats, rather than bytes |
//! | `encoding` | how numbers are written: `ascii`, or `big` for the highest byte first (PLY) |
//! | `tables` | `1`: the tables of the file, rather than its scene |
//! | `part` | `1`: the file is a part of an OBJ file, to be joined with others: see `part` |
//! | `drawn` | `1`: only shapes are needed; shapes of binary STL are drawn while it is read |
//! | `skip` | `1`: elements that break the format's rules are left out with a warning |

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]

mod answer;
#[cfg(feature = "convert")]
mod convert;
mod facets;
#[cfg(feature = "convert")]
mod given;
mod host;
#[cfg_attr(not(feature = "obj"), expect(dead_code, reason = "no other format is read in parts"))]
mod part;
mod request;
mod shapes;
mod statements;

use facets::DrawnFacets;
use polyhaul::model::Scene;
use polyhaul::options::Resolve;
use polyhaul::{Input, Loaded, Reader, Result, Tables};
use request::Request;
use shapes::{Drawing, Shape};
use std::cell::RefCell;
use std::sync::Arc;

thread_local! {
    static INSTANCE: RefCell<Instance> = RefCell::default();
}

/// What an instance keeps between two calls.
#[derive(Default)]
struct Instance {
    request: Vec<u8>,
    answer: String,
    scene: Option<Scene>,
    shapes: Vec<Shape>,
    drawing: Drawing,
    /// Where the vertices of other parts belong.
    places: [usize; 4],
}

/// Memory for a request of this many bytes, which the caller fills. It stays until the next call of this function.
#[unsafe(no_mangle)]
pub extern "C" fn polyhaul_request(bytes: usize) -> *mut u8 {
    INSTANCE.with_borrow_mut(|instance| {
        instance.request.clear();
        instance.request.resize(bytes, 0);
        instance.request.as_mut_ptr()
    })
}

/// Reads the scene of the request; returns whether that went well. The answer describes the scene or the error.
#[unsafe(no_mangle)]
pub extern "C" fn polyhaul_read() -> bool {
    INSTANCE.with_borrow_mut(|instance| instance.run(Instance::read))
}

/// Where the answer of the last call is, which has [`polyhaul_answer_bytes`].
#[unsafe(no_mangle)]
pub extern "C" fn polyhaul_answer() -> *const u8 {
    INSTANCE.with_borrow(|instance| instance.answer.as_ptr())
}

/// The size of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn polyhaul_answer_bytes() -> usize {
    INSTANCE.with_borrow(|instance| instance.answer.len())
}

/// Begins to draw a shape of the scene, by its place in the answer. Returns where blocks of its positions, normals,
/// colors and uvs are put, as four addresses.
#[unsafe(no_mangle)]
pub extern "C" fn polyhaul_draw(shape: usize) -> *const [usize; 4] {
    INSTANCE.with_borrow_mut(|instance| match (&instance.scene, instance.shapes.get(shape)) {
        (Some(scene), Some(shape)) => instance.drawing.start(scene, shape),
        _ => std::ptr::null(),
    })
}

/// Puts the next corners of the shape into the blocks; returns how many, 0 at the end.
#[unsafe(no_mangle)]
pub extern "C" fn polyhaul_draw_next() -> usize {
    INSTANCE.with_borrow_mut(|instance| instance.scene.as_ref().map_or(0, |scene| instance.drawing.next(scene)))
}

/// Frees what the last job left.
#[unsafe(no_mangle)]
pub extern "C" fn polyhaul_forget() {
    INSTANCE.take();
}

impl Instance {
    /// Runs a request, and keeps the answer.
    fn run(&mut self, task: fn(&mut Instance, Request) -> Result<String>) -> bool {
        self.scene = None;
        self.shapes = Vec::new();
        let request = request::parse(&String::from_utf8_lossy(&self.request));
        let answer = match request {
            Ok(request) => task(self, request).map_err(|error| answer::error(&error)),
            Err(message) => Err(answer::refused(&message)),
        };
        let is_done = answer.is_ok();
        self.answer = answer.unwrap_or_else(|answer| answer);
        is_done
    }

    fn read(&mut self, request: Request) -> Result<String> {
        if cfg!(feature = "stl")
            && request.drawn
            && let Some(facets) = DrawnFacets::of(&request)
            && let Some((report, shape)) = facets.draw(reader(request.clone()))?
        {
            let triangles = shape.corners as u64 / 3;
            let totals = [3 * triangles, 0, triangles, triangles, 0, 0, 0];
            return Ok(answer::scene(&Loaded { value: Scene::default(), report }, &[shape], totals, |_| ()));
        }
        let has_tables = request.tables;
        let is_part = request.options.is_obj_part;
        let reader = reader(request);
        let loaded = if has_tables { as_scene(reader.tables()?) } else { reader.scene()? };
        if !is_part {
            self.shapes = shapes::shapes_of(&loaded.value);
        }
        let scene = &loaded.value;
        let report = &loaded.report;
        let answer = answer::scene(&loaded, &self.shapes, scene.totals(), |json| {
            if cfg!(feature = "obj") && is_part {
                part::describe(scene, report.lines, json);
            }
        });
        self.scene = Some(loaded.value);
        Ok(answer)
    }
}

fn reader(request: Request) -> Reader {
    let options = request.options.with_resolver(Some(Resolve(Arc::new(|name: &str| Ok(host::find(name))))));
    Reader::new(Input::Host(Box::new(host::File::main()), request.name)).options(&options).threads(1)
}

/// Tables as a scene of nothing else.
fn as_scene(loaded: Loaded<Tables>) -> Loaded<Scene> {
    let Tables { tables, comments, .. } = loaded.value;
    Loaded { value: Scene { tables, comments, ..Scene::default() }, report: loaded.report }
}
