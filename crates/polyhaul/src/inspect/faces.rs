//! Reports degenerate faces, which use one position more than once.
//!
//! Reading accepts such faces, since the formats allow them. Nothing here changes them.

use super::validate::complaint;
use polyhaul_model::error::{Error, Result};
use polyhaul_model::names;
use polyhaul_model::warnings::{Warnings, is_kept};
use polyhaul_model::{Elements, Object, Scene};
use polyhaul_pipeline::options::Cancel;

/// Number of faces between checks for cancellation.
const STEP: usize = 1 << 16;

/// Numbering of faces and vertices in messages, which follows the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FaceNumbering {
    FromZero,
    FromOne,
}

/// Warns about each face that uses one position more than once. `file` is the name for messages.
pub(super) fn check(
    scene: &Scene,
    numbering: FaceNumbering,
    file: &str,
    cancel: &Cancel,
    warnings: &mut Warnings,
) -> Result<()> {
    let mut scratch = Vec::new();
    let mut owners = Owners(&scene.objects);
    for (number, mesh) in scene.meshes.iter().enumerate() {
        for face in 0..mesh.faces.len() {
            if face % STEP == 0 {
                cancel.check()?;
            }
            let Some(position) = repeated(&mesh.faces, face, &mut scratch)? else { continue };
            if !is_kept(warnings.kept().iter().map(|warning| warning.code), "degenerate-face") {
                warnings.count("degenerate-face", 1);
                continue;
            }
            let owner = match owners.owner(number, face) {
                Some(name) => format!(" (object {})", names::shown(name)),
                None => String::new(),
            };
            let message = match numbering {
                FaceNumbering::FromZero => format!("face {face} uses vertex {position} twice{owner}"),
                FaceNumbering::FromOne => {
                    format!("face {} uses position {} twice{owner}", face + 1, u64::from(position) + 1)
                }
            };
            warnings.push("degenerate-face", complaint(message, file));
        }
    }
    Ok(())
}

/// Returns a position that the face repeats, if any.
fn repeated(faces: &Elements, face: usize, scratch: &mut Vec<u32>) -> Result<Option<u32>> {
    let corners = faces.corner_positions.get(faces.corners(face)).unwrap_or(&[]);
    if let &[a, b, c] = corners {
        return Ok(if a == b || a == c { Some(a) } else { (b == c).then_some(b) });
    }
    scratch.clear();
    scratch.try_reserve(corners.len()).map_err(|_| Error::memory("a face"))?;
    scratch.extend_from_slice(corners);
    scratch.sort_unstable();
    Ok(scratch.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]))
}

/// The objects that may own the remaining faces. Readers return objects in face order.
struct Owners<'a>(&'a [Object]);

impl<'a> Owners<'a> {
    /// Returns the name of the object that owns a face, if any. Faces must be passed in order.
    fn owner(&mut self, mesh: usize, face: usize) -> Option<&'a str> {
        let past = |object: &Object| (object.mesh, object.end.faces as usize) <= (mesh, face);
        while let Some((first, rest)) = self.0.split_first()
            && past(first)
        {
            self.0 = rest;
        }
        let owns = |object: &&Object| object.mesh == mesh && object.start.faces as usize <= face;
        self.0.first().filter(owns).map(|object| object.name.as_str()).filter(|name| !name.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Input;
    use polyhaul_model::warnings::KEPT;

    fn complaints(text: &str, cancel: &Cancel) -> Result<Warnings> {
        let input = Input::Memory(text.into(), "a.obj".into());
        let scene = crate::Reader::new(input).scene().unwrap().value;
        let mut warnings = Warnings::default();
        check(&scene, FaceNumbering::FromOne, "a.obj", cancel, &mut warnings)?;
        Ok(warnings)
    }

    #[test]
    fn formats_that_count_from_zero_keep_their_numbers() {
        let input = Input::Memory(b"OFF\n3 2 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n3 1 0 1\n".to_vec(), "a.off".into());
        let warnings = crate::inspect::validate(input, &Default::default()).unwrap().report.warnings;
        assert_eq!(warnings.kept()[0].diagnostic.to_string(), "a.off: face 1 uses vertex 1 twice");
    }

    #[test]
    fn folded_faces_are_found_with_their_objects() {
        let positions = "v 0 0 0\nv 0 0 1\nv 0 1 0\nv 1 0 0\nv 1 1 0\nv 1 1 1\n";
        let text =
            format!("{positions}f 1 1 2\no a\nf 1 2 3\nf 5 6 6\no none\no b\nf 1 2 3 4\nf 4 2 3 4\nf 1 2 3 4 2\n");
        let warnings = complaints(&text, &Cancel::default()).unwrap();
        let messages: Vec<_> = warnings.kept().iter().map(|w| w.diagnostic.to_string()).collect();
        let words = |face, position, owner| format!("a.obj: face {face} uses position {position} twice{owner}");
        let a = " (object a)";
        let b = " (object b)";
        assert_eq!(messages, [words(1, 1, ""), words(3, 6, a), words(5, 4, b), words(6, 2, b)]);
    }

    #[test]
    fn past_the_cap_they_are_only_counted() {
        let text = "v 0 0 0\nv 1 0 0\n".to_owned() + &"f 1 2 2\n".repeat(KEPT + 5);
        let warnings = complaints(&text, &Cancel::default()).unwrap();
        assert_eq!((warnings.kept().len(), warnings.total()), (KEPT, KEPT as u64 + 5));
    }

    #[test]
    fn it_can_be_cancelled() {
        let cancel = Cancel::default();
        cancel.cancel();
        let error = complaints("v 0 0 0\nv 1 0 0\nf 1 2 2\n", &cancel).unwrap_err();
        assert_eq!(error.kind(), polyhaul_model::error::ErrorKind::Cancelled);
    }
}
