//! What only the end of a scene can tell: names that are defined nowhere.

use super::{Scene, Where};
use crate::error::{Diagnostic, Result};
use crate::formats::names::shown;
use crate::formats::pbrt::MeshUse;
use crate::model::render::Render;
use crate::warnings::Warnings;

impl Scene<'_> {
    /// The scene as a whole.
    pub(in super::super) fn finish(mut self) -> Result<(Render, Warnings, Vec<MeshUse>)> {
        let mut missing: Vec<(u32, Where)> = self.entities.object_uses.drain().collect();
        missing.sort_unstable_by_key(|&(object, _)| object);
        for (object, at) in missing {
            let name = self.render.objects.get(object as usize).map_or("", |object| self.render.text(object.name));
            let message = format!("the object `{}` is defined nowhere", shown(name));
            let diagnostic = Diagnostic { place: self.place_of(at), ..Diagnostic::new(message) };
            self.warnings.broken(self.options, "missing-object", diagnostic)?;
        }
        for &name in &self.entities.material_order {
            let Some(&at) = self.entities.material_uses.get(&name) else { continue };
            let message = format!("the material `{}` is defined nowhere", shown(self.render.text(name)));
            let diagnostic = Diagnostic { place: self.place_of(at), ..Diagnostic::new(message) };
            self.warnings.note(self.options, "missing-material", diagnostic)?;
        }
        self.render.states.shrink_to_fit();
        Ok((self.render, self.warnings, self.meshes))
    }
}
