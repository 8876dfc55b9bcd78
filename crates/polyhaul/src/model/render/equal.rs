//! Whether two scenes say the same: by content, since the same scene may lie in segments that were cut otherwise.

use super::{
    Attribute, Entity, Instance, Material, MaterialUse, Motion, Name, Render, Setting, Shape, ShapeState, Step,
    Texture, Transform,
};

/// A scene, and another one.
struct Both<'a>(&'a Render, &'a Render);

impl PartialEq for Render {
    fn eq(&self, other: &Render) -> bool {
        let both = Both(self, other);
        both.settings()
            && all(&self.options, &other.options, |a, b| both.setting(a, b))
            && all(&self.attributes, &other.attributes, |a, b| both.attribute(a, b))
            && all(&self.media, &other.media, |a, b| both.entity(a, b))
            && all(&self.textures, &other.textures, |a, b| both.texture(a, b))
            && all(&self.materials, &other.materials, |a, b| both.material(a, b))
            && all(&self.lights, &other.lights, |a, b| both.entity(a, b))
            && all(&self.area_lights, &other.area_lights, |a, b| both.entity(a, b))
            && all(&self.states, &other.states, |a, b| both.state(a, b))
            && both.transforms()
            && both.objects()
            && self.meshes == other.meshes
            && self.shapes.len() == other.shapes.len()
            && self.shapes().zip(other.shapes()).all(|(a, b)| both.shape(a, b))
            && self.instances.len() == other.instances.len()
            && self.instances().zip(other.instances()).all(|(a, b)| same_instance(&a, &b))
    }
}

fn all<T>(a: &[T], b: &[T], same: impl Fn(&T, &T) -> bool) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
}

/// Nodes have the same numbers where the same steps were made in the same order.
fn same_motion(a: Motion, b: Motion) -> bool {
    a == b
}

fn same_instance(a: &Instance, b: &Instance) -> bool {
    a.object == b.object && same_motion(a.motion, b.motion) && same_step(a.step, b.step)
}

/// Bit by bit.
fn same_step(a: Option<Step>, b: Option<Step>) -> bool {
    fn numbers(step: &Step) -> &[f64] {
        match step {
            Step::Translate(numbers) | Step::Scale(numbers) => numbers,
            Step::Rotate(numbers) => numbers,
            Step::LookAt(numbers) => numbers,
            Step::Replace(numbers) | Step::Concat(numbers) => numbers,
            Step::Inverse => &[],
        }
    }
    match (a, b) {
        (Some(a), Some(b)) => {
            std::mem::discriminant(&a) == std::mem::discriminant(&b)
                && numbers(&a).iter().map(|n| n.to_bits()).eq(numbers(&b).iter().map(|n| n.to_bits()))
        }
        (a, b) => a.is_none() && b.is_none(),
    }
}

impl Both<'_> {
    fn name(&self, a: Name, b: Name) -> bool {
        self.0.text(a) == self.1.text(b)
    }

    fn names(&self, a: Option<Name>, b: Option<Name>) -> bool {
        a.map(|name| self.0.text(name)) == b.map(|name| self.1.text(name))
    }

    fn settings(&self) -> bool {
        let Both(a, b) = self;
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
        let (mut of_a, mut of_b) = (self.0.parameters(a).iter(), self.1.parameters(b).iter());
        self.name(a.name, b.name)
            && self.names(a.color_space, b.color_space)
            && self.names(a.medium, b.medium)
            && a.attributes == b.attributes
            && same_motion(a.motion, b.motion)
            && self.parameters(&mut of_a, &mut of_b)
    }

    fn parameters<'a>(
        &self,
        a: &mut dyn Iterator<Item = super::Parameter<'a>>,
        b: &mut dyn Iterator<Item = super::Parameter<'a>>,
    ) -> bool {
        loop {
            match (a.next(), b.next()) {
                (None, None) => return true,
                (Some(a), Some(b)) if a.kind == b.kind && a.name == b.name && a.values.same(&b.values) => {}
                _ => return false,
            }
        }
    }

    fn attribute(&self, a: &Attribute, b: &Attribute) -> bool {
        a.before == b.before && self.entity(&a.entity, &b.entity)
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
            && a.attributes == b.attributes
            && self.names(a.color_space, b.color_space)
    }

    fn shape(&self, a: Shape<'_>, b: Shape<'_>) -> bool {
        a.class() == b.class()
            && a.stored.state == b.stored.state
            && same_motion(a.motion(), b.motion())
            && self.parameters(&mut a.parameters().iter(), &mut b.parameters().iter())
    }

    fn transforms(&self) -> bool {
        let Both(a, b) = self;
        let parts = |step: Option<(Transform, Step)>| match step {
            Some((parent, step)) => (Some(parent), Some(step)),
            None => (None, None),
        };
        a.nodes.len() == b.nodes.len()
            && (0..a.nodes.len()).all(|index| {
                let (of_a, step_a) = parts(a.step(a.transform(index)));
                let (of_b, step_b) = parts(b.step(b.transform(index)));
                of_a == of_b && same_step(step_a, step_b)
            })
    }

    fn objects(&self) -> bool {
        all(&self.0.objects, &self.1.objects, |a, b| {
            self.name(a.name, b.name) && a.shapes == b.shapes && a.missing == b.missing
        })
    }
}
