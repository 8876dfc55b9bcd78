//! Orders the text of a scene: opens and closes scopes, and sets state that many shapes share.
//!
//! An unnamed material, an area light and an `Attribute` can each be written only once, so everything that needs one
//! must be in the same scope. The planner computes when each is first and last needed, opens a scope before replacing
//! state that is needed later, and closes scopes until the required state is in effect. For scenes read from files,
//! this finds an order that the scopes permit; if a scene built by a program has no such order, items are written
//! twice. Transforms are not planned, because everything with a transform has its own short scope.

use super::script::{ItemList, PbrtOp, ScriptItem, UniqueEntity};
use polyhaul_model::error::{Error, Result, try_push};
use polyhaul_model::render::{Material, MaterialUse, Motion, Name, Render, ShapeState};
use polyhaul_spill::paced;
use std::collections::HashSet;
use std::ops::Range;

/// The value of a slot that is not set.
const NONE: u32 = u32::MAX;
/// Flag that distinguishes names from material indices.
const NAMED: u32 = 1 << 31;

/// Time of the first item; 0 means that a value is never needed.
/// It is not 1, because the even time before the first item must not be 0 either.
const FIRST: u64 = 3;
/// Time between two items. Items have odd times; state that must be in effect before an item has the even time before
/// it.
const TICK: u64 = 2;

/// State that can be set only once.
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

/// A slot and its required value.
type SlotValue = (PlanSlot, u32);

/// The state that is in effect in a scope.
#[derive(Clone, Copy, Debug)]
struct PlanScope {
    values: [u32; SLOTS],
    color_space: Option<Name>,
    media: [Option<Name>; 2],
    reverse: bool,
    is_object: bool,
}

/// Times at which a value is first set and last needed; see [`Planner::touch`].
#[derive(Clone, Copy, Debug)]
struct Lifetime {
    first: u64,
    last: u64,
    is_written: bool,
}

const NEVER: Lifetime = Lifetime { first: u64::MAX, last: 0, is_written: false };

/// The latest attribute that precedes several other attributes.
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

/// Builds the script of a scene.
pub(super) struct Planner<'a> {
    render: &'a Render,
    pub(super) ops: Vec<PbrtOp>,
    scopes: Vec<PlanScope>,
    now: PlanScope,
    materials: Vec<Lifetime>,
    area_lights: Vec<Lifetime>,
    attributes: Vec<Lifetime>,
    /// Attributes of lights as needed by area lights, which use the same attributes.
    of_area_lights: Vec<Lifetime>,
    /// Lifetimes of unset values, by slot.
    nothing: [Lifetime; SLOTS],
    next_material: u32,
    next_area_light: u32,
    /// Time of the first shape.
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

    /// Computes the lifetimes of everything that can be written only once.
    fn find_lives(&mut self) -> Result<()> {
        let render = self.render;
        let mut time = FIRST;
        // In the order in which `items` and `shapes` write them.
        time = self.touch_all(PlanSlot::OfMedia, render.media.iter().map(|medium| medium.attributes), time);
        let textures = render.textures.iter().map(|texture| texture.entity.attributes);
        time = self.touch_all(PlanSlot::OfTextures, textures, time);
        time = self.touch_all(PlanSlot::OfLights, render.lights.iter().map(|light| light.attributes), time);
        // At the first shape, no attributes of lights may be in effect.
        self.touch(PlanSlot::OfLights, NONE, time);
        self.shapes_at = time;
        let mut states = lives(render.states.len())?;
        for (index, shape) in render.shapes().enumerate() {
            if let Some(life) = states.get_mut(shape.state_index()) {
                life.last = time + TICK * index as u64;
                life.first = life.first.min(life.last);
            }
        }
        // Once per state, since many shapes share a state.
        for (state, life) in render.states.iter().zip(&states).filter(|(_, life)| life.last > 0) {
            for time in [life.first, life.last] {
                for (slot, value) in required(state) {
                    self.touch(slot, value, time);
                }
            }
        }
        let end = time + TICK * render.shape_count() as u64;
        set_in_order(&mut self.materials, end);
        set_in_order(&mut self.area_lights, end);
        for (index, material) in render.materials.iter().enumerate() {
            self.touch(PlanSlot::OfMaterials, material.entity.attributes.unwrap_or(NONE), self.materials[index].first);
        }
        for (index, light) in render.area_lights.iter().enumerate() {
            self.touch(PlanSlot::OfAreaLights, light.attributes.unwrap_or(NONE), self.area_lights[index].first);
        }
        // In reverse, so that the lifetime of an attribute is final before it extends the lifetime of its predecessor,
        // which has a lower index.
        for (index, attribute) in render.attributes.iter().enumerate().rev() {
            let Some(slot) = slot_of(render.text(attribute.entity.name)) else { continue };
            self.touch_before(slot, index as u32);
            if slot == PlanSlot::OfLights {
                self.touch_before(PlanSlot::OfAreaLights, index as u32);
            }
        }
        Ok(())
    }

    /// Touches the predecessor of an attribute, which must be in effect when the attribute is set: just before the
    /// first use of the attribute.
    fn touch_before(&mut self, slot: PlanSlot, attribute: u32) {
        if let Some(&mut Lifetime { first, last, .. }) = self.life(slot, attribute)
            && last > 0
        {
            self.touch(slot, self.before(attribute), first & !1);
        }
    }

    fn life(&mut self, slot: PlanSlot, value: u32) -> Option<&mut Lifetime> {
        match slot {
            _ if value == NONE => self.nothing.get_mut(slot as usize),
            PlanSlot::Material if value & NAMED != 0 => None,
            PlanSlot::Material => self.materials.get_mut(value as usize),
            PlanSlot::AreaLight => self.area_lights.get_mut(value as usize),
            PlanSlot::OfAreaLights => self.of_area_lights.get_mut(value as usize),
            _ => self.attributes.get_mut(value as usize),
        }
    }

    /// Records that a slot must have a value at a time.
    fn touch(&mut self, slot: PlanSlot, value: u32, time: u64) {
        if let Some(life) = self.life(slot, value) {
            life.first = life.first.min(time);
            life.last = life.last.max(time);
        }
    }

    /// Touches the attributes of consecutive items. Returns the time of the next item.
    fn touch_all(&mut self, slot: PlanSlot, items: impl Iterator<Item = Option<u32>>, time: u64) -> u64 {
        items.fold(time, |time, attributes| {
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

    pub(super) fn start_scope(&mut self) -> Result<()> {
        self.push(ScriptItem::Begin)?;
        self.open(false)
    }

    fn open(&mut self, is_object: bool) -> Result<()> {
        try_push(&mut self.scopes, self.now, "the plan")?;
        self.now.is_object = is_object;
        Ok(())
    }

    /// Closes the innermost scope, unless it belongs to an object. Returns whether it did.
    pub(super) fn end_scope(&mut self) -> Result<bool> {
        if self.now.is_object {
            return Ok(false);
        }
        let Some(outer) = self.scopes.pop() else { return Ok(false) };
        self.now = outer;
        self.push(ScriptItem::End)?;
        Ok(true)
    }

    pub(super) fn end_scopes(&mut self) -> Result<()> {
        while self.end_scope()? {}
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

    /// Returns whether a value is in effect or can be written in the current scope.
    fn is_reachable(&mut self, slot: PlanSlot, value: u32) -> bool {
        let mut value = value;
        loop {
            if self.now.values[slot as usize] == value
                || slot == PlanSlot::Material && value != NONE && value & NAMED != 0
            {
                return true;
            }
            if value == NONE || self.life(slot, value).is_none_or(|life| life.is_written) {
                return false;
            }
            // Unlike attributes, these do not depend on the value that they replace.
            if matches!(slot, PlanSlot::Material | PlanSlot::AreaLight) {
                return true;
            }
            value = self.before(value);
        }
    }

    /// Returns the attribute that is in effect where this attribute is set.
    fn before(&self, attribute: u32) -> u32 {
        let before = self.render.attributes.get(attribute as usize).and_then(|attribute| attribute.before);
        before.filter(|&before| before < attribute).unwrap_or(NONE)
    }

    /// Moves a base back so that it also precedes another attribute. Stops at attributes that are set or in effect, and
    /// at attributes that were visited before, so each attribute is visited once.
    fn add_to(&mut self, base: &mut PlanBase, attribute: u32) -> Result<()> {
        let slot = base.slot;
        let mut at = attribute;
        while at != NONE
            && at != self.now.values[slot as usize]
            && self.life(slot, at).is_some_and(|life| !life.is_written)
            && !base.seen.contains(&at)
        {
            base.seen.try_reserve(1).map_err(|_| Error::memory("the plan"))?;
            base.seen.insert(at);
            at = self.before(at);
        }
        base.value = Some(match base.value {
            None => attribute,
            Some(NONE) => NONE,
            // A predecessor has a lower index.
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

    /// Returns the state required to set a value.
    fn condition(&mut self, slot: PlanSlot, value: u32) -> Option<SlotValue> {
        if value == NONE || self.life(slot, value).is_none_or(|life| life.is_written) {
            return None;
        }
        let attributes = match slot {
            PlanSlot::Material => (PlanSlot::OfMaterials, self.render.materials.get(value as usize)?.entity.attributes),
            PlanSlot::AreaLight => (PlanSlot::OfAreaLights, self.render.area_lights.get(value as usize)?.attributes),
            _ => return None,
        };
        Some((attributes.0, attributes.1.unwrap_or(NONE)))
    }

    /// Puts values into effect: closes scopes until that is possible, then sets the values that differ.
    fn reach(&mut self, required: &[SlotValue], time: u64) -> Result<()> {
        if required.iter().all(|&(slot, value)| self.now.values[slot as usize] == value) {
            return Ok(());
        }
        while !required.iter().all(|&(slot, value)| {
            let condition = self.condition(slot, value);
            self.is_reachable(slot, value) && condition.is_none_or(|(slot, value)| self.is_reachable(slot, value))
        }) {
            if !self.end_scope()? {
                break;
            }
        }
        // Items require one value, and shapes three.
        let mut changes = [(PlanSlot::Material, NONE); 4];
        let mut count = 0;
        for &(slot, value) in required {
            if self.now.values[slot as usize] != value && count < changes.len() {
                changes[count] = (slot, value);
                count += 1;
            }
        }
        // The value that is needed longest comes first, so that its scope is outermost.
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
            _ => self.write_attributes(slot, value, time),
        }
    }

    /// Sets the value of a slot. Opens a scope first if the old value is needed again.
    fn replace(&mut self, slot: PlanSlot, value: u32, time: u64) -> Result<()> {
        let old = self.now.values[slot as usize];
        if self.last(slot, old) >= time {
            self.start_scope()?;
        }
        self.now.values[slot as usize] = value;
        if let Some(life) = self.life(slot, value) {
            life.is_written = true;
        }
        Ok(())
    }

    fn write_attributes(&mut self, slot: PlanSlot, value: u32, time: u64) -> Result<()> {
        let mut chain = Vec::new();
        let mut at = value;
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

    /// Writes a material. It is then in effect, unless it is named.
    fn material(&mut self, index: u32, time: u64) -> Result<()> {
        let Some(material) = self.render.materials.get(index as usize) else { return Ok(()) };
        let attributes = material.entity.attributes.unwrap_or(NONE);
        self.write_attributes(PlanSlot::OfMaterials, attributes, time)?;
        if !material.is_named {
            self.replace(PlanSlot::Material, index, time)?;
        }
        self.color_space(material.entity.color_space)?;
        self.push(ScriptItem::Material(index))
    }

    /// Writes all unwritten materials with an index below `end`.
    fn materials_before(&mut self, end: u32, time: u64) -> Result<()> {
        while self.next_material < end.min(self.render.materials.len() as u32) {
            let index = self.next_material;
            self.next_material += 1;
            let material = &self.render.materials[index as usize];
            if self.materials[index as usize].is_written {
                continue;
            }
            // An unused material is written in its own scope, so that it does not affect shapes.
            let is_unused = !material.is_named && self.materials[index as usize].last == 0;
            self.reach(&[(PlanSlot::OfMaterials, material.entity.attributes.unwrap_or(NONE))], time)?;
            if is_unused {
                self.start_scope()?;
            }
            self.material(index, time)?;
            if is_unused {
                self.end_scope()?;
            }
        }
        Ok(())
    }

    fn area_light(&mut self, index: u32, time: u64) -> Result<()> {
        let Some(light) = self.render.area_lights.get(index as usize) else { return Ok(()) };
        self.write_attributes(PlanSlot::OfAreaLights, light.attributes.unwrap_or(NONE), time)?;
        self.replace(PlanSlot::AreaLight, index, time)?;
        self.color_space(light.color_space)?;
        self.push(ScriptItem::AreaLight(index))
    }

    fn area_lights_before(&mut self, end: u32, time: u64) -> Result<()> {
        while self.next_area_light < end.min(self.render.area_lights.len() as u32) {
            let index = self.next_area_light;
            self.next_area_light += 1;
            if self.area_lights[index as usize].is_written {
                continue;
            }
            let is_unused = self.area_lights[index as usize].last == 0;
            let attributes = self.render.area_lights[index as usize].attributes.unwrap_or(NONE);
            self.reach(&[(PlanSlot::OfAreaLights, attributes)], time)?;
            if is_unused {
                self.start_scope()?;
            }
            self.area_light(index, time)?;
            if is_unused {
                self.end_scope()?;
            }
        }
        Ok(())
    }

    /// Adds the settings before `WorldBegin`.
    pub(super) fn settings(&mut self) -> Result<()> {
        let render = self.render;
        for index in 0..render.options.len() {
            self.push(ScriptItem::Setting(index as u32))?;
        }
        if render.transform_times.is_some() {
            self.push(ScriptItem::TransformTimes)?;
        }
        let entities = [
            (UniqueEntity::Sampler, render.sampler),
            (UniqueEntity::Film, render.film),
            (UniqueEntity::Filter, render.filter),
            (UniqueEntity::Integrator, render.integrator),
            (UniqueEntity::Accelerator, render.accelerator),
            (UniqueEntity::Camera, render.camera),
        ];
        for (unique, entity) in entities {
            let Some(entity) = entity else { continue };
            self.color_space(entity.color_space)?;
            if unique == UniqueEntity::Camera {
                self.media([None, entity.medium])?;
                if entity.motion != Motion::IDENTITY {
                    self.push(ScriptItem::Move(entity.motion))?;
                }
            }
            self.push(ScriptItem::Entity(unique))?;
        }
        self.push(ScriptItem::World)
    }

    /// Adds media, textures and lights.
    pub(super) fn items(&mut self) -> Result<()> {
        let render = self.render;
        let mut time = FIRST;
        for (index, medium) in render.media.iter().enumerate() {
            let required = (PlanSlot::OfMedia, medium.attributes.unwrap_or(NONE));
            self.item(ItemList::Media, index, required, medium.color_space, time)?;
            time += TICK;
        }
        self.end_scopes()?;
        for (index, texture) in render.textures.iter().enumerate() {
            let entity = &texture.entity;
            let required = (PlanSlot::OfTextures, entity.attributes.unwrap_or(NONE));
            self.item(ItemList::Textures, index, required, entity.color_space, time)?;
            time += TICK;
        }
        self.end_scopes()?;
        for (index, light) in render.lights.iter().enumerate() {
            if self.now.media[1] != light.medium {
                self.media([None, light.medium])?;
            }
            let required = (PlanSlot::OfLights, light.attributes.unwrap_or(NONE));
            self.item(ItemList::Lights, index, required, light.color_space, time)?;
            time += TICK;
        }
        Ok(())
    }

    fn item(
        &mut self,
        list: ItemList,
        index: usize,
        required: SlotValue,
        color_space: Option<Name>,
        time: u64,
    ) -> Result<()> {
        self.reach(&[required], time)?;
        self.color_space(color_space)?;
        let index = index as u32;
        if let Some(PbrtOp { what: ScriptItem::Items(last, range), .. }) = self.ops.last_mut()
            && *last == list
            && range.end == index
        {
            range.end += 1;
            return Ok(());
        }
        self.push(ScriptItem::Items(list, index..index + 1))
    }

    /// Adds shapes and object definitions, with their materials and area lights.
    pub(super) fn shapes(&mut self) -> Result<()> {
        let render = self.render;
        let mut defined = Vec::new();
        for (index, object) in paced(&render.objects).enumerate().filter(|(_, object)| !object.missing) {
            try_push(&mut defined, (object.shapes.start, object.shapes.end, index as u32), "the plan")?;
        }
        defined.sort_unstable();
        // Named materials that need no scope are written before they are used.
        let is_free = |material: &&Material| material.is_named && material.entity.attributes.is_none();
        let free = render.materials.iter().take_while(is_free).count();
        self.materials_before(free as u32, self.shapes_at)?;
        let mut from = 0;
        for (start, end, index) in defined {
            // Definitions in a scene built by a program may overlap, but each shape is written once.
            let shapes = start.max(from)..end.max(from);
            self.runs(from..shapes.start)?;
            from = shapes.end;
            self.object(index, shapes)?;
        }
        self.runs(from..render.shape_count())?;
        let end = self.shapes_at + TICK * render.shape_count() as u64;
        self.end_scopes()?;
        self.materials_before(u32::MAX, end)?;
        self.end_scopes()?;
        self.area_lights_before(u32::MAX, end)?;
        self.end_scopes()
    }

    /// Closes scopes that must not enclose an object, because they cannot be closed inside it. Returns the end of the
    /// materials and the end of the area lights that its shapes use, and the attribute that precedes all attributes of
    /// its shapes.
    fn make_room(&mut self, shapes: Range<usize>) -> Result<(u32, u32, u32)> {
        let mut bases = [PlanSlot::OfShapes, PlanSlot::OfMaterials, PlanSlot::OfAreaLights].map(PlanBase::new);
        let mut material = 0;
        let mut light = 0;
        let mut last_state = None;
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
            let [attributes, of_light, of_material] = required(state);
            self.add_to(&mut bases[0], attributes.1)?;
            for ((slot, value), base) in [of_material, of_light].into_iter().zip(&mut bases[1..]) {
                while !self.is_reachable(slot, value) && self.end_scope()? {}
                if let Some((_, value)) = self.condition(slot, value) {
                    self.add_to(base, value)?;
                }
            }
        }
        for base in &bases {
            while base.value.is_some_and(|value| !self.is_reachable(base.slot, value)) && self.end_scope()? {}
        }
        Ok((material, light, bases[0].value.unwrap_or(NONE)))
    }

    fn object(&mut self, index: u32, shapes: Range<usize>) -> Result<()> {
        let time = self.shapes_at + TICK * shapes.start as u64;
        let end = self.shapes_at + TICK * shapes.end as u64;
        let (material, light, mut base) = self.make_room(shapes.clone())?;
        // Materials and lights that are needed again after the object are set before the object.
        let later = |lives: &[Lifetime], from: u32, to: u32| {
            (from..to).rev().find(|&at| lives.get(at as usize).is_some_and(|life| life.last >= end))
        };
        if let Some(last) = later(&self.materials, self.next_material, material) {
            self.materials_before(last + 1, time)?;
        }
        if let Some(last) = later(&self.area_lights, self.next_area_light, light) {
            self.area_lights_before(last + 1, time)?;
        }
        // An attribute that is needed only inside the object is set inside it. The even time just before `end` already
        // counts as after the object.
        while base != NONE && self.last(PlanSlot::OfShapes, base) + 1 < end {
            base = self.before(base);
        }
        if self.life(PlanSlot::OfShapes, base).is_some_and(|life| base != NONE && !life.is_written) {
            self.reach(&[(PlanSlot::OfShapes, base)], time)?;
        }
        self.push(ScriptItem::ObjectBegin(index))?;
        self.open(true)?;
        self.runs(shapes)?;
        self.end_scopes()?;
        if let Some(outer) = self.scopes.pop() {
            self.now = outer;
        }
        self.push(ScriptItem::ObjectEnd)
    }

    /// Adds shapes of one object, or shapes outside objects, in runs with the same state.
    fn runs(&mut self, shapes: Range<usize>) -> Result<()> {
        let state = |index: usize| self.render.shape(index).map(|shape| shape.state_index());
        let mut runs = Vec::new();
        let mut from = shapes.start;
        for index in shapes.clone() {
            if index + 1 == shapes.end || state(index) != state(index + 1) {
                try_push(&mut runs, from..index + 1, "the plan")?;
                from = index + 1;
            }
        }
        for run in runs {
            let time = self.shapes_at + TICK * run.start as u64;
            if let Some(state) = self.render.shape(run.start).and_then(|shape| shape.state()) {
                self.reach(&required(state), time)?;
                self.color_space(state.color_space)?;
                self.media([state.inside, state.outside])?;
                if self.now.reverse != state.reverse_orientation {
                    self.now.reverse = state.reverse_orientation;
                    self.push(ScriptItem::Reverse)?;
                }
            }
            self.push(ScriptItem::Items(ItemList::Shapes, run.start as u32..run.end as u32))?;
        }
        Ok(())
    }
}

fn lives(count: usize) -> Result<Vec<Lifetime>> {
    let mut lives = Vec::new();
    lives.try_reserve_exact(count).map_err(|_| Error::memory("the plan"))?;
    lives.resize(count, NEVER);
    Ok(lives)
}

/// Makes first times ascending, so that each item is set no later than the items after it. Unused items are set at
/// `end` at the latest.
fn set_in_order(lives: &mut [Lifetime], end: u64) {
    let mut next = end;
    for life in lives.iter_mut().rev() {
        next = next.min(life.first);
        life.first = next;
    }
}

/// Returns the state required by a shape.
fn required(state: &ShapeState) -> [SlotValue; 3] {
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

/// Returns the slot for the target of an `Attribute`.
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
