//! Compares two scenes by content. The segments of equal scenes may be split differently, and their transforms and
//! attributes may be in a different order. Two transforms are equal if they consist of the same steps, starting at the
//! last step that replaces the current transform, if any.

use super::{
    Entity, Instance, Material, MaterialUse, Motion, Name, ObjectDefinition, Parameter, ParameterValues, Parameters,
    Render, Setting, Shape, ShapeState, Step, Texture, Transform,
};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

/// Decides whether two file names refer to the same file. The argument contains a pair for each name: the folder of the
/// file that contains the name, and the name.
pub(crate) type SameFile<'a> = &'a dyn Fn([(&str, &str); 2]) -> bool;

/// The two scenes being compared.
struct RenderComparison<'a> {
    a: &'a Render,
    b: &'a Render,
    same_file: SameFile<'a>,
    transforms: TransformIds,
    /// Pairs of attributes already found equal.
    attributes: RefCell<HashSet<(u32, u32)>>,
}

/// Numbers transforms by content: equal transforms have the same number.
#[derive(Default)]
struct TransformIds {
    /// Keyed by the parent's number, the kind of step, and the bits of its values.
    numbers: HashMap<(u32, u8, Vec<u64>), u32>,
    of_a: Vec<u32>,
    of_b: Vec<u32>,
}

impl TransformIds {
    fn new(a: &Render, b: &Render) -> TransformIds {
        let mut ids = TransformIds::default();
        ids.of_a = ids.number_all(a);
        ids.of_b = ids.number_all(b);
        ids
    }

    fn number_all(&mut self, render: &Render) -> Vec<u32> {
        let mut ids = Vec::new();
        for index in 0..render.transform_count() {
            let step = render.step(render.transform(index));
            let number = step.map_or(0, |(parent, step)| self.number(id_of(&ids, parent), &step));
            ids.push(number);
        }
        ids
    }

    fn number(&mut self, parent: u32, step: &Step) -> u32 {
        let next = self.numbers.len() as u32 + 1;
        *self.numbers.entry(key(parent, step)).or_insert(next)
    }
}

/// Returns the number of a transform, given the numbers of all transforms in its scene. The identity has the number 0.
fn id_of(ids: &[u32], transform: Transform) -> u32 {
    ids.get(transform.0 as usize).copied().unwrap_or(0)
}

fn key(parent: u32, step: &Step) -> (u32, u8, Vec<u64>) {
    let (kind, numbers): (u8, &[f64]) = match step {
        Step::Translate(numbers) => (0, numbers),
        Step::Scale(numbers) => (1, numbers),
        Step::Rotate(numbers) => (2, numbers),
        Step::LookAt(numbers) => (3, numbers),
        Step::Replace(numbers) => (4, numbers),
        Step::Concat(numbers) => (5, numbers),
        Step::Inverse => (6, &[]),
    };
    // A step that replaces the transform does not depend on the parent.
    (if kind == 4 { 0 } else { parent }, kind, numbers.iter().map(|number| number.to_bits()).collect())
}

impl PartialEq for Render {
    fn eq(&self, other: &Render) -> bool {
        self.is_same(other, &|_| false)
    }
}

impl Render {
    /// Returns whether both scenes are equal. `same_file` compares file names that differ as text.
    pub fn is_same(&self, other: &Render, same_file: SameFile<'_>) -> bool {
        let transforms = TransformIds::new(self, other);
        let attributes = RefCell::new(HashSet::new());
        let comparison = RenderComparison { a: self, b: other, same_file, transforms, attributes };
        comparison.settings()
            && all(&self.options, &other.options, |a, b| comparison.setting(a, b))
            && all(&self.media, &other.media, |a, b| comparison.entity(a, b))
            && all(&self.textures, &other.textures, |a, b| comparison.texture(a, b))
            && all(&self.materials, &other.materials, |a, b| comparison.material(a, b))
            && all(&self.lights, &other.lights, |a, b| comparison.entity(a, b))
            && all(&self.area_lights, &other.area_lights, |a, b| comparison.entity(a, b))
            && comparison.objects()
            && self.meshes == other.meshes
            && self.shapes.len() == other.shapes.len()
            && self.shapes().zip(other.shapes()).all(|(a, b)| comparison.shape(a, b))
            && self.instances.len() == other.instances.len()
            && self.instances().zip(other.instances()).all(|(a, b)| comparison.instance(&a, &b))
    }
}

fn all<T>(a: &[T], b: &[T], same: impl Fn(&T, &T) -> bool) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
}

impl RenderComparison<'_> {
    fn name(&self, a: Name, b: Name) -> bool {
        self.a.text(a) == self.b.text(b)
    }

    fn motion(&self, a: Motion, b: Motion) -> bool {
        let TransformIds { of_a, of_b, .. } = &self.transforms;
        [a.start, a.end].map(|node| id_of(of_a, node)) == [b.start, b.end].map(|node| id_of(of_b, node))
    }

    /// Compares instances. The last step of an instance may be a node of the tree in one scene and a separate step in
    /// the other.
    fn instance(&self, a: &Instance, b: &Instance) -> bool {
        let content = |instance: &Instance, ids: &[u32]| {
            let [start, end] = [instance.motion.start, instance.motion.end].map(|node| id_of(ids, node));
            match &instance.step {
                // A step that is not a node of either scene is compared by value.
                Some(step) => {
                    let key = key(start, step);
                    let number = self.transforms.numbers.get(&key).copied();
                    (number.map(|number| (number, number)), number.is_none().then_some(key))
                }
                None => (Some((start, end)), None),
            }
        };
        let name =
            |render: &Render, index: usize| render.objects.get(index).map(|object| render.text(object.name).to_owned());
        content(a, &self.transforms.of_a) == content(b, &self.transforms.of_b)
            && name(self.a, a.object) == name(self.b, b.object)
    }

    /// Compares attributes and their predecessors.
    fn chain(&self, mut a: Option<u32>, mut b: Option<u32>) -> bool {
        let mut compared = Vec::new();
        while let Some(index_a) = a
            && let Some(index_b) = b
        {
            if self.attributes.borrow().contains(&(index_a, index_b)) {
                a = None;
                b = None;
                break;
            }
            let Some(attribute_a) = self.a.attributes.get(index_a as usize) else { return false };
            let Some(attribute_b) = self.b.attributes.get(index_b as usize) else { return false };
            if !self.entity(&attribute_a.entity, &attribute_b.entity) {
                return false;
            }
            compared.push((index_a, index_b));
            a = attribute_a.before;
            b = attribute_b.before;
        }
        self.attributes.borrow_mut().extend(compared);
        a.is_none() && b.is_none()
    }

    fn names(&self, a: Option<Name>, b: Option<Name>) -> bool {
        a.map(|name| self.a.text(name)) == b.map(|name| self.b.text(name))
    }

    fn settings(&self) -> bool {
        let RenderComparison { a, b, .. } = self;
        let entities = |render: &Render| {
            [render.camera, render.film, render.filter, render.sampler, render.integrator, render.accelerator]
        };
        let is_same = |a: Option<Entity>, b: Option<Entity>| match (a, b) {
            (Some(a), Some(b)) => self.entity(&a, &b),
            (a, b) => a.is_none() && b.is_none(),
        };
        a.transform_times == b.transform_times && entities(a).into_iter().zip(entities(b)).all(|(a, b)| is_same(a, b))
    }

    fn setting(&self, a: &Setting, b: &Setting) -> bool {
        self.name(a.name, b.name) && self.name(a.value, b.value) && a.quoted == b.quoted
    }

    fn entity(&self, a: &Entity, b: &Entity) -> bool {
        self.name(a.name, b.name)
            && self.names(a.color_space, b.color_space)
            && self.names(a.medium, b.medium)
            && self.chain(a.attributes, b.attributes)
            && self.motion(a.motion, b.motion)
            && self.parameters(self.a.parameters(a), self.b.parameters(b))
    }

    fn parameters(&self, all_a: Parameters<'_>, all_b: Parameters<'_>) -> bool {
        let mut iter_a = all_a.iter();
        let mut iter_b = all_b.iter();
        let folders = [all_a.folder(), all_b.folder()];
        loop {
            match (iter_a.next(), iter_b.next()) {
                (None, None) => return true,
                (Some(a), Some(b)) if a.kind == b.kind && a.name == b.name && self.values(&a, &b, folders) => {}
                _ => return false,
            }
        }
    }

    fn values(&self, a: &Parameter<'_>, b: &Parameter<'_>, folders: [&str; 2]) -> bool {
        let file = |parameter: &Parameter<'_>| match parameter.values {
            ParameterValues::Strings(strings) if parameter.names_file() => strings.get(0).map(str::to_owned),
            _ => None,
        };
        let is_same_file = || match (file(a), file(b)) {
            (Some(a), Some(b)) => (self.same_file)([(folders[0], &a), (folders[1], &b)]),
            _ => false,
        };
        let [exact_a, exact_b] = [a, b].map(|parameter| parameter.exact.iter().map(|value| value.to_bits()));
        a.values.same(&b.values) && exact_a.eq(exact_b) || is_same_file()
    }

    fn texture(&self, a: &Texture, b: &Texture) -> bool {
        self.entity(&a.entity, &b.entity) && self.name(a.class, b.class) && a.is_spectrum == b.is_spectrum
    }

    fn material(&self, a: &Material, b: &Material) -> bool {
        self.entity(&a.entity, &b.entity) && a.is_named == b.is_named
    }

    fn state(&self, a: &ShapeState, b: &ShapeState) -> bool {
        let material = match (a.material, b.material) {
            (MaterialUse::Named(a), MaterialUse::Named(b)) => self.name(a, b),
            (a, b) => a == b,
        };
        material
            && a.area_light == b.area_light
            && self.names(a.inside, b.inside)
            && self.names(a.outside, b.outside)
            && a.reverse_orientation == b.reverse_orientation
            && self.chain(a.attributes, b.attributes)
            && self.names(a.color_space, b.color_space)
    }

    fn shape(&self, a: Shape<'_>, b: Shape<'_>) -> bool {
        let same_state = match (a.state(), b.state()) {
            (Some(a), Some(b)) => self.state(a, b),
            (a, b) => a.is_none() && b.is_none(),
        };
        a.class() == b.class()
            && same_state
            && self.motion(a.motion(), b.motion())
            && self.parameters(a.parameters(), b.parameters())
    }

    /// Compares definitions in the order of their shapes, and missing objects by name.
    fn objects(&self) -> bool {
        fn sorted(render: &Render) -> Vec<&ObjectDefinition> {
            let mut objects: Vec<&ObjectDefinition> = render.objects.iter().collect();
            objects.sort_by_key(|object| {
                (object.missing, object.shapes.start, object.shapes.end, render.text(object.name))
            });
            objects
        }
        all(&sorted(self.a), &sorted(self.b), |a, b| {
            a.missing == b.missing && a.shapes == b.shapes && self.name(a.name, b.name)
        })
    }
}
