//! Builds scenes for a renderer from code: entities with parameters, transforms, shapes and objects, in order.
//!
//! Every entity has its own segment, so that arrays are moved into the scene without a copy. [`crate::writer`] writes
//! finished scenes.

use polyhaul_model::error::{Error, ErrorKind, Result, try_push, try_string};
use polyhaul_model::render::{
    Declaration, Entity, ExactValues, InstanceRun, Motion, Name, Node, ObjectDefinition, ParameterRange, ParameterType,
    Placing, Render, Segment, ShapeState, Step, StepKind, StoredParameter, StoredShape, Transform, ValueKind,
};
use std::collections::HashMap;

/// A parameter of an entity: type, name and values.
pub type Given<'a> = (ParameterType, &'a str, GivenValues);

/// Values of a parameter: see [`polyhaul_model::render::ParameterValues`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum GivenValues {
    /// Numbers of every type except `integer`.
    Floats(Vec<f32>),
    /// Points in double precision.
    Doubles(Vec<f64>),
    /// Integers.
    Integers(Vec<i32>),
    /// `true` and `false`.
    Bools(Vec<bool>),
    /// Strings, and names of textures and spectra.
    Strings(Vec<String>),
}

/// A scene under construction.
///
/// ```
/// use polyhaul_model::render::{ParameterType, ShapeState, Step, Transform};
/// use polyhaul_pbrt::build::{Builder, GivenValues};
///
/// let mut builder = Builder::default();
/// let radius = vec![(ParameterType::Float, "radius", GivenValues::Floats(vec![2.0]))];
/// builder.shape("sphere", radius, ShapeState::default(), Transform::IDENTITY)?;
/// let ball = builder.object("ball", 0)?;
/// let place = builder.transform(Transform::IDENTITY, Step::Translate([0.0, 5.0, 0.0]))?;
/// builder.instance(ball, place)?;
/// let render = builder.finish();
/// assert_eq!((render.shape_count(), render.instances.len()), (1, 1));
/// # Ok::<(), polyhaul_model::error::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Builder {
    /// The scene so far. Entities created by [`Builder::entity`] must be added to its lists by the caller.
    pub render: Render,
    numbers: HashMap<String, u32>,
    states: HashMap<ShapeState, u32>,
}

impl Builder {
    /// Returns the name with this text, which is added to the scene if it is new.
    ///
    /// # Errors
    /// [`ErrorKind::Memory`], as for all methods.
    pub fn name(&mut self, text: &str) -> Result<Name> {
        if let Some(&number) = self.numbers.get(text) {
            return Ok(Name(number));
        }
        let number = self.render.names.len() as u32;
        try_push(&mut self.render.names, try_string(text)?.into_boxed_str(), "names")?;
        self.numbers.try_reserve(1).map_err(|_| Error::memory("names"))?;
        self.numbers.insert(try_string(text)?, number);
        Ok(Name(number))
    }

    /// Creates an entity at the origin. The entity is not in any list yet.
    ///
    /// # Errors
    /// [`ErrorKind::Memory`].
    pub fn entity(&mut self, name: &str, parameters: Vec<Given<'_>>) -> Result<Entity> {
        let name = self.name(name)?;
        let parameters = self.parameters(parameters)?;
        Ok(Entity { name, parameters, color_space: None, attributes: None, motion: Motion::IDENTITY, medium: None })
    }

    pub(super) fn parameters(&mut self, given: Vec<Given<'_>>) -> Result<ParameterRange> {
        let segment = self.render.segments.len() as u32;
        let count = given.len() as u32;
        let mut names = Vec::new();
        let mut declarations = Vec::new();
        let mut parameters = Vec::new();
        let mut floats = Vec::new();
        let mut doubles = Vec::new();
        let mut exact = Vec::new();
        let mut integers = Vec::new();
        let mut bools = Vec::new();
        let mut strings = Vec::new();
        for (kind, name, values) in given {
            let name = self.name(name)?;
            try_push(&mut names, name, "names")?;
            let name = names.len() as u32 - 1;
            let (values, start, end) = match values {
                GivenValues::Floats(values) => (ValueKind::Floats, floats.len(), append(&mut floats, values)?),
                // Doubles are stored in addition to floats, which every consumer can use.
                GivenValues::Doubles(values) => {
                    let start = floats.len();
                    let list = ExactValues { floats: start as u32, doubles: doubles.len() as u32 };
                    try_push(&mut exact, list, "values")?;
                    floats.try_reserve(values.len())?;
                    floats.extend(values.iter().map(|&value| value as f32));
                    append(&mut doubles, values)?;
                    (ValueKind::Floats, start, floats.len())
                }
                GivenValues::Integers(values) => (ValueKind::Integers, integers.len(), append(&mut integers, values)?),
                GivenValues::Bools(values) => (ValueKind::Bools, bools.len(), append(&mut bools, values)?),
                GivenValues::Strings(values) => {
                    let start = strings.len();
                    for value in values {
                        let value = self.name(&value)?;
                        try_push(&mut names, value, "names")?;
                        try_push(&mut strings, names.len() as u32 - 1, "values")?;
                    }
                    (ValueKind::Strings, start, strings.len())
                }
            };
            let declaration = declarations.len() as u32;
            try_push(&mut declarations, Declaration { kind, values, name }, "parameters")?;
            let stored = StoredParameter { declaration, start: start as u32, count: (end - start) as u32 };
            try_push(&mut parameters, stored, "parameters")?;
        }
        let new_segment = Segment {
            names: names.into(),
            declarations: declarations.into(),
            parameters: parameters.into(),
            floats: floats.into(),
            integers: integers.into(),
            bools: bools.into(),
            strings: strings.into(),
            exact: exact.into(),
            doubles: doubles.into(),
            ..Segment::default()
        };
        try_push(&mut self.render.segments, new_segment, "values")?;
        Ok(ParameterRange { segment, start: 0, count })
    }

    /// Applies `step` to `parent`.
    ///
    /// # Errors
    /// [`ErrorKind::Memory`].
    pub fn transform(&mut self, parent: Transform, step: Step) -> Result<Transform> {
        let (kind, numbers): (StepKind, &[f64]) = match &step {
            Step::Translate(numbers) => (StepKind::Translate, numbers),
            Step::Scale(numbers) => (StepKind::Scale, numbers),
            Step::Rotate(numbers) => (StepKind::Rotate, numbers),
            Step::LookAt(numbers) => (StepKind::LookAt, numbers),
            Step::Replace(numbers) => (StepKind::ReplaceAll, numbers),
            Step::Concat(numbers) => (StepKind::ConcatAll, numbers),
            Step::Inverse => (StepKind::Inverse, &[]),
        };
        let segment = self.render.segments.len() as u32;
        let mut doubles = Vec::new();
        append(&mut doubles, numbers.to_vec())?;
        let new_segment = Segment { doubles: doubles.into(), ..Segment::default() };
        try_push(&mut self.render.segments, new_segment, "values")?;
        // A replacement does not depend on its parent.
        let parent = if matches!(step, Step::Replace(_)) { Transform::IDENTITY.0 } else { parent.0 };
        let node = Transform(self.render.nodes.len() as u32);
        try_push(&mut self.render.nodes, Node { parent, step: kind, segment, at: 0 }, "transforms")?;
        Ok(node)
    }

    /// Adds a shape.
    ///
    /// # Errors
    /// [`ErrorKind::Memory`].
    pub fn shape(
        &mut self,
        class: &str,
        parameters: Vec<Given<'_>>,
        state: ShapeState,
        transform: Transform,
    ) -> Result<()> {
        let next = self.render.states.len() as u32;
        self.states.try_reserve(1).map_err(|_| Error::memory("states"))?;
        let number = *self.states.entry(state).or_insert(next);
        if number == next {
            try_push(&mut self.render.states, state, "states")?;
        }
        let class = self.name(class)?;
        let parameters = self.parameters(parameters)?;
        let shape = StoredShape { class, state: number, transform: transform.0, parameters };
        try_push(&mut self.render.shapes, shape, "shapes")
    }

    /// Moves the shapes from index `first` on out of the world and into a new definition. Returns the index of the
    /// definition.
    ///
    /// # Errors
    /// [`ErrorKind::Memory`].
    pub fn object(&mut self, name: &str, first: usize) -> Result<u32> {
        let name = self.name(name)?;
        let shapes = first.min(self.render.shapes.len())..self.render.shapes.len();
        let number = self.render.objects.len() as u32;
        try_push(&mut self.render.objects, ObjectDefinition { name, shapes, missing: false }, "objects")?;
        Ok(number)
    }

    /// Adds an instance of a definition.
    ///
    /// # Errors
    /// [`ErrorKind::Memory`].
    pub fn instance(&mut self, object: u32, transform: Transform) -> Result<()> {
        let first = self.render.instances.objects.len() as u32;
        let placing = Placing::Motion(Motion { start: transform, end: transform });
        try_push(&mut self.render.instances.runs, InstanceRun { first, placing }, "instances")?;
        try_push(&mut self.render.instances.objects, object, "instances")
    }

    /// Adds many instances of definitions, each with a matrix of four columns of three numbers: the images of the three
    /// axes, and the origin. Each instance takes 100 bytes.
    ///
    /// # Errors
    /// [`ErrorKind::Memory`], and [`ErrorKind::Usage`] if the numbers of objects and matrices differ or exceed the
    /// maximum for one call.
    pub fn instances(&mut self, objects: &[u32], matrices: Vec<[f64; 12]>) -> Result<()> {
        // Offsets into the array of numbers have 32 bits.
        let fits = objects.len() == matrices.len() && matrices.len() < (u32::MAX / 12) as usize;
        if !fits {
            return Err(Error::new(
                ErrorKind::Usage,
                "expected one matrix per instance, and fewer than 2^32 / 12 instances",
            ));
        }
        let first = self.render.instances.objects.len() as u32;
        let segment = self.render.segments.len() as u32;
        let doubles = matrices.into_flattened().into();
        try_push(&mut self.render.segments, Segment { doubles, ..Segment::default() }, "values")?;
        let placing = Placing::Matrices { parent: Transform::IDENTITY.0, step: StepKind::Concat, segment, at: 0 };
        try_push(&mut self.render.instances.runs, InstanceRun { first, placing }, "instances")?;
        self.render.instances.objects.try_reserve(objects.len())?;
        self.render.instances.objects.extend_from_slice(objects);
        Ok(())
    }

    /// Returns the finished scene.
    pub fn finish(self) -> Render {
        self.render
    }
}

/// Appends values, or moves the vector if there were none. Returns the new length.
fn append<T>(values: &mut Vec<T>, mut more: Vec<T>) -> Result<usize> {
    if values.is_empty() {
        *values = more;
    } else {
        values.try_reserve_exact(more.len())?;
        values.append(&mut more);
    }
    Ok(values.len())
}
