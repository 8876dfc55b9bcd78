//! The statements between the elements of a mesh: names of objects and groups, materials, smoothing.
//!
//! Each statement has the counts of elements and corners before it. These suffice for `shapes` to divide a mesh, and
//! for `part` to merge the statements of the parts of a file.

use polyhaul::model::{Counts, Elements, Mesh, NONE, Object, ObjectKind, Scene};
use polyhaul_insight::json::Json;
use std::borrow::Cow;

/// The counts before a position: faces, lines and points, and the corners of the faces and lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Before {
    pub(crate) elements: [usize; 3],
    pub(crate) corners: [usize; 2],
}

/// A statement. Of several statements at the same position, object and group names are applied first, since the other
/// statements usually belong to the new shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Statement<'a> {
    Object(Cow<'a, str>),
    Group(Cow<'a, str>),
    Material(Option<u32>),
    Smoothing(bool),
}

/// A statement and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Placed<'a> {
    /// The sum of all counts before it, including vertices. It never decreases within a file.
    pub(crate) place: u64,
    pub(crate) before: Before,
    pub(crate) statement: Statement<'a>,
}

/// Lists the statements of a mesh in file order.
pub(crate) fn statements(scene: &Scene, mesh: usize) -> Vec<Placed<'_>> {
    let mesh_data = &scene.meshes[mesh];
    let placed = |at: Counts, statement| Placed { place: sum(at), before: Before::of(mesh_data, at), statement };
    // An object created by a group is represented by the group's statement alone.
    let is_stated = |object: &&Object| object.mesh == mesh && object.kind == ObjectKind::Object;
    let objects = scene.objects.iter().filter(is_stated);
    let objects = objects.map(|object| placed(object.start, Statement::Object(Cow::Borrowed(&object.name))));
    let groups = mesh_data.group_runs.iter().map(|run| {
        let name = mesh_data.groups.get(run.value as usize).map_or("", String::as_str);
        placed(run.at, Statement::Group(Cow::Borrowed(name)))
    });
    let material = |value| if value == NONE { None } else { Some(value) };
    let materials = mesh_data.material_runs.iter().map(|run| placed(run.at, Statement::Material(material(run.value))));
    let smoothing = mesh_data.smoothing_runs.iter().map(|run| placed(run.at, Statement::Smoothing(run.value != 0)));
    let mut statements: Vec<_> = objects.chain(groups).chain(materials).chain(smoothing).collect();
    sort(&mut statements);
    statements
}

/// Sorts statements by position.
pub(crate) fn sort(statements: &mut [Placed<'_>]) {
    statements.sort_by_key(|placed| (placed.place, placed.statement.kind()));
}

fn sum(counts: Counts) -> u64 {
    counts.to_array().into_iter().map(u64::from).sum()
}

impl Before {
    /// The counts before a position in a mesh.
    pub(crate) fn of(mesh: &Mesh, at: Counts) -> Before {
        Before::with(mesh, [at.faces, at.lines, at.points].map(|count| count as usize))
    }

    /// The counts before an element, for its kind only.
    pub(crate) fn at(mesh: &Mesh, kind: usize, element: usize) -> Before {
        Before::with(mesh, std::array::from_fn(|other_kind| if other_kind == kind { element } else { 0 }))
    }

    fn with(mesh: &Mesh, elements: [usize; 3]) -> Before {
        let corners = |of: &Elements, count: usize| of.offsets.get(count).map_or(0, |&offset| offset as usize);
        Before { elements, corners: [corners(&mesh.faces, elements[0]), corners(&mesh.lines, elements[1])] }
    }

    /// The number of corners to draw between this position and a later position, by kind: polygons become triangles,
    /// and polylines become pairs.
    pub(crate) fn drawn_until(&self, end: &Before) -> [usize; 3] {
        let [faces, lines, points] = [0, 1, 2].map(|kind| end.elements[kind] - self.elements[kind]);
        let [of_faces, of_lines] = [0, 1].map(|kind| end.corners[kind] - self.corners[kind]);
        [3 * (of_faces - 2 * faces), 2 * (of_lines - lines), points]
    }

    pub(crate) fn to_array(self) -> [usize; 5] {
        let [faces, lines, points] = self.elements;
        let [of_faces, of_lines] = self.corners;
        [faces, lines, points, of_faces, of_lines]
    }

    pub(crate) fn from_array([faces, lines, points, of_faces, of_lines]: [usize; 5]) -> Before {
        Before { elements: [faces, lines, points], corners: [of_faces, of_lines] }
    }
}

impl<'a> Statement<'a> {
    fn kind(&self) -> usize {
        match self {
            Statement::Object(_) => 0,
            Statement::Group(_) => 1,
            Statement::Material(_) => 2,
            Statement::Smoothing(_) => 3,
        }
    }

    /// The value as text: a name, a number, an empty string for no material, or `1` or `0`.
    fn value(&self) -> Cow<'_, str> {
        match self {
            Statement::Object(name) | Statement::Group(name) => Cow::Borrowed(name),
            Statement::Material(material) => material.map_or(Cow::Borrowed(""), |number| number.to_string().into()),
            Statement::Smoothing(is_smooth) => Cow::Borrowed(if *is_smooth { "1" } else { "0" }),
        }
    }

    fn parsed(kind: usize, value: &'a str) -> Option<Statement<'a>> {
        match kind {
            0 => Some(Statement::Object(value.into())),
            1 => Some(Statement::Group(value.into())),
            2 if value.is_empty() => Some(Statement::Material(None)),
            2 => value.parse().ok().map(|number| Statement::Material(Some(number))),
            3 => Some(Statement::Smoothing(value == "1")),
            _ => None,
        }
    }
}

impl<'a> Placed<'a> {
    /// Describes the statement: its kind, its position, the counts before it, and its value.
    pub(crate) fn describe(&self, json: &mut Json) {
        json.object(|json| {
            json.key("kind").integer(self.statement.kind() as u64);
            json.key("place").integer(self.place);
            json.key("before").list(self.before.to_array(), |json, count| json.integer(count as u64));
            json.key("value").string(&self.statement.value());
        });
    }

    /// The same fields separated by spaces, as JavaScript writes them.
    #[cfg(test)]
    pub(crate) fn to_text(&self) -> String {
        let [faces, lines, points, of_faces, of_lines] = self.before.to_array();
        let kind = self.statement.kind();
        let place = self.place;
        let value = self.statement.value();
        format!("{kind} {place} {faces} {lines} {points} {of_faces} {of_lines} {value}")
    }

    /// Parses a statement as JavaScript writes it: the fields of [`describe`](Placed::describe), separated by spaces.
    pub(crate) fn parse(text: &'a str) -> Option<Placed<'a>> {
        let mut fields = text.splitn(8, ' ');
        let mut number = || fields.next()?.parse().ok();
        let kind = number()?;
        let place = number()?;
        let mut before = [0; 5];
        for count in &mut before {
            *count = number()?;
        }
        let statement = Statement::parsed(kind, fields.next()?)?;
        Some(Placed { place: place as u64, before: Before::from_array(before), statement })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_read_as_they_are_written() {
        let statements = [
            Statement::Object("a b  c".into()),
            Statement::Group("".into()),
            Statement::Material(Some(7)),
            Statement::Material(None),
            Statement::Smoothing(true),
            Statement::Smoothing(false),
        ];
        for statement in statements {
            let before = Before { elements: [1, 2, 3], corners: [9, 4] };
            let placed = Placed { place: 10, before, statement };
            assert_eq!(Placed::parse(&placed.to_text()), Some(placed));
        }
        assert!(["", "0 1 2", "9 0 0 0 0 0 0 x", "2 0 0 0 0 0 0 red"].iter().all(|text| Placed::parse(text).is_none()));
    }
}
