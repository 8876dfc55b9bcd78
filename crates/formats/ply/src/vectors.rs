//! Vertex attributes with several components, written as one property per component under the names glTF reserves.
//!
//! Lists in `vertex` would be the alternative, but common readers (Blender's, for one) reject files with them. When
//! reading, only properties with reserved names are joined, because `scale_0` and the like are separate columns.

use polyhaul_model::error::{Error, Result, try_push, try_string};
use polyhaul_model::{Column, Values};

/// Maximum number of components: a 4×4 matrix.
const MAX_WIDTH: usize = 16;
/// Prefixes of glTF's numbered attributes.
const NUMBERED: [&str; 4] = ["TEXCOORD_", "COLOR_", "JOINTS_", "WEIGHTS_"];

/// Returns whether an attribute with this name is written as one property per component, which the reader joins again.
fn is_attribute(name: &str) -> bool {
    let is_number = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
    let is_numbered = || NUMBERED.iter().any(|start| name.strip_prefix(start).is_some_and(is_number));
    name == "TANGENT" || name.len() > 1 && name.starts_with('_') || is_numbered()
}

/// Returns the property name of a component.
pub(super) fn component_name(name: &str, at: usize) -> String {
    format!("{name}_{at}")
}

/// Returns the number of components per list, ignoring empty lists; `None` if the column remains a list.
pub(super) fn width(column: &Column) -> Option<usize> {
    let offsets = column.offsets.as_deref().filter(|_| is_attribute(&column.name))?;
    let sizes = || offsets.windows(2).map(|ends| ends[1].wrapping_sub(ends[0])).filter(|&size| size > 0);
    let width = sizes().next()?;
    let is_alike = sizes().all(|size| size == width);
    usize::try_from(width).ok().filter(|width| is_alike && (2..=MAX_WIDTH).contains(width))
}

/// Number of empty lists.
pub(super) fn empty_lists(column: &Column) -> u64 {
    column.offsets.as_deref().unwrap_or_default().windows(2).filter(|ends| ends[0] == ends[1]).count() as u64
}

/// Joins the columns that are components of the same attribute.
pub(super) fn join(columns: &mut Vec<Column>) -> Result<()> {
    let mut at = 0;
    while at < columns.len() {
        if let Some((name, width)) = attribute_at(&columns[at..]) {
            let name = try_string(name)?;
            let joined = joined(name, &columns[at..at + width])?;
            columns[at] = joined;
            columns.drain(at + 1..at + width);
        }
        at += 1;
    }
    Ok(())
}

/// Returns the name and the number of components of the attribute that starts with the first of these columns.
fn attribute_at(columns: &[Column]) -> Option<(&str, usize)> {
    let first = columns.first()?;
    let name = first.name.strip_suffix("_0").filter(|name| is_attribute(name))?;
    let is_next = |(at, column): (usize, &Column)| {
        let is_named = column.name.strip_prefix(name).and_then(|rest| rest.strip_prefix('_')) == Some(&at.to_string());
        is_named && column.offsets.is_none() && column.values.scalar() == first.values.scalar()
    };
    let width = columns.iter().take(MAX_WIDTH).enumerate().take_while(|&pair| is_next(pair)).count();
    (width > 1).then_some((name, width))
}

fn joined(name: String, columns: &[Column]) -> Result<Column> {
    fn rows<T: Copy>(parts: &[&[T]]) -> Result<Vec<T>> {
        let count = parts.iter().map(|part| part.len()).min().unwrap_or(0);
        let mut values = Vec::new();
        values.try_reserve_exact(count * parts.len()).map_err(|_| Error::memory("columns"))?;
        (0..count).for_each(|row| values.extend(parts.iter().map(|part| part[row])));
        Ok(values)
    }
    macro_rules! joined {
        ($($kind:ident),+) => {
            match &columns[0].values {
                $(Values::$kind(_) => {
                    let mut parts = Vec::new();
                    for column in columns {
                        if let Values::$kind(part) = &column.values {
                            try_push(&mut parts, part.as_slice(), "columns")?;
                        }
                    }
                    Values::$kind(rows(&parts)?.into())
                })+
            }
        };
    }
    let values = joined!(I8, U8, I16, U16, I32, U32, I64, U64, F32, F64);
    let width = columns.len();
    let row_count = columns[0].values.len();
    let end = u32::try_from(row_count * width).map_err(|_| Error::memory("columns"))?;
    let mut offsets = Vec::new();
    offsets.try_reserve_exact(row_count + 1).map_err(|_| Error::memory("columns"))?;
    offsets.extend((0..=end).step_by(width));
    Ok(Column { name, values, offsets: Some(offsets.into()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(name: &str, values: [f32; 2]) -> Column {
        Column { name: name.into(), values: Values::F32(values.into()), offsets: None }
    }

    #[test]
    fn only_attributes_of_gltf_are_joined() {
        let mut columns = vec![
            floats("scale_0", [0.0; 2]),
            floats("scale_1", [0.0; 2]),
            floats("TEXCOORD_1_0", [1.0, 3.0]),
            floats("TEXCOORD_1_1", [2.0, 4.0]),
            floats("TEXCOORD_2_0", [5.0; 2]),
            floats("_wind_0", [6.0, 7.0]),
            floats("_wind_1", [8.0, 9.0]),
            floats("_wind_3", [0.0; 2]),
        ];
        join(&mut columns).unwrap();
        let names: Vec<&str> = columns.iter().map(|column| &*column.name).collect();
        assert_eq!(names, ["scale_0", "scale_1", "TEXCOORD_1", "TEXCOORD_2_0", "_wind", "_wind_3"]);
        assert_eq!(columns[2].values, Values::F32([1.0, 2.0, 3.0, 4.0].into()));
        assert_eq!(columns[2].offsets.as_deref(), Some(&[0, 2, 4][..]));
        assert_eq!([width(&columns[2]), width(&columns[0]), width(&columns[4])], [Some(2), None, Some(2)]);
    }
}
