//! Reads and writes `KHR_gaussian_splatting`: point primitives that are Gaussian splats.
//!
//! Source: the release candidate of 2026,
//! <https://github.com/KhronosGroup/glTF/tree/main/extensions/2.0/Khronos/KHR_gaussian_splatting>. The attributes of
//! its only kernel, `ellipse`:
//!
//! | attribute, after `KHR_gaussian_splatting:` | type | in memory ([`polyhaul_model::splats`]) |
//! |---|---|---|
//! | `ROTATION` | unit quaternions x, y, z, w; floats, or normalized integers | `rot_1` to `rot_3`, `rot_0` |
//! | `SCALE` | standard deviations; floats, or unsigned integers | `scale_0` to `scale_2`, logarithms |
//! | `OPACITY` | 0 to 1; floats, or unsigned and normalized integers | `opacity`, logits |
//! | `SH_DEGREE_0_COEF_0` | floats for red, green, blue | `f_dc_0` to `f_dc_2` |
//! | `SH_DEGREE_l_COEF_n` | the same, for degrees 1 to 3 | `f_rest_N` |
//!
//! `COLOR_0` is for programs that show points. It is computed from the splats, so it is written but not read. glTF is
//! Y-up and splats in memory are Y-down. [`crate::reader`] and the caller of the writer convert scenes; this module
//! does not.

use crate::color::linear;
use crate::convert::Finish;
use crate::document::{Extensions, Primitive, mode};
use crate::log::{GltfLog, malformed, unsupported};
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::names::shown;
use polyhaul_model::splats::{HARMONICS, LINEAR_COLORS, Splats, color_of, rest_name, unit_quaternion};
use polyhaul_model::{Mesh, Scene, Values};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Name of the extension, and prefix of its attributes.
pub(crate) const NAME: &str = "KHR_gaussian_splatting";
/// Maximum degree of spherical harmonics.
pub(crate) const MAX_DEGREE: usize = 3;

const KERNEL: &str = "ellipse";
const SCREEN: &str = "srgb_rec709_display";
const LINEAR: &str = "lin_rec709_display";
const PROJECTION: &str = "perspective";
const SORTING: &str = "cameraDistance";

/// Start of the writer's error messages.
const CANNOT: &str = "glTF cannot store splat";

/// An attribute of splats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SplatAttribute {
    Rotation,
    Scale,
    Opacity,
    /// A harmonic for all channels. Harmonic 0 is the constant.
    Harmonic(usize),
    /// `COLOR_0`.
    Color,
}

impl SplatAttribute {
    pub(crate) fn name(self) -> String {
        match self {
            SplatAttribute::Rotation => format!("{NAME}:ROTATION"),
            SplatAttribute::Scale => format!("{NAME}:SCALE"),
            SplatAttribute::Opacity => format!("{NAME}:OPACITY"),
            SplatAttribute::Harmonic(number) => {
                let degree = number.isqrt();
                format!("{NAME}:SH_DEGREE_{degree}_COEF_{}", number - degree * degree)
            }
            SplatAttribute::Color => "COLOR_0".to_owned(),
        }
    }

    /// Returns the accessor type.
    pub(crate) fn kind(self) -> &'static str {
        match self.width() {
            1 => "SCALAR",
            3 => "VEC3",
            _ => "VEC4",
        }
    }

    /// Returns the number of components.
    pub(crate) fn width(self) -> usize {
        match self {
            SplatAttribute::Rotation | SplatAttribute::Color => 4,
            SplatAttribute::Scale | SplatAttribute::Harmonic(_) => 3,
            SplatAttribute::Opacity => 1,
        }
    }

    /// Returns whether integers are normalized, even if the accessor does not declare it.
    pub(crate) fn is_normalized(self) -> bool {
        self != SplatAttribute::Scale
    }

    /// Returns the conversion to apply after reading.
    pub(crate) fn finish(self) -> Finish {
        match self {
            SplatAttribute::Scale => Finish::Logarithm,
            SplatAttribute::Opacity => Finish::Logit,
            _ => Finish::Keep,
        }
    }
}

/// Column indices of the splats to write.
#[derive(Debug)]
pub(crate) struct SplatPlaces {
    /// In the order w, x, y, z.
    rotations: [usize; 4],
    scales: [usize; 3],
    opacities: usize,
    /// Column indices of the channels of each harmonic, starting with the constant.
    harmonics: Vec<[usize; 3]>,
    /// Number of harmonics per channel that are not written.
    left_out: usize,
    /// Whether colors are linear instead of sRGB.
    has_linear_colors: bool,
}

impl SplatPlaces {
    /// Finds the columns of a splat mesh, with harmonics up to `degree`. Returns `None` for other meshes.
    pub(crate) fn of(mesh: &Mesh, degree: usize) -> Option<SplatPlaces> {
        let splats = Splats::from_mesh(mesh)?;
        let available = HARMONICS[splats.degree()];
        let written = available.min(HARMONICS[degree.min(MAX_DEGREE)]);
        let place = |name: String| mesh.vertex_columns.iter().position(|column| column.name == name);
        let three = |name: &dyn Fn(usize) -> String| Some([place(name(0))?, place(name(1))?, place(name(2))?]);
        let rotation = |part: usize| place(format!("rot_{part}"));
        let mut harmonics = vec![three(&|channel| format!("f_dc_{channel}"))?];
        for number in 0..written {
            // All coefficients of a channel are consecutive in `f_rest_N`, including coefficients that are not written.
            harmonics.push(three(&|channel| rest_name(channel * available + number))?);
        }
        Some(SplatPlaces {
            rotations: [rotation(0)?, rotation(1)?, rotation(2)?, rotation(3)?],
            scales: three(&|axis| format!("scale_{axis}"))?,
            opacities: place("opacity".to_owned())?,
            harmonics,
            left_out: available - written,
            has_linear_colors: false,
        })
    }

    /// Sets the color space of a scene's splats.
    pub(crate) fn in_scene(self, scene: &Scene) -> SplatPlaces {
        SplatPlaces { has_linear_colors: has_linear_colors(scene), ..self }
    }

    /// Returns the attributes in file order.
    pub(crate) fn attributes(&self) -> impl Iterator<Item = SplatAttribute> {
        let harmonics = (0..self.harmonics.len()).map(SplatAttribute::Harmonic);
        let first = [SplatAttribute::Color, SplatAttribute::Rotation, SplatAttribute::Scale, SplatAttribute::Opacity];
        first.into_iter().chain(harmonics)
    }

    /// Returns the number of splat columns that are not written.
    pub(crate) fn left_out_columns(&self) -> usize {
        3 * self.left_out
    }

    /// Returns whether the column at index `place` belongs to the splats.
    pub(crate) fn has(&self, place: usize, name: &str) -> bool {
        let available = self.harmonics.len() - 1 + self.left_out;
        self.rotations.contains(&place)
            || self.scales.contains(&place)
            || self.opacities == place
            || self.harmonics.iter().any(|channels| channels.contains(&place))
            // Harmonics that are not written have no column index, so their columns are identified by name.
            || self.left_out > 0 && (0..3 * available).any(|number| rest_name(number) == name)
    }

    /// Fails if there are values that glTF cannot store.
    pub(crate) fn check(&self, mesh: &Mesh) -> Result<()> {
        let check = |place: usize, is_fine: &dyn Fn(f32) -> bool| {
            let at = column(mesh, place).iter().position(|&value| !is_fine(value));
            let Some(at) = at else { return Ok(()) };
            let name = &mesh.vertex_columns[place].name;
            Err(Error::new(ErrorKind::Unsupported, format!("{CANNOT} {at}: its `{name}` is not finite or too large")))
        };
        let plain = self.harmonics.as_flattened().iter().chain(&self.rotations);
        plain.into_iter().try_for_each(|&place| check(place, &f32::is_finite))?;
        // Infinite logits are opacities of 0 and 1, and negative infinity is the logarithm of 0.
        check(self.opacities, &|value| !value.is_nan())?;
        self.scales.iter().try_for_each(|&place| check(place, &|value| size_of_log(value).is_finite()))
    }

    /// Calls `emit` with the attribute's components for each splat.
    pub(crate) fn emit(
        &self,
        mesh: &Mesh,
        attribute: SplatAttribute,
        splats: impl Iterator<Item = usize>,
        mut emit: impl FnMut(&[f32]),
    ) {
        match attribute {
            SplatAttribute::Rotation => {
                let parts = self.rotations.map(|place| column(mesh, place));
                splats.for_each(|at| {
                    let [w, x, y, z] = unit(parts.map(|part| part[at]));
                    emit(&[x, y, z, w]);
                });
            }
            SplatAttribute::Scale => {
                let axes = self.scales.map(|place| column(mesh, place));
                splats.for_each(|at| emit(&axes.map(|axis| size_of_log(axis[at]))));
            }
            SplatAttribute::Opacity => {
                let logits = column(mesh, self.opacities);
                splats.for_each(|at| emit(&[opacity_of_logit(logits[at])]));
            }
            SplatAttribute::Harmonic(number) => {
                let channels = self.harmonics[number].map(|place| column(mesh, place));
                splats.for_each(|at| emit(&channels.map(|channel| channel[at])));
            }
            SplatAttribute::Color => {
                let channels = self.harmonics[0].map(|place| column(mesh, place));
                let logits = column(mesh, self.opacities);
                // `COLOR_0` is always linear.
                let light = |color: f32| if self.has_linear_colors { color } else { linear(color) };
                splats.for_each(|at| {
                    let [red, green, blue] = channels.map(|channel| light(color_of(channel[at]).clamp(0.0, 1.0)));
                    emit(&[red, green, blue, opacity_of_logit(logits[at])]);
                });
            }
        }
    }
}

/// Returns the values of a splat column, which are 32-bit floats.
fn column(mesh: &Mesh, place: usize) -> &[f32] {
    match &mesh.vertex_columns[place].values {
        Values::F32(values) => values,
        _ => &[],
    }
}

/// Converts a logarithm to a size. Computes in 64 bits, so that the logarithm is the same after writing and reading.
fn size_of_log(logarithm: f32) -> f32 {
    f64::from(logarithm).exp() as f32
}

/// Converts a logit to an opacity, also in 64 bits.
fn opacity_of_logit(logit: f32) -> f32 {
    (1.0 / (1.0 + (-f64::from(logit)).exp())) as f32
}

/// Normalizes a quaternion, unless its length is 1 except for rounding: then its bits are kept.
fn unit(quaternion: [f32; 4]) -> [f32; 4] {
    let square: f32 = quaternion.iter().map(|part| part * part).sum();
    if (square - 1.0).abs() <= 4.0 * f32::EPSILON { quaternion } else { unit_quaternion(quaternion) }
}

/// Returns whether the colors of a scene's splats are linear.
fn has_linear_colors(scene: &Scene) -> bool {
    scene.infos.iter().any(|info| info == LINEAR_COLORS)
}

/// Returns the extensions of a splat primitive.
pub(crate) fn extensions(scene: &Scene) -> Extensions {
    let color_space = if has_linear_colors(scene) { LINEAR } else { SCREEN };
    let extension = json!({
        "kernel": KERNEL,
        "colorSpace": color_space,
        "projection": PROJECTION,
        "sortingMethod": SORTING,
    });
    [(NAME.to_owned(), extension)].into()
}

/// Splat extension of a primitive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SplatPrimitive {
    /// Degree of spherical harmonics.
    pub(crate) degree: usize,
    pub(crate) has_linear_colors: bool,
}

/// Validates a splat primitive.
pub(crate) fn check(primitive: &Primitive, path: &str, log: &mut GltfLog) -> Result<SplatPrimitive> {
    if primitive.mode != Some(mode::POINTS) {
        return Err(malformed(format!("{path}: Gaussian splats must have mode 0 (POINTS)")));
    }
    let extension = primitive.extensions.get(NAME).unwrap_or(&Value::Null);
    let degree = degree(&primitive.attributes).map_err(|missing| {
        // Compressed splats lack these attributes, so the error should name their extension.
        let others = extension.get("extensions").and_then(Value::as_object);
        match others.and_then(|others| others.keys().next()) {
            Some(other) => {
                unsupported(format!("{path}: Gaussian splats compressed with `{}` are not supported", shown(other)))
            }
            None => malformed(format!("{path}: Gaussian splats lack the attribute `{missing}`")),
        }
    })?;
    for (key, value) in [("kernel", KERNEL), ("projection", PROJECTION), ("sortingMethod", SORTING)] {
        note_unknown(extension, key, &[value], path, log)?;
    }
    note_unknown(extension, "colorSpace", &[SCREEN, LINEAR], path, log)?;
    for other in extension.get("extensions").and_then(Value::as_object).into_iter().flat_map(|others| others.keys()) {
        let message = || format!("{path}: the extension `{}` of splats was ignored", shown(other));
        log.lose_about("left-out-extensions", 1, message, Some(other))?;
    }
    let has_linear_colors = extension.get("colorSpace").and_then(Value::as_str) == Some(LINEAR);
    Ok(SplatPrimitive { degree, has_linear_colors })
}

/// Warns about a missing required property, or about an unsupported value. For the latter, the specification requires
/// readers to use the default.
fn note_unknown(extension: &Value, key: &str, supported: &[&str], path: &str, log: &mut GltfLog) -> Result<()> {
    match extension.get(key).map(|value| value.as_str().unwrap_or_default()) {
        None if key == "projection" || key == "sortingMethod" => Ok(()),
        None => log.note("missing-property", format!("{path}: `{key}` is missing; using `{}`", supported[0])),
        Some(value) if supported.contains(&value) => Ok(()),
        Some(value) => {
            let message = || format!("{path}: unknown {key} `{}`; using `{}`", shown(value), supported[0]);
            log.lose_about("changed-splats", 1, message, Some(value))
        }
    }
}

/// Returns the degree of the harmonics in `attributes`, or else the name of a missing attribute.
fn degree(attributes: &BTreeMap<String, usize>) -> std::result::Result<usize, String> {
    let missing = |attribute: SplatAttribute| {
        let name = attribute.name();
        if attributes.contains_key(&name) { None } else { Some(name) }
    };
    let needed = [SplatAttribute::Rotation, SplatAttribute::Scale, SplatAttribute::Opacity];
    if let Some(name) = needed.into_iter().find_map(missing) {
        return Err(name);
    }
    // The highest harmonic determines the degree. All lower harmonics must then be present.
    let highest = (0..=HARMONICS[MAX_DEGREE]).rev().find(|&number| missing(SplatAttribute::Harmonic(number)).is_none());
    let degree = highest.unwrap_or(0).isqrt();
    match (0..=HARMONICS[degree]).map(SplatAttribute::Harmonic).find_map(missing) {
        Some(name) => Err(name),
        None => Ok(degree),
    }
}

/// Returns whether an attribute belongs to splats with harmonics up to `degree`.
pub(crate) fn is_attribute(name: &str, degree: usize) -> bool {
    let harmonics = (0..=HARMONICS[degree.min(MAX_DEGREE)]).map(SplatAttribute::Harmonic);
    let others = [SplatAttribute::Rotation, SplatAttribute::Scale, SplatAttribute::Opacity];
    name.starts_with(NAME) && others.into_iter().chain(harmonics).any(|attribute| attribute.name() == name)
}

/// A splat column in memory: its name, and the attribute and component that it is read from.
pub(crate) struct SplatColumn {
    pub(crate) name: String,
    pub(crate) attribute: SplatAttribute,
    pub(crate) component: usize,
}

/// Returns the columns of splats with harmonics up to `degree`, in the order of PLY files.
pub(crate) fn columns(degree: usize) -> impl Iterator<Item = SplatColumn> {
    let column = |name: String, attribute, component| SplatColumn { name, attribute, component };
    let constants = (0..3).map(move |channel| column(format!("f_dc_{channel}"), SplatAttribute::Harmonic(0), channel));
    let more = HARMONICS.get(degree).copied().unwrap_or(0);
    let rest = (0..3 * more)
        .map(move |number| column(rest_name(number), SplatAttribute::Harmonic(1 + number % more), number / more));
    let opacity = std::iter::once(column("opacity".into(), SplatAttribute::Opacity, 0));
    let scales = (0..3).map(move |axis| column(format!("scale_{axis}"), SplatAttribute::Scale, axis));
    // In memory, w comes first; in glTF, it comes last.
    let rotations = (0..4).map(move |part| column(format!("rot_{part}"), SplatAttribute::Rotation, (part + 3) % 4));
    constants.chain(rest).chain(opacity).chain(scales).chain(rotations)
}
