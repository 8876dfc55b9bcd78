//! Finishes a scene: returns its content, and reports names that are used but not defined.

use super::{PbrtScene, SceneSpot};
use crate::directive::Directive;
use crate::event::PointLoss;
use crate::files::MAIN;
use polyhaul_model::error::{Diagnostic, Place, Result, try_push};
use polyhaul_model::names::shown;
use polyhaul_model::render::Render;
use polyhaul_model::warnings::Warnings;
use polyhaul_pipeline::precision::{PrecisionPass, PrecisionWatch};

/// A scene read from a file.
pub struct Pbrt {
    /// The scene, without the meshes that are in files.
    pub render: Render,
    /// Warnings about repaired, dropped and missing content.
    pub warnings: Warnings,
    /// Shapes with meshes in separate files.
    pub meshes: Vec<MeshUse>,
    /// Number of uses of each directive, by name.
    pub directives: Vec<(&'static str, u64)>,
    /// Number of worker threads.
    pub threads: usize,
}

/// A shape whose mesh is in a file.
pub struct MeshUse {
    /// Index of the shape.
    pub shape: u32,
    /// Name of the mesh file.
    pub name: String,
    /// Folder of the file that refers to the mesh file.
    pub folder: std::sync::Arc<str>,
    /// Position of the shape in the text.
    pub place: Place,
}

impl PbrtScene<'_> {
    /// Completes the scene. `threads` is the number of threads that read it.
    pub(crate) fn finish(mut self, threads: usize) -> Result<Pbrt> {
        let mut missing: Vec<(u32, SceneSpot)> = Vec::new();
        missing.try_reserve_exact(self.entities.object_uses.len())?;
        missing.extend(self.entities.object_uses.drain());
        // The map has no order, so the objects are sorted by index, which follows their first use.
        missing.sort_unstable_by_key(|&(object, _)| object);
        for (object, at) in missing {
            let name = self.render.objects.get(object as usize).map_or("", |object| self.render.text(object.name));
            let message = format!("undefined object `{}`", shown(name));
            let diagnostic = Diagnostic { place: self.place_of(at), ..Diagnostic::new(message).about(name) };
            self.warnings.broken(self.options.faults, "missing-object", diagnostic)?;
        }
        for &name in &self.entities.material_order {
            let Some(&at) = self.entities.material_uses.get(&name) else { continue };
            let name = self.render.text(name);
            let message = format!("undefined material `{}`", shown(name));
            let diagnostic = Diagnostic { place: self.place_of(at), ..Diagnostic::new(message).about(name) };
            self.warnings.note(self.options.faults, "undefined-material", diagnostic)?;
        }
        self.check_names()?;
        self.check_rounding()?;
        polyhaul_spill::shrink(&mut self.render.states);
        let mut directives = Vec::new();
        for (&(_, name, _), count) in Directive::ALL.iter().zip(self.directives).filter(|(_, count)| *count > 0) {
            try_push(&mut directives, (name, count), "names")?;
        }
        let PbrtScene { render, warnings, meshes, .. } = self;
        Ok(Pbrt { render, warnings, meshes, directives, threads })
    }

    /// Warns about the precision that points lost as 32-bit floats.
    fn check_rounding(&mut self) -> Result<()> {
        let PointLoss { digits, bounds } = self.rounding;
        let pass = PrecisionPass { is_second: false, restart_bytes: 0, ..self.options.precision };
        PrecisionWatch::of(digits).warn(
            bounds,
            pass,
            self.options.faults,
            &self.library.file_name(MAIN),
            &mut self.warnings,
        )
    }
}
