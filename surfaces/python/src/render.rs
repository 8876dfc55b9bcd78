//! Renderer scenes in Python: a handle with methods that return the contents. The public classes are in
//! `surfaces/python/polyhaul/_render.py`.
//!
//! Parameter arrays stay where they were parsed; world transforms are computed on request.

use crate::arrays::Array;
use crate::errors;
use polyhaul::model::Scene;
use polyhaul::model::render::{
    Entity, Instance, MaterialUse, Motion, Name, Parameter, ParameterValues, Parameters, Render, ShapeState,
};
use polyhaul::ops::{Matrix4, Places32, Places64, places32, places64};
use polyhaul::{Error, Result};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use std::sync::{Arc, OnceLock};

/// A renderer scene, which never changes.
#[pyclass(frozen, module = "polyhaul._polyhaul")]
pub(crate) struct NativeRender {
    scene: Arc<Scene>,
    places64: OnceLock<Places64>,
    places32: OnceLock<Places32>,
}

/// An entity: its class or name; for textures, also the class and the type; its transforms at shutter open and close,
/// its color space, the medium around it, and its `Attribute` parameters.
#[derive(IntoPyObject)]
struct EntityOut(
    String,
    Option<(String, &'static str)>,
    Option<usize>,
    Option<usize>,
    Option<String>,
    Option<String>,
    Option<u32>,
);

/// A shape: its class, its transforms at shutter open and close, the mesh it references, and its state.
#[derive(IntoPyObject)]
struct ShapeOut(String, Option<usize>, Option<usize>, Option<usize>, StateOut);

/// The state of a shape: the material by index or name, the area light, the media inside and outside, whether its
/// orientation is reversed, its `Attribute` parameters, and the color space.
#[derive(IntoPyObject)]
struct StateOut(
    (Option<u32>, Option<String>),
    Option<u32>,
    (Option<String>, Option<String>),
    bool,
    Option<u32>,
    Option<String>,
);

/// The values of a parameter.
#[derive(IntoPyObject)]
enum ValuesOut {
    Numbers(Array),
    Strings(Vec<String>),
}

#[pymethods]
impl NativeRender {
    /// The number of entities of a kind.
    fn count(&self, kind: &str) -> PyResult<usize> {
        let render = self.render();
        let there = |entity: &Option<Entity>| usize::from(entity.is_some());
        Ok(match kind {
            "shapes" => render.shape_count(),
            "instances" => render.instances.len(),
            "attributes" => render.attributes.len(),
            "media" => render.media.len(),
            "textures" => render.textures.len(),
            "materials" => render.materials.len(),
            "lights" => render.lights.len(),
            "area_lights" => render.area_lights.len(),
            kind => there(setting(render, kind).ok_or_else(|| no_kind(kind))?),
        })
    }

    /// An entity other than a shape.
    fn entity(&self, kind: &str, index: usize) -> PyResult<EntityOut> {
        let render = self.render();
        let entity = entity(render, kind, index).ok_or_else(missing)?;
        let text = |name: Option<Name>| name.map(|name| render.text(name).to_owned());
        let texture = render.textures.get(index).filter(|_| kind == "textures");
        let texture = texture.map(|texture| {
            (render.text(texture.class).to_owned(), if texture.is_spectrum { "spectrum" } else { "float" })
        });
        let [start, end] = nodes(render, entity.motion);
        let color_space = text(entity.color_space);
        let medium = text(entity.medium);
        let name = render.text(entity.name).to_owned();
        Ok(EntityOut(name, texture, start, end, color_space, medium, entity.attributes))
    }

    /// Whether the material at `index` has a name.
    fn is_named(&self, index: usize) -> PyResult<bool> {
        self.render().materials.get(index).map(|material| material.is_named).ok_or_else(missing)
    }

    /// The index of the previous attributes in the chain that ends at `index`; `None` at its start.
    fn attribute_before(&self, index: usize) -> PyResult<Option<u32>> {
        self.render().attributes.get(index).map(|attribute| attribute.before).ok_or_else(missing)
    }

    /// The parameters of an entity: name, type and values of each, and whether they have double precision.
    fn parameters(&self, kind: &str, index: usize) -> PyResult<Vec<(String, &'static str, ValuesOut, bool)>> {
        let parameters = self::parameters(self.render(), kind, index).ok_or_else(missing)?;
        let out = |(at, parameter): (usize, Parameter<'_>)| {
            let values = self.values(kind, index, at, &parameter);
            (parameter.name.to_owned(), parameter.kind.name(), values, !parameter.exact.is_empty())
        };
        Ok(parameters.iter().enumerate().map(out).collect())
    }

    /// The shape at `index`.
    fn shape(&self, index: usize) -> PyResult<ShapeOut> {
        let render = self.render();
        let shape = render.shape(index).ok_or_else(missing)?;
        let state = shape.state().ok_or_else(missing)?;
        let [start, end] = nodes(render, shape.motion());
        Ok(ShapeOut(shape.class().to_owned(), start, end, shape.mesh(), state_out(render, state)))
    }

    /// The object definitions: name, range of shapes, and whether it is instanced but not defined.
    fn definitions(&self) -> Vec<(String, usize, usize, bool)> {
        let render = self.render();
        let objects = render.objects.iter();
        objects
            .map(|object| (render.text(object.name).to_owned(), object.shapes.start, object.shapes.end, object.missing))
            .collect()
    }

    /// The ranges of shapes outside object definitions.
    fn world_shapes(&self) -> Vec<(usize, usize)> {
        self.render().world_shapes().into_iter().map(|range| (range.start, range.end)).collect()
    }

    /// The options of the scene: name, value, and whether the value is quoted.
    fn options(&self) -> Vec<(String, String, bool)> {
        let render = self.render();
        let text = |name| render.text(name).to_owned();
        render.options.iter().map(|option| (text(option.name), text(option.value), option.quoted)).collect()
    }

    /// The times of shutter open and close for transforms, if the file sets them.
    #[getter]
    fn transform_times(&self) -> Option<[f64; 2]> {
        self.render().transform_times
    }

    /// The world transform of a node, in double and single precision; `None` means the identity node.
    fn place(&self, py: Python<'_>, transform: Option<usize>) -> PyResult<(Matrix4, Matrix4<f32>)> {
        let render = self.render();
        let transform = transform.map_or(Motion::IDENTITY.start, |index| render.transform(index));
        let places = py.detach(|| Ok((self.places64()?, self.places32()?)));
        let (double, single) = places.map_err(|error| errors::exception(py, &error))?;
        Ok((double.matrix(render, transform), single.matrix(render, transform)))
    }

    /// The index of each instance's object definition.
    fn instance_definitions(&self) -> Array {
        Array::part_of(self.scene.clone(), |scene| {
            scene.render.as_ref().map_or(&[], |render| render.instances.objects())
        })
    }

    /// Whether any instance is animated.
    fn instances_move(&self) -> bool {
        self.render().instances().any(|instance| instance.motion.is_animated())
    }

    /// The world transform of each instance in double precision, at shutter open or, if `closes`, at shutter close.
    fn instance_transforms(&self, py: Python<'_>, closes: bool) -> PyResult<Array> {
        let render = self.render();
        let placed = || {
            let places = self.places64()?;
            all_of(render, |instance| {
                if closes && instance.motion.is_animated() {
                    places.matrix(render, instance.motion.end)
                } else {
                    places.of_instance(render, instance)
                }
            })
        };
        py.detach(placed).map(Array::owned).map_err(|error| errors::exception(py, &error))
    }

    /// Like [`Self::instance_transforms`], in single precision as pbrt computes them.
    fn instance_transforms32(&self, py: Python<'_>, closes: bool) -> PyResult<Array> {
        let render = self.render();
        let placed = || {
            let places = self.places32()?;
            all_of(render, |instance| {
                if closes && instance.motion.is_animated() {
                    places.matrix(render, instance.motion.end)
                } else {
                    places.of_instance(render, instance)
                }
            })
        };
        py.detach(placed).map(Array::owned).map_err(|error| errors::exception(py, &error))
    }
}

impl NativeRender {
    /// Wraps a renderer scene; its arrays do not move.
    pub(crate) fn new(scene: Scene) -> NativeRender {
        NativeRender { scene: Arc::new(scene), places64: OnceLock::new(), places32: OnceLock::new() }
    }

    /// Shares the scene with the library.
    pub(crate) fn scene(&self) -> Arc<Scene> {
        self.scene.clone()
    }

    fn render(&self) -> &Render {
        static NOTHING: OnceLock<Render> = OnceLock::new();
        self.scene.render.as_deref().unwrap_or_else(|| NOTHING.get_or_init(Render::default))
    }

    fn places64(&self) -> Result<&Places64> {
        if self.places64.get().is_none() {
            // If two threads compute them at the same time, the first result is kept.
            let _ = self.places64.set(places64(self.render())?);
        }
        self.places64.get().ok_or_else(|| Error::new(polyhaul::ErrorKind::Internal, "the transforms no longer exist"))
    }

    fn places32(&self) -> Result<&Places32> {
        if self.places32.get().is_none() {
            let _ = self.places32.set(places32(self.render())?);
        }
        self.places32.get().ok_or_else(|| Error::new(polyhaul::ErrorKind::Internal, "the transforms no longer exist"))
    }

    /// The values of a parameter, in place.
    fn values(&self, kind: &str, index: usize, at: usize, parameter: &Parameter<'_>) -> ValuesOut {
        fn held<'a>(scene: &'a Scene, kind: &str, index: usize, at: usize) -> Option<Parameter<'a>> {
            let parameters = parameters(scene.render.as_deref()?, kind, index)?;
            parameters.iter().nth(at)
        }
        let scene = self.scene.clone();
        ValuesOut::Numbers(match parameter.values {
            ParameterValues::Strings(strings) => {
                return ValuesOut::Strings(strings.iter().map(str::to_owned).collect());
            }
            ParameterValues::Floats(_) if !parameter.exact.is_empty() => {
                Array::part_of(scene, |scene| held(scene, kind, index, at).map_or(&[][..], |parameter| parameter.exact))
            }
            ParameterValues::Floats(_) => Array::part_of(scene, |scene| match held(scene, kind, index, at) {
                Some(Parameter { values: ParameterValues::Floats(values), .. }) => values,
                _ => &[],
            }),
            ParameterValues::Integers(_) => Array::part_of(scene, |scene| match held(scene, kind, index, at) {
                Some(Parameter { values: ParameterValues::Integers(values), .. }) => values,
                _ => &[],
            }),
            ParameterValues::Bools(_) => Array::part_of(scene, |scene| match held(scene, kind, index, at) {
                Some(Parameter { values: ParameterValues::Bools(values), .. }) => values,
                _ => &[],
            }),
        })
    }
}

/// Computes a value for each instance.
fn all_of<M>(render: &Render, of: impl Fn(&Instance) -> M) -> Result<Vec<M>> {
    let mut values = Vec::new();
    values.try_reserve_exact(render.instances.len())?;
    values.extend(render.instances().map(|instance| of(&instance)));
    Ok(values)
}

/// An entity of a kind that a scene has at most once; the outer `None` means that the kind is unknown.
fn setting<'a>(render: &'a Render, kind: &str) -> Option<&'a Option<Entity>> {
    Some(match kind {
        "camera" => &render.camera,
        "film" => &render.film,
        "filter" => &render.filter,
        "sampler" => &render.sampler,
        "integrator" => &render.integrator,
        "accelerator" => &render.accelerator,
        _ => return None,
    })
}

/// An entity other than a shape.
fn entity<'a>(render: &'a Render, kind: &str, index: usize) -> Option<&'a Entity> {
    match kind {
        "attributes" => render.attributes.get(index).map(|attribute| &attribute.entity),
        "media" => render.media.get(index),
        "textures" => render.textures.get(index).map(|texture| &texture.entity),
        "materials" => render.materials.get(index).map(|material| &material.entity),
        "lights" => render.lights.get(index),
        "area_lights" => render.area_lights.get(index),
        kind => setting(render, kind)?.as_ref(),
    }
}

fn parameters<'a>(render: &'a Render, kind: &str, index: usize) -> Option<Parameters<'a>> {
    match kind {
        "shapes" => render.shape(index).map(|shape| shape.parameters()),
        kind => entity(render, kind, index).map(|entity| render.parameters(entity)),
    }
}

/// The indices of the transforms at shutter open and close, or `None` for the identity.
fn nodes(render: &Render, motion: Motion) -> [Option<usize>; 2] {
    [motion.start, motion.end].map(|transform| render.transform_index(transform))
}

fn state_out(render: &Render, state: &ShapeState) -> StateOut {
    let text = |name: Option<Name>| name.map(|name| render.text(name).to_owned());
    let material = match state.material {
        MaterialUse::Default => (None, None),
        MaterialUse::Index(index) => (Some(index), None),
        MaterialUse::Named(name) => (None, text(Some(name))),
    };
    let media = (text(state.inside), text(state.outside));
    let light = state.area_light;
    let turned = state.reverse_orientation;
    StateOut(material, light, media, turned, state.attributes, text(state.color_space))
}

fn missing() -> PyErr {
    PyIndexError::new_err("index out of range")
}

fn no_kind(kind: &str) -> PyErr {
    PyValueError::new_err(format!("unknown kind {kind:?}"))
}
