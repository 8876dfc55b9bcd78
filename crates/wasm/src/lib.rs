//! polyhaul in WebAssembly: the functions that its JavaScript calls, by numbers and memory alone.
//!
//! An instance does one job at a time: a request is text in a buffer of this module, the answer is JSON in another one,
//! and arrays are read from memory, at the places that the answer names. Nothing here knows the DOM, workers or
//! three.js: that is the package's JavaScript (`npm/`). Files are read through [`host`]; [`answer`] describes what was
//! read, and [`shapes`] makes arrays of corners, as renderers draw them.
//!
//! A request is lines of a key, a space and a value:
//!
//! | key | value |
//! |---|---|
//! | `name` | the name of the file, which also tells the format |
//! | `format` | the format, if the name does not tell |
//! | `tables` | `1`: the tables of the file, rather than its scene |
//! | `skip` | `1`: elements that break the format's rules are left out with a warning |

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]

mod answer;
mod host;
mod json;
mod request;
mod shapes;

use polyhaul::model::Scene;
use polyhaul::options::Resolve;
use polyhaul::{Input, Loaded, Reader, Result, Tables};
use request::Request;
use shapes::{Drawing, Shape};
use std::cell::RefCell;
use std::sync::Arc;

thread_local! {
    static JOB: RefCell<Job> = RefCell::default();
}

/// What an instance keeps between two calls.
#[derive(Default)]
struct Job {
    request: Vec<u8>,
    answer: String,
    scene: Option<Scene>,
    shapes: Vec<Shape>,
    drawing: Drawing,
}

/// Memory for a request of so many bytes, which the caller fills. It stays until the next call of this function.
#[unsafe(no_mangle)]
pub extern "C" fn polyhaul_request(bytes: usize) -> *mut u8 {
    JOB.with_borrow_mut(|job| {
        job.request.clear();
        job.request.resize(bytes, 0);
        job.request.as_mut_ptr()
    })
}

/// Reads the scene of the request; returns whether that went well. The answer describes the scene or the error.
#[unsafe(no_mangle)]
pub extern "C" fn polyhaul_read() -> bool {
    JOB.with_borrow_mut(Job::read)
}

/// Where the answer of the last call is, which has [`polyhaul_answer_bytes`].
#[unsafe(no_mangle)]
pub extern "C" fn polyhaul_answer() -> *const u8 {
    JOB.with_borrow(|job| job.answer.as_ptr())
}

/// The size of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn polyhaul_answer_bytes() -> usize {
    JOB.with_borrow(|job| job.answer.len())
}

/// Begins to draw a shape of the scene, by its place in the answer. Returns where blocks of its positions, normals,
/// colors and uvs are put, as four addresses.
#[unsafe(no_mangle)]
pub extern "C" fn polyhaul_draw(shape: usize) -> *const [usize; 4] {
    JOB.with_borrow_mut(|job| match (&job.scene, job.shapes.get(shape)) {
        (Some(scene), Some(shape)) => job.drawing.begin(scene, shape),
        _ => std::ptr::null(),
    })
}

/// Puts the next corners of the shape into the blocks; returns how many, 0 at the end.
#[unsafe(no_mangle)]
pub extern "C" fn polyhaul_draw_next() -> usize {
    JOB.with_borrow_mut(|job| job.scene.as_ref().map_or(0, |scene| job.drawing.next(scene)))
}

/// Frees what the last job left.
#[unsafe(no_mangle)]
pub extern "C" fn polyhaul_forget() {
    JOB.take();
}

impl Job {
    fn read(&mut self) -> bool {
        (self.scene, self.shapes) = (None, Vec::new());
        let request = match request::parse(&String::from_utf8_lossy(&self.request)) {
            Ok(request) => request,
            Err(message) => {
                self.answer = answer::refused(&message);
                return false;
            }
        };
        let done = self.answered(request);
        if let Err(error) = &done {
            self.answer = answer::error(error);
        }
        done.is_ok()
    }

    fn answered(&mut self, request: Request) -> Result<()> {
        let options = request.options.with_resolver(Some(Resolve(Arc::new(|name: &str| Ok(host::find(name))))));
        let input = Input::Host(Box::new(host::File::main()), request.name);
        let reader = Reader::new(input).options(&options).threads(1);
        let loaded = if request.tables { as_scene(reader.tables()?) } else { reader.scene()? };
        self.shapes = shapes::of(&loaded.value);
        self.answer = answer::scene(&loaded, &self.shapes);
        self.scene = Some(loaded.value);
        Ok(())
    }
}

/// Tables as a scene of nothing else.
fn as_scene(loaded: Loaded<Tables>) -> Loaded<Scene> {
    let Tables { tables, comments, .. } = loaded.value;
    Loaded { value: Scene { tables, comments, ..Scene::default() }, report: loaded.report }
}
