//! Reports the parts of a document that are not read. Conversion losses are reported where the values are converted.

use crate::document::{Document, Node};
use crate::json;
use crate::log::GltfLog;
use crate::whole;
use polyhaul_model::error::{Result, try_push};
use polyhaul_model::names;
use serde_json::Value;

/// Extension that hides nodes and their descendants.
const VISIBILITY: &str = "KHR_node_visibility";

const ANIMATIONS: [&str; 2] = [
    "animation was dropped (animations in glTF files are not read)",
    "animations were dropped (animations in glTF files are not read)",
];

const CAMERAS: [&str; 2] = [
    "camera was dropped (cameras in glTF files are not read)",
    "cameras were dropped (cameras in glTF files are not read)",
];

const LIGHTS: [&str; 2] = [
    "light was dropped (lights in glTF files are not read)",
    "lights were dropped (lights in glTF files are not read)",
];

const SKINS: [&str; 2] =
    ["skin was dropped (skins in glTF files are not read)", "skins were dropped (skins in glTF files are not read)"];

/// Reports everything that is not read, except parts that only a walk over the hierarchy finds: see [`EmptyNodes`].
pub(crate) fn note(document: &Document, log: &mut GltfLog) -> Result<()> {
    let lights = document.extensions.get("KHR_lights_punctual").and_then(|extension| extension.get("lights"));
    let lights = lights.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let kinds =
        [("left-out-animations", ANIMATIONS, &document.animations), ("left-out-cameras", CAMERAS, &document.cameras)];
    let skins = document.skins.iter().map(|skin| skin.name.as_deref());
    log.lose_named("left-out-skins", SKINS, skins)?;
    for (code, words, items) in kinds {
        log.lose_named(code, words, items.iter().map(|item| item.name.as_deref()))?;
    }
    let names = lights.iter().map(|light| light.get("name").and_then(Value::as_str));
    log.lose_named("left-out-lights", LIGHTS, names)?;
    for name in json::unread_extensions(document).filter(|name| *name != VISIBILITY) {
        let message = || format!("the extension `{}` was ignored", names::shown(name));
        log.lose_about("left-out-extensions", 1, message, Some(name))?;
    }
    let hidden = document.nodes.iter().filter(|node| {
        let visible = node.extensions.get(VISIBILITY).and_then(|extension| extension.get("visible"));
        visible.and_then(Value::as_bool) == Some(false)
    });
    let words = ["hidden node was made visible", "hidden nodes were made visible"];
    log.lose_named("left-out-visibility", words, hidden.map(|node| node.name.as_deref()))?;
    note_extras(document, log)
}

/// The name of an item, and whether it has extras.
type NamedExtras<'d> = (Option<&'d str>, bool);

/// Counts the extras of the document and of its items, except materials, whose extras the model stores.
fn note_extras(document: &Document, log: &mut GltfLog) -> Result<()> {
    macro_rules! of {
        ($items:ident) => {
            document.$items.iter().map(|item| (item.name.as_deref(), item.extras.0))
        };
    }
    let whole = [(None, document.extras.0), (None, document.asset.extras.0)];
    let primitives = document
        .meshes
        .iter()
        .flat_map(|mesh| mesh.primitives.iter().map(|primitive| (mesh.name.as_deref(), primitive.extras.0)));
    let samplers = document.samplers.iter().map(|sampler| (None, sampler.extras.0));
    let kinds: [(&str, Box<dyn Iterator<Item = NamedExtras<'_>>>); 10] = [
        ("document", Box::new(whole.into_iter())),
        ("scene", Box::new(of!(scenes))),
        ("node", Box::new(of!(nodes))),
        ("mesh", Box::new(of!(meshes))),
        ("primitive", Box::new(primitives)),
        ("texture", Box::new(of!(textures))),
        ("image", Box::new(of!(images))),
        ("sampler", Box::new(samplers)),
        ("accessor", Box::new(of!(accessors))),
        ("buffer", Box::new(of!(buffers).chain(of!(buffer_views)))),
    ];
    for (kind, items) in kinds {
        let words = [format!("set of {kind} extras was dropped"), format!("sets of {kind} extras were dropped")];
        let owners = items.filter(|(_, has_extras)| *has_extras).map(|(name, _)| name);
        log.lose_named("left-out-extras", [&words[0], &words[1]], owners)?;
    }
    Ok(())
}

/// The empty nodes of the scene, by name. Empty nodes have no mesh, no children, no camera and no light, and they are
/// not joints.
pub(crate) struct EmptyNodes<'d> {
    is_joint: Vec<bool>,
    names: Vec<Option<&'d str>>,
}

impl<'d> EmptyNodes<'d> {
    /// Finds the joints of skins. They are dropped with the skins.
    pub(crate) fn of(document: &'d Document) -> Result<EmptyNodes<'d>> {
        let mut is_joint = Vec::new();
        is_joint.try_reserve_exact(document.nodes.len())?;
        is_joint.resize(document.nodes.len(), false);
        // Invalid joints are ignored, since skins are dropped anyway.
        let joints = document.skins.iter().filter_map(|skin| skin.joints.as_ref()?.as_array()).flatten();
        for joint in joints.filter_map(whole::index).filter_map(|joint| usize::try_from(joint).ok()) {
            is_joint.get_mut(joint).into_iter().for_each(|is_joint| *is_joint = true);
        }
        Ok(EmptyNodes { is_joint, names: Vec::new() })
    }

    /// Adds a node without a mesh if it is empty.
    pub(crate) fn see(&mut self, index: usize, node: &'d Node) -> Result<()> {
        let has_light = || node.extensions.keys().any(|name| name.contains("_lights_"));
        if node.children.is_empty() && node.camera.is_none() && !self.is_joint[index] && !has_light() {
            try_push(&mut self.names, node.name.as_deref(), "nodes")?;
        }
        Ok(())
    }

    /// Reports the empty nodes.
    pub(crate) fn note(self, log: &mut GltfLog) -> Result<()> {
        let words = ["empty node was dropped", "empty nodes were dropped"];
        log.lose_named("left-out-empty-nodes", words, self.names)
    }
}
