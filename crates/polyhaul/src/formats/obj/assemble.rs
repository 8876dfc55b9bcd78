//! What makes sense only in order: objects, groups, materials, smoothing, curves, polypaint.
//!
//! Statements come with the counts before them, chunk by chunk; what they open lasts until the
//! next one. Numbers and corners are not touched here.

use super::curves::CurveBuilder;
use super::parsed::{Event, EventKind};
use super::reader::{Reference, Slot};
use crate::error::{Diagnostic, Error, Place, Result};
use crate::formats::names;
use crate::model::{Counts, Material, Mesh, NONE, Object, ObjectKind, Run};
use crate::options::ReadOptions;
use crate::warnings::Warnings;
use std::collections::HashMap;
use std::sync::Arc;

/// The state that crosses chunk borders, and what it has built so far.
#[derive(Default)]
pub(super) struct Assembler {
    objects: Vec<Object>,
    /// A group statement that no position or element followed yet.
    open_group: Option<(Counts, String)>,
    materials: Names,
    material_runs: Vec<Run>,
    uses: Vec<Reference>,
    groups: Names,
    group_runs: Vec<Run>,
    smoothing_runs: Vec<Run>,
    libraries: Vec<Reference>,
    curves: CurveBuilder,
    paint: Vec<Paint>,
}

/// Distinct names, numbered by first appearance.
#[derive(Default)]
struct Names {
    numbers: HashMap<Vec<u8>, u32>,
    names: Vec<String>,
}

/// A block of `#MRGB` colours: those of the positions before `end`.
struct Paint {
    end: u32,
    colors: Vec<[u8; 3]>,
}

/// What the statements amount to.
pub(super) struct Sections {
    pub(super) objects: Vec<Object>,
    pub(super) materials: Vec<Material>,
    pub(super) libraries: Vec<Reference>,
    pub(super) uses: Vec<Reference>,
}

/// A statement with its place.
pub(super) struct Statement<'a> {
    pub(super) event: &'a Event,
    pub(super) name: &'a [u8],
    pub(super) at: Counts,
    pub(super) place: Place,
    pub(super) excerpt: crate::error::Excerpt,
}

impl Statement<'_> {
    fn reference(&self, name: String, text: &[u8]) -> Reference {
        let excerpt = super::statement::excerpt(text, self.event.token);
        Reference { name, place: self.place.clone(), excerpt }
    }

    pub(super) fn diagnostic(&self, message: impl Into<String>, expected: Option<&str>) -> Diagnostic {
        Diagnostic {
            message: message.into(),
            expected: expected.map(str::to_owned),
            place: self.place.clone(),
            excerpt: Some(self.excerpt.clone()),
            ..Diagnostic::default()
        }
    }
}

impl Names {
    /// The number of a name; `true` where it is new.
    fn number(&mut self, name: &[u8], text: impl FnOnce() -> Result<String>) -> Result<(u32, bool)> {
        if let Some(&number) = self.numbers.get(name) {
            return Ok((number, false));
        }
        let number = self.names.len() as u32;
        let text = text()?;
        self.numbers.try_reserve(1).map_err(|_| Error::memory("names"))?;
        self.numbers.insert(name.to_vec(), number);
        push(&mut self.names, text)?;
        Ok((number, true))
    }
}

impl Assembler {
    /// Takes the statements of a chunk, before which `before` elements and `lines` lines came.
    pub(super) fn chunk(
        &mut self,
        slot: &Slot,
        before: Counts,
        lines: u64,
        file: &Arc<str>,
        options: &ReadOptions,
        warnings: &mut Warnings,
    ) -> Result<()> {
        let text = &slot.text.padded()[slot.text.start..slot.text.end];
        // Counting lines from the last statement on keeps the whole chunk linear.
        let mut counted = (0, lines);
        for event in &slot.parsed.events {
            let Some(mut at) = before.checked_add(event.at) else { continue };
            at.curves = self.curves.len();
            let offset = event.token.0;
            counted.1 += polyhaul_text::lines::count(&text[counted.0..offset as usize]) as u64;
            counted.0 = offset as usize;
            if event.kind == EventKind::Positions {
                self.positions_follow(at)?;
                continue;
            }
            let line_start = text[..counted.0].iter().rposition(|b| matches!(b, b'\n' | b'\r')).map_or(0, |i| i + 1);
            let statement = Statement {
                event,
                name: &slot.parsed.names[event.name.clone()],
                at,
                place: Place {
                    file: file.clone(),
                    line: Some(counted.1 + 1),
                    column: Some((counted.0 - line_start) as u64 + 1),
                    offset: Some(slot.text.offset + u64::from(offset)),
                },
                excerpt: Default::default(),
            };
            self.statement(statement, text, options, warnings)?;
        }
        Ok(())
    }

    fn statement(
        &mut self,
        mut statement: Statement<'_>,
        text: &[u8],
        options: &ReadOptions,
        warnings: &mut Warnings,
    ) -> Result<()> {
        let at = statement.at;
        match statement.event.kind {
            EventKind::Object => {
                let name = names::decode(statement.name, &statement.place, options, warnings)?;
                self.open(name, ObjectKind::Object, at)?;
                self.open_group = None;
            }
            EventKind::Group => self.group(&statement, options, warnings)?,
            EventKind::Smoothing(value) => change(&mut self.smoothing_runs, Run { at, value })?,
            EventKind::Material => self.material(&statement, text, options, warnings)?,
            EventKind::Library => {
                let name = names::decode(statement.name, &statement.place, options, warnings)?;
                push(&mut self.libraries, statement.reference(name, text))?;
            }
            EventKind::Polypaint => {
                statement.excerpt = super::statement::excerpt(text, statement.event.token);
                self.polypaint(&statement, options, warnings)?;
            }
            EventKind::Positions => {}
            _ => {
                statement.excerpt = super::statement::excerpt(text, statement.event.token);
                self.curves.statement(&statement, options, warnings)?;
            }
        }
        Ok(())
    }

    /// Ends the section before and begins another.
    fn open(&mut self, name: String, kind: ObjectKind, at: Counts) -> Result<()> {
        match self.objects.last_mut() {
            Some(last) => {
                last.end = at;
                if last.kind == ObjectKind::Unnamed && last.start == last.end {
                    self.objects.pop();
                }
            }
            None if at != Counts::default() => {
                push(&mut self.objects, Object { kind: ObjectKind::Unnamed, end: at, ..Object::default() })?;
            }
            None => {}
        }
        push(&mut self.objects, Object { name, kind, mesh: 0, start: at, end: at })
    }

    fn group(&mut self, statement: &Statement<'_>, options: &ReadOptions, warnings: &mut Warnings) -> Result<()> {
        let at = statement.at;
        let mut value = NONE;
        let mut name = String::new();
        if !statement.name.is_empty() {
            let decode = || names::decode(statement.name, &statement.place, options, warnings);
            value = self.groups.number(statement.name, decode)?.0;
            name = self.groups.names[value as usize].clone();
        }
        change(&mut self.group_runs, Run { at, value })?;
        self.open_group = Some((at, name));
        Ok(())
    }

    /// Positions follow a group statement: the group is a section of its own, as where a program
    /// writes `g` in place of `o`. Right after an `o` it is not.
    fn positions_follow(&mut self, at: Counts) -> Result<()> {
        let Some((group_at, name)) = self.open_group.take() else { return Ok(()) };
        let in_fresh_object = self.objects.last().is_some_and(|o| o.kind == ObjectKind::Object && o.start == at);
        if group_at == at && !in_fresh_object && !name.is_empty() {
            self.open(name, ObjectKind::Group, at)?;
        }
        Ok(())
    }

    fn material(
        &mut self,
        statement: &Statement<'_>,
        text: &[u8],
        options: &ReadOptions,
        warnings: &mut Warnings,
    ) -> Result<()> {
        let decode = || names::decode(statement.name, &statement.place, options, warnings);
        let (value, new) = self.materials.number(statement.name, decode)?;
        if new {
            let name = self.materials.names[value as usize].clone();
            push(&mut self.uses, statement.reference(name, text))?;
        }
        change(&mut self.material_runs, Run { at: statement.at, value })
    }

    /// `#MRGB`: 8 hexadecimal digits per position, mask, red, green, blue (ZBrush). The block of
    /// lines that stand together belongs to the positions right before it.
    fn polypaint(&mut self, statement: &Statement<'_>, options: &ReadOptions, warnings: &mut Warnings) -> Result<()> {
        let mut found = Vec::new();
        for digits in statement.name.chunks(8) {
            let value = std::str::from_utf8(digits).ok().filter(|d| d.len() == 8);
            let Some(value) = value.and_then(|d| u32::from_str_radix(d, 16).ok()) else {
                let what = statement.diagnostic("this is not a row of colours", Some("8 hexadecimal digits per position"));
                return warnings.broken(options, "malformed", what);
            };
            let [_, red, green, blue] = value.to_be_bytes();
            push(&mut found, [red, green, blue])?;
        }
        let end = statement.at.positions;
        match self.paint.last_mut() {
            Some(paint) if paint.end == end => {
                paint.colors.try_reserve(found.len()).map_err(|_| Error::memory("colours"))?;
                paint.colors.append(&mut found);
                Ok(())
            }
            _ => push(&mut self.paint, Paint { end, colors: found }),
        }
    }

    /// Ends all sections at `counts` and hands everything over.
    pub(super) fn finish(mut self, mesh: &mut Mesh, counts: Counts) -> Result<Sections> {
        let end = Counts { curves: self.curves.len(), ..counts };
        match self.objects.last_mut() {
            Some(last) => last.end = end,
            None if end != Counts::default() => {
                push(&mut self.objects, Object { kind: ObjectKind::Unnamed, end, ..Object::default() })?;
            }
            None => {}
        }
        self.objects.retain(|object| object.kind != ObjectKind::Unnamed || object.start != object.end);
        apply_paint(&self.paint, mesh)?;
        mesh.material_runs = self.material_runs;
        mesh.group_runs = self.group_runs;
        mesh.smoothing_runs = self.smoothing_runs;
        mesh.groups = self.groups.names;
        mesh.curves = self.curves.finish();
        let missing = |name| Material { name, missing: true, ..Material::default() };
        Ok(Sections {
            objects: self.objects,
            materials: self.materials.names.into_iter().map(missing).collect(),
            libraries: self.libraries,
            uses: self.uses,
        })
    }
}

/// From here on another value holds. A statement that no element followed is replaced.
fn change(runs: &mut Vec<Run>, run: Run) -> Result<()> {
    match runs.last_mut() {
        Some(last) if last.at.same_elements(run.at) => *last = run,
        _ => push(runs, run)?,
    }
    Ok(())
}

fn push<T>(items: &mut Vec<T>, item: T) -> Result<()> {
    items.try_reserve(1).map_err(|_| Error::memory("statements"))?;
    items.push(item);
    Ok(())
}

fn apply_paint(paint: &[Paint], mesh: &mut Mesh) -> Result<()> {
    if paint.is_empty() {
        return Ok(());
    }
    let missing = mesh.positions.len() - mesh.colors.len();
    mesh.colors.try_reserve_exact(missing).map_err(|_| Error::memory("colours"))?;
    mesh.colors.resize(mesh.positions.len(), [f32::NAN; 4]);
    for Paint { end, colors } in paint {
        let start = (*end as usize).saturating_sub(colors.len());
        for (color, [red, green, blue]) in mesh.colors[start..*end as usize].iter_mut().zip(colors) {
            *color = [*red, *green, *blue, 255].map(|channel| f32::from(channel) / 255.0);
        }
    }
    Ok(())
}
