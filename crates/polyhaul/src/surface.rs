//! Material properties that only glTF stores: warns about them, and removes occlusion maps, when writing other formats.

use crate::format::Format;
use polyhaul_geometry::losses::{LeftOut, note_left_out};
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{MapKind, Material};
use std::borrow::Cow;

/// Whether a format stores all glTF material properties.
fn stores_all(format: Format) -> bool {
    format.name() == "glb"
}

/// Warns about material properties that a format cannot store.
pub(crate) fn note(materials: &[Material], format: Format, output: &str, warnings: &mut Warnings) {
    if stores_all(format) {
        return;
    }
    let named = |code: &'static str, nouns: [&'static str; 2], is_lost: fn(&Material) -> bool| {
        let lost = materials.iter().filter(|material| is_lost(material));
        LeftOut::named(code, nouns, lost.map(|material| material.name.as_str()))
    };
    let kinds = [
        named("left-out-culling", ["backface culling flag", "backface culling flags"], |m| m.single_sided),
        named("left-out-alpha-cutoffs", ["alpha cutoff", "alpha cutoffs"], |m| m.alpha_cutoff.is_some()),
        named(
            "left-out-alpha-modes",
            ["`BLEND` alpha mode (opacity 1, no opacity map)", "`BLEND` alpha modes (opacity 1, no opacity map)"],
            blends_opaque,
        ),
        named("left-out-unlit", ["unlit shading flag", "unlit shading flags"], |m| m.unlit),
        named("left-out-occlusion-maps", ["occlusion map", "occlusion maps"], |m| m.maps.iter().any(is_occlusion)),
        named("left-out-extras", ["set of material extras", "sets of material extras"], |m| m.extras.is_some()),
    ];
    note_left_out(&format.title(), kinds, output, warnings);
}

/// Removes occlusion maps, which only glTF can refer to.
pub(crate) fn remove_maps(materials: &mut Cow<'_, [Material]>, format: Format) {
    let has_maps = |material: &Material| material.maps.iter().any(is_occlusion);
    if !stores_all(format) && materials.iter().any(has_maps) {
        materials.to_mut().iter_mut().for_each(|material| material.maps.retain(|map| !is_occlusion(map)));
    }
}

/// Whether a material has the alpha mode `BLEND` but is opaque, so that only the alpha of vertex colors matters.
fn blends_opaque(material: &Material) -> bool {
    material.alpha_blended == Some(true)
        && material.opacity == Some(1.0)
        && !material.maps.iter().any(|map| map.kind == MapKind::Opacity)
}

fn is_occlusion(map: &polyhaul_model::TextureMap) -> bool {
    map.kind == MapKind::Occlusion
}
