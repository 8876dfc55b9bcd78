//! Values that filters can access: columns of a table, arrays of a mesh.

use crate::expression::{ColumnRef, Expression};
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::{Domain, Mesh, Table, Values, names, with_values};

/// Maximum number of columns that a message lists.
const MAX_LISTED: usize = 20;

/// Named columns, with one number per row.
pub struct Fields<'a> {
    fields: Vec<(&'a str, Field<'a>)>,
    rows: usize,
    /// Whether the fields are the columns of a table, in order.
    is_table: bool,
}

/// A column with one number per row.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Field<'a> {
    Values(&'a Values),
    /// A component of vectors.
    Part2(&'a [[f32; 2]], usize),
    Part3(&'a [[f32; 3]], usize),
    Part4(&'a [[f32; 4]], usize),
    /// A component of transformed positions; the array is a row of the matrix.
    Moved(&'a [[f32; 3]], [f64; 4]),
    /// A component of double-precision positions.
    Exact(&'a [[f64; 3]], usize),
    /// A component of transformed double-precision positions.
    MovedExact(&'a [[f64; 3]], [f64; 4]),
    /// Does not have one number per row, for this reason.
    Unfit(&'static str),
}

const LISTS: Field<'_> = Field::Unfit("contains lists, not one number per row");
const MANY_PLACES: Field<'_> =
    Field::Unfit("differs between the objects that share the mesh, because their transforms differ");

/// The transform of the objects that use a mesh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Placement<'a> {
    AsIs,
    By(&'a [[f64; 4]; 4]),
    Many,
}

impl<'a> Fields<'a> {
    /// Accesses the columns of a table.
    pub fn of_table(table: &'a Table) -> Fields<'a> {
        let field = |values, is_list: bool| if is_list { LISTS } else { Field::Values(values) };
        let fields = table.columns.iter();
        let fields =
            fields.map(|column| (column.name.as_str(), field(&column.values, column.offsets.is_some()))).collect();
        Fields { fields, rows: table.row_count, is_table: true }
    }

    /// Accesses the per-vertex arrays of a mesh: `x y z`, `nx ny nz`, `u v`, `red green blue alpha`, and the vertex
    /// columns without lists. Positions are in world space.
    pub(crate) fn of_mesh(mesh: &'a Mesh, placement: Placement<'a>) -> Fields<'a> {
        let mut fields: Vec<(&str, Field<'_>)> = Vec::new();
        for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
            let positions = mesh.positions.as_slice();
            let exact = mesh.exact_positions.as_slice();
            let field = match placement {
                Placement::AsIs if mesh.is_exact() => Field::Exact(exact, axis),
                Placement::By(matrix) if mesh.is_exact() => Field::MovedExact(exact, matrix[axis]),
                Placement::AsIs => Field::Part3(positions, axis),
                Placement::By(matrix) => Field::Moved(positions, matrix[axis]),
                Placement::Many => MANY_PLACES,
            };
            fields.push((name, field));
        }
        let count = mesh.positions.len();
        if mesh.normal_domain == Domain::Vertex && mesh.normals.len() == count {
            fields.extend(part3(["nx", "ny", "nz"], &mesh.normals));
        }
        if mesh.uv_domain == Domain::Vertex && mesh.uvs.len() == count {
            let uvs = mesh.uvs.as_slice();
            fields.extend(["u", "v"].into_iter().enumerate().map(|(axis, name)| (name, Field::Part2(uvs, axis))));
        }
        if mesh.colors.len() == count {
            let colors = mesh.colors.as_slice();
            let names = ["red", "green", "blue", "alpha"];
            fields.extend(names.into_iter().enumerate().map(|(part, name)| (name, Field::Part4(colors, part))));
        }
        let columns = mesh.vertex_columns.iter().filter(|column| column.offsets.is_none());
        fields.extend(columns.map(|column| (column.name.as_str(), Field::Values(&column.values))));
        Fields { fields, rows: count, is_table: false }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Finds the columns that a filter refers to.
    pub(crate) fn bind(&self, filter: &Expression) -> Result<Vec<Field<'a>>> {
        let find = |(column, at): &(ColumnRef, _)| self.find(column).map_err(|error| filter.blamed(&error, at));
        filter.column_refs().iter().map(find).collect()
    }

    /// Finds the columns of the positions.
    pub(crate) fn positions(&self) -> Result<[Field<'a>; 3]> {
        let find = |name: &str| self.find(&ColumnRef::Name(name.into()));
        Ok([find("x")?, find("y")?, find("z")?])
    }

    fn find(&self, column: &ColumnRef) -> Result<Field<'a>> {
        let (field, shown) = match column {
            ColumnRef::Name(name) => {
                let field = self.fields.iter().find(|(other, _)| other == name);
                (field.map(|(_, field)| *field), names::shown(name).into_owned())
            }
            ColumnRef::Index(index) => {
                let field = self.fields.get(*index).filter(|_| self.is_table);
                (field.map(|(_, field)| *field), index.to_string())
            }
        };
        match field {
            Some(Field::Unfit(why)) => Err(Error::new(ErrorKind::Usage, format!("the column `{shown}` {why}"))),
            Some(field) => Ok(field),
            None => {
                let message = match column {
                    ColumnRef::Name(_) => format!("no column named `{shown}`"),
                    ColumnRef::Index(_) if self.is_table => {
                        format!("no column {shown}: the table has {} columns", self.fields.len())
                    }
                    ColumnRef::Index(_) => "columns of a mesh can only be referred to by name".to_owned(),
                };
                Err(Error::new(ErrorKind::Usage, message).with_hint(self.listed()))
            }
        }
    }

    /// Lists the columns for a message.
    fn listed(&self) -> String {
        let mut names = self.fields.iter().map(|(name, _)| names::shown(name)).filter(|name| !name.is_empty());
        let mut text = names.by_ref().take(MAX_LISTED).collect::<Vec<_>>().join(", ");
        match (text.is_empty(), names.next()) {
            (true, _) => return "the columns have no names: write `column(0)` for the first one".into(),
            (false, Some(_)) => text.push_str(", ..."),
            (false, None) => {}
        }
        format!("the columns are {text}")
    }
}

fn part3<'a>(names: [&'a str; 3], vectors: &'a [[f32; 3]]) -> impl Iterator<Item = (&'a str, Field<'a>)> {
    names.into_iter().enumerate().map(move |(axis, name)| (name, Field::Part3(vectors, axis)))
}

impl Field<'_> {
    /// Fills `out` with the values of rows, starting at `start`.
    #[allow(clippy::unnecessary_cast, reason = "the macro has one body for all types")]
    pub(crate) fn fill(&self, start: usize, out: &mut [f64]) {
        fn each<T: Copy>(values: &[T], start: usize, out: &mut [f64], number: impl Fn(T) -> f64) {
            let values = values.get(start..).unwrap_or_default();
            out.iter_mut().zip(values).for_each(|(out, &value)| *out = number(value));
        }
        match *self {
            Field::Values(values) => with_values!(values, values => each(values, start, out, |value| value as f64)),
            Field::Part2(values, part) => each(values, start, out, |value| f64::from(value[part])),
            Field::Part3(values, part) => each(values, start, out, |value| f64::from(value[part])),
            Field::Part4(values, part) => each(values, start, out, |value| f64::from(value[part])),
            Field::Moved(values, row) => {
                let [x, y, z, shift] = row;
                each(values, start, out, |[a, b, c]| x * f64::from(a) + y * f64::from(b) + z * f64::from(c) + shift);
            }
            Field::Exact(values, part) => each(values, start, out, |value| value[part]),
            Field::MovedExact(values, row) => {
                let [x, y, z, shift] = row;
                each(values, start, out, |[a, b, c]| x * a + y * b + z * c + shift);
            }
            Field::Unfit(_) => out.fill(f64::NAN),
        }
    }
}
