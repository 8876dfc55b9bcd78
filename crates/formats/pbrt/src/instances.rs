//! Expands instances: moves the shapes of their definitions into the scene.
//!
//! Shapes are not copied: the shapes of an instance share the parameters of the definition, and only get nodes in the
//! transform tree. `flatten` converts scenes to meshes instead.

use crate::flatten::check_objects;
use crate::places::{Places64, places64};
use polyhaul_model::error::{Error, ErrorKind, Result, try_push};
use polyhaul_model::limits::Limits;
use polyhaul_model::options::Instances;
use polyhaul_model::render::{
    Instances as RenderInstances, Motion, Node, Render, Segment, Step, StepKind, StoredShape, Transform,
};
use std::collections::HashMap;

/// Replaces instances with the shapes of their definitions, and removes definitions and instances.
///
/// With [`Instances::Flatten`], the shapes of definitions follow all other shapes, once per instance in order, under
/// the instance's transform. With [`Instances::Once`], they stay in place, each once, as defined. Other values change
/// nothing. Shapes of definitions do not emit light, since pbrt also ignores emission in instances.
///
/// # Errors
/// [`ErrorKind::Memory`], and [`ErrorKind::Limit`] if instances expand to more shapes than
/// [`Limits::instanced_objects`], or to 2^32 shapes or transforms.
pub fn expand(render: &mut Render, instances: Instances, limits: &Limits) -> Result<()> {
    match instances {
        Instances::Auto | Instances::Gpu | Instances::Nodes => return Ok(()),
        Instances::Flatten => check_objects(render, limits)?,
        Instances::Once => {}
    }
    let expanded = {
        let mut expander = Expander::new(render)?;
        expander.dim()?;
        match instances {
            Instances::Once => expander.all_once()?,
            _ => expander.each()?,
        }
        expander.expanded
    };
    expanded.apply(render)
}

/// New shapes and nodes.
#[derive(Default)]
struct Expanded {
    shapes: Vec<StoredShape>,
    moving: Vec<(u32, u32)>,
    meshes: Vec<(u32, u32)>,
    states: Vec<polyhaul_model::render::ShapeState>,
    nodes: Vec<Node>,
    /// Matrices of the nodes, with 16 numbers each.
    numbers: Vec<f64>,
}

struct Expander<'a> {
    render: &'a Render,
    places: Places64,
    expanded: Expanded,
    /// For each state with an area light, the same state without it.
    dark: HashMap<u32, u32>,
    /// For each transform of a shape in a definition, the offset of its matrix in the numbers.
    matrices: HashMap<u32, u32>,
    /// Last node created for a shape, and its arguments.
    last: Option<([u32; 2], Transform)>,
}

impl<'a> Expander<'a> {
    fn new(render: &'a Render) -> Result<Expander<'a>> {
        let places = places64(render)?;
        let dark = HashMap::new();
        let matrices = HashMap::new();
        Ok(Expander { render, places, expanded: Expanded::default(), dark, matrices, last: None })
    }

    /// Adds states without area lights for shapes of definitions that emit light.
    fn dim(&mut self) -> Result<()> {
        for object in &self.render.objects {
            for shape in self.render.shapes.get(object.shapes.clone()).unwrap_or_default() {
                let Some(state) = self.render.states.get(shape.state as usize) else { continue };
                if state.area_light.is_none() || self.dark.contains_key(&shape.state) {
                    continue;
                }
                let number = (self.render.states.len() + self.expanded.states.len()) as u32;
                let state = polyhaul_model::render::ShapeState { area_light: None, ..*state };
                try_push(&mut self.expanded.states, state, "states")?;
                self.dark.try_reserve(1).map_err(|_| Error::memory("states"))?;
                self.dark.insert(shape.state, number);
            }
        }
        Ok(())
    }

    /// Adds all shapes in order, each of them once.
    fn all_once(&mut self) -> Result<()> {
        let mut defined = self.render.world_shapes().into_iter().peekable();
        for index in 0..self.render.shape_count() {
            while defined.next_if(|world| world.end <= index).is_some() {}
            // Ranges and shapes are both ascending, so a single pass suffices.
            let is_defined = defined.peek().is_none_or(|world| !world.contains(&index));
            self.shape(index, None, is_defined)?;
        }
        Ok(())
    }

    /// Adds the shapes outside definitions, then the shapes of each instance.
    fn each(&mut self) -> Result<()> {
        for index in self.render.world_shapes().into_iter().flatten() {
            self.shape(index, None, false)?;
        }
        for instance in self.render.instances() {
            let Some(object) = self.render.objects.get(instance.object) else { continue };
            let place = match instance.step {
                Some(step) => {
                    let at = self.step(instance.motion.start, &step)?;
                    Motion { start: at, end: at }
                }
                None => instance.motion,
            };
            for index in object.shapes.clone() {
                self.shape(index, Some(place), true)?;
            }
        }
        Ok(())
    }

    fn shape(&mut self, index: usize, place: Option<Motion>, is_defined: bool) -> Result<()> {
        let Some(&stored) = self.render.shapes.get(index) else { return Ok(()) };
        let Some(shape) = self.render.shape(index) else { return Ok(()) };
        let motion = shape.motion();
        let Motion { start, end } = match place {
            None => motion,
            Some(place) => {
                let start = self.under(place.start, motion.start)?;
                // If neither the shape nor the instance moves, one node suffices.
                let is_still = !place.is_animated() && !motion.is_animated();
                let end = if is_still { start } else { self.under(place.end, motion.end)? };
                Motion { start, end }
            }
        };
        let number = u32::try_from(self.expanded.shapes.len()).ok();
        let number = number.filter(|&number| number < u32::MAX).ok_or_else(too_many)?;
        if start != end {
            try_push(&mut self.expanded.moving, (number, end.0), "shapes")?;
        }
        if let Some(mesh) = shape.mesh() {
            try_push(&mut self.expanded.meshes, (number, mesh as u32), "shapes")?;
        }
        let dark = if is_defined { self.dark.get(&stored.state).copied() } else { None };
        let state = dark.unwrap_or(stored.state);
        try_push(&mut self.expanded.shapes, StoredShape { state, transform: start.0, ..stored }, "shapes")
    }

    /// Creates a node for a shape of a definition under an instance. Shapes often share transforms, so each matrix is
    /// stored once, and the last node is reused.
    fn under(&mut self, place: Transform, shape: Transform) -> Result<Transform> {
        if shape == Transform::IDENTITY {
            return Ok(place);
        }
        if let Some((_, node)) = self.last.filter(|(arguments, _)| *arguments == [place.0, shape.0]) {
            return Ok(node);
        }
        let at = match self.matrices.get(&shape.0) {
            Some(&at) => at,
            None => {
                let rows = self.places.matrix(self.render, shape);
                let at = self.numbers(std::array::from_fn(|at| rows[at % 4][at / 4]))?;
                self.matrices.try_reserve(1).map_err(|_| Error::memory("transforms"))?;
                self.matrices.insert(shape.0, at);
                at
            }
        };
        let node = self.node(place, StepKind::ConcatAll, at)?;
        self.last = Some(([place.0, shape.0], node));
        Ok(node)
    }

    /// Creates a node for the step of an instance.
    fn step(&mut self, parent: Transform, step: &Step) -> Result<Transform> {
        let (parent, kind, numbers) = match *step {
            Step::Replace(numbers) => (Transform::IDENTITY, StepKind::ReplaceAll, numbers),
            Step::Concat(numbers) => (parent, StepKind::ConcatAll, numbers),
            // The step of an instance is always a matrix.
            _ => return Ok(parent),
        };
        let at = self.numbers(numbers)?;
        self.node(parent, kind, at)
    }

    fn numbers(&mut self, numbers: [f64; 16]) -> Result<u32> {
        let at = u32::try_from(self.expanded.numbers.len()).map_err(|_| too_many())?;
        self.expanded.numbers.try_reserve(16).map_err(|_| Error::memory("transforms"))?;
        self.expanded.numbers.extend_from_slice(&numbers);
        Ok(at)
    }

    fn node(&mut self, parent: Transform, step: StepKind, at: u32) -> Result<Transform> {
        let number = self.render.nodes.len() + self.expanded.nodes.len();
        let number = u32::try_from(number).ok();
        // `u32::MAX` represents the identity, so no node may have this index.
        let number = number.filter(|&number| number < u32::MAX).ok_or_else(too_many)?;
        // `apply` appends the segment that contains the numbers of all nodes.
        let segment = self.render.segments.len() as u32;
        try_push(&mut self.expanded.nodes, Node { parent: parent.0, step, segment, at }, "transforms")?;
        Ok(Transform(number))
    }
}

impl Expanded {
    /// Replaces the shapes of the scene, and adds the nodes.
    fn apply(self, render: &mut Render) -> Result<()> {
        let doubles = self.numbers.into();
        try_push(&mut render.segments, Segment { doubles, ..Segment::default() }, "transforms")?;
        render.nodes.try_reserve_exact(self.nodes.len())?;
        render.nodes.extend(self.nodes);
        render.states.try_reserve_exact(self.states.len())?;
        render.states.extend(self.states);
        render.shapes = self.shapes;
        render.moving = self.moving;
        render.meshes = self.meshes;
        render.objects = Vec::new();
        render.instances = RenderInstances::default();
        Ok(())
    }
}

#[cold]
fn too_many() -> Error {
    Error::new(ErrorKind::Limit, "the instances expand to more shapes or transforms than a scene can store (2^32)")
}
