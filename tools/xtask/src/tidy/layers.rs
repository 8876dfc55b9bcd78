//! Layers of crates: a crate may depend only on crates in the layers that its own layer permits.
//!
//! A crate's folder determines its layer. Cargo itself rejects cyclic dependencies.

use super::packages::Package;
use super::{Finding, Tree};

/// Crates in the layer of tools that tests may use.
const TEST_TOOLS: [&str; 2] = ["tools/models", "tools/testkit"];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Layer {
    Core,
    Geometry,
    Format,
    /// Users of the facade or its parts.
    Consumer,
    Facade,
    Surface,
    Tool,
}

impl Layer {
    /// Returns the layer of a crate in `folder`.
    fn of(folder: &str) -> Option<Layer> {
        let mut parts = folder.split('/');
        Some(match (parts.next()?, parts.next()?) {
            ("crates", "core") => Layer::Core,
            ("crates", "geometry") => Layer::Geometry,
            ("crates", "formats") => Layer::Format,
            ("crates", "polyhaul") => Layer::Facade,
            ("crates", "scan" | "preview" | "insight" | "batch" | "watch") => Layer::Consumer,
            ("surfaces", _) => Layer::Surface,
            ("tools", _) => Layer::Tool,
            _ => return None,
        })
    }

    /// Returns the layers that a crate of this layer may use.
    fn below(self) -> &'static [Layer] {
        use Layer::{Consumer, Core, Facade, Format, Geometry, Surface, Tool};
        match self {
            Core => &[Core],
            Geometry | Format => &[Core, Geometry],
            Consumer => &[Core, Geometry, Consumer, Facade],
            Facade => &[Core, Geometry, Format, Consumer],
            Surface => &[Core, Geometry, Format, Consumer, Facade, Surface],
            Tool => &[Core, Geometry, Format, Consumer, Facade, Surface, Tool],
        }
    }
}

/// Rule: every crate has a layer and uses only permitted layers.
pub(super) fn layers(tree: &Tree, findings: &mut Vec<Finding>) {
    for package in &tree.packages {
        let manifest = format!("{}/Cargo.toml", package.folder);
        let Some(layer) = Layer::of(package.folder) else {
            findings.push(Finding::new(
                &manifest,
                1,
                "the folder belongs to no layer (tools/xtask/src/tidy/layers.rs)",
            ));
            continue;
        };
        for (table, dependency) in package.dependencies() {
            let Some(target) = tree.packages.iter().find(|package| package.name == dependency) else { continue };
            if !is_accepted(table, layer, target) {
                let message = format!("{layer:?} must not use {dependency}, which is in {}", target.folder);
                findings.push(Finding::new(&manifest, line_of(package, dependency), message));
            }
        }
    }
}

fn is_accepted(table: &str, layer: Layer, target: &Package<'_>) -> bool {
    let is_test = table == "dev-dependencies" && TEST_TOOLS.contains(&target.folder);
    is_test || Layer::of(target.folder).is_none_or(|target| layer.below().contains(&target))
}

/// Returns the line of the manifest with the dependency.
fn line_of(package: &Package<'_>, dependency: &str) -> usize {
    let names = |line: &str| line.strip_prefix(dependency).is_some_and(|rest| rest.starts_with(['.', ' ', '=']));
    package.text.lines().position(names).map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::super::with_tree;
    use super::*;

    fn manifest(name: &str, rest: &str) -> String {
        format!("[package]\nname = \"{name}\"\n{rest}")
    }

    #[test]
    fn arrows_upward_and_sideways_are_found() {
        let renamed = "[target.'cfg(unix)'.dependencies]\np = { workspace = true, package = \"off\" }\n";
        let manifests = [
            ("crates/core/model/Cargo.toml", manifest("model", "[dependencies]\nweld.workspace = true\n")),
            ("crates/geometry/Cargo.toml", manifest("weld", "[dev-dependencies]\ntestkit = { path = \"\" }\n")),
            ("crates/formats/obj/Cargo.toml", manifest("obj", renamed)),
            ("crates/formats/off/Cargo.toml", manifest("off", "[dependencies]\nmodel = \"1\"\nlibc = \"1\"\n")),
            ("crates/scan/Cargo.toml", manifest("scan", "[dependencies]\noff = \"1\"\n")),
            ("crates/polyhaul/Cargo.toml", manifest("polyhaul", "[dependencies]\nscan = \"1\"\ntestkit = \"1\"\n")),
            ("crates/batch/Cargo.toml", manifest("batch", "[build-dependencies]\ncli = \"1\"\npolyhaul = \"1\"\n")),
            ("crates/mesh/Cargo.toml", manifest("mesh", "")),
            ("surfaces/cli/Cargo.toml", manifest("cli", "[dependencies]\nbatch = \"1\"\n")),
            ("tools/testkit/Cargo.toml", manifest("testkit", "[dependencies]\ncli = \"1\"\n")),
        ];
        let expected = [
            "crates/core/model/Cargo.toml:4: Core must not use weld, which is in crates/geometry",
            "crates/formats/obj/Cargo.toml:1: Format must not use off, which is in crates/formats/off",
            "crates/scan/Cargo.toml:4: Consumer must not use off, which is in crates/formats/off",
            "crates/polyhaul/Cargo.toml:5: Facade must not use testkit, which is in tools/testkit",
            "crates/batch/Cargo.toml:4: Consumer must not use cli, which is in surfaces/cli",
            "crates/mesh/Cargo.toml:1: the folder belongs to no layer (tools/xtask/src/tidy/layers.rs)",
        ];
        let files: Vec<(&str, &str)> = manifests.iter().map(|(path, text)| (*path, text.as_str())).collect();
        let messages = with_tree(&files, |tree| {
            let mut findings = Vec::new();
            layers(tree, &mut findings);
            findings.iter().map(Finding::to_string).collect::<Vec<_>>()
        });
        assert_eq!(messages, expected);
    }
}
