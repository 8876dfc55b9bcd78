//! The objects to write: the scene's objects, or one per mesh.
//!
//! This module neither copies meshes nor checks arrays. For the data, see `mesh` and `scene`.

use super::{Mesh, Object, ObjectKind, Scene};
use crate::error::{Error, ErrorKind, Result, try_push};
use polyhaul_spill::paced;
use std::borrow::Cow;

impl Scene {
    /// Returns the objects to write: the scene's objects or, if there are none, an unnamed object for each mesh.
    ///
    /// # Errors
    /// [`ErrorKind::Memory`].
    pub fn listed_objects(&self) -> Result<Cow<'_, [Object]>> {
        if !self.objects.is_empty() {
            return Ok(Cow::Borrowed(&self.objects));
        }
        let mut objects = Vec::new();
        for (mesh, arrays) in paced(&self.meshes).enumerate() {
            let whole = Object { kind: ObjectKind::Unnamed, mesh, end: arrays.counts(), ..Object::default() };
            try_push(&mut objects, whole, "the plan")?;
        }
        Ok(Cow::Owned(objects))
    }

    /// Returns, for each mesh, whether it is evaluated: whether [`Mesh::is_evaluated`] holds for the mesh, or
    /// [`Scene::is_evaluated`] for any of `objects` that uses it.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if an object refers to a mesh that the scene does not have; [`ErrorKind::Memory`].
    pub fn evaluated_meshes(&self, objects: &[Object]) -> Result<Vec<bool>> {
        let mut flags = Vec::new();
        flags.try_reserve_exact(self.meshes.len())?;
        flags.extend(paced(&self.meshes).map(Mesh::is_evaluated));
        for object in paced(objects) {
            let flag = flags.get_mut(object.mesh).ok_or_else(|| object.no_such_mesh())?;
            *flag |= self.is_evaluated(object);
        }
        Ok(flags)
    }
}

impl Object {
    /// Creates the error for an object whose mesh does not exist.
    pub fn no_such_mesh(&self) -> Error {
        let message = format!("object `{}` refers to mesh {}, which does not exist", self.name, self.mesh);
        Error::new(ErrorKind::Usage, message)
    }
}
