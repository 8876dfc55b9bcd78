//! Writes faces, lines and points, and the state lines between them.

use super::plan::{ObjKey, ObjPlanned, ObjSection, since, state_runs};
use super::text::ObjText;
use super::text::{GROUP, MATERIAL, ObjHeld, SMOOTHING};
use polyhaul_model::error::Result;
use polyhaul_model::names;
use polyhaul_model::options::Smoothing;
use polyhaul_model::{Counts, Elements, NONE};
use polyhaul_pipeline::out::Out;
use polyhaul_text::format::{IndexLine, Page};
use std::ops::Range;

/// Writes the state lines of a mesh during a pass over some of its elements.
struct StateLines<'a> {
    text: &'a ObjText<'a>,
    section: ObjSection<'a>,
    key: ObjKey,
    /// State that is in effect at the end of the text so far.
    now: ObjHeld,
    /// Index of the next element before which a run starts.
    next_change: u32,
}

impl<'a> StateLines<'a> {
    /// Starts at element `first`. `before` is the state before the object's first element of this kind.
    fn new(text: &'a ObjText<'a>, section: ObjSection<'a>, key: ObjKey, first: u32, before: ObjHeld) -> Self {
        let now = if first == key(&section.object.start) { before } else { ObjHeld::at(section.mesh, key, first - 1) };
        // `before` runs for the first element too, because a run may start there.
        StateLines { text, section, key, now, next_change: first }
    }

    /// Writes the state lines before element `index`.
    fn before(&mut self, index: u32, out: &mut Out) -> Result<()> {
        let next = ObjHeld::at(self.section.mesh, self.key, index);
        for state in [SMOOTHING, GROUP, MATERIAL] {
            for value in self.stated(state, &next, index) {
                state_line(self.text, &self.section, state, value, out)?;
            }
        }
        self.now = next;
        let changes = state_runs(self.section.mesh).map(|runs| {
            let after = runs.partition_point(|run| (self.key)(&run.at) <= index);
            runs.get(after).map_or(NONE, |run| (self.key)(&run.at))
        });
        self.next_change = changes.into_iter().min().unwrap_or(NONE);
        Ok(())
    }

    /// Returns the values of the state lines before element `index`: the values of the runs that start there, or the
    /// current value if the text so far implies another one.
    fn stated(&self, state: usize, next: &ObjHeld, index: u32) -> impl Iterator<Item = u32> + use<'a> {
        let runs = state_runs(self.section.mesh)[state];
        let now = self.now.runs[state];
        let new_run = next.runs[state].filter(|&run| (self.key)(&runs[run as usize].at) == index && now != Some(run));
        let statements = match new_run {
            Some(run) => &runs[since(runs, run, now) as usize..=run as usize],
            None => &[],
        };
        let differs = new_run.is_none() && self.now.values[state] != next.values[state];
        statements.iter().map(|run| run.value).chain(differs.then_some(next.values[state]))
    }
}

/// Writes a state line, unless the options disable it.
fn state_line(text: &ObjText<'_>, section: &ObjSection<'_>, state: usize, value: u32, out: &mut Out) -> Result<()> {
    let options = text.options.own;
    match state {
        SMOOTHING if options.smoothing != Smoothing::None => out.whole(|page| state_number(page, b"s ", value)),
        GROUP if options.groups && !options.object_groups => group(section, value, out),
        MATERIAL => material(text, section, value, out),
        _ => Ok(()),
    }
}

fn group(section: &ObjSection<'_>, value: u32, out: &mut Out) -> Result<()> {
    let name = section.mesh.groups.get(value as usize).map_or("", String::as_str);
    out.whole(|page| state_name(page, b"g", name, value == NONE))
}

fn material(text: &ObjText<'_>, section: &ObjSection<'_>, value: u32, out: &mut Out) -> Result<()> {
    let options = text.options.own;
    let name = text.materials.get(value as usize).map_or("", |material| material.name.as_str());
    if options.material_groups {
        let group = format!("{}_{name}", section.object.name);
        out.whole(|page| state_name(page, b"g", &group, false))?;
    }
    if let Some(name) = text.stated_material(name).filter(|_| options.materials) {
        out.whole(|page| state_name(page, b"usemtl", name, false))?;
    }
    Ok(())
}

/// Writes the state lines after the last element of a mesh.
pub(super) fn trailing(text: &ObjText<'_>, section: &ObjSection<'_>, out: &mut Out) -> Result<()> {
    let Some(trailing) = section.trailing() else { return Ok(()) };
    for (state, runs) in state_runs(section.mesh).into_iter().enumerate() {
        for run in trailing[state].clone() {
            state_line(text, section, state, runs[run as usize].value, out)?;
        }
    }
    Ok(())
}

/// Writes the group statements directly before the group statement that is the object's header.
pub(super) fn groups_before_header(text: &ObjText<'_>, section: &ObjSection<'_>, out: &mut Out) -> Result<()> {
    section.groups_before_header().iter().try_for_each(|run| state_line(text, section, GROUP, run.value, out))
}

pub(super) fn state_number(page: &mut Page<'_>, prefix: &[u8], value: u32) {
    page.bytes(prefix);
    page.u32(value);
    page.byte(b'\n');
}

/// Writes a keyword, a space and a name. If the name is empty, the space remains, as in Blender's files, unless `bare`.
pub(super) fn state_name(page: &mut Page<'_>, keyword: &[u8], name: &str, bare: bool) {
    page.bytes(keyword);
    if !bare {
        page.byte(b' ');
        page.bytes(names::written(name).as_bytes());
    }
    page.byte(b'\n');
}

pub(super) fn faces(text: &ObjText<'_>, section: ObjSection<'_>, range: Range<u32>, out: &mut Out) -> Result<()> {
    let key: ObjKey = |at: &Counts| at.faces;
    let mut state = StateLines::new(text, section, key, range.start, section.planned.entering);
    let has_uvs = text.options.scene.uv && !section.mesh.faces.corner_uvs.is_empty();
    let has_normals = text.options.scene.normals && !section.mesh.faces.corner_normals.is_empty();
    let corners = CornerText::new(b"f", &section.mesh.faces, &section.planned, has_uvs, has_normals);
    each(&mut state, &corners, range, out)
}

pub(super) fn lines(text: &ObjText<'_>, section: ObjSection<'_>, range: Range<u32>, out: &mut Out) -> Result<()> {
    let key: ObjKey = |at: &Counts| at.lines;
    let mut state = StateLines::new(text, section, key, range.start, section.after_faces());
    let has_uvs = text.options.scene.uv && !section.mesh.lines.corner_uvs.is_empty();
    let corners = CornerText::new(b"l", &section.mesh.lines, &section.planned, has_uvs, false);
    each(&mut state, &corners, range, out)
}

pub(super) fn points(text: &ObjText<'_>, section: ObjSection<'_>, range: Range<u32>, out: &mut Out) -> Result<()> {
    let key: ObjKey = |at: &Counts| at.points;
    let mut state = StateLines::new(text, section, key, range.start, section.after_lines());
    for point in range {
        if point >= state.next_change {
            state.before(point, out)?;
        }
        let index = section.mesh.points[point as usize].wrapping_add(section.planned.bases.add[0]);
        out.whole(|page| state_number(page, b"p ", index))?;
    }
    Ok(())
}

/// Writes elements with the state lines between them.
fn each(state: &mut StateLines<'_>, corners: &CornerText<'_>, range: Range<u32>, out: &mut Out) -> Result<()> {
    let mut at = range.start;
    while at < range.end {
        if at >= state.next_change {
            state.before(at, out)?;
        }
        let until = range.end.min(state.next_change);
        out.format(|page| {
            while at < until && corners.element(page, at as usize) {
                at += 1;
            }
            at == until
        })?;
    }
    Ok(())
}

/// Writes the corners of elements.
struct CornerText<'a> {
    elements: &'a Elements,
    has_uvs: bool,
    has_normals: bool,
    forms: CornerForms<'a>,
}

impl<'a> CornerText<'a> {
    fn new(keyword: &'a [u8], elements: &'a Elements, planned: &ObjPlanned, has_uvs: bool, has_normals: bool) -> Self {
        CornerText { elements, has_uvs, has_normals, forms: CornerForms::new(keyword, planned.bases.add) }
    }

    /// Writes an element. Returns `false` if it does not fit.
    #[inline]
    fn element(&self, page: &mut Page<'_>, index: usize) -> bool {
        let elements = self.elements;
        let corners = elements.corners(index);
        let positions = &elements.corner_positions[corners.clone()];
        let uvs = if self.has_uvs { &elements.corner_uvs[corners.clone()] } else { &[] };
        let normals = if self.has_normals { &elements.corner_normals[corners] } else { &[] };
        self.forms.line(page, positions, uvs, normals)
    }
}

/// Line templates for each form of a corner, created once.
pub(super) struct CornerForms<'a> {
    add: [u32; 3],
    joined: IndexLine<'a>,
    position_normal: IndexLine<'a>,
    keyword: &'a [u8],
}

impl<'a> CornerForms<'a> {
    /// Creates templates that start with `keyword` and add offsets to the indices of positions, UVs and normals. The
    /// sums wrap.
    pub(super) fn new(keyword: &'a [u8], add: [u32; 3]) -> Self {
        let position_normal = IndexLine::new(keyword).double_joint(b'/');
        CornerForms { add, joined: IndexLine::new(keyword), position_normal, keyword }
    }

    /// Writes the line of an element with `count` corners that all have the same kinds of indices. Returns `false` if
    /// it does not fit.
    #[inline]
    pub(super) fn complete(
        &self,
        page: &mut Page<'_>,
        count: usize,
        position: impl Fn(usize) -> u32,
        uv: Option<impl Fn(usize) -> u32>,
        normal: Option<impl Fn(usize) -> u32>,
    ) -> bool {
        let [add, add_uv, add_normal] = self.add;
        let before = page.len();
        let position = |at| position(at).wrapping_add(add);
        let joined = &self.joined;
        let corners = 0..count;
        match (uv, normal) {
            (None, None) => page.index_line(joined, corners.map(|at| [position(at)])),
            (Some(uv), None) => {
                page.index_line(joined, corners.map(|at| [position(at), uv(at).wrapping_add(add_uv)]));
            }
            (None, Some(normal)) => {
                let corner = |at| [position(at), normal(at).wrapping_add(add_normal)];
                page.index_line(&self.position_normal, corners.map(corner));
            }
            (Some(uv), Some(normal)) => {
                let corner = |at| [position(at), uv(at).wrapping_add(add_uv), normal(at).wrapping_add(add_normal)];
                page.index_line(joined, corners.map(corner));
            }
        }
        fitted(page, before)
    }

    /// Writes the line of an element. Returns `false` if it does not fit. If UVs or normals are absent, their slices
    /// are empty.
    #[inline]
    pub(super) fn line(&self, page: &mut Page<'_>, positions: &[u32], uvs: &[u32], normals: &[u32]) -> bool {
        let [Some(has_uvs), Some(has_normals)] = [present(uvs), present(normals)] else {
            return page.whole(|page| self.mixed(page, positions, uvs, normals));
        };
        let uv = has_uvs.then_some(index_in(uvs));
        let normal = has_normals.then_some(index_in(normals));
        self.complete(page, positions.len(), index_in(positions), uv, normal)
    }

    /// Writes an element whose corners have different kinds of indices.
    fn mixed(&self, page: &mut Page<'_>, positions: &[u32], uvs: &[u32], normals: &[u32]) {
        page.bytes(self.keyword);
        for (corner, position) in positions.iter().enumerate() {
            let of = |stream: &[u32]| stream.get(corner).copied().filter(|&index| index != NONE);
            let uv = of(uvs);
            let normal = of(normals);
            page.byte(b' ');
            page.u32(position.wrapping_add(self.add[0]));
            if uv.is_some() || normal.is_some() {
                page.byte(b'/');
            }
            if let Some(uv) = uv {
                page.u32(uv.wrapping_add(self.add[1]));
            }
            if let Some(normal) = normal {
                page.byte(b'/');
                page.u32(normal.wrapping_add(self.add[2]));
            }
        }
        page.byte(b'\n');
    }
}

/// Returns a function from corners to indices in a stream.
#[inline]
fn index_in(stream: &[u32]) -> impl Fn(usize) -> u32 {
    |corner| stream.get(corner).copied().unwrap_or(NONE)
}

/// Returns whether a line was written since `before`. If a line did not fit, discards it.
#[inline]
fn fitted(page: &mut Page<'_>, before: usize) -> bool {
    let fitted = page.len() > before;
    if !fitted {
        page.truncate(before);
    }
    fitted
}

/// Returns `true` if all indices are present, `false` if none is, and `None` if only some are.
#[inline]
fn present(indices: &[u32]) -> Option<bool> {
    let missing = indices.iter().filter(|&&index| index == NONE).count();
    match missing {
        _ if missing == indices.len() => Some(false),
        0 => Some(true),
        _ => None,
    }
}
