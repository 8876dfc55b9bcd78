//! Whether two scenes are equal: by content, since the same scene may be in segments that were split differently, and
//! its transforms and attributes may be in a different order. Two places are equal if the same steps lead to them.

use super::{
    Entity, Instance, Material, MaterialUse, Motion, Name, Parameter, ParameterValues, Parameters, Render, Setting,
    Shape, ShapeState, Step, Texture, Transform,
};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

/// Whether two file names refer to the same file; each is the folder of the file that contains the name, and the name.
pub(crate) type SameFile<'a> = &'a dyn Fn([(&str, &str); 2]) -> bool;

/// A scene, and another one.
struct Both<'a> {
    a: &'a Render,
    b: &'a Render,
    same_file: SameFile<'a>,
    places: Places,
    /// Pairs of attributes that are known to be equal.
    attributes: RefCell<HashSet<(u32, u32)>>,
}

/// Places by their content: the same steps have the same number.
#[derive(Default)]
struct Places {
    /// By the number of the parent, plus one, and the step.
    numbers: HashMap<(u32, u8, Vec<u64>), u32>,
    of_a: Vec<u32>,
    of_b: Vec<u32>,
}

impl Places {
    fn new(a: &Render, b: &Render) -> Places {
        let mut places = Places::default();
        places.of_a = places.all(a);
        places.of_b = places.all(b);
        places
    }

    fn all(&mut self, render: &Render) -> Vec<u32> {
        let mut all = Vec::new();
        for index in 0..render.transform_count() {
            let step = render.step(render.transform(index));
            let number = step.map_or(0, |(parent, step)| self.number(place(&all, parent), &step));
            all.push(number);
        }
        all
    }

    fn number(&mut self, parent: u32, step: &Step) -> u32 {
        let next = self.numbers.len() as u32 + 1;
        *self.numbers.entry(key(parent, step)).or_insert(next)
    }
}

/// The number of a place among those of a scene; 0 is the origin.
fn place(all: &[u32], transform: Transform) -> u32 {
    all.get(transform.0 as usize).copied().unwrap_or(0)
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
    // A step that replaces everything has no predecessor.
    (if kind == 4 { 0 } else { parent }, kind, numbers.iter().map(|number| number.to_bits()).collect())
}

impl PartialEq for Render {
    fn eq(&self, other: &Render) -> bool {
        self.is_same(other, &|_| false)
    }
}

impl Render {
    /// Whether both are equal, if `same_file` decides about file names that differ.
    pub fn is_same(&self, other: &Render, same_file: SameFile<'_>) -> bool {
        let (places, attributes) = (Places::new(self, other), RefCell::new(HashSet::new()));
        let both = Both { a: self, b: other, same_file, places, attributes };
        both.settings()
            && all(&self.options, &other.options, |a, b| both.setting(a, b))
            && all(&self.media, &other.media, |a, b| both.entity(a, b))
            && all(&self.textures, &other.textures, |a, b| both.texture(a, b))
            && all(&self.materials, &other.materials, |a, b| both.material(a, b))
            && all(&self.lights, &other.lights, |a, b| both.entity(a, b))
            && all(&self.area_lights, &other.area_lights, |a, b| both.entity(a, b))
            && both.objects()
            && self.meshes == other.meshes
            && self.shapes.len() == other.shapes.len()
            && self.shapes().zip(other.shapes()).all(|(a, b)| both.shape(a, b))
            && self.instances.len() == other.instances.len()
            && self.instances().zip(other.instances()).all(|(a, b)| both.instance(&a, &b))
    }
}

fn all<T>(a: &[T], b: &[T], same: impl Fn(&T, &T) -> bool) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
}

impl Both<'_> {
    fn name(&self, a: Name, b: Name) -> bool {
        self.a.text(a) == self.b.text(b)
    }

    fn motion(&self, a: Motion, b: Motion) -> bool {
        let Places { of_a, of_b, .. } = &self.places;
        [a.start, a.end].map(|node| place(of_a, node)) == [b.start, b.end].map(|node| place(of_b, node))
    }

    /// The last step may be a node of the tree or not.
    fn instance(&self, a: &Instance, b: &Instance) -> bool {
        let places = |instance: &Instance, all: &[u32]| {
            let [start, end] = [instance.motion.start, instance.motion.end].map(|node| place(all, node));
            match &instance.step {
                // A step that is a node of neither scene is compared by value.
                Some(step) => {
                    let key = key(start, step);
                    let known = self.places.numbers.get(&key).copied();
                    (known.map(|known| (known, known)), known.is_none().then_some(key))
                }
                None => (Some((start, end)), None),
            }
        };
        let name =
            |render: &Render, object: usize| render.objects.get(object).map(|it| render.text(it.name).to_owned());
        places(a, &self.places.of_a) == places(b, &self.places.of_b) && name(self.a, a.object) == name(self.b, b.object)
    }

    /// Attributes, with all before them.
    fn chain(&self, a: Option<u32>, b: Option<u32>) -> bool {
        let (mut a, mut b) = (a, b);
        let mut met = Vec::new();
        while let (Some(of_a), Some(of_b)) = (a, b) {
            if self.attributes.borrow().contains(&(of_a, of_b)) {
                (a, b) = (None, None);
                break;
            }
            let attributes = (self.a.attributes.get(of_a as usize), self.b.attributes.get(of_b as usize));
            let (Some(one), Some(other)) = attributes else { return false };
            if !self.entity(&one.entity, &other.entity) {
                return false;
            }
            met.push((of_a, of_b));
            (a, b) = (one.before, other.before);
        }
        self.attributes.borrow_mut().extend(met);
        a.is_none() && b.is_none()
    }

    fn names(&self, a: Option<Name>, b: Option<Name>) -> bool {
        a.map(|name| self.a.text(name)) == b.map(|name| self.b.text(name))
    }

    fn settings(&self) -> bool {
        let Both { a, b, .. } = self;
        let entities = |render: &Render| {
            [render.camera, render.film, render.filter, render.sampler, render.integrator, render.accelerator]
        };
        let same = |(a, b): (Option<Entity>, Option<Entity>)| match (a, b) {
            (Some(a), Some(b)) => self.entity(&a, &b),
            (a, b) => a.is_none() && b.is_none(),
        };
        a.transform_times == b.transform_times && entities(a).into_iter().zip(entities(b)).all(same)
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
        let (mut a, mut b) = (all_a.iter(), all_b.iter());
        let folders = [all_a.folder(), all_b.folder()];
        loop {
            match (a.next(), b.next()) {
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
        a.values.same(&b.values) || is_same_file()
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

    /// Definitions in the order of their shapes; objects that are only used are compared by name.
    fn objects(&self) -> bool {
        let sorted = |render: &Render| {
            let mut objects: Vec<_> =
                render.objects.iter().map(|it| (it.missing, it.shapes.clone(), it.name)).collect();
            let key = |it: &(bool, std::ops::Range<usize>, Name)| (it.0, it.1.start, it.1.end);
            objects.sort_by(|a, b| key(a).cmp(&key(b)).then_with(|| render.text(a.2).cmp(render.text(b.2))));
            objects
        };
        all(&sorted(self.a), &sorted(self.b), |a, b| a.0 == b.0 && a.1 == b.1 && self.name(a.2, b.2))
    }
}
