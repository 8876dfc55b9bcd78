//! Parameters: their storage, and access to them.

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
    /// `texture`: the name of one.
    Texture,
    /// `rgb`.
    Rgb,
    /// `blackbody`: kelvins.
    Blackbody,
    /// `spectrum`: pairs of wavelength and value, or the name of a spectrum or of a file with one.
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

    /// Returns the name in a declaration.
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

    /// Returns the count of numbers in a value; 1 if its values are not numbers.
    pub fn width(self) -> usize {
        match self {
            ParameterType::Point2 | ParameterType::Vector2 | ParameterType::Spectrum => 2,
            ParameterType::Point3 | ParameterType::Vector3 | ParameterType::Normal | ParameterType::Rgb => 3,
            _ => 1,
        }
    }
}

/// The kind of values of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueKind {
    /// An array of `f32`.
    Floats,
    /// An array of `i32`.
    Integers,
    /// An array of truth values.
    Bools,
    /// An array of strings.
    Strings,
}

/// The name and type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Declaration {
    /// The type in the text.
    pub kind: ParameterType,
    /// The array of a segment that has the values.
    pub values: ValueKind,
    /// An index into the segment's names.
    pub name: u32,
}

/// A parameter as stored.
#[derive(Clone, Copy, Debug)]
pub struct StoredParameter {
    /// An index into the segment's declarations.
    pub declaration: u32,
    /// The first value in the array that the declaration names.
    pub start: u32,
    /// The number of values.
    pub count: u32,
}

/// Some of a segment's parameters.
#[derive(Clone, Copy, Debug, Default)]
pub struct ParameterRange {
    /// An index into [`Render::segments`](super::Render::segments).
    pub segment: u32,
    /// The first parameter.
    pub start: u32,
    /// The number of values.
    pub count: u32,
}

/// A list of floats that is known in double precision, because floats would lose something that matters.
#[derive(Clone, Copy, Debug)]
pub struct ExactValues {
    /// Its first value in [`Segment::floats`].
    pub floats: u32,
    /// Its first value in [`Segment::doubles`].
    pub doubles: u32,
}

/// The values of a piece of text. Names are indices into its own table.
#[derive(Clone, Debug, Default)]
pub struct Segment {
    /// The scene's name of each name in this table.
    pub names: Box<[Name]>,
    /// Types and names of parameters, each once.
    pub declarations: Box<[Declaration]>,
    /// Parameters in the order of the text.
    pub parameters: SharedSlice<StoredParameter>,
    /// Values of parameters of types such as float, point and color.
    pub floats: SharedSlice<f32>,
    /// Values of parameters of type integer.
    pub integers: SharedSlice<i32>,
    /// Values of parameters of type bool.
    pub bools: Box<[bool]>,
    /// Indices into the names.
    pub strings: SharedSlice<u32>,
    /// Lists of `floats` that are known in double precision, in order.
    pub exact: Box<[ExactValues]>,
    /// The numbers of transforms, and of lists of points in double precision.
    pub doubles: SharedSlice<f64>,
    /// The folder of the file with this text, relative to the scene's folder: empty, or ending in a slash.
    pub folder: Arc<str>,
}

impl Segment {
    /// The values of a range of floats in double precision, if they are known.
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

/// The parameters of an entity, in the order of the file.
#[derive(Clone, Copy)]
pub struct Parameters<'a> {
    render: &'a Render,
    segment: Option<&'a Segment>,
    values: &'a [StoredParameter],
}

/// A parameter.
#[derive(Clone, Copy, Debug)]
pub struct Parameter<'a> {
    /// The type of its values.
    pub kind: ParameterType,
    /// Its name.
    pub name: &'a str,
    /// Its values.
    pub values: ParameterValues<'a>,
    /// Its values in double precision, if they are points that 32-bit floats would round by an amount that matters;
    /// empty otherwise.
    pub exact: &'a [f64],
}

/// Parameters whose strings are file names, for any entity.
const FILE_PARAMETERS: [&str; 5] = ["filename", "lensfile", "aperture", "normalmap", "emissionfilename"];

impl Parameter<'_> {
    /// Returns whether its only string may be a file name. The string of a spectrum may also be the name of a
    /// predefined one, and the string of a film names a file to be created.
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

    /// The number of parameters.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns all parameters.
    pub fn iter(self) -> impl Iterator<Item = Parameter<'a>> {
        self.values.iter().filter_map(move |values| self.view(values))
    }

    /// Returns the parameter with this name.
    pub fn get(self, name: &str) -> Option<Parameter<'a>> {
        self.iter().find(|parameter| parameter.name == name)
    }

    /// Returns the folder of the file with the parameters, relative to the scene's folder: empty, or ending in a slash.
    pub fn folder(self) -> &'a str {
        self.segment.map_or("", |segment| &segment.folder)
    }

    /// The text of the parameter of this name, if it is a single string.
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
    /// The number of values; a point of three numbers counts as three.
    pub fn len(&self) -> usize {
        match self {
            ParameterValues::Floats(values) => values.len(),
            ParameterValues::Integers(values) => values.len(),
            ParameterValues::Bools(values) => values.len(),
            ParameterValues::Strings(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Numbers in groups of `N`: points, colors; `None` if they are not floats.
    pub fn rows<const N: usize>(&self) -> Option<&'a [[f32; N]]> {
        match self {
            ParameterValues::Floats(values) => Some(values.as_chunks().0),
            _ => None,
        }
    }

    /// Whether all values are the same, bit by bit.
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
    /// The number of values.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
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
