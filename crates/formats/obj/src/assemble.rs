//! Processes statements whose meaning depends on their order: objects, groups, materials, smoothing, curves, polypaint.
//!
//! Statements arrive one by one with the element counts before them. Each remains in effect until the next statement of
//! its kind. Numbers and corners are handled elsewhere.

use super::curves::CurveBuilder;
use super::ordered::{OrderedStatement, Reference};
use super::parsed::{EventKind, ObjEvent};
use polyhaul_model::error::{Error, Result, planted, try_push, try_string};
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{Counts, Material, Mesh, NONE, Object, ObjectKind, Run};
use polyhaul_pipeline::options::ParseOptions;
use polyhaul_pipeline::place::Placer;
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher};

/// State that crosses chunk boundaries, and the result so far.
#[derive(Default)]
pub(super) struct Assembler {
    objects: Vec<Object>,
    /// A group statement that no position or element has followed yet, and the index of its name or [`NONE`].
    open_group: Option<(Counts, u32)>,
    materials: ObjNames,
    material_runs: Vec<Run>,
    uses: Vec<Reference>,
    groups: ObjNames,
    group_runs: Vec<Run>,
    smoothing_runs: Vec<Run>,
    libraries: Vec<Reference>,
    curves: CurveBuilder,
    /// Whether there was any curve statement, even if no curve resulted.
    states_curves: bool,
    paint: Vec<Paint>,
}

/// Distinct names, indexed in order of first appearance.
#[derive(Default)]
struct ObjNames {
    /// Indices by hash, so that names are stored once, in `names`. On a collision, the next free hash is used (linear
    /// probing).
    numbers: HashMap<u64, u32, BuildHasherDefault<KeyHasher>>,
    names: Vec<String>,
    /// Seeded randomly, so that a file cannot provoke collisions.
    hasher: RandomState,
}

/// Hasher for keys that are already hashes.
#[derive(Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.0 = self.0 << 8 | u64::from(byte));
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// A block of `#MRGB` colors for the positions directly before `end`.
struct Paint {
    end: u32,
    colors: Vec<[u8; 3]>,
}

/// Decodes 8 hexadecimal digits.
fn hex_bytes(digits: &[u8; 8]) -> Option<[u8; 4]> {
    let values = digits.map(|digit| HEX_DIGITS[usize::from(digit)]);
    // The value of any other byte has high bits, which remain in the combination of all values.
    let is_valid = values.iter().fold(0, |bits, value| bits | value) <= 0xF;
    is_valid.then(|| std::array::from_fn(|at| values[2 * at] << 4 | values[2 * at + 1]))
}

/// Value of each hexadecimal digit; `u8::MAX` for any other byte.
static HEX_DIGITS: [u8; 256] = {
    let mut table = [u8::MAX; 256];
    let mut byte = 0;
    while byte < 256 {
        if let Some(value) = (byte as u8 as char).to_digit(16) {
            table[byte] = value as u8;
        }
        byte += 1;
    }
    table
};

/// Result of processing all ordered statements.
pub(super) struct Sections {
    pub(super) objects: Vec<Object>,
    pub(super) materials: Vec<Material>,
    pub(super) libraries: Vec<Reference>,
    pub(super) uses: Vec<Reference>,
}

impl ObjNames {
    /// Returns the index of a name, and whether the name is new.
    fn number(&mut self, name: &str) -> Result<(u32, bool)> {
        let mut key = if planted("names-collide") { 0 } else { self.hasher.hash_one(name) };
        while let Some(&number) = self.numbers.get(&key) {
            if self.names[number as usize] == name {
                return Ok((number, false));
            }
            key = key.wrapping_add(1);
        }
        let number = self.names.len() as u32;
        self.numbers.try_reserve(1).map_err(|_| Error::memory("names"))?;
        self.numbers.insert(key, number);
        try_push(&mut self.names, try_string(name)?, "names")?;
        Ok((number, true))
    }
}

impl Assembler {
    /// Processes a statement, given its text and the element counts before it.
    pub(super) fn event(
        &mut self,
        event: &ObjEvent,
        name: &[u8],
        at: Counts,
        placer: &mut Placer<'_>,
        options: &ParseOptions,
        warnings: &mut Warnings,
    ) -> Result<()> {
        let at = Counts { curves: self.curves.len(), ..at };
        let mut statement = OrderedStatement { event, name, at, placer, options, warnings };
        match event.kind {
            EventKind::Positions => self.positions_follow(&mut statement),
            EventKind::Object => {
                let name = statement.decoded()?;
                self.open(&name, ObjectKind::Object, &mut statement)?;
                self.open_group = None;
                Ok(())
            }
            EventKind::Group => self.group(&mut statement),
            EventKind::Smoothing(value) => try_push(&mut self.smoothing_runs, Run { at, value }, "statements"),
            EventKind::Material => self.material(&mut statement),
            EventKind::Library => {
                let name = statement.decoded()?;
                let reference = statement.reference(&name, self.libraries.len())?;
                try_push(&mut self.libraries, reference, "names")
            }
            EventKind::Polypaint => self.polypaint(&mut statement),
            _ => {
                self.states_curves = true;
                self.curves.statement(&mut statement)
            }
        }
    }

    /// Ends the current object and starts a new one.
    fn open(&mut self, name: &str, kind: ObjectKind, statement: &mut OrderedStatement<'_, '_>) -> Result<()> {
        let at = statement.at;
        let limit = statement.limits().objects;
        statement.check_count("objects", self.objects.len(), limit)?;
        match self.objects.last_mut() {
            Some(last) => {
                last.end = at;
                if last.kind == ObjectKind::Unnamed && last.start == last.end {
                    self.objects.pop();
                }
            }
            None if at != Counts::default() => {
                let unnamed = Object { kind: ObjectKind::Unnamed, end: at, ..Object::default() };
                try_push(&mut self.objects, unnamed, "objects")?;
            }
            None => {}
        }
        let object = Object { name: try_string(name)?, kind, start: at, end: at, ..Object::default() };
        try_push(&mut self.objects, object, "objects")
    }

    fn group(&mut self, statement: &mut OrderedStatement<'_, '_>) -> Result<()> {
        let at = statement.at;
        let name = statement.decoded()?;
        let value = if name.is_empty() {
            NONE
        } else {
            let (value, new) = self.groups.number(&name)?;
            if new {
                let limit = statement.limits().objects;
                statement.check_count("objects", value as usize, limit)?;
            }
            value
        };
        try_push(&mut self.group_runs, Run { at, value }, "statements")?;
        self.open_group = Some((at, value));
        Ok(())
    }

    /// Turns the open group into an object when positions follow, because some programs write `g` instead of `o`.
    /// Directly after an `o`, the group remains a group.
    fn positions_follow(&mut self, statement: &mut OrderedStatement<'_, '_>) -> Result<()> {
        let at = statement.at;
        let Some((group_at, number)) = self.open_group.take() else { return Ok(()) };
        let in_fresh_object = self.objects.last().is_some_and(|o| o.kind == ObjectKind::Object && o.start == at);
        if group_at == at && !in_fresh_object && number != NONE {
            let name = try_string(&self.groups.names[number as usize])?;
            self.open(&name, ObjectKind::Group, statement)?;
        }
        Ok(())
    }

    fn material(&mut self, statement: &mut OrderedStatement<'_, '_>) -> Result<()> {
        let name = statement.decoded()?;
        let (value, new) = self.materials.number(&name)?;
        if new {
            let limit = statement.limits().materials;
            statement.check_count("materials", value as usize, limit)?;
            try_push(&mut self.uses, statement.reference(&name, value as usize)?, "names")?;
        }
        try_push(&mut self.material_runs, Run { at: statement.at, value }, "statements")
    }

    /// Returns whether any statement depends on earlier parts of the file.
    pub(super) fn looks_back(&self) -> bool {
        !self.paint.is_empty() || self.states_curves
    }

    /// Decodes `#MRGB`: 8 hexadecimal digits per position for mask, red, green and blue (ZBrush). A block of
    /// consecutive lines colors the positions directly before it.
    fn polypaint(&mut self, statement: &mut OrderedStatement<'_, '_>) -> Result<()> {
        let end = statement.at.positions;
        if self.paint.last().is_none_or(|paint| paint.end != end) {
            try_push(&mut self.paint, Paint { end, colors: Vec::new() }, "colors")?;
        }
        let (colors, rest) = statement.name.as_chunks();
        let Some(paint) = self.paint.last_mut() else { return Ok(()) };
        let before = paint.colors.len();
        paint.colors.try_reserve(colors.len()).map_err(|_| Error::memory("colors"))?;
        paint.colors.extend(colors.iter().map_while(hex_bytes).map(|[_, rgb @ ..]| rgb));
        let is_broken = paint.colors.len() - before != colors.len() || !rest.is_empty();
        if is_broken {
            paint.colors.truncate(before);
        }
        if paint.colors.is_empty() {
            self.paint.pop();
        }
        if is_broken {
            return statement.broken("invalid `#MRGB` colors", Some("8 hexadecimal digits per position"));
        }
        if self.paint.last().is_some_and(|paint| paint.colors.len() > paint.end as usize) {
            statement.note("extra-colors", "more `#MRGB` colors than positions: the first colors are ignored")?;
        }
        Ok(())
    }

    /// Ends all objects at `counts`, and returns the result.
    pub(super) fn finish(
        mut self,
        mesh: &mut Mesh,
        counts: Counts,
        options: &ParseOptions,
        warnings: &mut Warnings,
    ) -> Result<Sections> {
        let curves = self.curves.finish(options, warnings)?;
        let end = Counts { curves: curves.len() as u32, ..counts };
        match self.objects.last_mut() {
            Some(last) => last.end = end,
            None if end != Counts::default() => {
                let unnamed = Object { kind: ObjectKind::Unnamed, end, ..Object::default() };
                try_push(&mut self.objects, unnamed, "objects")?;
            }
            None => {}
        }
        self.objects.retain(|object| object.kind != ObjectKind::Unnamed || object.start != object.end);
        apply_paint(&self.paint, mesh)?;
        mesh.material_runs = self.material_runs;
        mesh.group_runs = self.group_runs;
        mesh.smoothing_runs = self.smoothing_runs;
        mesh.groups = self.groups.names;
        mesh.curves = curves;
        let mut materials = Vec::new();
        for name in self.materials.names {
            // Missing until the caller finds the material in a library.
            try_push(&mut materials, Material { name, missing: true, ..Material::default() }, "materials")?;
        }
        Ok(Sections { objects: self.objects, materials, libraries: self.libraries, uses: self.uses })
    }
}

fn apply_paint(paint: &[Paint], mesh: &mut Mesh) -> Result<()> {
    if paint.is_empty() {
        return Ok(());
    }
    let missing = mesh.positions.len() - mesh.colors.len();
    let painted = mesh.colors.to_mut()?;
    painted.try_reserve_exact(missing).map_err(|_| Error::memory("colors"))?;
    painted.resize(mesh.positions.len(), [f32::NAN; 4]);
    for Paint { end, colors } in paint {
        let end = *end as usize;
        let surplus = colors.len().saturating_sub(end);
        let start = end - (colors.len() - surplus);
        for (color, [red, green, blue]) in painted[start..end].iter_mut().zip(&colors[surplus..]) {
            *color = [*red, *green, *blue, 255].map(|channel| f32::from(channel) / 255.0);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use polyhaul_model::limits::Limits;

    /// Small text must not need much memory: checks the bounds documented in `Limits` and the guide.
    #[test]
    fn statements_take_what_is_documented() {
        // Minimum size of an allocation, for example a name.
        const NAME: usize = 32;
        assert!(size_of::<Object>() + NAME <= 320);
        assert_eq!(size_of::<Run>(), 32);
        let number = 2 * size_of::<(String, u32)>() + size_of::<String>() + 2 * NAME;
        let material = size_of::<Material>() + size_of::<Reference>() + NAME;
        assert!(number + material <= 700, "{number} + {material}");
        assert!(Limits::default().objects <= 1_000_000 && Limits::default().materials <= 100_000);
    }
}
