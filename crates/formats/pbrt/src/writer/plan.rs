//! The order of a scene's text: its scopes, and where state shared by many shapes is set.
//!
//! An unnamed material, an area light and an `Attribute` can be written only once, so everything that needs them must
//! be in the scope that has them. The plan knows from when to when each is needed, opens a scope before something
//! replaces what is needed later, and closes scopes until the required state is current. The order permitted by the
//! scopes of a file is found again; if a program's scene has no such order, things are written twice. Transforms are
//! not part of the plan: everything with a place has its own short scope.

use super::script::{PbrtOp, ScriptItem, Things, Whose};
use polyhaul_model::error::{Error, Result, try_push};
use polyhaul_model::render::{Material, MaterialUse, Motion, Name, Render, ShapeState};
use std::collections::HashSet;
use std::ops::Range;

/// Nothing was set.
const NONE: u32 = u32::MAX;
/// In front of the names of materials.
const NAMED: u32 = 1 << 31;

/// When the first thing is said: 0 is never.
const FIRST: u64 = 3;
/// From one item to the next. Items have odd times; the state required before they can be written has the even time
/// before.
const TICK: u64 = 2;

/// State that can be set once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PlanSlot {
    Material,
    AreaLight,
    OfShapes,
    OfLights,
    OfAreaLights,
    OfMaterials,
    OfMedia,
    OfTextures,
}

const SLOTS: usize = 8;

/// The required value of a slot.
type PbrtWanted = (PlanSlot, u32);

/// The state in a scope.
#[derive(Clone, Copy, Debug)]
struct PlanScope {
    values: [u32; SLOTS],
    color_space: Option<Name>,
    media: [Option<Name>; 2],
    reverse: bool,
    is_object: bool,
}

/// When something is set first, and needed last; times are those of [`Planner::touch`].
#[derive(Clone, Copy, Debug)]
struct Life {
    first: u64,
    last: u64,
    said: bool,
}

const NEVER: Life = Life { first: u64::MAX, last: 0, said: false };

/// The last attribute that several others follow.
struct PlanBase {
    slot: PlanSlot,
    value: Option<u32>,
    seen: HashSet<u32>,
}

impl PlanBase {
    fn new(slot: PlanSlot) -> PlanBase {
        PlanBase { slot, value: None, seen: HashSet::new() }
    }
}

/// The script of a scene as it grows.
pub(super) struct Planner<'a> {
    render: &'a Render,
    pub(super) ops: Vec<PbrtOp>,
    scopes: Vec<PlanScope>,
    now: PlanScope,
    materials: Vec<Life>,
    area_lights: Vec<Life>,
    attributes: Vec<Life>,
    /// The same for lights of shapes, which share those of lights.
    of_area_lights: Vec<Life>,
    /// For values that were never set, by slot.
    nothing: [Life; SLOTS],
    next_material: u32,
    next_area_light: u32,
    /// When the first shape is said.
    shapes_at: u64,
}

impl<'a> Planner<'a> {
    pub(super) fn new(render: &'a Render) -> Result<Planner<'a>> {
        let now =
            PlanScope { values: [NONE; SLOTS], color_space: None, media: [None; 2], reverse: false, is_object: false };
        let mut planner = Planner {
            render,
            ops: Vec::new(),
            scopes: Vec::new(),
            now,
            materials: lives(render.materials.len())?,
            area_lights: lives(render.area_lights.len())?,
            attributes: lives(render.attributes.len())?,
            of_area_lights: lives(render.attributes.len())?,
            nothing: [NEVER; SLOTS],
            next_material: 0,
            next_area_light: 0,
            shapes_at: 0,
        };
        planner.find_lives()?;
        Ok(planner)
    }

    /// Notes when everything that can be said once is needed.
    fn find_lives(&mut self) -> Result<()> {
        let render = self.render;
        let mut time = FIRST;
        time = self.touch_all(PlanSlot::OfMedia, render.media.iter().map(|it| it.attributes), time);
        time = self.touch_all(PlanSlot::OfTextures, render.textures.iter().map(|it| it.entity.attributes), time);
        time = self.touch_all(PlanSlot::OfLights, render.lights.iter().map(|it| it.attributes), time);
        // Shapes begin where no attribute of lights is in effect.
        self.touch(PlanSlot::OfLights, NONE, time);
        self.shapes_at = time;
        let mut states = lives(render.states.len())?;
        for (index, shape) in render.shapes().enumerate() {
            if let Some(life) = states.get_mut(shape.state_index()) {
                life.last = time + TICK * index as u64;
                life.first = life.first.min(life.last);
            }
        }
        for (state, life) in render.states.iter().zip(&states).filter(|(_, life)| life.last > 0) {
            for time in [life.first, life.last] {
                for (slot, value) in wanted(state) {
                    self.touch(slot, value, time);
                }
            }
        }
        let end = time + TICK * render.shape_count() as u64;
        say_in_order(&mut self.materials, end);
        say_in_order(&mut self.area_lights, end);
        for (index, material) in render.materials.iter().enumerate() {
            self.touch(PlanSlot::OfMaterials, material.entity.attributes.unwrap_or(NONE), self.materials[index].first);
        }
        for (index, light) in render.area_lights.iter().enumerate() {
            self.touch(PlanSlot::OfAreaLights, light.attributes.unwrap_or(NONE), self.area_lights[index].first);
        }
        for (index, attribute) in render.attributes.iter().enumerate().rev() {
            let Some(slot) = slot_of(render.text(attribute.entity.name)) else { continue };
            self.touch_before(slot, index as u32);
            if slot == PlanSlot::OfLights {
                self.touch_before(PlanSlot::OfAreaLights, index as u32);
            }
        }
        Ok(())
    }

    /// The predecessor of an attribute must be in effect when that is set: just before its first use.
    fn touch_before(&mut self, slot: PlanSlot, attribute: u32) {
        if let Some(&mut Life { first, last, .. }) = self.life(slot, attribute)
            && last > 0
        {
            self.touch(slot, self.before(attribute), first & !1);
        }
    }

    fn life(&mut self, slot: PlanSlot, value: u32) -> Option<&mut Life> {
        match slot {
            _ if value == NONE => self.nothing.get_mut(slot as usize),
            PlanSlot::Material if value & NAMED != 0 => None,
            PlanSlot::Material => self.materials.get_mut(value as usize),
            PlanSlot::AreaLight => self.area_lights.get_mut(value as usize),
            PlanSlot::OfAreaLights => self.of_area_lights.get_mut(value as usize),
            _ => self.attributes.get_mut(value as usize),
        }
    }

    fn touch(&mut self, slot: PlanSlot, value: u32, time: u64) {
        if let Some(life) = self.life(slot, value) {
            (life.first, life.last) = (life.first.min(time), life.last.max(time));
        }
    }

    /// Touches what items need that are written one after another: when the next one is written.
    fn touch_all(&mut self, slot: PlanSlot, all: impl Iterator<Item = Option<u32>>, time: u64) -> u64 {
        all.fold(time, |time, attributes| {
            self.touch(slot, attributes.unwrap_or(NONE), time);
            time + TICK
        })
    }

    fn last(&mut self, slot: PlanSlot, value: u32) -> u64 {
        self.life(slot, value).map_or(0, |life| life.last)
    }

    pub(super) fn push(&mut self, what: ScriptItem) -> Result<()> {
        let depth = self.scopes.len() as u32;
        try_push(&mut self.ops, PbrtOp { what, depth }, "the plan")
    }

    pub(super) fn begin(&mut self) -> Result<()> {
        self.push(ScriptItem::Begin)?;
        self.open(false)
    }

    fn open(&mut self, is_object: bool) -> Result<()> {
        try_push(&mut self.scopes, self.now, "the plan")?;
        self.now.is_object = is_object;
        Ok(())
    }

    /// Closes the last scope, unless it is an object's or there is none.
    pub(super) fn end(&mut self) -> Result<bool> {
        if self.now.is_object {
            return Ok(false);
        }
        let Some(outer) = self.scopes.pop() else { return Ok(false) };
        self.now = outer;
        self.push(ScriptItem::End)?;
        Ok(true)
    }

    pub(super) fn end_all(&mut self) -> Result<()> {
        while self.end()? {}
        Ok(())
    }

    pub(super) fn color_space(&mut self, color_space: Option<Name>) -> Result<()> {
        if self.now.color_space != color_space {
            self.now.color_space = color_space;
            self.push(ScriptItem::ColorSpace(color_space))?;
        }
        Ok(())
    }

    pub(super) fn media(&mut self, media: [Option<Name>; 2]) -> Result<()> {
        if self.now.media != media {
            self.now.media = media;
            self.push(ScriptItem::Media(media))?;
        }
        Ok(())
    }

    /// Whether a value holds, or can be said now.
    fn is_reachable(&mut self, slot: PlanSlot, value: u32) -> bool {
        let mut value = value;
        loop {
            if self.now.values[slot as usize] == value
                || slot == PlanSlot::Material && value != NONE && value & NAMED != 0
            {
                return true;
            }
            if value == NONE || self.life(slot, value).is_none_or(|life| life.said) {
                return false;
            }
            if matches!(slot, PlanSlot::Material | PlanSlot::AreaLight) {
                return true;
            }
            value = self.before(value);
        }
    }

    /// The attribute in effect where another is set.
    fn before(&self, attribute: u32) -> u32 {
        let before = self.render.attributes.get(attribute as usize).and_then(|attribute| attribute.before);
        before.filter(|&before| before < attribute).unwrap_or(NONE)
    }

    /// Adds an attribute to those that have a base. One that was set or is in effect already has its predecessors, so
    /// nothing is visited twice.
    fn add_to(&mut self, base: &mut PlanBase, attribute: u32) -> Result<()> {
        let (slot, mut at) = (base.slot, attribute);
        while at != NONE
            && at != self.now.values[slot as usize]
            && self.life(slot, at).is_some_and(|life| !life.said)
            && !base.seen.contains(&at)
        {
            base.seen.try_reserve(1).map_err(|_| Error::memory("the plan"))?;
            base.seen.insert(at);
            at = self.before(at);
        }
        base.value = Some(match base.value {
            None => attribute,
            Some(NONE) => NONE,
            // A predecessor has the lower index.
            Some(value) => {
                if at == NONE {
                    NONE
                } else {
                    value.min(at)
                }
            }
        });
        Ok(())
    }

    /// The state required to set a value.
    fn condition(&mut self, (slot, value): PbrtWanted) -> Option<PbrtWanted> {
        if value == NONE || self.life(slot, value).is_none_or(|life| life.said) {
            return None;
        }
        let attributes = match slot {
            PlanSlot::Material => (PlanSlot::OfMaterials, self.render.materials.get(value as usize)?.entity.attributes),
            PlanSlot::AreaLight => (PlanSlot::OfAreaLights, self.render.area_lights.get(value as usize)?.attributes),
            _ => return None,
        };
        Some((attributes.0, attributes.1.unwrap_or(NONE)))
    }

    /// Gives slots their values: closes scopes until that is possible, and sets the differences.
    fn reach(&mut self, wanted: &[PbrtWanted], time: u64) -> Result<()> {
        if wanted.iter().all(|&(slot, value)| self.now.values[slot as usize] == value) {
            return Ok(());
        }
        while !wanted.iter().all(|&it| {
            let condition = self.condition(it);
            self.is_reachable(it.0, it.1) && condition.is_none_or(|(slot, value)| self.is_reachable(slot, value))
        }) {
            if !self.end()? {
                break;
            }
        }
        let mut changes = [(PlanSlot::Material, NONE); 4];
        let mut count = 0;
        for &(slot, value) in wanted {
            if self.now.values[slot as usize] != value && count < changes.len() {
                changes[count] = (slot, value);
                count += 1;
            }
        }
        // The longest-lived comes first.
        let changes = &mut changes[..count];
        changes.sort_by_key(|&(slot, value)| std::cmp::Reverse(self.last(slot, value)));
        changes.iter().try_for_each(|&(slot, value)| self.change(slot, value, time))
    }

    fn change(&mut self, slot: PlanSlot, value: u32, time: u64) -> Result<()> {
        match slot {
            _ if value == NONE || self.now.values[slot as usize] == value => Ok(()),
            PlanSlot::Material if value & NAMED != 0 => {
                self.replace(slot, value, time)?;
                self.push(ScriptItem::NamedMaterial(Name(value & !NAMED)))
            }
            PlanSlot::Material => {
                self.materials_before(value, time)?;
                self.next_material = self.next_material.max(value.saturating_add(1));
                self.material(value, time)
            }
            PlanSlot::AreaLight => {
                self.area_lights_before(value, time)?;
                self.next_area_light = self.next_area_light.max(value.saturating_add(1));
                self.area_light(value, time)
            }
            _ => self.say_attributes(slot, value, time),
        }
    }

    /// Gives a slot a value; opens a scope if the old one is needed again.
    fn replace(&mut self, slot: PlanSlot, value: u32, time: u64) -> Result<()> {
        let old = self.now.values[slot as usize];
        if self.last(slot, old) >= time {
            self.begin()?;
        }
        self.now.values[slot as usize] = value;
        if let Some(life) = self.life(slot, value) {
            life.said = true;
        }
        Ok(())
    }

    fn say_attributes(&mut self, slot: PlanSlot, value: u32, time: u64) -> Result<()> {
        let (mut chain, mut at) = (Vec::new(), value);
        while at != NONE && at != self.now.values[slot as usize] {
            try_push(&mut chain, at, "the plan")?;
            at = self.before(at);
        }
        for &value in chain.iter().rev() {
            let Some(attribute) = self.render.attributes.get(value as usize) else { continue };
            self.replace(slot, value, time)?;
            self.color_space(attribute.entity.color_space)?;
            self.push(ScriptItem::Attribute(value))?;
        }
        Ok(())
    }

    /// Says a material: from then on it holds, unless it has a name.
    fn material(&mut self, index: u32, time: u64) -> Result<()> {
        let Some(material) = self.render.materials.get(index as usize) else { return Ok(()) };
        let attributes = material.entity.attributes.unwrap_or(NONE);
        self.say_attributes(PlanSlot::OfMaterials, attributes, time)?;
        if !material.is_named {
            self.replace(PlanSlot::Material, index, time)?;
        }
        self.color_space(material.entity.color_space)?;
        self.push(ScriptItem::Material(index))
    }

    /// Says all materials before `end` that were not said.
    fn materials_before(&mut self, end: u32, time: u64) -> Result<()> {
        while self.next_material < end.min(self.render.materials.len() as u32) {
            let index = self.next_material;
            self.next_material += 1;
            let material = &self.render.materials[index as usize];
            if self.materials[index as usize].said {
                continue;
            }
            let of_none = !material.is_named && self.materials[index as usize].last == 0;
            self.reach(&[(PlanSlot::OfMaterials, material.entity.attributes.unwrap_or(NONE))], time)?;
            if of_none {
                self.begin()?;
            }
            self.material(index, time)?;
            if of_none {
                self.end()?;
            }
        }
        Ok(())
    }

    fn area_light(&mut self, index: u32, time: u64) -> Result<()> {
        let Some(light) = self.render.area_lights.get(index as usize) else { return Ok(()) };
        self.say_attributes(PlanSlot::OfAreaLights, light.attributes.unwrap_or(NONE), time)?;
        self.replace(PlanSlot::AreaLight, index, time)?;
        self.color_space(light.color_space)?;
        self.push(ScriptItem::AreaLight(index))
    }

    fn area_lights_before(&mut self, end: u32, time: u64) -> Result<()> {
        while self.next_area_light < end.min(self.render.area_lights.len() as u32) {
            let index = self.next_area_light;
            self.next_area_light += 1;
            if self.area_lights[index as usize].said {
                continue;
            }
            let of_none = self.area_lights[index as usize].last == 0;
            let attributes = self.render.area_lights[index as usize].attributes.unwrap_or(NONE);
            self.reach(&[(PlanSlot::OfAreaLights, attributes)], time)?;
            if of_none {
                self.begin()?;
            }
            self.area_light(index, time)?;
            if of_none {
                self.end()?;
            }
        }
        Ok(())
    }

    /// The block before the world.
    pub(super) fn settings(&mut self) -> Result<()> {
        let render = self.render;
        for index in 0..render.options.len() {
            self.push(ScriptItem::Setting(index as u32))?;
        }
        if render.transform_times.is_some() {
            self.push(ScriptItem::TransformTimes)?;
        }
        let entities = [
            (Whose::Sampler, render.sampler),
            (Whose::Film, render.film),
            (Whose::Filter, render.filter),
            (Whose::Integrator, render.integrator),
            (Whose::Accelerator, render.accelerator),
            (Whose::Camera, render.camera),
        ];
        for (whose, entity) in entities {
            let Some(entity) = entity else { continue };
            self.color_space(entity.color_space)?;
            if whose == Whose::Camera {
                self.media([None, entity.medium])?;
                if entity.motion != Motion::IDENTITY {
                    self.push(ScriptItem::Move(entity.motion))?;
                }
            }
            self.push(ScriptItem::Entity(whose))?;
        }
        self.push(ScriptItem::World)
    }

    /// Media, textures and lights.
    pub(super) fn things(&mut self) -> Result<()> {
        let render = self.render;
        let mut time = FIRST;
        for (index, medium) in render.media.iter().enumerate() {
            self.thing((Things::Media, index), (PlanSlot::OfMedia, medium.attributes), medium.color_space, time)?;
            time += TICK;
        }
        self.end_all()?;
        for (index, texture) in render.textures.iter().enumerate() {
            let entity = &texture.entity;
            self.thing((Things::Textures, index), (PlanSlot::OfTextures, entity.attributes), entity.color_space, time)?;
            time += TICK;
        }
        self.end_all()?;
        for (index, light) in render.lights.iter().enumerate() {
            if self.now.media[1] != light.medium {
                self.media([None, light.medium])?;
            }
            self.thing((Things::Lights, index), (PlanSlot::OfLights, light.attributes), light.color_space, time)?;
            time += TICK;
        }
        Ok(())
    }

    fn thing(
        &mut self,
        (list, index): (Things, usize),
        (slot, attributes): (PlanSlot, Option<u32>),
        color_space: Option<Name>,
        time: u64,
    ) -> Result<()> {
        self.reach(&[(slot, attributes.unwrap_or(NONE))], time)?;
        self.color_space(color_space)?;
        let index = index as u32;
        if let Some(PbrtOp { what: ScriptItem::Things(last, range), .. }) = self.ops.last_mut()
            && *last == list
            && range.end == index
        {
            range.end += 1;
            return Ok(());
        }
        self.push(ScriptItem::Things(list, index..index + 1))
    }

    /// Shapes and definitions of objects, with the materials and lights that they have.
    pub(super) fn shapes(&mut self) -> Result<()> {
        let render = self.render;
        let mut defined = Vec::new();
        for (index, object) in render.objects.iter().enumerate().filter(|(_, object)| !object.missing) {
            try_push(&mut defined, (object.shapes.start, object.shapes.end, index as u32), "the plan")?;
        }
        defined.sort_unstable();
        // A named item that needs no scope is written before its uses.
        let is_free = |it: &&Material| it.is_named && it.entity.attributes.is_none();
        let free = render.materials.iter().take_while(is_free).count();
        self.materials_before(free as u32, self.shapes_at)?;
        let mut from = 0;
        for (start, end, index) in defined {
            let (start, end) = (start.max(from), end.max(from));
            self.runs(from..start)?;
            self.object(index, start..end)?;
            from = end;
        }
        self.runs(from..render.shape_count())?;
        let end = self.shapes_at + TICK * render.shape_count() as u64;
        self.end_all()?;
        self.materials_before(u32::MAX, end)?;
        self.end_all()?;
        self.area_lights_before(u32::MAX, end)?;
        self.end_all()
    }

    /// Closes scopes that must not contain the shapes of an object: no open scope can be closed inside the object.
    /// Returns the last material and light of the shapes, and the attribute that precedes all of theirs.
    fn make_room(&mut self, shapes: Range<usize>) -> Result<(u32, u32, u32)> {
        let mut bases = [PlanSlot::OfShapes, PlanSlot::OfMaterials, PlanSlot::OfAreaLights].map(PlanBase::new);
        let (mut material, mut light, mut last_state) = (0, 0, None);
        for shape in shapes {
            let Some(shape) = self.render.shape(shape).filter(|shape| Some(shape.state_index()) != last_state) else {
                continue;
            };
            last_state = Some(shape.state_index());
            let Some(state) = shape.state() else { continue };
            if let MaterialUse::Index(index) = state.material {
                material = material.max(index.saturating_add(1));
            }
            light = light.max(state.area_light.map_or(0, |light| light.saturating_add(1)));
            let [attributes, of_light, of_material] = wanted(state);
            self.add_to(&mut bases[0], attributes.1)?;
            for (wanted, base) in [of_material, of_light].into_iter().zip(&mut bases[1..]) {
                while !self.is_reachable(wanted.0, wanted.1) && self.end()? {}
                if let Some((_, value)) = self.condition(wanted) {
                    self.add_to(base, value)?;
                }
            }
        }
        for base in &bases {
            while base.value.is_some_and(|value| !self.is_reachable(base.slot, value)) && self.end()? {}
        }
        Ok((material, light, bases[0].value.unwrap_or(NONE)))
    }

    fn object(&mut self, index: u32, shapes: Range<usize>) -> Result<()> {
        let time = self.shapes_at + TICK * shapes.start as u64;
        let end = self.shapes_at + TICK * shapes.end as u64;
        let (material, light, mut base) = self.make_room(shapes.clone())?;
        // What is also needed after the object is set before it.
        let later = |lives: &[Life], from: u32, to: u32| {
            (from..to).rev().find(|&at| lives.get(at as usize).is_some_and(|life| life.last >= end))
        };
        if let Some(last) = later(&self.materials, self.next_material, material) {
            self.materials_before(last + 1, time)?;
        }
        if let Some(last) = later(&self.area_lights, self.next_area_light, light) {
            self.area_lights_before(last + 1, time)?;
        }
        while base != NONE && self.last(PlanSlot::OfShapes, base) + 1 < end {
            base = self.before(base);
        }
        if self.life(PlanSlot::OfShapes, base).is_some_and(|life| base != NONE && !life.said) {
            self.reach(&[(PlanSlot::OfShapes, base)], time)?;
        }
        self.push(ScriptItem::ObjectBegin(index))?;
        self.open(true)?;
        self.runs(shapes)?;
        self.end_all()?;
        if let Some(outer) = self.scopes.pop() {
            self.now = outer;
        }
        self.push(ScriptItem::ObjectEnd)
    }

    /// Shapes of one object, or of none.
    fn runs(&mut self, shapes: Range<usize>) -> Result<()> {
        let state = |index: usize| self.render.shape(index).map(|shape| shape.state_index());
        let (mut runs, mut from) = (Vec::new(), shapes.start);
        for index in shapes.clone() {
            if index + 1 == shapes.end || state(index) != state(index + 1) {
                try_push(&mut runs, from..index + 1, "the plan")?;
                from = index + 1;
            }
        }
        for run in runs {
            let time = self.shapes_at + TICK * run.start as u64;
            if let Some(state) = self.render.shape(run.start).and_then(|shape| shape.state()) {
                self.reach(&wanted(state), time)?;
                self.color_space(state.color_space)?;
                self.media([state.inside, state.outside])?;
                if self.now.reverse != state.reverse_orientation {
                    self.now.reverse = state.reverse_orientation;
                    self.push(ScriptItem::Reverse)?;
                }
            }
            self.push(ScriptItem::Things(Things::Shapes, run.start as u32..run.end as u32))?;
        }
        Ok(())
    }
}

fn lives(count: usize) -> Result<Vec<Life>> {
    let mut lives = Vec::new();
    lives.try_reserve_exact(count).map_err(|_| Error::memory("the plan"))?;
    lives.resize(count, NEVER);
    Ok(lives)
}

/// Each is set no later than those after it; `end` is when the others are set.
fn say_in_order(lives: &mut [Life], end: u64) {
    let mut next = end;
    for life in lives.iter_mut().rev() {
        next = next.min(life.first);
        life.first = next;
    }
}

/// The state required by a shape.
fn wanted(state: &ShapeState) -> [PbrtWanted; 3] {
    let material = match state.material {
        MaterialUse::Default => NONE,
        MaterialUse::Index(index) => index,
        MaterialUse::Named(Name(name)) => name | NAMED,
    };
    [
        (PlanSlot::OfShapes, state.attributes.unwrap_or(NONE)),
        (PlanSlot::AreaLight, state.area_light.unwrap_or(NONE)),
        (PlanSlot::Material, material),
    ]
}

/// The things that an `Attribute` is for.
fn slot_of(target: &str) -> Option<PlanSlot> {
    Some(match target {
        "shape" => PlanSlot::OfShapes,
        "light" => PlanSlot::OfLights,
        "material" => PlanSlot::OfMaterials,
        "medium" => PlanSlot::OfMedia,
        "texture" => PlanSlot::OfTextures,
        _ => return None,
    })
}
