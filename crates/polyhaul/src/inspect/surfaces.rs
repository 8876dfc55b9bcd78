//! Checks each surface of a scene once. A surface is a section of a mesh that objects show.

use super::contents::counts;
use crate::input::Input;
use crate::load::{Content, ContentShape, load_as};
use crate::loaded::Loaded;
use crate::open::Opened;
use crate::options::ReadOptions;
use crate::report::Report;
use polyhaul_geometry::surface::{Surface, SurfacePositions, check_surface};
use polyhaul_model::error::{Error, ErrorKind, Result, try_push, try_string};
use polyhaul_model::{Bounds, Scene};
use polyhaul_pipeline::crew::within;
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::try_for_each_item;
use std::collections::HashMap;
use std::ops::Range;

/// Surfaces with at least this many faces are checked sequentially, each with all threads; smaller surfaces in
/// parallel, each with one thread.
const LARGE: usize = 1 << 17;

counts! {
    /// Counts over all surfaces of a scene.
    SurfaceCounts {
        /// Surfaces: sections of meshes with faces.
        surfaces,
        /// Closed surfaces: each edge is used by two faces.
        watertight,
        /// Faces.
        faces,
        /// Distinct positions that faces use.
        positions,
        /// Distinct edges.
        edges,
        /// Connected components.
        components,
        /// Edges used by a single face.
        open_edges,
        /// Edges used more than twice.
        non_manifold_edges,
        /// Edges used by two faces in the same direction.
        flipped_edges,
        /// Faces with the same positions as an earlier face.
        duplicate_faces,
        /// Faces that use a position more than once, or that have no area.
        degenerate_faces,
    }
}

/// A checked surface.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CheckedSurface {
    /// The name of the first object that shows it, or else of its mesh; empty if neither has a name.
    pub name: String,
    /// The mesh: an index into [`Scene::meshes`].
    pub mesh: usize,
    /// The range of faces in the mesh.
    pub faces: Range<usize>,
    /// The number of objects that show it.
    pub objects: u64,
    /// The result of the check. Positions and faces are indices into the arrays of the mesh.
    pub surface: Surface,
}

/// The result of checking an input.
#[derive(Clone, Debug, Default)]
pub struct SurfaceCheck {
    /// The surfaces, in the order of meshes and faces.
    pub surfaces: Vec<CheckedSurface>,
    /// The report of the read.
    pub report: Report,
}

impl SurfaceCheck {
    /// The counts over all surfaces.
    pub fn counts(&self) -> SurfaceCounts {
        let mut counts = SurfaceCounts::default();
        self.surfaces.iter().for_each(|checked| counts.add(&checked.counts()));
        counts
    }

    /// Whether no surface has faults.
    pub fn is_clean(&self) -> bool {
        self.surfaces.iter().all(|checked| checked.surface.is_clean())
    }

    /// The total area.
    pub fn area(&self) -> f64 {
        // An empty sum is -0.
        self.surfaces.iter().map(|checked| checked.surface.area).sum::<f64>() + 0.0
    }

    /// The total volume, or `None` unless all surfaces enclose a volume: see [`Surface::is_solid`].
    pub fn volume(&self) -> Option<f64> {
        let is_solid = !self.surfaces.is_empty() && self.surfaces.iter().all(|checked| checked.surface.is_solid());
        is_solid.then(|| self.surfaces.iter().map(|checked| checked.surface.volume).sum())
    }

    /// The bounds of all surfaces, before object transforms.
    pub fn bounds(&self) -> Option<Bounds<f64>> {
        self.surfaces.iter().filter_map(|checked| checked.surface.bounds).reduce(Bounds::union)
    }
}

impl CheckedSurface {
    /// The counts of this surface.
    pub fn counts(&self) -> SurfaceCounts {
        let surface = &self.surface;
        SurfaceCounts {
            surfaces: 1,
            watertight: u64::from(surface.is_watertight()),
            faces: surface.faces,
            positions: surface.positions,
            edges: surface.edges,
            components: surface.components,
            open_edges: surface.open_edges.len() as u64,
            non_manifold_edges: surface.non_manifold_edges.len() as u64,
            flipped_edges: surface.flipped_edges.len() as u64,
            duplicate_faces: surface.duplicate_faces.len() as u64,
            degenerate_faces: surface.degenerate_faces.len() as u64,
        }
    }
}

/// Reads a scene and checks its surfaces: open and non-manifold edges; flipped, duplicate and degenerate faces; area,
/// volume and components.
///
/// A surface is the part of a mesh that an object shows; faces of different objects are never neighbors. A surface
/// shown by several objects is checked once, in mesh coordinates, without transforms. Each mesh without objects is one
/// surface. Renderer scenes are converted to meshes first. With the default for `which`, equal positions are merged, so
/// uv seams do not count as open edges.
///
/// ```
/// use polyhaul::{Input, ReadOptions, inspect};
///
/// let text = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n".to_vec();
/// let input = Input::Memory(text, "tetrahedron.obj".into());
/// let check = inspect::check(input, Default::default(), &ReadOptions::default())?;
/// assert!(check.is_clean());
/// assert_eq!(check.counts().edges, 6);
/// assert!((check.volume().unwrap() - 1.0 / 6.0).abs() < 1e-12);
/// # Ok::<(), polyhaul::Error>(())
/// ```
///
/// # Errors
/// The same errors as [`crate::Reader::scene`], and [`ErrorKind::Unsupported`] if the input is an image. Tables have no
/// surfaces.
pub fn check(input: impl Into<Input>, which: SurfacePositions, options: &ReadOptions) -> Result<SurfaceCheck> {
    within(&options.run, || check_input(input.into(), which, options))
}

fn check_input(input: Input, which: SurfacePositions, options: &ReadOptions) -> Result<SurfaceCheck> {
    let input = Opened::to_read(input, options)?;
    let (read, report) = load_as(&input, options, &ContentShape::from_format)?;
    let what = match read.content {
        Content::Scene(scene) => {
            let loaded = Loaded::new(scene, report).flattened(&options.limits)?;
            let surfaces = check_surfaces(&loaded.value, which, &options.run)?;
            return Ok(SurfaceCheck { surfaces, report: loaded.report });
        }
        Content::Tables(_) => return Ok(SurfaceCheck { surfaces: Vec::new(), report }),
        Content::Image(_) => "an image",
        Content::Texture(_) => "a texture",
    };
    let message = format!("cannot check the surfaces of {}: it is {what}", input.name());
    Err(Error::new(ErrorKind::Unsupported, message))
}

/// Checks each surface of a scene.
///
/// # Errors
/// The same errors as [`check_surface`].
pub(crate) fn check_surfaces(scene: &Scene, which: SurfacePositions, run: &RunOptions) -> Result<Vec<CheckedSurface>> {
    let mut surfaces = surfaces_of(scene)?;
    let one_thread = run.clone().with_threads(Some(1));
    let check = |checked: &mut CheckedSurface, run: &RunOptions| {
        checked.surface = check_surface(&scene.meshes[checked.mesh], checked.faces.clone(), which, run)?;
        Ok(())
    };
    let is_large = |checked: &CheckedSurface| checked.faces.len() >= LARGE;
    let small = surfaces.iter_mut().filter(|checked| !is_large(checked));
    let work = |(): &mut (), checked| check(checked, &one_thread);
    try_for_each_item(run.worker_threads(), &run.cancel, small, || (), work)?;
    surfaces.iter_mut().filter(|checked| is_large(checked)).try_for_each(|checked| check(checked, run))?;
    Ok(surfaces)
}

/// Finds the sections of meshes that objects show, and the meshes without objects. Skips sections and meshes without
/// faces.
fn surfaces_of(scene: &Scene) -> Result<Vec<CheckedSurface>> {
    let mut surfaces: Vec<CheckedSurface> = Vec::new();
    let mut seen = HashMap::new();
    let mut is_shown = Vec::new();
    is_shown.try_reserve_exact(scene.meshes.len())?;
    is_shown.resize(scene.meshes.len(), false);
    for object in scene.objects.iter().filter(|object| object.mesh < scene.meshes.len()) {
        is_shown[object.mesh] = true;
        let faces = object.start.faces as usize..object.end.faces as usize;
        if faces.is_empty() {
            continue;
        }
        let at = *seen.entry((object.mesh, faces.clone())).or_insert(surfaces.len());
        if at == surfaces.len() {
            let name = if object.name.is_empty() { &object.mesh_name } else { &object.name };
            let surface = CheckedSurface { name: try_string(name)?, mesh: object.mesh, faces, ..Default::default() };
            try_push(&mut surfaces, surface, "surfaces")?;
        }
        surfaces[at].objects += 1;
    }
    let others = scene.meshes.iter().zip(is_shown).enumerate();
    for (mesh, (faces, _)) in others.filter(|(_, (mesh, is_shown))| !is_shown && !mesh.faces.is_empty()) {
        let surface = CheckedSurface { mesh, faces: 0..faces.faces.len(), ..Default::default() };
        try_push(&mut surfaces, surface, "surfaces")?;
    }
    surfaces.sort_by_key(|checked| (checked.mesh, checked.faces.start));
    Ok(surfaces)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tetrahedron whose positions start at `first`, without its last `missing` faces.
    fn tetrahedron(first: usize, missing: usize) -> String {
        let faces = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]];
        let face = |[a, b, c]: &[usize; 3]| format!("f {} {} {}\n", first + a, first + b, first + c);
        let faces: String = faces[missing..].iter().map(face).collect();
        format!("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n{faces}")
    }

    fn check_text(text: &str, name: &str) -> SurfaceCheck {
        let input = Input::Memory(text.into(), name.into());
        check(input, SurfacePositions::Merged, &ReadOptions::default()).unwrap()
    }

    #[test]
    fn nothing_has_no_area() {
        assert_eq!(SurfaceCheck::default().area().to_bits(), 0);
    }

    #[test]
    fn objects_are_surfaces_of_their_own() {
        // Both objects are at the same position: merged, they would have many non-manifold edges instead of open edges.
        let text = format!("o whole\n{}o open\n{}o empty\nv 5 5 5\n", tetrahedron(1, 0), tetrahedron(5, 1));
        let check = check_text(&text, "two.obj");
        let names: Vec<_> = check.surfaces.iter().map(|checked| (&*checked.name, checked.faces.clone())).collect();
        assert_eq!(names, [("whole", 0..4), ("open", 4..7)]);
        let counts = check.counts();
        assert_eq!((counts.surfaces, counts.watertight, counts.open_edges), (2, 1, 3));
        assert_eq!((counts.non_manifold_edges, counts.components, counts.faces), (0, 2, 7));
        assert_eq!(check.surfaces[1].surface.open_edges[0].iter().min(), Some(&4));
        assert!(check.volume().is_none() && !check.is_clean());
    }

    #[test]
    fn a_mesh_that_several_objects_show_is_one_surface() {
        let mesh = crate::Reader::new(Input::Memory(tetrahedron(1, 0).into(), "a.obj".into())).scene().unwrap();
        let mut scene = mesh.value;
        scene.objects.truncate(1);
        scene.objects[0].name = "first".into();
        scene.objects.push(scene.objects[0].clone());
        scene.meshes.push(scene.meshes[0].clone());
        let surfaces = check_surfaces(&scene, SurfacePositions::Merged, &RunOptions::default()).unwrap();
        let counts: Vec<_> = surfaces.iter().map(|checked| (&*checked.name, checked.mesh, checked.objects)).collect();
        assert_eq!(counts, [("first", 0, 2), ("", 1, 0)]);
        assert_eq!(surfaces[0].surface, surfaces[1].surface);
    }

    #[test]
    fn points_and_tables_have_no_surfaces_and_images_are_errors() {
        assert!(check_text("v 0 0 0\n", "a.obj").surfaces.is_empty());
        let empty = check_text("1,2\n3,4\n", "a.csv");
        assert!(empty.is_clean() && empty.volume().is_none() && empty.bounds().is_none());
        let image = [0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 24, 0, 3, 2, 1].to_vec();
        let input = Input::Memory(image, "a.tga".into());
        let error = check(input, SurfacePositions::Merged, &ReadOptions::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
    }
}
