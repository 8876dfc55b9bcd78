//! Bounds of a scene in world space.
//!
//! Transforming a box gives exact bounds if the transform maps axes to axes. Otherwise the result is too large, and
//! positions are transformed individually, unless the larger box is already inside the current bounds: of a million
//! instances, only a few are at the border.

use polyhaul_geometry::exact::moved_bounds;
use polyhaul_geometry::linear::{IDENTITY64, Matrix4};
use polyhaul_model::error::{Result, try_push};
use polyhaul_model::precision::shortest;
use polyhaul_model::{Bounds, Mesh, Scene};
use polyhaul_pipeline::parallel::for_each_item;
use std::sync::{Mutex, PoisonError};

/// Number of positions per work item.
const BLOCK: usize = 1 << 18;
/// Maximum number of positions to transform, which takes up to half a second. Beyond it, bounds may be too large.
const MAX_MOVED: u64 = 1 << 27;
/// Relative size below which matrix entries are considered rounding errors.
const ROUNDING: f64 = 1e-6;

/// Bounds of all finite positions of a scene. Bounds of single-precision positions are rounded to the shortest
/// decimals.
pub(super) fn bounds(scene: &Scene, threads: usize) -> Result<Option<Bounds<f64>>> {
    let boxes = mesh_boxes(scene, threads)?;
    let mut extent = GrowingBox::default();
    let mut is_shown = Vec::new();
    is_shown.try_reserve_exact(scene.meshes.len())?;
    is_shown.resize(scene.meshes.len(), false);
    for object in scene.objects.iter().filter(|object| object.mesh < boxes.len()) {
        let is_first = !std::mem::replace(&mut is_shown[object.mesh], true);
        let matrix = object.transform.unwrap_or(IDENTITY64);
        if let Some(bounds) = boxes[object.mesh]
            && (is_first || matrix != IDENTITY64)
        {
            extent.add(Positions::of_mesh(&scene.meshes[object.mesh]), bounds, &matrix);
        }
    }
    let others = boxes.iter().zip(is_shown).filter(|(_, is_shown)| !is_shown);
    others.filter_map(|(bounds, _)| *bounds).for_each(|bounds| extent.extend(bounds));
    #[cfg(feature = "pbrt")]
    render::extend(scene, &mut extent)?;
    let is_exact = extent.is_exact || scene.meshes.iter().any(Mesh::is_exact);
    Ok(extent.bounds.map(|bounds| if is_exact { bounds } else { shortened(bounds) }))
}

fn shortened(bounds: Bounds<f64>) -> Bounds<f64> {
    let short = |value: f64| shortest(f64::from(value as f32));
    Bounds { min: bounds.min.map(short), max: bounds.max.map(short) }
}

/// Bounds of each mesh. Bounds of blocks are merged in order, since the first of two zeros with different signs is
/// kept.
fn mesh_boxes(scene: &Scene, threads: usize) -> Result<Vec<Option<Bounds<f64>>>> {
    let mut blocks = Vec::new();
    for (mesh, positions) in scene.meshes.iter().map(Positions::of_mesh).enumerate() {
        for block in positions.blocks() {
            try_push(&mut blocks, (mesh, block), "a box")?;
        }
    }
    let block_boxes = Mutex::new(Vec::new());
    for_each_item(
        threads,
        blocks.iter().enumerate(),
        || (),
        |(), (at, (mesh, block))| {
            if let Some(bounds) = block.bounds() {
                block_boxes.lock().unwrap_or_else(PoisonError::into_inner).push((at, *mesh, bounds));
            }
        },
    );
    let mut block_boxes = block_boxes.into_inner().unwrap_or_else(PoisonError::into_inner);
    block_boxes.sort_unstable_by_key(|(at, ..)| *at);
    let mut boxes: Vec<Option<Bounds<f64>>> = Vec::new();
    boxes.try_reserve_exact(scene.meshes.len())?;
    boxes.resize(scene.meshes.len(), None);
    for (_, mesh, bounds) in block_boxes {
        boxes[mesh] = Some(boxes[mesh].map_or(bounds, |before| before.union(bounds)));
    }
    Ok(boxes)
}

/// Positions of a mesh or a shape.
#[derive(Clone, Copy)]
enum Positions<'a> {
    Single(&'a [[f32; 3]]),
    Exact(&'a [[f64; 3]]),
}

impl<'a> Positions<'a> {
    fn of_mesh(mesh: &Mesh) -> Positions<'_> {
        if mesh.is_exact() { Positions::Exact(&mesh.exact_positions) } else { Positions::Single(&mesh.positions) }
    }

    fn blocks(self) -> Vec<Positions<'a>> {
        match self {
            Positions::Single(positions) => positions.chunks(BLOCK).map(Positions::Single).collect(),
            Positions::Exact(positions) => positions.chunks(BLOCK).map(Positions::Exact).collect(),
        }
    }

    fn bounds(self) -> Option<Bounds<f64>> {
        match self {
            Positions::Single(positions) => Bounds::of(positions).map(Bounds::widened),
            Positions::Exact(positions) => Bounds::of_exact(positions),
        }
    }

    fn len(self) -> usize {
        match self {
            Positions::Single(positions) => positions.len(),
            Positions::Exact(positions) => positions.len(),
        }
    }

    /// Bounds of the transformed positions.
    fn moved(self, matrix: &Matrix4) -> Option<Bounds<f64>> {
        let place = |position: [f64; 3]| -> [f64; 3] {
            std::array::from_fn(|row| {
                (0..3).map(|axis| matrix[row][axis] * position[axis]).sum::<f64>() + matrix[row][3]
            })
        };
        let is_finite = |place: &[f64; 3]| place.iter().all(|value| value.is_finite());
        let add = |bounds: Option<Bounds<f64>>, place: [f64; 3]| {
            let point = Bounds { min: place, max: place };
            Some(bounds.map_or(point, |bounds| bounds.union(point)))
        };
        match self {
            Positions::Single(positions) => {
                positions.iter().map(|position| place(position.map(f64::from))).filter(is_finite).fold(None, add)
            }
            Positions::Exact(positions) => {
                positions.iter().map(|position| place(*position)).filter(is_finite).fold(None, add)
            }
        }
    }
}

/// Bounds that grow.
#[derive(Default)]
struct GrowingBox {
    bounds: Option<Bounds<f64>>,
    /// Whether they include double-precision positions.
    is_exact: bool,
    /// Number of positions transformed individually.
    moved_count: u64,
}

impl GrowingBox {
    /// Adds transformed positions, given their bounds before the transform.
    fn add(&mut self, positions: Positions<'_>, bounds: Bounds<f64>, matrix: &Matrix4) {
        if *matrix == IDENTITY64 {
            return self.extend(bounds);
        }
        let loose = moved_bounds(bounds, matrix);
        if !self.contains(loose) {
            self.add_moved(positions, loose, matrix);
        }
    }

    /// Adds transformed positions, given bounds that may be too large.
    fn add_moved(&mut self, positions: Positions<'_>, loose: Bounds<f64>, matrix: &Matrix4) {
        if maps_axes(matrix) || self.moved_count >= MAX_MOVED {
            return self.extend(loose);
        }
        self.moved_count += positions.len() as u64;
        if let Some(bounds) = positions.moved(matrix) {
            self.extend(bounds);
        }
    }

    fn extend(&mut self, bounds: Bounds<f64>) {
        let is_finite = bounds.min.iter().chain(&bounds.max).all(|value| value.is_finite());
        if is_finite {
            self.bounds = Some(self.bounds.map_or(bounds, |before| before.union(bounds)));
        }
    }

    fn contains(&self, bounds: Bounds<f64>) -> bool {
        let is_inside = |outer: &Bounds<f64>| {
            (0..3).all(|axis| outer.min[axis] <= bounds.min[axis] && bounds.max[axis] <= outer.max[axis])
        };
        self.bounds.as_ref().is_some_and(is_inside)
    }
}

/// Whether each output axis depends on a single input axis, except for rounding errors.
fn maps_axes(matrix: &Matrix4) -> bool {
    matrix[..3].iter().all(|row| {
        let largest = row[..3].iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
        row[..3].iter().filter(|value| value.abs() > ROUNDING * largest).count() <= 1
    })
}

/// Renderer scenes: shapes have transforms, and definitions have instances.
#[cfg(feature = "pbrt")]
mod render {
    use super::{GrowingBox, Positions, maps_axes};
    use crate::pbrt_ops::{Places64, places64};
    use polyhaul_geometry::exact::moved_bounds;
    use polyhaul_geometry::linear::{IDENTITY64, Matrix4, multiply};
    use polyhaul_model::Scene;
    use polyhaul_model::error::Result;
    use polyhaul_model::render::{Render, Shape};
    use std::collections::HashMap;
    use std::ops::Range;

    /// Adds the shapes of a scene and of its instances.
    pub(super) fn extend(scene: &Scene, extent: &mut GrowingBox) -> Result<()> {
        let Some(render) = &scene.render else { return Ok(()) };
        // Discard the untransformed meshes that were added before: shapes place them.
        *extent = GrowingBox::default();
        let shapes = Shapes { scene, render, places: places64(render)? };
        for range in render.world_shapes() {
            shapes.add(range, &IDENTITY64, extent);
        }
        let mut definitions = HashMap::new();
        for instance in render.instances() {
            let Some(object) = render.objects.get(instance.object) else { continue };
            let definition = definitions.entry(instance.object).or_insert_with(|| {
                let mut extent = GrowingBox::default();
                shapes.add(object.shapes.clone(), &IDENTITY64, &mut extent);
                extent
            });
            let Some(bounds) = definition.bounds else { continue };
            let place = shapes.places.of_instance(render, &instance);
            let loose = moved_bounds(bounds, &place);
            if maps_axes(&place) {
                extent.extend(loose);
            } else if !extent.contains(loose) {
                shapes.add(object.shapes.clone(), &place, extent);
            }
            extent.is_exact |= definition.is_exact;
        }
        Ok(())
    }

    /// Shapes of a scene.
    struct Shapes<'a> {
        scene: &'a Scene,
        render: &'a Render,
        places: Places64,
    }

    impl<'a> Shapes<'a> {
        /// Adds a range of transformed shapes.
        fn add(&self, range: Range<usize>, outer: &Matrix4, extent: &mut GrowingBox) {
            for shape in range.filter_map(|index| self.render.shape(index)) {
                let positions = self.positions(&shape);
                let Some(bounds) = positions.bounds() else { continue };
                extent.is_exact |= matches!(positions, Positions::Exact(_));
                let inner = self.places.matrix(self.render, shape.motion().start);
                let matrix = if *outer == IDENTITY64 { inner } else { multiply(outer, &inner) };
                extent.add(positions, bounds, &matrix);
            }
        }

        /// Positions of a mesh; empty for other shapes.
        fn positions(&self, shape: &Shape<'a>) -> Positions<'a> {
            if let Some(mesh) = shape.mesh().and_then(|mesh| self.scene.meshes.get(mesh)) {
                return Positions::of_mesh(mesh);
            }
            let is_mesh = ["trianglemesh", "bilinearmesh", "loopsubdiv"].contains(&shape.class());
            let points = shape.parameters().get("P").filter(|_| is_mesh);
            match points {
                Some(points) if !points.exact.is_empty() => Positions::Exact(points.exact.as_chunks().0),
                Some(points) => Positions::Single(points.values.rows().unwrap_or_default()),
                None => Positions::Single(&[]),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use polyhaul_model::Object;

    fn mesh(positions: &[[f32; 3]]) -> Mesh {
        Mesh { positions: positions.to_vec().into(), ..Mesh::default() }
    }

    fn object(mesh: usize, transform: Matrix4) -> Object {
        Object { mesh, transform: Some(transform), ..Object::default() }
    }

    fn shifted(by: f64) -> Matrix4 {
        let mut matrix = IDENTITY64;
        matrix[0][3] = by;
        matrix
    }

    #[test]
    fn objects_and_instances_count_where_they_are() {
        let mut scene = Scene { meshes: vec![mesh(&[[0.0; 3], [1.0, 1.0, 0.0]])], ..Scene::default() };
        let of = |scene: &Scene| bounds(scene, 1).unwrap().map(|bounds| [bounds.min[0], bounds.max[0]]);
        assert_eq!(of(&scene), Some([0.0, 1.0]));
        scene.objects = vec![object(0, shifted(100.0))];
        assert_eq!(of(&scene), Some([100.0, 101.0]));
        scene.objects.push(object(0, shifted(-0.25)));
        assert_eq!(of(&scene), Some([-0.25, 101.0]));
        // A mesh without objects is not transformed.
        scene.meshes.push(mesh(&[[200.0; 3], [f32::NAN; 3]]));
        assert_eq!(of(&scene), Some([-0.25, 200.0]));
        scene.objects.push(object(1, [[f64::NAN; 4]; 4]));
        assert_eq!(of(&scene), Some([-0.25, 101.0]));
        assert_eq!(of(&Scene::default()), None);
    }

    #[test]
    fn turned_positions_have_the_smallest_box() {
        let half = std::f64::consts::FRAC_1_SQRT_2;
        let turn = [[half, -half, 0.0, 0.0], [half, half, 0.0, 0.0], IDENTITY64[2], IDENTITY64[3]];
        let meshes = vec![mesh(&[[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])];
        let scene = Scene { meshes, objects: vec![object(0, turn); 3], ..Scene::default() };
        let turned = bounds(&scene, 2).unwrap().unwrap();
        let half = 0.70710677;
        assert_eq!((turned.min, turned.max), ([-half, 0.0, 0.0], [half, half, 0.0]));
    }
}
