//! The job of writing a scene of meshes, which the writer of a format receives.
//!
//! `save` prepares the scene; the writers are in the registry.

use crate::format::Format;
use crate::input::Output;
use crate::options::WriteOptions;
use crate::outputs::write_with;
use crate::references::Relinker;
use crate::report::Report;
use polyhaul_geometry::parts;
#[cfg(any(feature = "ply", feature = "splat"))]
use polyhaul_geometry::splats::SplatsJob;
use polyhaul_model::error::Result;
use polyhaul_model::options::{FormatOptions, Placement};
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{Material, Mesh, Scene};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::write::Writing;
use polyhaul_spill::paced;
use std::borrow::Cow;

/// Converts an image file of any format to another format; the string is its name in messages.
pub(crate) type ConvertImage = fn(Vec<u8>, &str, Format, &RunOptions, &mut Warnings) -> Result<Vec<u8>>;

/// A scene of meshes to write to a file.
pub(crate) struct MeshJob<'a> {
    pub(crate) scene: &'a Scene,
    pub(crate) looks: &'a Looks<'a>,
    /// Requested axes, scale and triangulation.
    pub(crate) placement: &'a Placement,
    /// Offset subtracted from all positions, if the format stores an origin.
    pub(crate) origin: [f64; 3],
    pub(crate) format: Format,
    pub(crate) output: Output,
    pub(crate) links: Relinker<'a>,
    pub(crate) options: &'a WriteOptions,
    /// Converts images that become part of the file.
    pub(crate) convert_image: ConvertImage,
    pub(crate) report: &'a mut Report,
}

impl MeshJob<'_> {
    /// Writes a format without objects; `own_options` returns the options of the format.
    pub(crate) fn write_parts<O>(
        mut self,
        own_options: fn(&WriteOptions) -> &O,
        comments: Comments,
        write: impl FnOnce(&parts::PartsJob<'_, O>, &mut Writing<'_, '_>, &mut Warnings) -> Result<()>,
    ) -> Result<()> {
        let scene = self.scene;
        let options = self.options;
        let objects = scene.listed_objects()?;
        let evaluated = scene.evaluated_meshes(&objects)?;
        let parts = parts::parts(scene, &objects, &evaluated, self.placement)?;
        let materials = Cow::Borrowed(&*self.looks.materials);
        let (comments, materials) = match comments {
            Comments::NameFiles => {
                let used = parts::used_materials(&parts, materials.len())?;
                let comments = self.links.comments(&scene.comments, &scene.folder)?;
                (comments, self.links.textures(&self.looks.materials, &used, &scene.folder)?)
            }
            Comments::AreText => (Cow::Borrowed(&scene.comments[..]), materials),
        };
        let copies = self.links.finish(&mut self.report.warnings)?;
        let materials = &*materials;
        write_with(copies, self.output, Some(self.format.name()), options, self.report, |writing, output, warnings| {
            let comments = &*comments;
            let run = &options.run;
            let strict = options.strictness();
            let job = parts::PartsJob {
                scene,
                parts: &parts,
                comments,
                materials,
                output,
                options: FormatOptions { scene: &options.scene, own: own_options(options) },
                run,
                strict,
            };
            write(&job, writing, warnings)
        })
    }
}

#[cfg(any(feature = "ply", feature = "splat"))]
impl MeshJob<'_> {
    /// Writes a format of Gaussian splats.
    pub(crate) fn write_splats(
        self,
        write: fn(&SplatsJob<'_>, &mut Writing<'_, '_>, &mut Warnings) -> Result<()>,
    ) -> Result<()> {
        self.write_parts(|options| &options.splats, Comments::AreText, write)
    }
}

/// Whether any face of a scene is not a triangle.
pub(crate) fn has_polygons(scene: &Scene) -> bool {
    let is_cut = |mesh: &Mesh| mesh.faces.offsets.windows(2).all(|face| face[1].wrapping_sub(face[0]) == 3);
    !paced(&scene.meshes).all(is_cut)
}

/// Meaning of a scene's comments in a format.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comments {
    /// They are text, or are not written.
    AreText,
    /// Some comments contain file names, such as the textures of a PLY file, which must be rewritten.
    NameFiles,
}

/// The materials and material libraries of a scene, kept apart so that copying the scene for writing does not copy
/// them.
pub(crate) struct Looks<'a> {
    pub(crate) materials: Cow<'a, [Material]>,
    pub(crate) libraries: Cow<'a, [String]>,
}

impl<'a> Looks<'a> {
    pub(crate) fn split(scene: Cow<'a, Scene>) -> (Cow<'a, Scene>, Looks<'a>) {
        match scene {
            Cow::Borrowed(scene) => {
                let materials = &scene.materials;
                let libraries = &scene.material_libraries;
                (
                    Cow::Borrowed(scene),
                    Looks { materials: Cow::Borrowed(materials), libraries: Cow::Borrowed(libraries) },
                )
            }
            Cow::Owned(mut scene) => {
                let materials = Cow::Owned(std::mem::take(&mut scene.materials));
                let libraries = Cow::Owned(std::mem::take(&mut scene.material_libraries));
                (Cow::Owned(scene), Looks { materials, libraries })
            }
        }
    }
}
