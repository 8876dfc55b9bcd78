//! The functions of the C interface, called as from C: with raw pointers, arrays and callbacks.
//!
//! Under Miri, these tests run the unsafe code of this crate and of the formats.

use crate::compose::{ph_scene_add_mesh, ph_scene_add_object, ph_scene_new, ph_scene_set_axes};
use crate::convert::ph_convert;
use crate::error::{PH_OK, ph_error, ph_last_error, ph_last_error_text, ph_status};
use crate::image::{ph_image_free, ph_image_get, ph_image_read, ph_image_write, ph_pixels};
use crate::material::{
    PH_MAP_DIFFUSE, ph_material, ph_scene_add_material, ph_scene_add_texture, ph_scene_material, ph_scene_texture,
    ph_texture,
};
use crate::mesh::{PH_BORROW, PH_COPY, ph_elements, ph_mesh, ph_run};
use crate::options::{
    ph_options, ph_options_free, ph_options_get, ph_options_new, ph_options_set, ph_options_set_pool,
    ph_options_set_progress, ph_options_set_resolver, ph_task_fn,
};
use crate::report::{ph_report, ph_report_free, ph_report_get, ph_report_info, ph_report_warning, ph_warning};
use crate::scene::{
    PH_AXIS_NEGATIVE_Z, PH_AXIS_Y, ph_object, ph_scene, ph_scene_face_column, ph_scene_free, ph_scene_get,
    ph_scene_info, ph_scene_mesh, ph_scene_object, ph_scene_read, ph_scene_vertex_column, ph_scene_write,
};
use crate::source::{ph_input, ph_output};
use crate::table::{
    PH_SCALAR_F32, PH_SCALAR_U8, PH_SCALAR_U16, ph_column, ph_table, ph_tables_column, ph_tables_count, ph_tables_free,
    ph_tables_read, ph_tables_table,
};
use crate::text::ph_text;
use std::ffi::{CStr, CString, c_char, c_void};
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};

/// Returns a struct of the header with its size set and all other bytes zero.
fn sized<T>() -> T {
    let mut value = MaybeUninit::<T>::zeroed();
    // SAFETY: the structs of the header are `repr(C)` and start with their size; zeros are valid in other fields.
    unsafe {
        value.as_mut_ptr().cast::<usize>().write(size_of::<T>());
        value.assume_init()
    }
}

#[track_caller]
fn ok(status: ph_status) {
    // SAFETY: the text is zero-terminated.
    let text = unsafe { CStr::from_ptr(ph_last_error_text()) };
    assert_eq!(status, PH_OK, "{}", text.to_string_lossy());
}

/// Returns the handle that a function creates.
#[track_caller]
fn made<T>(make: impl FnOnce(Option<&mut MaybeUninit<*mut T>>) -> ph_status) -> Box<T> {
    let mut handle = MaybeUninit::uninit();
    ok(make(Some(&mut handle)));
    // SAFETY: every function writes the handle, which points to a box.
    unsafe { Box::from_raw(handle.assume_init()) }
}

fn memory(bytes: &[u8], name: &CStr) -> ph_input {
    ph_input { memory: bytes.as_ptr().cast(), memory_size: bytes.len(), name: name.as_ptr(), ..sized() }
}

/// Appends to the list behind `user`.
unsafe extern "C" fn append(user: *mut c_void, data: *const c_void, size: usize) -> i64 {
    // SAFETY: the tests pass a list as `user`, and `data` has `size` bytes.
    unsafe { (*user.cast::<Vec<u8>>()).extend_from_slice(std::slice::from_raw_parts(data.cast(), size)) };
    size as i64
}

fn output(out: &mut Vec<u8>, name: &CStr) -> ph_output {
    ph_output { write: Some(append), user: (&raw mut *out).cast(), name: name.as_ptr(), ..sized() }
}

fn options(settings: &[(&CStr, &CStr)]) -> Box<ph_options> {
    let mut options = made(|out| ph_options_new(out));
    for (name, value) in settings {
        // SAFETY: both are zero-terminated.
        ok(unsafe { ph_options_set(Some(&mut options), name.as_ptr(), value.as_ptr()) });
    }
    options
}

/// Returns options for three threads.
fn threads() -> Box<ph_options> {
    options(&[(c"threads", c"3")])
}

#[track_caller]
fn try_converted(bytes: &[u8], from: &CStr, to: &CStr, options: &ph_options) -> (ph_status, Vec<u8>) {
    let mut out = Vec::new();
    let input = memory(bytes, from);
    let target = output(&mut out, to);
    // SAFETY: both are valid during the call.
    (unsafe { ph_convert(&raw const input, &raw const target, Some(options), None) }, out)
}

#[track_caller]
fn converted(bytes: &[u8], from: &CStr, to: &CStr, options: &ph_options) -> Vec<u8> {
    let (status, out) = try_converted(bytes, from, to, options);
    ok(status);
    out
}

const OBJ: &[u8] = b"# two squares and a triangle\nmtllib a.mtl\no one\nv 0 0 0\nv 1.5 0 0\nv 1 1e0 0\nv 0 1 0.25\n\
v 5411234.456 2 3\nv -1 -2.0000001 -3\nvt 0 0\nvt 1 0\nvt 1 1\nvn 0 0 1\ng left\nusemtl red\ns 1\nf 1/1/1 2/2/1 3/3/1 4/1/1\n\
f 1 2 5\nf -3 -2 -1\ng right\nf 1//1 2//1 6//1\nl 1 2 3\np 4\n";

const MTL: &[u8] = b"newmtl red\nKd 1 0 0\nKs 0.5 0.5 0.5\nmap_Kd -s 2 2 1 red.png\n";

const TABLE: &[u8] = b"x,y,z,n\n1.5,2,3,4\n-1e-3,0.25,7,5\n1234567.5,\"8\",9,-6\n.5,1,2,3\n";

/// Returns the small files in a folder of the test data, with their bytes; under Miri, only some of them.
fn small_files(folder: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(folder).join("good");
    let mut folders = vec![root];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.metadata().unwrap().len() <= if cfg!(miri) { 400 } else { 1000 } {
                files.push(path);
            }
        }
    }
    files.sort();
    let stride = if cfg!(miri) { files.len().div_ceil(6).max(1) } else { 1 };
    files.into_iter().step_by(stride).map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

/// Converts each small file, which may fail; returns the number of files that were converted.
fn convert_small_files(folder: &str, targets: &[&CStr]) -> usize {
    let options = threads();
    let mut count = 0;
    for (index, (path, bytes)) in small_files(folder).into_iter().enumerate() {
        let name = CString::new(path.file_name().unwrap().to_str().unwrap()).unwrap();
        let (status, out) = try_converted(&bytes, &name, targets[index % targets.len()], &options);
        count += usize::from(status == PH_OK && !out.is_empty());
    }
    count
}

#[test]
fn meshes_go_through_every_format() {
    let plain = threads();
    let ply = converted(OBJ, c"a.obj", c"a.ply", &plain);
    for to in [c"b.stl", c"b.off", c"b.glb", c"b.obj", c"b.ply"] {
        let bytes = converted(&ply, c"a.ply", to, &plain);
        // A conversion takes a minute in Miri.
        for back in if cfg!(miri) { &[c"c.ply"][..] } else { &[c"c.ply", c"c.obj"] } {
            assert!(!converted(&bytes, to, back, &plain).is_empty());
        }
    }
    let options = options(&[(c"threads", c"3"), (c"ascii", c"true")]);
    for to in [c"b.ply", c"b.stl"] {
        let text = converted(OBJ, c"a.obj", to, &options);
        assert!(text.is_ascii() && !converted(&text, to, c"c.obj", &options).is_empty());
    }
}

#[test]
fn small_meshes_of_the_test_data_are_read() {
    for folder in ["obj", "ply", "stl", "off", "pbrt", "glb"] {
        let count = convert_small_files(folder, &[c"a.ply", c"a.obj", c"a.stl", c"a.off"]);
        // In Miri, all of the few files may be invalid for their targets.
        assert!(count > 0 || cfg!(miri), "{folder}");
    }
}

#[test]
fn a_compressed_mesh_is_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/gz/good/mesh.ply.single.gz");
    assert!(!converted(&std::fs::read(path).unwrap(), c"mesh.ply.gz", c"a.ply", &threads()).is_empty());
}

#[test]
fn small_images_of_the_test_data_are_read() {
    for folder in ["png", "bmp", "psd", "jpg", "hdr", "tga", "dds"] {
        assert!(convert_small_files(folder, &[c"a.tga", c"a.png", c"a.hdr", c"a.exr"]) > 0, "{folder}");
    }
}

#[test]
fn small_splats_of_the_test_data_are_read() {
    assert!(convert_small_files("splat", &[c"a.ply"]) > 0);
}

#[test]
fn images_are_written_and_read() {
    let bytes: Vec<u8> = (0..2 * 19 * 4).map(|n| (n * 7) as u8).collect();
    let wide: Vec<u16> = (0..2 * 5 * 3).map(|n| n * 1999).collect();
    let floats: Vec<f32> = (0..2 * 9 * 3).map(|n| n as f32 / 7.0).collect();
    let pixels = |samples: *const c_void, width, channels, scalar| ph_pixels {
        width,
        height: 2,
        channels,
        samples,
        scalar,
        ..sized()
    };
    let images = [
        (pixels(bytes.as_ptr().cast(), 19, 4, PH_SCALAR_U8), &[c"a.tga", c"a.png"][..]),
        (pixels(wide.as_ptr().cast(), 5, 3, PH_SCALAR_U16), &[c"a.png"]),
        (pixels(floats.as_ptr().cast(), 9, 3, PH_SCALAR_F32), &[c"a.hdr", c"a.exr"]),
        // Rows with padding.
        (ph_pixels { row_bytes: 4 * 19, ..pixels(bytes.as_ptr().cast(), 17, 4, PH_SCALAR_U8) }, &[c"a.tga"]),
    ];
    let options = threads();
    for (pixels, names) in images {
        for name in names {
            let mut file = Vec::new();
            let target = output(&mut file, name);
            // SAFETY: all are valid during the call.
            ok(unsafe { ph_image_write(&raw const pixels, &raw const target, Some(&options), None) });
            let input = memory(&file, name);
            // SAFETY: as above.
            let image = made(|out| unsafe { ph_image_read(&raw const input, Some(&options), out, None) });
            let mut read = sized::<ph_pixels>();
            // SAFETY: `struct_size` is set.
            ok(unsafe { ph_image_get(Some(&image), &raw mut read) });
            assert_eq!([read.width, read.height], [pixels.width, 2], "{name:?}");
            ph_image_free(Some(image));
        }
    }
}

#[test]
fn tables_are_read_as_columns_and_converted() {
    let options = threads();
    for to in [c"a.npy", c"a.csv", c"a.tsv", c"a.txt"] {
        let file = converted(TABLE, c"t.csv", to, &options);
        let input = memory(&file, to);
        // SAFETY: the input is valid during the call.
        let tables = made(|out| unsafe { ph_tables_read(&raw const input, Some(&options), out, None) });
        assert_eq!(ph_tables_count(Some(&tables)), 1);
        let mut table = sized::<ph_table>();
        // SAFETY: `struct_size` is set.
        ok(unsafe { ph_tables_table(Some(&tables), 0, &raw mut table) });
        assert_eq!(table.row_count, 4, "{to:?}");
        let mut column = sized::<ph_column>();
        // SAFETY: as above.
        ok(unsafe { ph_tables_column(Some(&tables), 0, table.column_count - 1, &raw mut column) });
        assert!(!column.values.is_null());
        ph_tables_free(Some(tables));
    }
    assert!(convert_small_files("table", &[c"a.csv", c"a.npy"]) > 0);
}

/// A host that reads from memory.
struct Host {
    bytes: Vec<u8>,
    at: usize,
    is_released: bool,
}

/// # Safety
/// `user` points to a `Host` that no other thread uses.
unsafe fn host<'h>(user: *mut c_void) -> &'h mut Host {
    // SAFETY: by the contract of this function.
    unsafe { &mut *user.cast() }
}

unsafe extern "C" fn read(user: *mut c_void, out: *mut c_void, size: usize) -> i64 {
    // SAFETY: the library calls from one thread at a time, with `size` writable bytes.
    let host = unsafe { host(user) };
    let count = size.min(host.bytes.len() - host.at);
    // SAFETY: as above.
    unsafe { out.cast::<u8>().copy_from_nonoverlapping(host.bytes[host.at..].as_ptr(), count) };
    host.at += count;
    count as i64
}

unsafe extern "C" fn seek(user: *mut c_void, offset: u64) -> i32 {
    // SAFETY: the library calls from one thread at a time.
    unsafe { host(user) }.at = offset as usize;
    0
}

unsafe extern "C" fn size(user: *mut c_void) -> i64 {
    // SAFETY: the library calls from one thread at a time.
    unsafe { host(user) }.bytes.len() as i64
}

unsafe extern "C" fn release(user: *mut c_void) {
    // SAFETY: the library calls this after all other callbacks.
    unsafe { host(user) }.is_released = true;
}

unsafe extern "C" fn count_progress(user: *mut c_void, done_bytes: u64, _: u64) -> i32 {
    // SAFETY: the library calls from one thread at a time.
    unsafe { *user.cast::<u64>() = done_bytes };
    0
}

unsafe extern "C" fn run_all(_: *mut c_void, count: usize, task: ph_task_fn, context: *mut c_void) {
    // SAFETY: by the contract of the pool.
    (0..count).for_each(|index| unsafe { task.unwrap()(context, index) });
}

/// Returns the material library for every name.
unsafe extern "C" fn resolve(_: *mut c_void, _: *const c_char, answer: *mut ph_input) -> i32 {
    // SAFETY: the library passes a writable struct.
    unsafe { *answer = memory(MTL, c"a.mtl") };
    0
}

#[test]
fn hosts_read_run_and_resolve() {
    let mut host = Host { bytes: OBJ.to_vec(), at: 0, is_released: false };
    let user: *mut c_void = (&raw mut host).cast();
    let mut progress = 0_u64;
    let mut options = threads();
    ok(ph_options_set_pool(Some(&mut options), Some(run_all), std::ptr::null_mut()));
    ok(ph_options_set_progress(Some(&mut options), Some(count_progress), (&raw mut progress).cast()));
    ok(ph_options_set_resolver(Some(&mut options), Some(resolve), std::ptr::null_mut()));
    let input = ph_input {
        read: Some(read),
        seek: Some(seek),
        size: Some(size),
        release: Some(release),
        user,
        name: c"a.obj".as_ptr(),
        ..sized()
    };
    let mut report = MaybeUninit::uninit();
    // SAFETY: all are valid during the call.
    let scene = made(|out| unsafe { ph_scene_read(&raw const input, Some(&options), out, Some(&mut report)) });
    assert!(host.is_released);
    // SAFETY: the function wrote the handle, which points to a box.
    let report: Box<ph_report> = unsafe { Box::from_raw(report.assume_init()) };
    let mut info = sized::<ph_report_info>();
    // SAFETY: `struct_size` is set.
    ok(unsafe { ph_report_get(Some(&report), &raw mut info) });
    assert!(info.bytes_in >= OBJ.len() as u64);
    for index in 0..info.kept_warning_count {
        let mut warning = sized::<ph_warning>();
        // SAFETY: as above.
        ok(unsafe { ph_report_warning(Some(&report), index as usize, &raw mut warning) });
    }
    ph_report_free(Some(report));
    check_scene(&scene);
    ph_scene_free(Some(scene));
    ph_options_free(Some(options));
}

/// Calls every getter on the scene of [`OBJ`], or on one built from it.
fn check_scene(scene: &ph_scene) {
    let mut info = sized::<ph_scene_info>();
    let mut mesh = sized::<ph_mesh>();
    let mut object = sized::<ph_object>();
    let mut material = sized::<ph_material>();
    let mut texture = sized::<ph_texture>();
    let mut column = sized::<ph_column>();
    // SAFETY: `struct_size` is set in all of them.
    unsafe {
        ok(ph_scene_get(Some(scene), &raw mut info));
        ok(ph_scene_mesh(Some(scene), 0, &raw mut mesh));
        ok(ph_scene_object(Some(scene), 0, &raw mut object));
        ok(ph_scene_material(Some(scene), 0, &raw mut material));
        ok(ph_scene_texture(Some(scene), 0, 0, &raw mut texture));
        assert_ne!(ph_scene_vertex_column(Some(scene), 0, 9, &raw mut column), PH_OK);
        assert_ne!(ph_scene_face_column(Some(scene), 0, 9, &raw mut column), PH_OK);
        // The arrays of the mesh are readable.
        let positions = std::slice::from_raw_parts(mesh.positions, 3 * mesh.position_count);
        assert!(positions.iter().all(|value| value.is_finite()));
        let corners = std::slice::from_raw_parts(mesh.faces.corner_positions, mesh.faces.corner_count);
        assert!(corners.iter().all(|&corner| (corner as usize) < mesh.position_count));
    }
    assert!(info.face_count > 0 && info.material_count == 1);
}

#[test]
fn scenes_are_built_of_borrowed_and_copied_arrays() {
    let positions: [f32; 12] = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0];
    let offsets = [0_u32, 3, 6];
    let corners = [0_u32, 1, 2, 0, 2, 3];
    let runs = [ph_run { first_face: 0, value: 0 }];
    // SAFETY: the text is zero-terminated.
    let [name, group, file] = [c"a name", c"group", c"a.png"].map(|text| unsafe { ph_text(text.as_ptr()) });
    let faces = ph_elements {
        offsets: offsets.as_ptr(),
        count: 2,
        corner_positions: corners.as_ptr(),
        corner_uvs: std::ptr::null(),
        corner_normals: std::ptr::null(),
        corner_count: 6,
    };
    let mesh = ph_mesh {
        positions: positions.as_ptr(),
        position_count: 4,
        faces,
        material_runs: runs.as_ptr(),
        material_run_count: 1,
        group_runs: runs.as_ptr(),
        group_run_count: 1,
        groups: &raw const group,
        group_count: 1,
        ..sized()
    };
    let slots = [0_u32];
    let object = ph_object { name, material_slots: slots.as_ptr(), material_slot_count: 1, ..sized() };
    let material = ph_material { name, ..sized() };
    let texture = ph_texture { file, map: PH_MAP_DIFFUSE, ..sized() };
    for keep in [PH_COPY, PH_BORROW] {
        let mut scene = made(|out| ph_scene_new(out));
        ok(ph_scene_set_axes(Some(&mut scene), PH_AXIS_NEGATIVE_Z, PH_AXIS_Y));
        // SAFETY: all pointees outlive the scene.
        unsafe {
            ok(ph_scene_add_material(Some(&mut scene), &raw const material));
            ok(ph_scene_add_texture(Some(&mut scene), 0, &raw const texture));
            ok(ph_scene_add_mesh(Some(&mut scene), &raw const mesh, keep));
            ok(ph_scene_add_object(Some(&mut scene), &raw const object));
        }
        check_scene(&scene);
        let mut file = Vec::new();
        let target = output(&mut file, c"a.ply");
        // SAFETY: all are valid during the call.
        ok(unsafe { ph_scene_write(Some(&scene), &raw const target, Some(&threads()), None) });
        assert!(file.starts_with(b"ply"));
        ph_scene_free(Some(scene));
    }
}

#[test]
fn wrong_arguments_are_errors() {
    let options = threads();
    let none: [ph_input; 3] = [
        sized(),
        ph_input { struct_size: 3, ..sized() },
        ph_input { memory_size: 5, memory: [1_u8].as_ptr().cast(), path: c"a".as_ptr(), ..sized() },
    ];
    for input in none {
        let mut scene = MaybeUninit::uninit();
        // SAFETY: the struct is valid, except for its size or its number of sources.
        assert_ne!(unsafe { ph_scene_read(&raw const input, Some(&options), Some(&mut scene), None) }, PH_OK);
        let mut error = sized::<ph_error>();
        // SAFETY: `struct_size` is set, and the message is zero-terminated.
        let message = unsafe {
            ok(ph_last_error(&raw mut error));
            CStr::from_ptr(error.message)
        };
        assert!(!message.is_empty());
    }
    let mut mutable = threads();
    let mut value = MaybeUninit::uninit();
    // SAFETY: the name and the value are zero-terminated.
    unsafe {
        assert_ne!(ph_options_set(Some(&mut mutable), c"no such option".as_ptr(), c"1".as_ptr()), PH_OK);
        ok(ph_options_get(Some(&mut mutable), c"threads".as_ptr(), Some(&mut value)));
        assert_eq!(CStr::from_ptr(value.assume_init()), c"3");
    }
}
