//! The software bill of materials: every package that the command contains, as CycloneDX 1.6
//! (<https://cyclonedx.org/docs/1.6/json/>).
//!
//! It has neither a serial number nor a time, so that its bytes depend on the sources alone.

use super::files::{Release, VERSION, of};
use crate::root;
use crate::steps::Outcome;
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io;

/// Package whose dependencies are listed, with the features of released builds.
const ROOT: &str = "polyhaul-cli";
const FEATURES: &str = "polyhaul-cli/full";

pub(super) fn step(release: &Release) -> Outcome {
    of(write(release))
}

fn write(release: &Release) -> io::Result<()> {
    let unlisted = || io::Error::other("cargo does not list the dependencies");
    let mut metadata = root::cargo();
    metadata.args(["metadata", "--format-version", "1", "--locked", "--features", FEATURES]);
    let metadata: Value = serde_json::from_str(&root::output(&mut metadata).ok_or_else(unlisted)?)?;
    let lock = fs::read_to_string(root::root().join("Cargo.lock"))?;
    let list = bill(&metadata, &checksums(&lock)).ok_or_else(unlisted)?;
    let text = serde_json::to_string_pretty(&list)?;
    fs::write(release.files.join(format!("polyhaul-{VERSION}.cdx.json")), text + "\n")
}

/// Returns the checksum of each package of a registry, by name and version.
fn checksums(lock: &str) -> HashMap<(String, String), String> {
    let lock: toml::Table = toml::from_str(lock).unwrap_or_default();
    let packages = lock.get("package").and_then(toml::Value::as_array).into_iter().flatten();
    let text = |package: &toml::Value, key: &str| package.get(key)?.as_str().map(str::to_owned);
    let entry = |package| Some(((text(package, "name")?, text(package, "version")?), text(package, "checksum")?));
    packages.filter_map(entry).collect()
}

/// Builds the list from Cargo's metadata.
fn bill(metadata: &Value, checksums: &HashMap<(String, String), String>) -> Option<Value> {
    let packages = metadata["packages"].as_array()?;
    let package_of: HashMap<&str, &Value> =
        packages.iter().filter_map(|package| Some((package["id"].as_str()?, package))).collect();
    let nodes = metadata["resolve"]["nodes"].as_array()?;
    let dependencies_of: HashMap<&str, Vec<&str>> =
        nodes.iter().filter_map(|node| Some((node["id"].as_str()?, built_in(node)))).collect();
    let root = packages.iter().find(|package| package["name"] == ROOT)?;
    let mut reached = BTreeSet::new();
    let mut open = vec![root["id"].as_str()?];
    while let Some(id) = open.pop() {
        if reached.insert(id) {
            open.extend(dependencies_of.get(id).into_iter().flatten());
        }
    }
    let purl = |id: &str| package_of.get(id).map(|package| package_url(package));
    let others = reached.iter().filter(|id| root["id"] != **id).filter_map(|id| package_of.get(id));
    let mut components: Vec<Value> = others.map(|package| component(package, "library", checksums)).collect();
    components.sort_by_key(|component| component["purl"].as_str().unwrap_or_default().to_owned());
    let mut dependencies: Vec<Value> = reached
        .iter()
        .map(|id| {
            let targets = dependencies_of.get(id).into_iter().flatten().filter_map(|id| purl(id));
            json!({ "ref": purl(id), "dependsOn": targets.collect::<BTreeSet<_>>() })
        })
        .collect();
    dependencies.sort_by_key(|entry| entry["ref"].as_str().unwrap_or_default().to_owned());
    Some(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": { "component": component(root, "application", checksums) },
        "components": components,
        "dependencies": dependencies,
    }))
}

/// Returns the dependencies of a node that end up in a build, without the dependencies of tests and build scripts.
fn built_in(node: &Value) -> Vec<&str> {
    let is_normal = |dependency: &&Value| {
        dependency["dep_kinds"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"].is_null()))
    };
    let dependencies = node["deps"].as_array().into_iter().flatten().filter(is_normal);
    dependencies.filter_map(|dependency| dependency["pkg"].as_str()).collect()
}

/// Returns the package URL (<https://github.com/package-url/purl-spec>).
fn package_url(package: &Value) -> String {
    let text = |key: &str| package[key].as_str().unwrap_or_default().to_owned();
    format!("pkg:cargo/{}@{}", text("name"), text("version"))
}

fn component(package: &Value, kind: &str, checksums: &HashMap<(String, String), String>) -> Value {
    let name = package["name"].as_str().unwrap_or_default();
    let version = package["version"].as_str().unwrap_or_default();
    let mut component = json!({
        "type": kind,
        "bom-ref": package_url(package),
        "name": name,
        "version": version,
        "purl": package_url(package),
    });
    if let Some(license) = package["license"].as_str() {
        // A slash is the old spelling of OR, which SPDX expressions do not have.
        component["licenses"] = json!([{ "expression": license.replace('/', " OR ") }]);
    }
    if let Some(sum) = checksums.get(&(name.to_owned(), version.to_owned())) {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
    }
    component
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_of_builds_are_listed_once() {
        let dependency = |id: &str, kind: Value| json!({ "pkg": id, "dep_kinds": [{ "kind": kind }] });
        let package = |name: &str| json!({ "id": name, "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0" });
        let metadata = json!({
            "packages": [package(ROOT), package("a"), package("b"), package("test")],
            "resolve": { "nodes": [
                { "id": ROOT, "deps": [dependency("a", Value::Null), dependency("test", "dev".into())] },
                { "id": "a", "deps": [dependency("b", Value::Null)] },
                { "id": "b", "deps": [dependency("a", Value::Null)] },
            ] },
        });
        let sums = checksums("[[package]]\nname = \"b\"\nversion = \"1.0.0\"\nchecksum = \"12ab\"\n");
        let bill = bill(&metadata, &sums).unwrap();
        let names: Vec<_> = bill["components"].as_array().unwrap().iter().map(|entry| &entry["purl"]).collect();
        assert_eq!(names, ["pkg:cargo/a@1.0.0", "pkg:cargo/b@1.0.0"]);
        assert_eq!(bill["components"][1]["hashes"][0]["content"], "12ab");
        assert_eq!(bill["components"][0]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(bill["dependencies"][0], json!({ "ref": "pkg:cargo/a@1.0.0", "dependsOn": ["pkg:cargo/b@1.0.0"] }));
    }
}
