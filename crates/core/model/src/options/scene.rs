//! Options for writing scenes that several formats share.

use super::value::{OptionItem, OptionKind, OptionValue};
use crate::error::{Error, ErrorKind, Result};
use crate::{Axes, Axis};

crate::options! {
    /// Options for writing scenes, whatever the format.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct SceneWriteOptions {
        /// The axis of the file that faces forward. By default it is -Z in OBJ and glTF; other formats keep
        /// coordinates as they are. If only one of the two axes is given, the other one is OBJ's.
        pub forward_axis: Option<Axis> = None, with_forward_axis
            => [obj, ply, stl, off, glb, spz, splat, compressed_ply, tables];
        /// The axis of the file that points up. By default it is Y in OBJ and glTF; other formats keep coordinates as
        /// they are.
        pub up_axis: Option<Axis> = None, with_up_axis
            => [obj, ply, stl, off, glb, spz, splat, compressed_ply, tables];
        /// Scale positions by this factor.
        pub global_scale: f64 = 1.0, with_global_scale
            => [obj, ply, stl, off, glb, spz, splat, compressed_ply, tables], alias "scale";
        /// The point that becomes the origin of coordinates. By default, formats that store it (glTF, pbrt) use the
        /// center of the scene if it is far from the origin; other formats keep coordinates as they are.
        pub origin: Origin = Origin::Auto, with_origin
            => [obj, ply, stl, off, glb, pbrt, spz, splat, compressed_ply, tables];
        /// Cut faces into triangles. STL and glTF always have triangles.
        pub triangulate: bool = false, with_triangulate
            => [obj, ply, stl, off, glb], alias "export_triangulated_mesh";
        /// Write UVs.
        pub uv: bool = true, with_uv => [obj, ply, off], alias "export_uv";
        /// Write normals.
        pub normals: bool = true, with_normals => [obj, ply, off], alias "export_normals";
        /// Write vertex colors.
        pub colors: bool = true, with_colors => [obj, ply, off], alias "export_colors";
        /// Write colors as floats from 0 to 1 instead of bytes.
        pub float_colors: bool = false, with_float_colors => [ply, off];
        /// Write text instead of binary data.
        pub ascii: bool = false, with_ascii => [ply, stl];
        /// Conventions to follow when writing. With `blender`, transforms of objects are applied in 32-bit floats, as
        /// Blender does.
        pub dialect: Dialect = Dialect::Common, with_dialect => [obj, ply, stl];
        /// Decimal places of numbers in text. By default, OBJ uses 6 for positions and UVs and 4 for normals and
        /// colors; other formats use the fewest digits that read back as the same number.
        pub digits: Option<Digits> = None, with_digits => [obj, ply, stl, off, tables];
        /// How instances of a scene, and objects that share a mesh, are written. By default, formats that support
        /// instances keep them; in other formats, each instance becomes an object.
        pub instances: Instances = Instances::Auto, with_instances => [];
    }
}

impl SceneWriteOptions {
    /// The axes of the file; `None` if neither was given.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if the two axes are parallel.
    pub fn axes(&self) -> Result<Option<Axes>> {
        if self.forward_axis.is_none() && self.up_axis.is_none() {
            return Ok(None);
        }
        let forward = self.forward_axis.unwrap_or(Axes::OBJ.forward);
        let up = self.up_axis.unwrap_or(Axes::OBJ.up);
        if forward.line() != up.line() {
            return Ok(Some(Axes { forward, up }));
        }
        let message = format!("forward_axis {} and up_axis {} are parallel", forward.print(), up.print());
        let example = if up.line() == Axes::OBJ.up.line() { Axis::NegativeZ } else { Axis::Y };
        let hint = format!("with up_axis {}, use for example forward_axis {}", up.print(), example.print());
        Err(Error::new(ErrorKind::Usage, message).with_hint(hint))
    }

    /// The transformation of scenes in the file, whose axes are the format's if none are given. Formats with a dialect
    /// add it.
    ///
    /// # Errors
    /// As for [`axes`](Self::axes).
    pub fn placement(&self, format_axes: Option<Axes>) -> Result<Placement> {
        Ok(Placement {
            axes: self.axes()?.or(format_axes),
            scale: self.global_scale,
            triangulate: self.triangulate,
            dialect: Dialect::Common,
        })
    }

    /// Whether positions are rotated, scaled or shifted.
    pub fn moves_positions(&self) -> bool {
        let is_shifted = matches!(self.origin, Origin::At(_));
        self.forward_axis.is_some() || self.up_axis.is_some() || self.global_scale != 1.0 || is_shifted
    }

    /// Whether an option other than `ascii`, `digits` and `instances` differs from its default.
    pub fn changes_meshes(&self) -> bool {
        let SceneWriteOptions { ascii, digits, instances, .. } = *self;
        *self != SceneWriteOptions { ascii, digits, instances, ..SceneWriteOptions::default() }
    }

    /// The digits, by default the fewest that read back as the same number.
    pub fn digits_or_shortest(&self) -> Digits {
        self.digits.unwrap_or(Digits::Shortest)
    }
}

/// How a scene is transformed for a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placement {
    /// The axes of the file; `None` leaves coordinates unchanged.
    pub axes: Option<Axes>,
    /// Multiplies positions.
    pub scale: f64,
    /// Cut faces into triangles.
    pub triangulate: bool,
    /// The conventions of PLY and STL files.
    pub dialect: Dialect,
}

/// Leaves the scene unchanged.
impl Default for Placement {
    fn default() -> Self {
        Placement { axes: None, scale: 1.0, triangulate: false, dialect: Dialect::Common }
    }
}

/// The options of a writer: the options that all formats share, and the options of the format.
#[derive(Debug)]
pub struct FormatOptions<'a, O> {
    /// The options that all formats share.
    pub scene: &'a SceneWriteOptions,
    /// The options of the format.
    pub own: &'a O,
}

impl<O> Clone for FormatOptions<'_, O> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<O> Copy for FormatOptions<'_, O> {}

crate::choices! {
    /// The conventions of OBJ, PLY and STL files, where the formats leave a choice.
    pub enum Dialect = Common {
        /// The conventions most programs use. In OBJ, `usemtl (null)` and `s 0` keep objects from inheriting the
        /// material and smoothing of earlier objects. In PLY, each position keeps its index as a vertex; further
        /// vertices of a position follow after all positions; indices are `int`; colors have an alpha if it is not 1
        /// everywhere, and follow the UVs. Faces of mirrored objects are reversed, so that their fronts still face
        /// outward.
        "common" => Common,
        /// Blender's conventions. Binary files are byte-identical to Blender's, except for comments, polygons with five
        /// or more corners, and names with spaces. In PLY, if corners have UVs, vertices are in the order of the first
        /// corners that use them, and positions without faces follow; indices of faces are `uint`; colors always have
        /// an alpha, are rounded down, and precede the UVs; meshes without colors get 0 if other meshes have colors. In
        /// STL, normals are computed, and text is one solid without a name. Faces of mirrored objects are reversed only
        /// in STL.
        "blender" => Blender,
    }
}

crate::choices! {
    /// How instances, and objects that share a mesh, are written.
    pub enum Instances = Auto {
        /// As the format allows. In glTF, objects that share a mesh become instances of one node
        /// (`EXT_mesh_gpu_instancing`) if no name is lost.
        "auto" => Auto,
        /// Convert each instance to separate shapes or objects.
        "flatten" => Flatten,
        /// Write each definition once, under its name and where it was defined, and drop its instances.
        "once" => Once,
        /// Write all objects that share a mesh as instances, and drop their names.
        "gpu" for glb => Gpu,
        /// Write each instance as a node, for viewers without `EXT_mesh_gpu_instancing`.
        "nodes" for glb => Nodes,
    }
}

impl Instances {
    /// Whether a scene for a renderer is written without instances.
    pub fn expands(self) -> bool {
        matches!(self, Instances::Flatten | Instances::Once)
    }
}

/// The point that becomes the origin of coordinates.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Origin {
    /// In formats that store an offset, the rounded center of the scene if 32-bit floats cannot hold its coordinates;
    /// otherwise none.
    #[default]
    Auto,
    /// Coordinates stay as they are.
    None,
    /// This point. Formats that store an offset store it; in other formats, it is subtracted from all positions.
    At([f64; 3]),
}

/// The number of digits in text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Digits {
    /// This many digits after the decimal point, 0 to 12: the same text as C's `%.Nf`.
    Fixed(u8),
    /// The fewest digits that read back as the same number.
    Shortest,
}

impl OptionValue for Digits {
    const KIND: OptionKind =
        OptionKind::Special { name: "Digits", expected: "0 to 12, or shortest", words: &["shortest"] };

    fn parse(text: &str) -> std::result::Result<Digits, String> {
        if text == "shortest" {
            return Ok(Digits::Shortest);
        }
        let places = text.parse().ok().filter(|places| *places <= 12);
        places.map(Digits::Fixed).ok_or_else(|| format!("expected {}", Self::KIND.expected()))
    }

    fn print(&self) -> String {
        match self {
            Digits::Fixed(places) => places.to_string(),
            Digits::Shortest => "shortest".into(),
        }
    }
}

impl OptionItem for Digits {
    const LIST: &'static str = "DigitsList";
    const EXPECTED: &'static str = "0 to 12 or shortest, separated by commas";

    fn parse_item(text: &str) -> std::result::Result<Digits, String> {
        Digits::parse(text.trim())
    }

    fn print_item(&self) -> String {
        self.print()
    }
}
