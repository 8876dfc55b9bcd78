//! Formats the text of a script in pages, which are formatted in parallel.

use super::PbrtPlan;
use super::instances::{InstanceCursor, InstancePlacement, Matrices};
use super::places::StepPath;
use super::script::{ItemList, PbrtCursor, PbrtOp, ScriptItem, UniqueEntity};
use super::text;
use super::text::PbrtPen;
use polyhaul_model::error::{Error, ErrorKind, Result, planted, try_push};
use polyhaul_model::render::{Entity, Motion, Parameter, ParameterValues, Parameters};
use polyhaul_pipeline::out::Out;
use polyhaul_pipeline::write::Pages;
use polyhaul_text::format::{NumberLines, Page};
use std::ops::Range;

/// Approximate bytes per page.
const PAGE_BYTES: usize = 512 << 10;
/// Numbers per line of a list.
const ON_A_LINE: usize = 24;
/// Minimum number of floats in a list for formatting them together.
const MIN_BATCH: usize = 8;
/// Approximate bytes of text per value, per parameter excluding its values, and per directive excluding its parameters.
/// They only decide where pages are split.
const VALUE_BYTES: u64 = 9;
const PARAMETER_BYTES: u64 = 24;
const ITEM_BYTES: u64 = 64;

/// Pages of one file.
pub(super) struct PbrtPages<'a> {
    plan: &'a PbrtPlan<'a>,
    ops: &'a [PbrtOp],
    compact: bool,
    /// Start of each page, and the end of the last page.
    cuts: Vec<PbrtCursor>,
    /// Approximate size in bytes.
    pub(super) expected: u64,
}

#[derive(Default)]
pub(super) struct PbrtPageSlot {
    number: u64,
    out: Out,
    path: StepPath,
}

/// A directive and its parameters.
struct DirectiveBody<'a> {
    word: &'static str,
    strings: [&'a str; 3],
    string_count: usize,
    parameters: Option<Parameters<'a>>,
    /// Mesh file that replaces the arrays: the declaration of its parameter, and its name.
    mesh_file: Option<(&'static str, &'a str)>,
}

impl<'a> PbrtPages<'a> {
    pub(super) fn new(
        plan: &'a PbrtPlan<'a>,
        ops: &'a [PbrtOp],
        compact: bool,
        chunk_bytes: Option<usize>,
    ) -> Result<Self> {
        let page_bytes = chunk_bytes.unwrap_or(PAGE_BYTES).clamp(1, 1 << 30) as u64;
        let mut pages = PbrtPages { plan, ops, compact, cuts: Vec::new(), expected: 0 };
        try_push(&mut pages.cuts, PbrtCursor::default(), "the plan")?;
        let mut filled = 0;
        for (number, op) in ops.iter().enumerate() {
            for item in 0..op.what.count() {
                let at = PbrtCursor { op: number as u32, item, ..PbrtCursor::default() };
                if filled >= page_bytes {
                    pages.cut(at, &mut filled)?;
                }
                pages.count_item(op, at, page_bytes, &mut filled)?;
            }
        }
        let end = PbrtCursor { op: ops.len() as u32, ..PbrtCursor::default() };
        pages.cut(end, &mut filled)?;
        Ok(pages)
    }

    fn cut(&mut self, at: PbrtCursor, filled: &mut u64) -> Result<()> {
        self.expected += std::mem::take(filled);
        try_push(&mut self.cuts, at, "the plan")
    }

    /// Adds the size of an item, and splits long lists between pages.
    fn count_item(&mut self, op: &PbrtOp, at: PbrtCursor, page_bytes: u64, filled: &mut u64) -> Result<()> {
        *filled += match &op.what {
            ScriptItem::Instances(..) => 4 * ITEM_BYTES,
            _ => ITEM_BYTES,
        };
        let Some(DirectiveBody { parameters: Some(parameters), mesh_file: None, .. }) = self.body(op, at.item) else {
            return Ok(());
        };
        for (number, parameter) in parameters.iter().enumerate() {
            let count = parameter.values.len() as u64;
            // A list that does not fit is split: the first part fills this page, and each further part starts a new
            // page.
            // At least one value, because a page that starts at value 0 writes the text before the values, too.
            let room = (page_bytes.saturating_sub(*filled) / VALUE_BYTES).max(1);
            *filled += PARAMETER_BYTES;
            if count <= room || count <= 4 {
                *filled += count * VALUE_BYTES;
                continue;
            }
            let step = (page_bytes / VALUE_BYTES).max(1);
            let mut next = room;
            *filled += room * VALUE_BYTES;
            while next < count {
                self.cut(PbrtCursor { parameter: number as u32, value: next as u32, ..at }, filled)?;
                *filled += step.min(count - next) * VALUE_BYTES;
                next += step;
            }
        }
        Ok(())
    }

    pub(super) fn count(&self) -> u64 {
        self.cuts.len() as u64 - 1
    }

    /// Returns the approximate bytes of a slot.
    pub(super) fn slot_bytes(chunk_bytes: Option<usize>) -> usize {
        3 * chunk_bytes.unwrap_or(PAGE_BYTES).clamp(1 << 10, 1 << 30)
    }

    /// Returns the directive of an item. Returns `None` for operations without parameters.
    fn body(&self, op: &PbrtOp, item: u32) -> Option<DirectiveBody<'a>> {
        let render = self.plan.render;
        let body = |word, strings: &[&'a str], entity: &'a Entity| {
            let mut padded = [""; 3];
            padded[..strings.len()].copy_from_slice(strings);
            let parameters = Some(render.parameters(entity));
            Some(DirectiveBody { word, strings: padded, string_count: strings.len(), parameters, mesh_file: None })
        };
        match &op.what {
            ScriptItem::Entity(unique) => {
                let (word, entity) = match unique {
                    UniqueEntity::Sampler => ("Sampler", &render.sampler),
                    UniqueEntity::Film => ("Film", &render.film),
                    UniqueEntity::Filter => ("PixelFilter", &render.filter),
                    UniqueEntity::Integrator => ("Integrator", &render.integrator),
                    UniqueEntity::Accelerator => ("Accelerator", &render.accelerator),
                    UniqueEntity::Camera => ("Camera", &render.camera),
                };
                let entity = entity.as_ref()?;
                body(word, &[render.text(entity.name)], entity)
            }
            &ScriptItem::Attribute(index) => {
                let entity = &render.attributes.get(index as usize)?.entity;
                body("Attribute", &[render.text(entity.name)], entity)
            }
            &ScriptItem::Material(index) => {
                let material = render.materials.get(index as usize)?;
                let word = if material.is_named { "MakeNamedMaterial" } else { "Material" };
                body(word, &[render.text(material.entity.name)], &material.entity)
            }
            &ScriptItem::AreaLight(index) => {
                let light = render.area_lights.get(index as usize)?;
                body("AreaLightSource", &[render.text(light.name)], light)
            }
            ScriptItem::Items(list, range) => {
                let index = (range.start + item) as usize;
                match list {
                    ItemList::Media => {
                        let medium = render.media.get(index)?;
                        body("MakeNamedMedium", &[render.text(medium.name)], medium)
                    }
                    ItemList::Textures => {
                        let texture = render.textures.get(index)?;
                        let kind = if texture.is_spectrum { "spectrum" } else { "float" };
                        let strings = [render.text(texture.entity.name), kind, render.text(texture.class)];
                        body("Texture", &strings, &texture.entity)
                    }
                    ItemList::Lights => {
                        let light = render.lights.get(index)?;
                        body("LightSource", &[render.text(light.name)], light)
                    }
                    ItemList::Shapes => self.shape(index),
                }
            }
            _ => None,
        }
    }

    fn shape(&self, index: usize) -> Option<DirectiveBody<'a>> {
        let shape = self.plan.render.shape(index)?;
        let word = "Shape";
        let string_count = 1;
        if let Some(file) = self.plan.file_of_mesh(index) {
            let mesh_file = Some(("string filename", file));
            return Some(DirectiveBody {
                word,
                strings: ["plymesh", "", ""],
                string_count,
                parameters: Some(shape.parameters()),
                mesh_file,
            });
        }
        let parameters = Some(shape.parameters());
        Some(DirectiveBody { word, strings: [shape.class(), "", ""], string_count, parameters, mesh_file: None })
    }

    /// Returns the new name of a file, if it is renamed.
    fn new_name(&self, body: &DirectiveBody<'a>, parameter: &Parameter<'a>) -> Option<&'a str> {
        let names = &self.plan.renamed.names;
        let ParameterValues::Strings(strings) = parameter.values else { return None };
        // The file of a film is written by the renderer.
        let is_file = parameter.names_file() && !(names.is_empty() || body.mesh_file.is_some() || body.word == "Film");
        let key = (body.parameters.filter(|_| is_file)?.folder(), strings.get(0)?);
        names.get(&key)?.as_deref()
    }

    fn motion(&self, list: ItemList, index: u32) -> Motion {
        let render = self.plan.render;
        let index = index as usize;
        let motion = match list {
            ItemList::Media => render.media.get(index).map(|medium| medium.motion),
            ItemList::Textures => render.textures.get(index).map(|texture| texture.entity.motion),
            ItemList::Lights => render.lights.get(index).map(|light| light.motion),
            ItemList::Shapes => render.shape(index).map(|shape| shape.motion()),
        };
        motion.unwrap_or(Motion::IDENTITY)
    }
}

impl PbrtPageSlot {
    /// Writes text that must not be split between pages. Fails if a number is NaN.
    fn whole(out: &mut Out, compact: bool, mut write: impl FnMut(&mut PbrtPen<'_, '_>) -> Result<()>) -> Result<()> {
        let mut result = Ok(());
        let mut bad = false;
        out.whole(|page| {
            let mut pen = PbrtPen { page, compact, bad: false };
            result = write(&mut pen);
            bad = pen.bad;
        })?;
        result?;
        if bad { Err(no_number()) } else { Ok(()) }
    }

    /// Writes an operation from cursor `at` on, at most up to `end`. Returns the cursor after the written text.
    fn op(&mut self, pages: &PbrtPages<'_>, at: PbrtCursor, end: PbrtCursor) -> Result<PbrtCursor> {
        let Some(op) = pages.ops.get(at.op as usize) else { return Ok(end) };
        let next = PbrtCursor { op: at.op + 1, ..PbrtCursor::default() };
        match &op.what {
            ScriptItem::Instances(range, is_based) => {
                let last = if end.op == at.op { range.start + end.item } else { range.end };
                let page = range.start + at.item..last;
                self.instances(pages, op.depth, range.clone(), *is_based, page)?;
                Ok(if end.op == at.op { end } else { next })
            }
            ScriptItem::Items(list, range) => {
                let first = range.start;
                let last = range.end - 1;
                let index = first + at.item;
                let motion = pages.motion(*list, index);
                // The transforms of neighbors decide, wherever they are written, so the text does not depend on page
                // breaks.
                let is_first = index == first || pages.motion(*list, index - 1) != motion;
                let is_last = index == last || pages.motion(*list, index + 1) != motion;
                let is_placed = motion != Motion::IDENTITY;
                let depth = op.depth + u32::from(is_placed);
                if is_placed && is_first && (at.parameter, at.value) == (0, 0) {
                    let path = &mut self.path;
                    Self::whole(&mut self.out, pages.compact, |pen| {
                        pen.line(op.depth, "AttributeBegin");
                        pages.plan.places.go(pen, depth, motion, path)
                    })?;
                }
                if !self.item(pages, op, depth, at, end)? {
                    return Ok(end);
                }
                if is_placed && is_last {
                    Self::whole(&mut self.out, pages.compact, |pen| {
                        pen.line(op.depth, "AttributeEnd");
                        Ok(())
                    })?;
                }
                Ok(if index == last {
                    next
                } else {
                    PbrtCursor { op: at.op, item: at.item + 1, ..PbrtCursor::default() }
                })
            }
            ScriptItem::Entity(_) | ScriptItem::Attribute(_) | ScriptItem::Material(_) | ScriptItem::AreaLight(_) => {
                Ok(if self.item(pages, op, op.depth, at, end)? { next } else { end })
            }
            _ => {
                let path = &mut self.path;
                Self::whole(&mut self.out, pages.compact, |pen| pages.plan.small(pen, op, path))?;
                Ok(next)
            }
        }
    }

    /// Writes a directive with parameters. Returns `false` if the page ends within it.
    fn item(
        &mut self,
        pages: &PbrtPages<'_>,
        op: &PbrtOp,
        depth: u32,
        at: PbrtCursor,
        end: PbrtCursor,
    ) -> Result<bool> {
        let Some(body) = pages.body(op, at.item) else { return Ok(true) };
        if (at.parameter, at.value) == (0, 0) {
            Self::whole(&mut self.out, pages.compact, |pen| {
                pen.indent(depth);
                pen.head(body.word, &body.strings[..body.string_count]);
                Ok(())
            })?;
        }
        let ends_here = (end.op, end.item) == (at.op, at.item);
        let parameters = body.parameters.into_iter().flat_map(Parameters::iter);
        let parameters = parameters.enumerate().skip(at.parameter as usize);
        // Written in full here, because `count_item` never splits an item with a mesh file.
        if let Some((declaration, text)) = body.mesh_file {
            self.string_parameter(pages.compact, depth, declaration, text)?;
        }
        for (number, parameter) in parameters {
            let from = if number == at.parameter as usize { at.value as usize } else { 0 };
            let count = parameter.values.len();
            let stops = ends_here && number == end.parameter as usize;
            let to = if stops { (end.value as usize).min(count) } else { count };
            if let Some(name) = pages.new_name(&body, &parameter) {
                self.string_parameter(
                    pages.compact,
                    depth,
                    &format!("{} {}", parameter.kind.name(), parameter.name),
                    name,
                )?;
            } else if body.mesh_file.is_none() || stays_with_shape(&parameter) {
                self.values(&parameter, depth + 1, pages.compact, from..to)?;
            }
            if stops {
                return Ok(false);
            }
        }
        self.out.whole(|page| page.byte(b'\n'))?;
        Ok(true)
    }

    fn string_parameter(&mut self, compact: bool, depth: u32, declaration: &str, text: &str) -> Result<()> {
        Self::whole(&mut self.out, compact, |pen| {
            start_parameter(pen, depth + 1);
            pen.string(declaration);
            pen.page.byte(b' ');
            pen.string(text);
            Ok(())
        })
    }

    /// Writes a range of a parameter's values, including the text before the first value and after the last.
    fn values(&mut self, parameter: &Parameter<'_>, depth: u32, compact: bool, range: Range<usize>) -> Result<()> {
        let count = parameter.values.len();
        if count == 0 {
            return Ok(());
        }
        let list = PbrtList::new(count, compact, [text::new_line(depth), text::new_line(depth + 1)]);
        if range.start == 0 {
            Self::whole(&mut self.out, compact, |pen| {
                start_parameter(pen, depth);
                pen.page.byte(b'"');
                pen.page.bytes(parameter.kind.name().as_bytes());
                pen.page.byte(b' ');
                pen.name(parameter.name);
                pen.page.bytes(b"\" ");
                if count > 1 {
                    pen.page.byte(b'[');
                }
                Ok(())
            })?;
        }
        let mut bad = false;
        let mut next = range.start + usize::from(planted("pbrt-pages") && range.start > 0);
        self.out.format(|page| {
            let mut pen = PbrtPen { page, compact, bad: false };
            let is_complete = list.values(&mut pen, parameter, &mut next, range.end);
            bad |= pen.bad;
            is_complete
        })?;
        if bad {
            return Err(no_number());
        }
        if range.end == count && count > 1 {
            self.out.whole(|page| {
                page.bytes(list.end);
                page.byte(b']');
            })?;
        }
        Ok(())
    }

    /// Writes the instances `page`, a part of the instances `op` of the operation. `is_based` tells whether the
    /// transform before their matrices was already written.
    fn instances(
        &mut self,
        pages: &PbrtPages<'_>,
        depth: u32,
        op: Range<u32>,
        is_based: bool,
        page: Range<u32>,
    ) -> Result<()> {
        let render = pages.plan.render;
        let mut instances = InstanceCursor::new(render);
        // Neighbors outside the page also decide whether a scope is shared, so the text does not depend on page breaks.
        let mut before = (page.start > op.start).then(|| instances.placement(page.start - 1));
        let mut matrices = Matrices::new(page.clone());
        let mut here = instances.placement(page.start);
        for index in page {
            let after = (index + 1 < op.end).then(|| instances.placement(index + 1));
            let is_placed = here != InstancePlacement::At(Motion::IDENTITY);
            let depth_inside = depth + u32::from(is_placed);
            let path = &mut self.path;
            matrices.prepare(index, render);
            Self::whole(&mut self.out, pages.compact, |pen| {
                if is_placed && before != Some(here) {
                    pen.line(depth, "AttributeBegin");
                    if !is_based {
                        pages.plan.places.go(pen, depth_inside, here.base(), path)?;
                    }
                    match (here.step(render), matrices.text(index)) {
                        (Some(step), None) => pen.step(depth_inside, &step),
                        (Some(step), Some(text)) => pen.text_matrix(depth_inside, &step, text),
                        (None, _) => {}
                    }
                }
                pen.indent(depth_inside);
                pen.head("ObjectInstance", &[instances.object(index)]);
                pen.page.byte(b'\n');
                if is_placed && after != Some(here) {
                    pen.line(depth, "AttributeEnd");
                }
                Ok(())
            })?;
            before = Some(here);
            here = after.unwrap_or(here);
        }
        Ok(())
    }
}

/// Layout of a list's values.
struct PbrtList<'l> {
    /// Text before the first value, before the first value of each further line, and after the last value.
    start: &'l [u8],
    line: &'l [u8],
    end: &'l [u8],
    lines: NumberLines<'l>,
}

impl<'l> PbrtList<'l> {
    fn new(count: usize, compact: bool, [outside, inside]: [&'l [u8]; 2]) -> Self {
        let (start, line, end): (&[u8], &[u8], &[u8]) = match (compact, count) {
            (true, _) => (b"", b"\n", b""),
            (false, ..=1) => (b"", b"", b""),
            (false, ..=ON_A_LINE) => (b" ", b"", b" "),
            _ => (inside, inside, outside),
        };
        PbrtList { start, line, end, lines: NumberLines::new(ON_A_LINE, b' ', [line]) }
    }

    /// Returns the text before a value. Line breaks depend only on the index, not on page breaks.
    fn before(&self, at: usize) -> &[u8] {
        match at {
            0 => self.start,
            _ if at.is_multiple_of(ON_A_LINE) => self.line,
            _ => b" ",
        }
    }

    /// Writes values up to `end` as long as they fit. Returns `false` if some did not fit.
    fn values(&self, pen: &mut PbrtPen<'_, '_>, parameter: &Parameter<'_>, next: &mut usize, end: usize) -> bool {
        match &parameter.values {
            ParameterValues::Floats(_) if !parameter.exact.is_empty() => {
                self.each(pen, next, end, |pen, at| pen.double(parameter.exact[at]))
            }
            ParameterValues::Floats(values) if values.len() < MIN_BATCH || !are_finite(&values[*next..end]) => {
                self.each(pen, next, end, |pen, at| pen.single(values[at]))
            }
            ParameterValues::Floats(values) => self.numbers(pen.page, &values[..end], next, |page, at, values| {
                page.shortest_lines(&self.lines, at, values)
            }),
            ParameterValues::Integers(values) => self.numbers(pen.page, &values[..end], next, |page, at, values| {
                page.integer_lines(&self.lines, at, values)
            }),
            ParameterValues::Bools(values) => self.each(pen, next, end, |pen, at| {
                pen.page.bytes(if values[at] { b"true" } else { b"false" });
            }),
            ParameterValues::Strings(values) => self.each(pen, next, end, |pen, at| {
                pen.string(values.get(at).unwrap_or_default());
            }),
        }
    }

    /// Writes as many numbers as fit, formatting them together.
    fn numbers<T>(
        &self,
        page: &mut Page<'_>,
        values: &[T],
        next: &mut usize,
        write: impl Fn(&mut Page<'_>, usize, &[T]) -> usize,
    ) -> bool {
        let before = page.len();
        page.bytes(self.before(*next));
        // A number may fit even if the text before it did not.
        let count = if page.overflowed() { 0 } else { write(page, *next, &values[*next..]) };
        if count == 0 {
            page.truncate(before);
            return false;
        }
        *next += count;
        // The text after the last written value is written with the next value.
        page.truncate(page.len() - self.lines.bytes_behind(*next - 1));
        *next == values.len()
    }

    fn each(
        &self,
        pen: &mut PbrtPen<'_, '_>,
        next: &mut usize,
        end: usize,
        write: impl Fn(&mut PbrtPen<'_, '_>, usize),
    ) -> bool {
        while *next < end {
            let before = pen.page.len();
            pen.page.bytes(self.before(*next));
            write(pen, *next);
            if pen.page.overflowed() {
                pen.page.truncate(before);
                return false;
            }
            *next += 1;
        }
        true
    }
}

/// Returns whether all values are finite. There is no early exit, so that the loop vectorizes.
fn are_finite(values: &[f32]) -> bool {
    let largest = values.iter().fold(0, |largest, value| value.abs().to_bits().max(largest));
    largest < f32::INFINITY.to_bits()
}

/// Writes the text before a parameter.
fn start_parameter(pen: &mut PbrtPen<'_, '_>, depth: u32) {
    if pen.compact {
        pen.page.byte(b' ');
    } else {
        pen.page.byte(b'\n');
        pen.indent(depth);
    }
}

/// Returns whether a parameter of a mesh stays with its shape when the arrays move to a file.
fn stays_with_shape(parameter: &Parameter<'_>) -> bool {
    !super::meshes::MOVED.contains(&parameter.name)
}

#[cold]
fn no_number() -> Error {
    Error::new(ErrorKind::Usage, "the scene contains NaN, which pbrt cannot represent")
}

impl Pages for PbrtPages<'_> {
    type Slot = PbrtPageSlot;
    type State = ();

    fn slot(&self) -> Result<PbrtPageSlot> {
        Ok(PbrtPageSlot::default())
    }

    fn take(&self, number: u64, slot: &mut PbrtPageSlot) -> Result<bool> {
        slot.number = number;
        slot.out.clear();
        Ok(number < self.count())
    }

    fn format(&self, slot: &mut PbrtPageSlot) -> Result<()> {
        let number = slot.number as usize;
        let Some(&[mut at, end]) = self.cuts.get(number..).and_then(|cuts| cuts.first_chunk()) else { return Ok(()) };
        while at < end {
            at = slot.op(self, at, end)?;
        }
        Ok(())
    }

    fn bytes<'a>(&'a self, slot: &'a PbrtPageSlot) -> &'a [u8] {
        slot.out.text()
    }
}
