//! Gaussian splats: meshes of positions alone whose vertex columns describe a Gaussian each.
//!
//! The columns and their encodings are those of the PLY files of "3D Gaussian Splatting for Real-Time Radiance Field
//! Rendering" (Kerbl and others, 2023), which every program reads: a PLY file becomes splats without a change.
//!
//! | columns | per splat |
//! |---|---|
//! | `scale_0` to `scale_2` | natural logarithms of the standard deviations along the splat's axes |
//! | `rot_0` to `rot_3` | a quaternion, w first, of any length |
//! | `opacity` | the logit of the opacity ([`logit_of`]) |
//! | `f_dc_0` to `f_dc_2` | the constant harmonic of red, green and blue ([`harmonic_of`]) |
//! | `f_rest_0` to `f_rest_N` | the others: all of red, then all of green, then all of blue |
//!
//! There are 0, 3, 8, 15 or 24 other harmonics per channel: degrees 0 to 4. Coordinates are the source's; training
//! software has x to the right, y down and z forward. This module moves nothing and rounds nothing: formats that pack
//! splats do that.

use crate::error::{Result, try_push};
use crate::{Axes, Axis, Column, Mesh, Object, ObjectKind, Scene, Values};

/// The value of the constant spherical harmonic: 1 / (2 √π).
pub const CONSTANT_HARMONIC: f64 = 0.282_094_791_773_878_14;

/// How many harmonics per channel there are in addition to the constant one, by degree.
pub const HARMONICS: [usize; 5] = [0, 3, 8, 15, 24];

/// The columns that splats of any degree have, beside their positions.
pub const COLUMNS: [&str; 11] =
    ["rot_0", "rot_1", "rot_2", "rot_3", "scale_0", "scale_1", "scale_2", "opacity", "f_dc_0", "f_dc_1", "f_dc_2"];

/// The remark ([`Scene::infos`]) of splats that were trained for antialiased rendering, which SPZ records.
pub const ANTIALIASED: &str = "splats antialiased";

/// The remark of splats whose colors are linear, and not those of a screen (sRGB), which glTF records.
pub const LINEAR_COLORS: &str = "splats linear";

/// The axes of training software: z forward, y down.
pub const AXES: Axes = Axes { forward: Axis::Z, up: Axis::NegativeY };

/// How close an opacity comes to 0 and to 1, so that its logit stays finite.
const LEAST_OPACITY: f64 = 1e-6;

/// The opacity, 0 to 1, of a logit: 1 / (1 + e^-x).
pub fn opacity_of(logit: f32) -> f32 {
    1.0 / (1.0 + (-logit).exp())
}

/// The logit of an opacity, ln(x / (1 - x)). It is finite: an opacity is taken as at least 0.000001, and at most as
/// far from 1.
pub fn logit_of(opacity: f32) -> f32 {
    let opacity = f64::from(opacity).clamp(LEAST_OPACITY, 1.0 - LEAST_OPACITY);
    (opacity / (1.0 - opacity)).ln() as f32
}

/// The color value of a constant harmonic: 0 to 1 for what can be shown.
pub fn color_of(harmonic: f32) -> f32 {
    (f64::from(harmonic) * CONSTANT_HARMONIC + 0.5) as f32
}

/// The constant harmonic of a color value.
pub fn harmonic_of(color: f32) -> f32 {
    ((f64::from(color) - 0.5) / CONSTANT_HARMONIC) as f32
}

/// The logarithm of a standard deviation. It is finite: one that is not positive is taken as the smallest number.
pub fn log_of(scale: f32) -> f32 {
    scale.max(f32::MIN_POSITIVE).ln()
}

/// The same rotation as a quaternion of length 1; that without a rotation if it has no direction.
pub fn unit_quaternion(quaternion: [f32; 4]) -> [f32; 4] {
    let square: f32 = quaternion.iter().map(|part| part * part).sum();
    // Squares of parts that are very small or large have no meaning as a sum.
    if square.is_normal() {
        let length = square.sqrt();
        return quaternion.map(|part| part / length);
    }
    let wide = quaternion.map(f64::from);
    let length = wide.iter().map(|part| part * part).sum::<f64>().sqrt();
    if length.is_normal() { wide.map(|part| (part / length) as f32) } else { [1.0, 0.0, 0.0, 0.0] }
}

/// The columns of splats, found by name in a mesh. All have one value per position.
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
    /// For red, green and blue: the constant harmonic, then as many others as the degree has.
    pub harmonics: [Vec<&'a [f32]>; 3],
}

impl<'a> Splats<'a> {
    /// The splats of a mesh; `None` if it has elements, or lacks a column. If there are other harmonics than a degree
    /// has, those of the highest degree that is complete count, in the order of that degree.
    pub fn from_mesh(mesh: &'a Mesh) -> Option<Splats<'a>> {
        if !(mesh.faces.is_empty() && mesh.lines.is_empty()) {
            return None;
        }
        let count = mesh.positions.len();
        let is_there = |number: &usize| floats(&mesh.vertex_columns, &rest_name(*number), count).is_some();
        let rest = (0..3 * HARMONICS[4]).take_while(is_there).count();
        let degree = HARMONICS.iter().rposition(|more| 3 * more <= rest)?;
        Splats::from_columns(&mesh.positions, &mesh.vertex_columns, [degree, degree])
    }

    /// The splats of columns, such as those of a table. `degrees` are that of the splats and the one to keep: columns
    /// of harmonics above the second need not be there. `None` if another column is missing, or a degree is above 4.
    pub fn from_columns(positions: &'a [[f32; 3]], columns: &'a [Column], degrees: [usize; 2]) -> Option<Splats<'a>> {
        let column = |name: &str| floats(columns, name, positions.len());
        let [Some(&more), Some(&kept)] = degrees.map(|degree| HARMONICS.get(degree)) else { return None };
        let harmonics = |channel: usize| -> Option<Vec<&'a [f32]>> {
            let own = (0..kept).map(|number| rest_name(channel * more + number));
            std::iter::once(format!("f_dc_{channel}")).chain(own).map(|name| column(&name)).collect()
        };
        Some(Splats {
            positions,
            opacities: column("opacity")?,
            scales: [column("scale_0")?, column("scale_1")?, column("scale_2")?],
            rotations: [column("rot_0")?, column("rot_1")?, column("rot_2")?, column("rot_3")?],
            harmonics: [harmonics(0)?, harmonics(1)?, harmonics(2)?],
        })
    }

    /// The number of splats.
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    /// The degree of the spherical harmonics, 0 to 4.
    pub fn degree(&self) -> usize {
        HARMONICS.iter().position(|&more| more + 1 == self.harmonics[0].len()).unwrap_or(0)
    }

    /// The number of columns, positions aside.
    pub fn column_count(&self) -> usize {
        8 + self.harmonics.iter().map(Vec::len).sum::<usize>()
    }

    /// The same splats without the harmonics above a degree.
    #[must_use]
    pub fn up_to_degree(mut self, degree: usize) -> Splats<'a> {
        let kept = 1 + HARMONICS.get(degree).copied().unwrap_or(HARMONICS[4]);
        self.harmonics.iter_mut().for_each(|channel| channel.truncate(kept));
        self
    }

    /// The quaternion of a splat: w, x, y, z.
    ///
    /// # Panics
    /// If there is no such splat.
    pub fn rotation(&self, at: usize) -> [f32; 4] {
        self.rotations.map(|part| part[at])
    }
}

/// The values of a column of so many 32-bit floats.
fn floats<'a>(columns: &'a [Column], name: &str, count: usize) -> Option<&'a [f32]> {
    let column = columns.iter().find(|column| column.name == name)?;
    match &column.values {
        Values::F32(values) if column.offsets.is_none() && values.len() == count => Some(values),
        _ => None,
    }
}

/// The name of the column of harmonic `number` of those that are not constant.
pub fn rest_name(number: usize) -> String {
    format!("f_rest_{number}")
}

/// The values of splats to make a mesh of, each column with one value per position.
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
    /// A mesh with these columns, in the order of PLY files.
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

    /// A scene of these splats alone, as it is read from a file.
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

/// Appends columns, named by their numbers.
fn push(mesh: &mut Mesh, all: impl IntoIterator<Item = Vec<f32>>, name: impl Fn(usize) -> String) -> Result<()> {
    for (number, values) in all.into_iter().enumerate() {
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

    /// Whether a column is of a harmonic above the first degree, of `count` for each channel.
    fn is_high(column: &Column, count: usize) -> bool {
        let number = column.name.strip_prefix("f_rest_").and_then(|number| number.parse::<usize>().ok());
        number.is_some_and(|number| number % count >= HARMONICS[1])
    }

    #[test]
    fn columns_are_found_by_name_for_every_degree() {
        for (degree, &count) in HARMONICS.iter().enumerate() {
            let given = columns(degree);
            let mesh = given.clone().into_mesh().unwrap();
            let splats = Splats::from_mesh(&mesh).unwrap();
            assert_eq!((splats.degree(), splats.len()), (degree, 2));
            assert_eq!(splats.column_count(), mesh.vertex_columns.len());
            for channel in 0..3 {
                assert_eq!(splats.harmonics[channel][0], given.constants[channel]);
                let own = given.rest.chunks(count.max(1)).nth(channel).unwrap_or_default();
                assert_eq!(splats.harmonics[channel][1..], own.iter().map(|it| &it[..]).collect::<Vec<_>>());
            }
            let less = splats.up_to_degree(1);
            assert_eq!(less.degree(), degree.min(1));
            // Columns that are not wanted need not be there.
            let few: Vec<Column> =
                mesh.vertex_columns.iter().filter(|column| !is_high(column, count)).cloned().collect();
            let found = Splats::from_columns(&mesh.positions, &few, [degree, degree.min(1)]).unwrap();
            assert_eq!((found.harmonics, found.opacities), (less.harmonics, less.opacities));
            assert!(Splats::from_columns(&mesh.positions, &mesh.vertex_columns, [5, 0]).is_none());
        }
    }

    #[test]
    fn a_mesh_without_a_column_or_with_elements_is_no_splats() {
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
    fn conversions_are_inverse_and_finite() {
        for byte in 0..=255u8 {
            let value = f32::from(byte) / 255.0;
            assert!((opacity_of(logit_of(value)) - value).abs() < 2e-6, "{byte}");
            assert!((color_of(harmonic_of(value)) - value).abs() < 1e-6, "{byte}");
        }
        assert!([0.0, -1.0, f32::NAN, 1.0, 2.0].into_iter().all(|it| log_of(it).is_finite()));
        assert!([0.0, 1.0, -3.0, 7.0].into_iter().all(|it| logit_of(it).is_finite()));
    }

    #[test]
    fn quaternions_get_length_1() {
        for quaternion in
            [[2.0, 0.0, 0.0, 0.0], [1e-30, 1e-30, 0.0, 0.0], [1e30, 1e30, 1e30, -1e30], [0.3, 0.4, 0.5, 0.6]]
        {
            let unit = unit_quaternion(quaternion);
            assert!((unit.iter().map(|part| part * part).sum::<f32>() - 1.0).abs() < 1e-6, "{quaternion:?}");
        }
        assert_eq!(unit_quaternion([f32::NAN, 0.0, 0.0, 0.0]), [1.0, 0.0, 0.0, 0.0]);
        assert_eq!(unit_quaternion([0.0; 4]), [1.0, 0.0, 0.0, 0.0]);
    }
}
