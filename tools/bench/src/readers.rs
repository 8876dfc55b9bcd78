//! Readers of OBJ and STL files, with options that preserve the file's structure: polygons, and separate indices of
//! positions, uvs and normals. Also reads numbers as text. See [`ply`] for PLY, [`pbrt`] for pbrt scenes.

mod pbrt;
mod ply;
mod preview;

use crate::{Failure, limits, measure};
use polyhaul::model::{Scalar, Scene};
use polyhaul::options::ColumnTypes;
use polyhaul::{Input, Loaded, ReadOptions, TableArray};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// Counts that reveal a wrong reader. The model itself stays alive until peak memory has been read.
struct ModelCounts {
    positions: u64,
    faces: u64,
    /// Size of the model's arrays in bytes, if the reader reports it.
    model_bytes: Option<u64>,
}

/// Reads `file` with the reader `name`, and prints the measurement.
pub fn main(name: &str, file: &Path, threads: usize) -> Result<(), Failure> {
    match name {
        "polyhaul" => report(|| load(file, threads), found),
        "tobj" => report(|| tobj(file), tobj_found),
        "obj" => report(|| Ok(obj::Obj::load(file)?), obj_found),
        "obj-rs" => report(|| Ok(obj_rs::raw::parse_obj(BufReader::new(File::open(file)?))?), obj_rs_found),
        "ufbx" => report(|| ufbx(file), |scene| ufbx_found(scene)),
        "polyhaul-files" => each(file, |path| load(path, threads), found),
        "tobj-files" => each(file, tobj, tobj_found),
        "polyhaul-pbrt" => pbrt::main(file, threads),
        "stl_io" => report(|| stl_io(file), stl_io_found),
        "array" => report(|| array(file, Scalar::F64, threads), array_found),
        "array-f32" => report(|| array(file, Scalar::F32, threads), array_found),
        "preview" | "first-pixel" | "preview-trees" | "preview-draw" | "preview-refine" => {
            preview::main(name, file, threads)
        }
        _ => ply::main(name, file, threads),
    }
}

/// Reads all files of a folder sequentially, sorted by name; keeps all models.
fn each<M>(
    folder: &Path,
    read: impl Fn(&Path) -> Result<M, Failure>,
    counts_of: impl Fn(&M) -> ModelCounts,
) -> Result<(), Failure> {
    let paths = limits::files(folder)?;
    report(
        || paths.iter().map(|path| read(path)).collect::<Result<Vec<M>, Failure>>(),
        |models| {
            let none = ModelCounts { positions: 0, faces: 0, model_bytes: Some(0) };
            models.iter().map(&counts_of).fold(none, |sum, counts| ModelCounts {
                positions: sum.positions + counts.positions,
                faces: sum.faces + counts.faces,
                model_bytes: sum.model_bytes.zip(counts.model_bytes).map(|(a, b)| a + b),
            })
        },
    )
}

/// Reads numbers with polyhaul.
fn array(file: &Path, scalar: Scalar, threads: usize) -> Result<Loaded<TableArray>, Failure> {
    let mut options = ReadOptions::default();
    options.run.threads = Some(threads);
    options.table.types = ColumnTypes::All(scalar);
    Ok(polyhaul::Reader::new(input(file)).options(&options).array()?)
}

fn array_found(array: &Loaded<TableArray>) -> ModelCounts {
    ModelCounts {
        positions: array.value.row_count as u64,
        faces: 0,
        model_bytes: Some(array.value.values.heap_bytes()),
    }
}

fn report<M>(read: impl FnOnce() -> Result<M, Failure>, find: impl FnOnce(&M) -> ModelCounts) -> Result<(), Failure> {
    let (model, timing) = measure::timed(read);
    let model = model?;
    let counts = find(&model);
    let mut fields = vec![("positions", counts.positions), ("faces", counts.faces)];
    fields.extend(counts.model_bytes.map(|bytes| ("base_bytes", bytes)));
    measure::print(timing, &fields);
    // Dropping millions of small vectors would only delay the next measurement.
    std::mem::forget(model);
    Ok(())
}

/// Reads OBJ, PLY or STL with polyhaul's default options; `-` is standard input.
pub fn load(file: &Path, threads: usize) -> Result<Scene, Failure> {
    let mut options = ReadOptions::default();
    options.run.threads = Some(threads);
    Ok(polyhaul::Reader::new(input(file)).options(&options).scene()?.value)
}

fn input(file: &Path) -> Input {
    match file.to_str() {
        Some("-") => Input::Stdin,
        _ => Input::Path(file.into()),
    }
}

/// Returns the size of a scene's arrays in bytes.
pub fn model_bytes(scene: &Scene) -> u64 {
    scene.meshes.iter().map(|mesh| mesh.heap_bytes()).sum()
}

fn found(scene: &Scene) -> ModelCounts {
    let [positions, _, _, faces, ..] = scene.totals();
    ModelCounts { positions, faces, model_bytes: Some(model_bytes(scene)) }
}

/// Reads one row per triangle, as stored: stl_io's other reader merges equal positions.
pub fn stl_io(file: &Path) -> Result<Vec<stl_io::Triangle>, Failure> {
    let mut reader = BufReader::with_capacity(256 << 10, File::open(file)?);
    Ok(stl_io::create_stl_reader(&mut reader)?.collect::<Result<_, _>>()?)
}

fn stl_io_found(triangles: &Vec<stl_io::Triangle>) -> ModelCounts {
    let faces = triangles.len() as u64;
    ModelCounts { positions: 3 * faces, faces, model_bytes: None }
}

type TobjModel = (Vec<tobj::Model>, Result<Vec<tobj::Material>, tobj::LoadError>);

fn tobj(file: &Path) -> Result<TobjModel, Failure> {
    Ok(tobj::load_obj(file, &tobj::LoadOptions::default())?)
}

fn tobj_found(model: &TobjModel) -> ModelCounts {
    let (models, _) = model;
    let faces = |mesh: &tobj::Mesh| match mesh.face_arities.len() {
        // tobj omits the arities if all faces are triangles.
        0 => mesh.indices.len() / 3,
        count => count,
    };
    ModelCounts {
        positions: models.iter().map(|model| model.mesh.positions.len() as u64 / 3).sum(),
        faces: models.iter().map(|model| faces(&model.mesh) as u64).sum(),
        model_bytes: None,
    }
}

fn obj_found(obj: &obj::Obj) -> ModelCounts {
    let groups = obj.data.objects.iter().flat_map(|object| &object.groups);
    ModelCounts {
        positions: obj.data.position.len() as u64,
        faces: groups.map(|group| group.polys.len() as u64).sum(),
        model_bytes: None,
    }
}

fn obj_rs_found(obj: &obj_rs::raw::RawObj) -> ModelCounts {
    ModelCounts { positions: obj.positions.len() as u64, faces: obj.polygons.len() as u64, model_bytes: None }
}

fn ufbx(file: &Path) -> Result<ufbx::SceneRoot, Failure> {
    let name = file.to_str().ok_or("a file name that is not UTF-8")?;
    ufbx::load_file(name, ufbx::LoadOpts::default()).map_err(|error| error.description.to_string().into())
}

fn ufbx_found(scene: &ufbx::Scene) -> ModelCounts {
    let sum = |count: fn(&ufbx::Mesh) -> usize| (&scene.meshes).into_iter().map(|mesh| count(mesh) as u64).sum();
    ModelCounts { positions: sum(|mesh| mesh.num_vertices), faces: sum(|mesh| mesh.num_faces), model_bytes: None }
}
