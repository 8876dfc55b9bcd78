//! Gaussian splats: meshes with only positions, and vertex columns that describe one Gaussian per position.
//!
//! The columns are encoded as in the PLY files of "3D Gaussian Splatting for Real-Time Radiance Field Rendering" (Kerbl
//! et al., 2023). Most splat programs read such files, which need no conversion.
//!
//! | columns | per splat |
//! |---|---|
//! | `scale_0` to `scale_2` | natural logarithms of the standard deviations along the splat's axes |
//! | `rot_0` to `rot_3` | a quaternion, w first, of any length |
//! | `opacity` | the logit of the opacity ([`logit_of`]) |
//! | `f_dc_0` to `f_dc_2` | the constant harmonic of red, green and blue ([`harmonic_of`]) |
//! | `f_rest_0` to `f_rest_N` | the other harmonics: all of red, then all of green, then all of blue |
//!
//! Harmonics are coefficients of real spherical harmonics. Besides the constant harmonic, there are 0, 3, 8, 15 or 24
//! per channel, for degrees 0 to 4. Coordinates are as in the source; in training software, x points right, y down and
//! z forward. This module neither transforms nor rounds values; formats that pack splats do.

use crate::error::{Result, try_push};
use crate::warnings::counted;
use crate::{Axes, Axis, Column, Mesh, Object, ObjectKind, Scalar, Scene, Values};

/// The value of the constant spherical harmonic basis function: 1 / (2 √π).
pub const CONSTANT_HARMONIC: f64 = 0.282_094_791_773_878_14;

/// Number of harmonics per channel besides the constant harmonic, indexed by degree.
pub const HARMONICS: [usize; 5] = [0, 3, 8, 15, 24];

/// The columns of splats of any degree, besides positions.
pub const COLUMNS: [&str; 11] =
    ["rot_0", "rot_1", "rot_2", "rot_3", "scale_0", "scale_1", "scale_2", "opacity", "f_dc_0", "f_dc_1", "f_dc_2"];

/// The remark ([`Scene::infos`]) for splats that were trained for antialiased rendering. SPZ files record this.
pub const ANTIALIASED: &str = "splats antialiased";

/// The remark for splats with linear instead of sRGB colors. glTF files record this.
pub const LINEAR_COLORS: &str = "splats linear";

/// The axes of training software: z forward, y down.
pub const AXES: Axes = Axes { forward: Axis::Z, up: Axis::NegativeY };

/// The natural logarithm of the thickness of flat splats, 1e-6: 2D Gaussian splats have no third scale.
pub const FLAT_SCALE: f32 = -13.815_511;

/// The comment in PLY files for splats that were trained for antialiased rendering.
pub const ANTIALIASED_COMMENT: &str = "SplatRenderMode: mip";

/// Returns whether a remark means that splats were trained for antialiased rendering: [`ANTIALIASED`], or one of the
/// comments that programs write to PLY files.
pub fn says_antialiased(remark: &str) -> bool {
    let mut words = remark.split(|c: char| c.is_whitespace() || c == ':' || c == '=').filter(|word| !word.is_empty());
    let [first, second, rest] = [words.next(), words.next(), words.next()].map(Option::unwrap_or_default);
    let is_on = second.is_empty() || ["1", "true", "yes"].iter().any(|word| second.eq_ignore_ascii_case(word));
    let is_mode = first.eq_ignore_ascii_case("SplatRenderMode") && second.eq_ignore_ascii_case("mip");
    let is_model = first.eq_ignore_ascii_case("splat_model") && second.eq_ignore_ascii_case("antialiased");
    let is_flag = first.eq_ignore_ascii_case("antialiased") && is_on;
    remark == ANTIALIASED || rest.is_empty() && (is_mode || is_model || is_flag)
}

/// Returns whether columns describe splats, regardless of the types of their values. 2D Gaussian splats lack `scale_2`.
pub fn are_splats(columns: &[Column]) -> bool {
    let has_column = |name: &&str| columns.iter().any(|column| column.name == **name && column.offsets.is_none());
    COLUMNS.iter().filter(|name| **name != "scale_2").all(has_column)
}

/// Nouns for the columns of the higher harmonics in messages.
pub const REST_COLUMNS: [&str; 2] = ["`f_rest_N` column", "`f_rest_N` columns"];

/// Explains why the `f_rest_N` columns are not complete harmonics. Returns `None` if they are complete.
pub fn harmonics_fault(columns: &[Column]) -> Option<String> {
    let is_rest = |column: &&Column| {
        let number = column.name.strip_prefix("f_rest_");
        number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let count = columns.iter().filter(is_rest).count();
    if !HARMONICS.into_iter().any(|others| 3 * others == count) {
        return Some(format!("found {}; expected 0, 9, 24, 45 or 72", counted(count as u64, REST_COLUMNS)));
    }
    let has_column = |name: &String| columns.iter().any(|column| column.name == *name);
    let missing = (0..count).map(rest_name).find(|name| !has_column(name))?;
    Some(format!("found {}, but no `{missing}`", counted(count as u64, REST_COLUMNS)))
}

/// Explains why columns do not describe splats. Returns `None` if they do, or if none of them is a splat column.
pub fn column_fault(columns: &[Column]) -> Option<String> {
    let find = |name: &str| columns.iter().find(|column| column.name == name);
    if !COLUMNS.iter().any(|name| find(name).is_some()) {
        return None;
    }
    let rest = columns.iter().map(|column| &*column.name).filter(|name| name.starts_with("f_rest_"));
    let fault = COLUMNS.into_iter().chain(rest).find_map(|name| match find(name) {
        None => Some(format!("the column `{name}` is missing")),
        Some(column) if column.offsets.is_some() => Some(format!("the column `{name}` contains lists")),
        Some(column) => match column.values.scalar() {
            Scalar::F32 => None,
            scalar => Some(format!("the column `{name}` has the type {scalar:?}")),
        },
    });
    fault.or_else(|| harmonics_fault(columns))
}

/// Minimum distance of an opacity from 0 and 1, for a finite logit.
const MIN_OPACITY: f64 = 1e-6;

/// Returns the opacity (0 to 1) for a logit: 1 / (1 + e^-x).
pub fn opacity_of(logit: f32) -> f32 {
    1.0 / (1.0 + (-logit).exp())
}

/// Returns the logit of an opacity: ln(x / (1 - x)). The opacity is clamped to the range from 0.000001 to 0.999999, so
/// that the result is finite.
pub fn logit_of(opacity: f32) -> f32 {
    let opacity = f64::from(opacity).clamp(MIN_OPACITY, 1.0 - MIN_OPACITY);
    (opacity / (1.0 - opacity)).ln() as f32
}

/// Returns the color value for a constant harmonic: 0 to 1 for displayable colors.
pub fn color_of(harmonic: f32) -> f32 {
    (f64::from(harmonic) * CONSTANT_HARMONIC + 0.5) as f32
}

/// Returns the constant harmonic of a color value.
pub fn harmonic_of(color: f32) -> f32 {
    ((f64::from(color) - 0.5) / CONSTANT_HARMONIC) as f32
}

/// Returns the natural logarithm of a standard deviation, which is first clamped to the smallest positive normal
/// number.
pub fn log_of(scale: f32) -> f32 {
    scale.max(f32::MIN_POSITIVE).ln()
}

/// Normalizes a quaternion. Returns the identity if the length is zero or not finite.
pub fn unit_quaternion(quaternion: [f32; 4]) -> [f32; 4] {
    let square: f32 = quaternion.iter().map(|component| component * component).sum();
    // The sum of squares underflows or overflows for very small or large components.
    if square.is_normal() {
        let length = square.sqrt();
        return quaternion.map(|component| component / length);
    }
    let wide = quaternion.map(f64::from);
    let length = wide.iter().map(|component| component * component).sum::<f64>().sqrt();
    if length.is_normal() { wide.map(|component| (component / length) as f32) } else { [1.0, 0.0, 0.0, 0.0] }
}

/// The columns of splats, borrowed from a mesh. Each has one value per position.
#[derive(Clone, Debug, Default)]
pub struct Splats<'a> {
    /// x, y, z.
    pub positions: &'a [[f32; 3]],
    /// Logits.
    pub opacities: &'a [f32],
    /// Logarithms of standard deviations.
    pub scales: [&'a [f32]; 3],
    /// w, x, y, z.
    pub rotations: [&'a [f32]; 4],
    /// For red, green and blue: the constant harmonic, then the other harmonics up to the degree.
    pub harmonics: [Vec<&'a [f32]>; 3],
}

impl<'a> Splats<'a> {
    /// Returns the splats of a mesh, or `None` if it has faces or lines, has incomplete harmonics, or lacks a column of
    /// 32-bit floats. See [`harmonics_fault`] and [`column_fault`].
    pub fn from_mesh(mesh: &'a Mesh) -> Option<Splats<'a>> {
        let is_plain = mesh.faces.is_empty() && mesh.lines.is_empty();
        if !is_plain || harmonics_fault(&mesh.vertex_columns).is_some() {
            return None;
        }
        let rest = mesh.vertex_columns.iter().filter(|column| column.name.starts_with("f_rest_")).count();
        let degree = HARMONICS.iter().rposition(|others| 3 * others <= rest)?;
        Splats::from_columns(&mesh.positions, &mesh.vertex_columns, [degree, degree])
    }

    /// Returns the splats in columns, for example the columns of a table. `degrees` contains the degree of the columns
    /// and the degree to return; columns above the degree to return may be missing. Returns `None` if any other column
    /// is missing or does not have a 32-bit float per position, or if a degree is above 4.
    pub fn from_columns(positions: &'a [[f32; 3]], columns: &'a [Column], degrees: [usize; 2]) -> Option<Splats<'a>> {
        let column = |name: &str| floats(columns, name, positions.len());
        let [Some(&stored_others), Some(&returned_others)] = degrees.map(|degree| HARMONICS.get(degree)) else {
            return None;
        };
        let harmonics = |channel: usize| -> Option<Vec<&'a [f32]>> {
            let others = (0..returned_others).map(|number| rest_name(channel * stored_others + number));
            std::iter::once(format!("f_dc_{channel}")).chain(others).map(|name| column(&name)).collect()
        };
        Some(Splats {
            positions,
            opacities: column("opacity")?,
            scales: [column("scale_0")?, column("scale_1")?, column("scale_2")?],
            rotations: [column("rot_0")?, column("rot_1")?, column("rot_2")?, column("rot_3")?],
            harmonics: [harmonics(0)?, harmonics(1)?, harmonics(2)?],
        })
    }

    /// Returns the number of splats.
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// Returns whether there are no splats.
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    /// Returns the degree of the spherical harmonics, 0 to 4.
    pub fn degree(&self) -> usize {
        HARMONICS.iter().position(|&others| others + 1 == self.harmonics[0].len()).unwrap_or(0)
    }

    /// Returns the number of columns besides positions.
    pub fn column_count(&self) -> usize {
        8 + self.harmonics.iter().map(Vec::len).sum::<usize>()
    }

    /// Drops the harmonics above a degree.
    #[must_use]
    pub fn up_to_degree(mut self, degree: usize) -> Splats<'a> {
        let harmonic_count = 1 + HARMONICS.get(degree).copied().unwrap_or(HARMONICS[4]);
        self.harmonics.iter_mut().for_each(|channel| channel.truncate(harmonic_count));
        self
    }

    /// Returns the quaternion of a splat: w, x, y, z.
    ///
    /// # Panics
    /// If `index` is out of range.
    pub fn rotation(&self, index: usize) -> [f32; 4] {
        self.rotations.map(|component| component[index])
    }
}

/// Returns the values of the column called `name`, if it has `count` 32-bit floats.
fn floats<'a>(columns: &'a [Column], name: &str, count: usize) -> Option<&'a [f32]> {
    let column = columns.iter().find(|column| column.name == name)?;
    match &column.values {
        Values::F32(values) if column.offsets.is_none() && values.len() == count => Some(values),
        _ => None,
    }
}

/// Returns the name of a harmonic's column; `number` does not count the constant harmonics.
pub fn rest_name(number: usize) -> String {
    format!("f_rest_{number}")
}

/// The values of splats for a new mesh. Each column has one value per position.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SplatColumns {
    /// x, y, z.
    pub positions: Vec<[f32; 3]>,
    /// Logits.
    pub opacities: Vec<f32>,
    /// Logarithms of standard deviations.
    pub scales: [Vec<f32>; 3],
    /// w, x, y, z.
    pub rotations: [Vec<f32>; 4],
    /// The constant harmonics of red, green and blue.
    pub constants: [Vec<f32>; 3],
    /// The other harmonics: all of red, all of green, all of blue.
    pub rest: Vec<Vec<f32>>,
}

impl SplatColumns {
    /// Creates a mesh with these columns, in the order of PLY files.
    ///
    /// # Errors
    /// [`ErrorKind::Memory`](crate::error::ErrorKind::Memory).
    ///
    /// ```
    /// use polyhaul_model::splats::{SplatColumns, Splats};
    ///
    /// let ones = |_: usize| vec![1.0];
    /// let columns = SplatColumns {
    ///     positions: vec![[0.0; 3]],
    ///     opacities: vec![2.0],
    ///     scales: [0, 1, 2].map(ones),
    ///     rotations: [0, 1, 2, 3].map(ones),
    ///     constants: [0, 1, 2].map(ones),
    ///     rest: Vec::new(),
    /// };
    /// let mesh = columns.into_mesh()?;
    /// let splats = Splats::from_mesh(&mesh).unwrap();
    /// assert_eq!((splats.len(), splats.degree(), splats.opacities), (1, 0, &[2.0][..]));
    /// # Ok::<(), polyhaul_model::error::Error>(())
    /// ```
    pub fn into_mesh(self) -> Result<Mesh> {
        let mut mesh = Mesh { positions: self.positions.into(), ..Mesh::default() };
        let numbered = |name: &'static str| move |number: usize| format!("{name}_{number}");
        let opacity = |_| "opacity".to_owned();
        push(&mut mesh, self.constants, numbered("f_dc"))?;
        push(&mut mesh, self.rest, rest_name)?;
        push(&mut mesh, [self.opacities], opacity)?;
        push(&mut mesh, self.scales, numbered("scale"))?;
        push(&mut mesh, self.rotations, numbered("rot"))?;
        Ok(mesh)
    }

    /// Creates a scene with only these splats, as a reader does.
    ///
    /// # Errors
    /// As for [`SplatColumns::into_mesh`].
    pub fn into_scene(self) -> Result<Scene> {
        let mut scene = Scene::default();
        let mesh = self.into_mesh()?;
        if !mesh.positions.is_empty() {
            let object = Object { kind: ObjectKind::Unnamed, end: mesh.counts(), ..Object::default() };
            try_push(&mut scene.objects, object, "objects")?;
        }
        try_push(&mut scene.meshes, mesh, "meshes")?;
        Ok(scene)
    }
}

/// Appends columns. `name` returns the name of the column at each index.
fn push(mesh: &mut Mesh, columns: impl IntoIterator<Item = Vec<f32>>, name: impl Fn(usize) -> String) -> Result<()> {
    for (number, values) in columns.into_iter().enumerate() {
        let column = Column { name: name(number), values: Values::F32(values.into()), offsets: None };
        try_push(&mut mesh.vertex_columns, column, "columns")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(degree: usize) -> SplatColumns {
        let mut next = 0.0;
        let mut column = || {
            next += 1.0;
            vec![next, -next]
        };
        SplatColumns {
            positions: vec![[0.0; 3], [1.0; 3]],
            opacities: column(),
            scales: std::array::from_fn(|_| column()),
            rotations: std::array::from_fn(|_| column()),
            constants: std::array::from_fn(|_| column()),
            rest: (0..3 * HARMONICS[degree]).map(|_| column()).collect(),
        }
    }

    /// Returns whether a column is a harmonic above the first degree, given `count` harmonics per channel.
    fn is_high(column: &Column, count: usize) -> bool {
        let number = column.name.strip_prefix("f_rest_").and_then(|number| number.parse::<usize>().ok());
        number.is_some_and(|number| number % count >= HARMONICS[1])
    }

    #[test]
    fn columns_are_found_by_name_for_every_degree() {
        for (degree, &count) in HARMONICS.iter().enumerate() {
            let expected = columns(degree);
            let mesh = expected.clone().into_mesh().unwrap();
            let splats = Splats::from_mesh(&mesh).unwrap();
            assert_eq!((splats.degree(), splats.len()), (degree, 2));
            assert_eq!(splats.column_count(), mesh.vertex_columns.len());
            for channel in 0..3 {
                assert_eq!(splats.harmonics[channel][0], expected.constants[channel]);
                let others = expected.rest.chunks(count.max(1)).nth(channel).unwrap_or_default();
                assert_eq!(splats.harmonics[channel][1..], others.iter().map(|column| &column[..]).collect::<Vec<_>>());
            }
            let first_degree = splats.up_to_degree(1);
            assert_eq!(first_degree.degree(), degree.min(1));
            // Columns above the returned degree may be missing.
            let low_columns: Vec<Column> =
                mesh.vertex_columns.iter().filter(|column| !is_high(column, count)).cloned().collect();
            let low_splats = Splats::from_columns(&mesh.positions, &low_columns, [degree, degree.min(1)]).unwrap();
            assert_eq!((low_splats.harmonics, low_splats.opacities), (first_degree.harmonics, first_degree.opacities));
            assert!(Splats::from_columns(&mesh.positions, &mesh.vertex_columns, [5, 0]).is_none());
        }
    }

    #[test]
    fn a_mesh_without_a_column_or_with_elements_is_rejected() {
        let mesh = columns(0).into_mesh().unwrap();
        for number in 0..mesh.vertex_columns.len() {
            let mut other = mesh.clone();
            other.vertex_columns.remove(number);
            assert!(Splats::from_mesh(&other).is_none(), "{number}");
        }
        let mut other = mesh.clone();
        other.faces.offsets = vec![0, 0].into();
        assert!(Splats::from_mesh(&other).is_none());
    }

    #[test]
    fn harmonics_of_no_degree_are_explained() {
        let mesh = columns(3).into_mesh().unwrap();
        assert_eq!((harmonics_fault(&mesh.vertex_columns), column_fault(&mesh.vertex_columns)), (None, None));
        for number in [0, 20, 44] {
            let mut other = mesh.clone();
            other.vertex_columns.retain(|column| column.name != rest_name(number));
            assert!(Splats::from_mesh(&other).is_none(), "{number}");
            let fault = harmonics_fault(&other.vertex_columns).unwrap();
            assert_eq!(fault, "found 44 `f_rest_N` columns; expected 0, 9, 24, 45 or 72");
        }
        let mut other = mesh.clone();
        other.vertex_columns.iter_mut().filter(|column| column.name == "f_rest_20").for_each(|column| {
            column.name = "f_rest_45".into();
        });
        let fault = harmonics_fault(&other.vertex_columns).unwrap();
        assert_eq!(fault, "found 45 `f_rest_N` columns, but no `f_rest_20`");
        other.vertex_columns.retain(|column| column.name != "rot_3");
        assert_eq!(column_fault(&other.vertex_columns).unwrap(), "the column `rot_3` is missing");
        assert_eq!((column_fault(&[]), are_splats(&mesh.vertex_columns)), (None, true));
    }

    #[test]
    fn remarks_about_antialiasing_are_recognized() {
        for remark in
            [ANTIALIASED, ANTIALIASED_COMMENT, "antialiased 1", "antialiased: true", "splat_model: antialiased"]
        {
            assert!(says_antialiased(remark), "{remark}");
        }
        for remark in ["SplatRenderMode: default", "antialiased 0", "antialiased: false", "not antialiased", "mip"] {
            assert!(!says_antialiased(remark), "{remark}");
        }
    }

    #[test]
    fn conversions_are_inverse_and_finite() {
        for byte in 0..=255u8 {
            let value = f32::from(byte) / 255.0;
            assert!((opacity_of(logit_of(value)) - value).abs() < 2e-6, "{byte}");
            assert!((color_of(harmonic_of(value)) - value).abs() < 1e-6, "{byte}");
        }
        assert!([0.0, -1.0, f32::NAN, 1.0, 2.0].into_iter().all(|scale| log_of(scale).is_finite()));
        assert!([0.0, 1.0, -3.0, 7.0].into_iter().all(|opacity| logit_of(opacity).is_finite()));
    }

    #[test]
    fn quaternions_get_length_1() {
        for quaternion in
            [[2.0, 0.0, 0.0, 0.0], [1e-30, 1e-30, 0.0, 0.0], [1e30, 1e30, 1e30, -1e30], [0.3, 0.4, 0.5, 0.6]]
        {
            let unit = unit_quaternion(quaternion);
            assert!(
                (unit.iter().map(|component| component * component).sum::<f32>() - 1.0).abs() < 1e-6,
                "{quaternion:?}"
            );
        }
        assert_eq!(unit_quaternion([f32::NAN, 0.0, 0.0, 0.0]), [1.0, 0.0, 0.0, 0.0]);
        assert_eq!(unit_quaternion([0.0; 4]), [1.0, 0.0, 0.0, 0.0]);
    }
}
