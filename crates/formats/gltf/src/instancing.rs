//! Groups objects into instances of one node (`EXT_mesh_gpu_instancing`), and names that node.
//!
//! Source: <https://github.com/KhronosGroup/glTF/tree/main/extensions/2.0/Vendor/EXT_mesh_gpu_instancing>.
//! [`crate::instances`] reads the extension.

use polyhaul_model::error::{Error, Result, try_push};
use polyhaul_model::options::Instances;
use std::collections::HashMap;

/// Names of the attributes.
pub(crate) const ATTRIBUTES: [&str; 3] = ["TRANSLATION", "ROTATION", "SCALE"];

/// An object that may become an instance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate<'n> {
    pub(crate) name: &'n str,
    /// Mesh index; `None` if the object needs its own node.
    pub(crate) mesh: Option<usize>,
}

/// Objects that share a node.
#[derive(Debug)]
struct GltfInstanceGroup<'n> {
    first: &'n str,
    count: usize,
    /// Whether all names are equal.
    is_same: bool,
    /// Whether the names are numbered from 0, as readers number instances.
    is_numbered: bool,
}

impl GltfInstanceGroup<'_> {
    /// Returns whether all names so far were numbered and `name` has the next number.
    fn continues_with(&self, name: &str) -> bool {
        // Numbers start at 0, so the next number equals the count.
        self.is_numbered && numbered(name).is_some_and(|(_, number)| number == self.count)
    }
}

/// Groups built so far.
#[derive(Debug, Default)]
struct Grouping<'n> {
    groups: Vec<GltfInstanceGroup<'n>>,
    /// Latest group by mesh, name, and whether the name is the base of numbered names.
    latest: HashMap<(usize, &'n str, bool), usize>,
}

/// Assigns objects to nodes. Returns the node index of each object. Nodes are numbered in the order of their first
/// objects.
pub(crate) fn assign<'n>(
    candidates: impl ExactSizeIterator<Item = Candidate<'n>>,
    instances: Instances,
) -> Result<Vec<u32>> {
    let mut grouping = Grouping::default();
    let mut nodes = Vec::new();
    nodes.try_reserve_exact(candidates.len())?;
    for Candidate { name, mesh } in candidates {
        let node = match (mesh, instances) {
            (Some(mesh), Instances::Auto | Instances::Once) => grouping.add_named(mesh, name)?,
            // One key for all objects of a mesh, so that different names do not separate them.
            (Some(mesh), Instances::Gpu) => grouping.add(&[(mesh, "", false)], name)?,
            (None, _) | (_, Instances::Nodes | Instances::Flatten) => grouping.add(&[], name)?,
        };
        nodes.push(u32::try_from(node).map_err(|_| Error::memory("nodes"))?);
    }
    Ok(nodes)
}

/// Returns the node name from which a reader restores the names of all instances, if there is one.
pub(crate) fn common_name<'n>(names: impl Iterator<Item = &'n str> + Clone) -> Option<&'n str> {
    let first = names.clone().next().unwrap_or_default();
    if names.clone().all(|name| name == first) {
        return Some(first);
    }
    let (base, _) = numbered(first).filter(|&(_, index)| index == 0)?;
    names.enumerate().all(|(index, name)| numbered(name) == Some((base, index))).then_some(base)
}

impl<'n> Grouping<'n> {
    /// Adds an object to the group with its name, or to the group whose numbers it continues, or else to a new group.
    fn add_named(&mut self, mesh: usize, name: &'n str) -> Result<usize> {
        let fits = |grouping: &Self, key: (usize, &'n str, bool)| {
            let group = grouping.latest.get(&key).map(|&group| &grouping.groups[group]);
            group.is_some_and(|group| if key.2 { group.continues_with(name) } else { group.is_same })
        };
        let same = (mesh, name, false);
        if fits(self, same) {
            return self.add(&[same], name);
        }
        match numbered(name) {
            Some((base, _)) if fits(self, (mesh, base, true)) => self.add(&[(mesh, base, true)], name),
            Some((base, 0)) => {
                // A name that ends with `_0` may start a series of numbered names or be repeated, so the new group
                // replaces the latest group of both kinds.
                self.latest.remove(&same);
                self.latest.remove(&(mesh, base, true));
                self.add(&[same, (mesh, base, true)], name)
            }
            _ => {
                self.latest.remove(&same);
                self.add(&[same], name)
            }
        }
    }

    /// Adds an object to the group of the first key, or to a new group that is registered under all keys.
    fn add(&mut self, keys: &[(usize, &'n str, bool)], name: &'n str) -> Result<usize> {
        if let Some(&number) = keys.first().and_then(|key| self.latest.get(key)) {
            let group = &mut self.groups[number];
            group.is_same &= name == group.first;
            group.is_numbered = group.continues_with(name);
            group.count += 1;
            return Ok(number);
        }
        let number = self.groups.len();
        let is_numbered = numbered(name).is_some_and(|(_, first)| first == 0);
        try_push(
            &mut self.groups,
            GltfInstanceGroup { first: name, count: 1, is_same: true, is_numbered },
            "the plan",
        )?;
        self.latest.try_reserve(keys.len()).map_err(|_| Error::memory("the plan"))?;
        self.latest.extend(keys.iter().map(|&key| (key, number)));
        Ok(number)
    }
}

/// Splits a numbered name such as `NAME_0` into base and number.
fn numbered(name: &str) -> Option<(&str, usize)> {
    let (base, digits) = name.rsplit_once('_')?;
    // Only numbers in the form that readers write, because other forms (`_00`, `_+1`) would not be restored.
    let is_plain = digits == "0" || !digits.starts_with(['0', '+']);
    let number = digits.parse().ok().filter(|_| is_plain)?;
    Some((base, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(names: &[(&str, usize)], instances: Instances) -> Vec<u32> {
        let candidates = names.iter().map(|&(name, mesh)| Candidate { name, mesh: (mesh != 9).then_some(mesh) });
        assign(candidates, instances).unwrap()
    }

    #[test]
    fn names_decide_about_nodes() {
        let trees = [("tree", 0), ("rock", 0), ("tree", 1), ("tree", 0), ("tree", 9), ("", 1), ("", 1)];
        assert_eq!(nodes(&trees, Instances::Auto), [0, 1, 2, 0, 3, 4, 4]);
        assert_eq!(nodes(&trees, Instances::Gpu), [0, 0, 1, 0, 2, 1, 1]);
        assert_eq!(nodes(&trees, Instances::Nodes), [0, 1, 2, 3, 4, 5, 6]);
        let numbered = ["a_0", "a_1", "a_3", "a_2", "a_0", "a_1", "b_1", "b_2", "c_00", "c_01"].map(|name| (name, 0));
        assert_eq!(nodes(&numbered, Instances::Auto), [0, 0, 1, 0, 2, 2, 3, 4, 5, 6]);
        let same = ["a_0", "a_0", "a_1", "a_1", "a_0"].map(|name| (name, 0));
        assert_eq!(nodes(&same, Instances::Auto), [0, 0, 1, 1, 0]);
        let mixed = ["a_0", "a_1", "a_0", "a_0", "a_2"].map(|name| (name, 0));
        assert_eq!(nodes(&mixed, Instances::Auto), [0, 0, 1, 1, 2]);
    }

    #[test]
    fn names_of_a_node_are_common_or_lost() {
        let common = |names: &[&'static str]| common_name(names.iter().copied());
        assert_eq!(common(&["tree", "tree"]), Some("tree"));
        assert_eq!(common(&["tree_0", "tree_1"]), Some("tree"));
        assert_eq!(common(&["tree_0", "tree_0"]), Some("tree_0"));
        assert_eq!(common(&["tree_0", "bush_1", ""]), None);
    }
}
