//! Parameters: storage and access.

use super::{Name, Render};
use crate::shared_slice::SharedSlice;
use std::ops::Range;
use std::sync::Arc;

/// The type in a parameter's declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParameterType {
    /// `bool`.
    Bool,
    /// `integer`.
    Integer,
    /// `float`.
    Float,
    /// `point2`.
    Point2,
    /// `vector2`.
    Vector2,
    /// `point3`.
    Point3,
    /// `vector3`.
    Vector3,
    /// `normal`.
    Normal,
    /// `string`.
    String,
    /// `texture`: the name of a texture.
    Texture,
    /// `rgb`.
    Rgb,
    /// `blackbody`: a temperature in kelvins.
    Blackbody,
    /// `spectrum`: wavelength-value pairs, the name of a predefined spectrum, or the name of a file that contains one.
    Spectrum,
}

impl ParameterType {
    /// All types.
    pub const ALL: [ParameterType; 13] = [
        ParameterType::Bool,
        ParameterType::Integer,
        ParameterType::Float,
        ParameterType::Point2,
        ParameterType::Vector2,
        ParameterType::Point3,
        ParameterType::Vector3,
        ParameterType::Normal,
        ParameterType::String,
        ParameterType::Texture,
        ParameterType::Rgb,
        ParameterType::Blackbody,
        ParameterType::Spectrum,
    ];

    /// Returns the type's name in declarations.
    pub fn name(self) -> &'static str {
        match self {
            ParameterType::Bool => "bool",
            ParameterType::Integer => "integer",
            ParameterType::Float => "float",
            ParameterType::Point2 => "point2",
            ParameterType::Vector2 => "vector2",
            ParameterType::Point3 => "point3",
            ParameterType::Vector3 => "vector3",
            ParameterType::Normal => "normal",
            ParameterType::String => "string",
            ParameterType::Texture => "texture",
            ParameterType::Rgb => "rgb",
            ParameterType::Blackbody => "blackbody",
            ParameterType::Spectrum => "spectrum",
        }
    }

    /// Returns the number of components per value, such as 3 for a 3D point, or 1 for types that are not numbers.
    pub fn width(self) -> usize {
        match self {
            ParameterType::Point2 | ParameterType::Vector2 | ParameterType::Spectrum => 2,
            ParameterType::Point3 | ParameterType::Vector3 | ParameterType::Normal | ParameterType::Rgb => 3,
            _ => 1,
        }
    }
}

/// The array type of a parameter's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueKind {
    /// An array of `f32`.
    Floats,
    /// An array of `i32`.
    Integers,
    /// An array of booleans.
    Bools,
    /// An array of strings.
    Strings,
}

/// The name and type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Declaration {
    /// The declared type.
    pub kind: ParameterType,
    /// The array of the segment that contains the values.
    pub values: ValueKind,
    /// An index into the segment's names.
    pub name: u32,
}

/// A stored parameter.
#[derive(Clone, Copy, Debug)]
pub struct StoredParameter {
    /// An index into the segment's declarations.
    pub declaration: u32,
    /// Index of the first value in the array of the declaration's [`ValueKind`].
    pub start: u32,
    /// The number of values.
    pub count: u32,
}

/// A range of a segment's parameters.
#[derive(Clone, Copy, Debug, Default)]
pub struct ParameterRange {
    /// An index into [`Render::segments`](super::Render::segments).
    pub segment: u32,
    /// Index of the first parameter.
    pub start: u32,
    /// The number of parameters.
    pub count: u32,
}

/// A list of floats that is also stored in double precision, because rounding would lose something that matters.
#[derive(Clone, Copy, Debug)]
pub struct ExactValues {
    /// Index of the first value in [`Segment::floats`].
    pub floats: u32,
    /// Index of the first value in [`Segment::doubles`].
    pub doubles: u32,
}

/// The values from one chunk of text. Names are indices into the segment's own table.
#[derive(Clone, Debug, Default)]
pub struct Segment {
    /// The segment's table of names: the scene's name for each index.
    pub names: Box<[Name]>,
    /// The distinct types and names of parameters.
    pub declarations: Box<[Declaration]>,
    /// Parameters in file order.
    pub parameters: SharedSlice<StoredParameter>,
    /// Values of parameters of types such as float, point and color.
    pub floats: SharedSlice<f32>,
    /// Values of parameters of type integer.
    pub integers: SharedSlice<i32>,
    /// Values of parameters of type bool.
    pub bools: Box<[bool]>,
    /// Strings, and names of textures and spectra: indices into `names`.
    pub strings: SharedSlice<u32>,
    /// The lists in `floats` that are also stored in double precision, in order.
    pub exact: Box<[ExactValues]>,
    /// The numbers of transforms, and the values of point lists in double precision.
    pub doubles: SharedSlice<f64>,
    /// The folder of the file that contains this text, relative to the scene's folder: empty, or ending with a slash.
    pub folder: Arc<str>,
}

impl Segment {
    /// Returns the double-precision values of a range of floats, or an empty slice if they are not stored.
    fn exact_values(&self, kind: ValueKind, range: &Range<usize>) -> &[f64] {
        if self.exact.is_empty() || kind != ValueKind::Floats {
            return &[];
        }
        let at = self.exact.binary_search_by_key(&range.start, |exact| exact.floats as usize);
        let exact = at.ok().and_then(|at| self.exact.get(at));
        let values = exact.and_then(|exact| self.doubles.get(exact.doubles as usize..)?.get(..range.len()));
        values.unwrap_or_default()
    }
}

/// The parameters of an entity, in file order.
#[derive(Clone, Copy)]
pub struct Parameters<'a> {
    render: &'a Render,
    segment: Option<&'a Segment>,
    values: &'a [StoredParameter],
}

/// A parameter.
#[derive(Clone, Copy, Debug)]
pub struct Parameter<'a> {
    /// The declared type.
    pub kind: ParameterType,
    /// Its name.
    pub name: &'a str,
    /// Its values.
    pub values: ParameterValues<'a>,
    /// The values in double precision, if they are points for which rounding to 32-bit floats matters; empty otherwise.
    pub exact: &'a [f64],
}

/// Names of string parameters that contain file names, in entities of any kind.
const FILE_PARAMETERS: [&str; 5] = ["filename", "lensfile", "aperture", "normalmap", "emissionfilename"];

impl Parameter<'_> {
    /// Returns whether the parameter's only string may be a file name. The string of a spectrum may also name a
    /// predefined spectrum. The string of a film names an output file, which callers must exclude.
    pub fn names_file(&self) -> bool {
        let may_be = match self.kind {
            ParameterType::String => FILE_PARAMETERS.contains(&self.name),
            kind => kind == ParameterType::Spectrum,
        };
        may_be && matches!(self.values, ParameterValues::Strings(strings) if strings.len() == 1)
    }
}

/// The values of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParameterValues<'a> {
    /// Numbers of all types except `integer`.
    Floats(&'a [f32]),
    /// Integers.
    Integers(&'a [i32]),
    /// `true` and `false`.
    Bools(&'a [bool]),
    /// Strings, and names of textures and spectra.
    Strings(Strings<'a>),
}

/// Strings of a parameter.
#[derive(Clone, Copy)]
pub struct Strings<'a> {
    render: &'a Render,
    names: &'a [Name],
    values: &'a [u32],
}

impl<'a> Parameters<'a> {
    pub(super) fn new(render: &'a Render, range: ParameterRange) -> Parameters<'a> {
        let segment = render.segments.get(range.segment as usize);
        let parameters = segment.map_or(&[][..], |segment| &*segment.parameters);
        let end = range.start as usize + range.count as usize;
        Parameters { render, segment, values: parameters.get(range.start as usize..end).unwrap_or_default() }
    }

    /// Returns the number of parameters.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns whether there are no parameters.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns all parameters.
    pub fn iter(self) -> impl Iterator<Item = Parameter<'a>> {
        self.values.iter().filter_map(move |values| self.view(values))
    }

    /// Returns the parameter with this name. If there are several, this is the last one, as in pbrt.
    pub fn get(self, name: &str) -> Option<Parameter<'a>> {
        let mut latest_first = self.values.iter().rev().filter_map(|values| self.view(values));
        latest_first.find(|parameter| parameter.name == name)
    }

    /// Returns the folder of the file that contains the parameters, relative to the scene's folder: empty, or ending
    /// with a slash.
    pub fn folder(self) -> &'a str {
        self.segment.map_or("", |segment| &segment.folder)
    }

    /// Returns the value of the parameter called `name`, if it is a single string.
    pub fn string(self, name: &str) -> Option<&'a str> {
        match self.get(name)?.values {
            ParameterValues::Strings(strings) if strings.len() == 1 => strings.get(0),
            _ => None,
        }
    }

    fn view(&self, values: &StoredParameter) -> Option<Parameter<'a>> {
        let segment = self.segment?;
        let declaration = segment.declarations.get(values.declaration as usize)?;
        let range = values.start as usize..values.start as usize + values.count as usize;
        let name = self.render.text(*segment.names.get(declaration.name as usize)?);
        let exact = segment.exact_values(declaration.values, &range);
        let values = match declaration.values {
            ValueKind::Floats => ParameterValues::Floats(segment.floats.get(range)?),
            ValueKind::Integers => ParameterValues::Integers(segment.integers.get(range)?),
            ValueKind::Bools => ParameterValues::Bools(segment.bools.get(range)?),
            ValueKind::Strings => ParameterValues::Strings(Strings {
                render: self.render,
                names: &segment.names,
                values: segment.strings.get(range)?,
            }),
        };
        Some(Parameter { kind: declaration.kind, name, values, exact })
    }
}

impl<'a> ParameterValues<'a> {
    /// Returns the number of values. A 3D point counts as three.
    pub fn len(&self) -> usize {
        match self {
            ParameterValues::Floats(values) => values.len(),
            ParameterValues::Integers(values) => values.len(),
            ParameterValues::Bools(values) => values.len(),
            ParameterValues::Strings(values) => values.len(),
        }
    }

    /// Returns whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns floats in groups of `N`, such as points or colors, without an incomplete last group. Returns `None` for
    /// other values.
    pub fn rows<const N: usize>(&self) -> Option<&'a [[f32; N]]> {
        match self {
            ParameterValues::Floats(values) => Some(values.as_chunks().0),
            _ => None,
        }
    }

    /// Returns whether all values are equal. Floats are compared by their bits.
    pub(super) fn same(&self, other: &ParameterValues<'_>) -> bool {
        match (self, other) {
            (ParameterValues::Floats(a), ParameterValues::Floats(b)) => {
                a.len() == b.len() && a.iter().zip(*b).all(|(a, b)| a.to_bits() == b.to_bits())
            }
            (a, b) => a == b,
        }
    }
}

impl<'a> Strings<'a> {
    /// Returns the number of strings.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns whether there are no strings.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the string at `index`.
    pub fn get(&self, index: usize) -> Option<&'a str> {
        self.names.get(*self.values.get(index)? as usize).map(|&name| self.render.text(name))
    }

    /// Returns all strings.
    pub fn iter(self) -> impl Iterator<Item = &'a str> {
        (0..self.len()).filter_map(move |index| self.get(index))
    }
}

impl PartialEq for Strings<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl std::fmt::Debug for Strings<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl std::fmt::Debug for Parameters<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
