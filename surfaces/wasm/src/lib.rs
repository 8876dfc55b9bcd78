//! polyhaul in WebAssembly: the functions that its JavaScript calls. They exchange only numbers and memory.
//!
//! An instance does one job at a time. A request is text in a buffer of this module, the answer is JSON in another
//! buffer, and arrays are read from memory at the addresses in the answer. Nothing here depends on the DOM, workers or
//! three.js; the package's JavaScript (`npm/`) does. Files are read through `host`, `answer` describes the content, and
//! `shapes` expands it to arrays of corners, as renderers draw them.
//!
//! A request consists of lines with a key, a space and a value:
//!
//! | key | value |
//! |---|---|
//! | `name` | the file name, whose extension selects the format |
//! | `format` | the format; takes precedence over the extension of the name |
//! | `to` | the name of the output file, whose extension selects its format |
//! | `given` | a line that describes arrays to write: see `given` |
//! | `floatColors` | `1`: write colors in PLY as floats rather than bytes |
//! | `encoding` | `ascii` to write numbers as text, or `big` to write big-endian PLY |
//! | `tables` | `1`: read the tables of the file rather than its scene |
//! | `part` | `1`: the file is a part of an OBJ file, to be joined with the other parts: see `part` |
//! | `drawn` | `1`: only shapes are needed; binary STL is then drawn while it is read |
//! | `skip` | `1`: skip invalid elements with a warning |
//! | `precision` | the precision of positions: `auto`, `single` or `double` |

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

/// The state of an instance between calls.
#[derive(Default)]
struct Instance {
    request: Vec<u8>,
    answer: String,
    scene: Option<Scene>,
    shapes: Vec<Shape>,
    drawing: Drawing,
    /// The addresses for the vertices of other parts.
    places: [usize; 4],
}

/// Allocates a buffer for a request of this size, for the caller to fill. It is valid until the next call.
#[unsafe(no_mangle)]
pub extern "C" fn polyhaul_request(bytes: usize) -> *mut u8 {
    INSTANCE.with_borrow_mut(|instance| {
        instance.request.clear();
        instance.request.resize(bytes, 0);
        instance.request.as_mut_ptr()
    })
}

/// Reads the file of the request; returns whether that succeeded. The answer describes the scene or the error.
#[unsafe(no_mangle)]
pub extern "C" fn polyhaul_read() -> bool {
    INSTANCE.with_borrow_mut(|instance| instance.run(Instance::read))
}

/// The address of the last answer, whose size is [`polyhaul_answer_bytes`].
#[unsafe(no_mangle)]
pub extern "C" fn polyhaul_answer() -> *const u8 {
    INSTANCE.with_borrow(|instance| instance.answer.as_ptr())
}

/// The size of the last answer in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn polyhaul_answer_bytes() -> usize {
    INSTANCE.with_borrow(|instance| instance.answer.len())
}

/// Starts drawing a shape, by its index in the answer. Returns a pointer to the addresses of four blocks, for
/// positions, normals, colors and UVs, or null if the shape does not exist.
#[unsafe(no_mangle)]
pub extern "C" fn polyhaul_draw(shape: usize) -> *const [usize; 4] {
    INSTANCE.with_borrow_mut(|instance| match (&instance.scene, instance.shapes.get(shape)) {
        (Some(scene), Some(shape)) => instance.drawing.start(scene, shape),
        _ => std::ptr::null(),
    })
}

/// Fills the blocks with the next corners of the shape; returns their number, 0 at the end.
#[unsafe(no_mangle)]
pub extern "C" fn polyhaul_draw_next() -> usize {
    INSTANCE.with_borrow_mut(|instance| instance.scene.as_ref().map_or(0, |scene| instance.drawing.next(scene)))
}

/// Frees the request, the scene and the answer.
#[unsafe(no_mangle)]
pub extern "C" fn polyhaul_forget() {
    INSTANCE.take();
}

impl Instance {
    /// Runs a request and stores the answer; returns whether it succeeded.
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

/// Wraps tables in a scene without meshes.
fn as_scene(loaded: Loaded<Tables>) -> Loaded<Scene> {
    let Tables { tables, comments, .. } = loaded.value;
    Loaded { value: Scene { tables, comments, ..Scene::default() }, report: loaded.report }
}
