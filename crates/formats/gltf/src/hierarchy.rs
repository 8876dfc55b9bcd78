//! Walks the node hierarchy and computes world transforms.
//!
//! Nodes refer to children by index, and a hostile file can contain cycles, shared children, or a million levels. All
//! nodes are validated once; then the scene is walked from its roots with an explicit stack instead of recursion.

use crate::document::{Document, Node};
use crate::log::{GltfLog, malformed};
use polyhaul_geometry::linear::{self, IDENTITY64, Matrix4};
use polyhaul_model::error::{Error, Result, try_push};
use std::collections::HashMap;

/// World transform of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct NodeWorld {
    /// Product of the local transforms, with all of their numbers rounded to single precision first.
    pub(crate) single: Matrix4,
    /// Product of the local transforms as written in the file.
    pub(crate) exact: Matrix4,
}

impl NodeWorld {
    pub(crate) const IDENTITY: NodeWorld = NodeWorld { single: IDENTITY64, exact: IDENTITY64 };

    /// Returns the world transform of a child.
    fn of_child(&self, node: &Node) -> NodeWorld {
        let single = multiply(&self.single, &local(node, |value| f64::from(value as f32)));
        NodeWorld { single, exact: multiply(&self.exact, &local(node, |value| value)) }
    }
}

/// The validated node hierarchy of the default scene.
pub(crate) struct Hierarchy<'d> {
    document: &'d Document,
    /// Roots, each with the world transform of its parent.
    roots: Vec<(usize, NodeWorld)>,
}

impl<'d> Hierarchy<'d> {
    /// Validates all nodes of a document and finds the roots of its default scene.
    pub(crate) fn new(document: &'d Document, log: &mut GltfLog) -> Result<Hierarchy<'d>> {
        let parents = parents(document)?;
        check_cycles(document, &parents)?;
        Ok(Hierarchy { document, roots: roots(document, &parents, log)? })
    }

    /// Calls `visit` with each node of the scene and its world transform, depth first, with parents before children and
    /// in file order.
    pub(crate) fn walk(&self, mut visit: impl FnMut(usize, &NodeWorld) -> Result<()>) -> Result<()> {
        let mut stack: Vec<(usize, NodeWorld)> = Vec::new();
        for &root in &self.roots {
            try_push(&mut stack, root, "nodes")?;
            while let Some((index, parent)) = stack.pop() {
                let node = &self.document.nodes[index];
                let world = parent.of_child(node);
                visit(index, &world)?;
                stack.try_reserve(node.children.len()).map_err(|_| Error::memory("nodes"))?;
                // Reversed, because the last child pushed is popped first.
                stack.extend(node.children.iter().rev().map(|&child| (child, world)));
            }
        }
        Ok(())
    }
}

/// Marks nodes without a parent.
const NO_PARENT: usize = usize::MAX;

/// Returns the parent of each node. Fails if a node has two parents.
fn parents(document: &Document) -> Result<Vec<usize>> {
    let nodes = &document.nodes;
    let mut parents = Vec::new();
    parents.try_reserve_exact(nodes.len()).map_err(|_| Error::memory("nodes"))?;
    parents.resize(nodes.len(), NO_PARENT);
    for (index, node) in nodes.iter().enumerate() {
        for &child in &node.children {
            let parent = parents.get_mut(child);
            let parent =
                parent.ok_or_else(|| malformed(format!("nodes[{index}].children: nodes[{child}] does not exist")))?;
            if *parent != NO_PARENT {
                return Err(malformed(format!("nodes[{child}] is a child of nodes[{parent}] and of nodes[{index}]")));
            }
            *parent = index;
        }
    }
    Ok(parents)
}

/// Fails if there is a cycle. Each node has at most one parent, so a node that cannot be reached from a root is in a
/// cycle or below one.
fn check_cycles(document: &Document, parents: &[usize]) -> Result<()> {
    let mut is_below = Vec::new();
    is_below.try_reserve_exact(parents.len()).map_err(|_| Error::memory("nodes"))?;
    is_below.extend(parents.iter().map(|&parent| parent == NO_PARENT));
    let mut stack: Vec<usize> = Vec::new();
    stack.try_reserve_exact(parents.len()).map_err(|_| Error::memory("nodes"))?;
    stack.extend((0..parents.len()).filter(|&index| is_below[index]));
    // A node has at most one parent, so it is pushed at most once, and the capacity suffices.
    while let Some(index) = stack.pop() {
        for &child in &document.nodes[index].children {
            is_below[child] = true;
            stack.push(child);
        }
    }
    match is_below.iter().position(|is_below| !is_below) {
        // Starting at any of these nodes, enough steps upward end in the cycle.
        Some(index) => {
            // A node that no root reaches has a parent, and so have all of its ancestors, so no step meets `NO_PARENT`.
            let index = (0..parents.len()).fold(index, |index, _| parents[index]);
            Err(malformed(format!("the node hierarchy has a cycle: nodes[{index}] is its own descendant")))
        }
        None => Ok(()),
    }
}

/// Returns the roots of the default scene, each with the world transform of its parent, or all roots if the file has no
/// scenes. If a scene lists a child by mistake, the child keeps its parent's transform.
fn roots(document: &Document, parents: &[usize], log: &mut GltfLog) -> Result<Vec<(usize, NodeWorld)>> {
    let mut roots = Vec::new();
    if document.scenes.is_empty() && document.scene.is_none() {
        roots.try_reserve_exact(parents.len()).map_err(|_| Error::memory("nodes"))?;
        let are_roots = (0..parents.len()).filter(|&index| parents[index] == NO_PARENT);
        roots.extend(are_roots.map(|index| (index, NodeWorld::IDENTITY)));
        return Ok(roots);
    }
    let number = document.scene.unwrap_or(0);
    let scene = document.scenes.get(number).ok_or_else(|| malformed(format!("scenes[{number}] does not exist")))?;
    let path = format!("scenes[{number}].nodes");
    let mut is_listed = Vec::new();
    is_listed.try_reserve_exact(parents.len()).map_err(|_| Error::memory("nodes"))?;
    is_listed.resize(parents.len(), false);
    let mut has_child = false;
    for &index in &scene.nodes {
        let parent = *parents.get(index).ok_or_else(|| malformed(format!("{path}: nodes[{index}] does not exist")))?;
        if is_listed[index] {
            log.note("listed-node", format!("{path}: nodes[{index}] is listed twice"))?;
            continue;
        }
        is_listed[index] = true;
        if parent != NO_PARENT {
            has_child = true;
            log.note("listed-node", format!("{path}: nodes[{index}] is not a root, but a child of nodes[{parent}]"))?;
        }
        try_push(&mut roots, (index, NodeWorld::IDENTITY), "nodes")?;
    }
    // A walk over all roots is needed only if a child is listed by mistake.
    if has_child {
        let worlds = highest_listed(document, parents, &is_listed)?;
        roots.retain_mut(|(index, world)| worlds.get(index).map(|parent| *world = *parent).is_some());
    }
    Ok(roots)
}

/// Returns the listed nodes that have no listed ancestor, each with the world transform of its parent.
fn highest_listed(document: &Document, parents: &[usize], is_listed: &[bool]) -> Result<HashMap<usize, NodeWorld>> {
    let mut highest = HashMap::new();
    let mut stack = Vec::new();
    for root in (0..parents.len()).filter(|&index| parents[index] == NO_PARENT) {
        try_push(&mut stack, (root, NodeWorld::IDENTITY), "nodes")?;
        while let Some((index, parent)) = stack.pop() {
            if is_listed[index] {
                highest.try_reserve(1).map_err(|_| Error::memory("nodes"))?;
                highest.insert(index, parent);
                continue;
            }
            let node = &document.nodes[index];
            let world = parent.of_child(node);
            stack.try_reserve(node.children.len()).map_err(|_| Error::memory("nodes"))?;
            // The order does not matter, because results are looked up by node.
            stack.extend(node.children.iter().map(|&child| (child, world)));
        }
    }
    Ok(highest)
}

/// Returns a node's local transform, with each number passed through `round`.
fn local(node: &Node, round: impl Fn(f64) -> f64) -> Matrix4 {
    if let Some(matrix) = node.matrix {
        return std::array::from_fn(|row| std::array::from_fn(|column| round(matrix[4 * column + row])));
    }
    let translation = node.translation.unwrap_or([0.0; 3]).map(&round);
    let rotation = node.rotation.unwrap_or([0.0, 0.0, 0.0, 1.0]).map(&round);
    placed(translation, rotation, node.scale.unwrap_or([1.0; 3]).map(round))
}

/// Returns the matrix that scales, then rotates by a quaternion (x, y, z, w), then translates.
pub(crate) fn placed(translation: [f64; 3], rotation: [f64; 4], scale: [f64; 3]) -> Matrix4 {
    let rows = linear::rotation(rotation);
    let [x, y, z] = scale;
    let row = |at: usize| [rows[at][0] * x, rows[at][1] * y, rows[at][2] * z, translation[at]];
    [row(0), row(1), row(2), IDENTITY64[3]]
}

/// Multiplies `a * b`, which applies `b` first. If `a` is the identity, the result is exactly `b`: no `-0.0` becomes
/// `0.0`.
pub(crate) fn multiply(a: &Matrix4, b: &Matrix4) -> Matrix4 {
    if *a == IDENTITY64 { *b } else { linear::multiply(a, b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::SceneNodes;
    use polyhaul_geometry::exact::rounded;
    use polyhaul_model::limits::FaultPolicy;
    use serde_json::{Value, json};

    fn walked(json: Value) -> Result<Vec<(usize, Matrix4<f32>)>> {
        let document: Document = serde_json::from_value(json).unwrap();
        let mut visited = Vec::new();
        let mut log = GltfLog::new("", FaultPolicy::default());
        Hierarchy::new(&document, &mut log)?.walk(|index, world| {
            visited.push((index, rounded(&world.single)));
            Ok(())
        })?;
        Ok(visited)
    }

    /// Returns the nodes with their x translation, and how many nodes are listed by mistake.
    fn listed(json: Value) -> (Vec<(usize, f32)>, u64) {
        let document: Document = serde_json::from_value(json).unwrap();
        let mut log = GltfLog::new("", FaultPolicy::default());
        let mut visited = Vec::new();
        let hierarchy = Hierarchy::new(&document, &mut log).unwrap();
        hierarchy.walk(|index, world| try_push(&mut visited, (index, rounded(&world.single)[0][3]), "")).unwrap();
        (visited, log.finish().unwrap().counts().get("listed-node").copied().unwrap_or(0))
    }

    #[test]
    fn listed_children_are_shown_once_and_below_their_parents() {
        let nodes = json!([{"translation": [1, 0, 0], "children": [1]}, {"translation": [2, 0, 0], "children": [2]},
            {"translation": [4, 0, 0]}]);
        let of = |roots: Value| listed(json!({"scenes": [{"nodes": roots}], "nodes": nodes}));
        let shown = vec![(0, 1.0), (1, 3.0), (2, 7.0)];
        assert_eq!(of(json!([0])), (shown.clone(), 0));
        assert_eq!(of(json!([0, 1])), (shown.clone(), 1));
        assert_eq!(of(json!([2, 1, 0, 0])), (shown, 3));
        // Without its parent in the list, a node keeps the parent's transform.
        assert_eq!(of(json!([1])), (vec![(1, 3.0), (2, 7.0)], 1));
        assert_eq!(of(json!([2, 1])), (vec![(1, 3.0), (2, 7.0)], 2));
    }

    #[test]
    fn transforms_are_combined_in_order() {
        let quarter = std::f32::consts::FRAC_1_SQRT_2;
        let nodes = walked(json!({"scenes": [{"nodes": [2, 0]}], "nodes": [
            {"translation": [1, 2, 3], "children": [1, 3]},
            {"scale": [2, 3, 4], "rotation": [0, 0, quarter, quarter]},
            {"matrix": [1, 2, 3, 0, 4, 5, 6, 0, 7, 8, 9, 0, 10, 11, 12, 1]}, {}, {}]}));
        let nodes = nodes.unwrap();
        assert_eq!(nodes.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [2, 0, 1, 3]);
        assert_eq!(
            nodes[0].1,
            [[1.0, 4.0, 7.0, 10.0], [2.0, 5.0, 8.0, 11.0], [3.0, 6.0, 9.0, 12.0], [0.0, 0.0, 0.0, 1.0]]
        );
        let expected = [[0.0, -3.0, 0.0, 1.0], [2.0, 0.0, 0.0, 2.0], [0.0, 0.0, 4.0, 3.0], [0.0, 0.0, 0.0, 1.0]];
        for (row, expected) in nodes[2].1.iter().zip(expected) {
            assert!(row.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{row:?}");
        }
    }

    #[test]
    fn a_file_without_scenes_has_all_roots() {
        let nodes = walked(json!({"nodes": [{"children": [1]}, {}, {}]})).unwrap();
        assert_eq!(nodes.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [0, 1, 2]);
    }

    #[test]
    fn a_long_chain_of_nodes_does_not_overflow_the_stack() {
        let mut document = Document::default();
        let count = 300_000;
        document.nodes = (1..=count).map(|child| Node { children: vec![child], ..Node::default() }).collect();
        document.nodes.push(Node::default());
        let mut visited = 0;
        document.scenes.push(SceneNodes { nodes: (1..=count).collect(), ..SceneNodes::default() });
        for listed in 0..2 {
            let mut log = GltfLog::new("", FaultPolicy::default());
            let hierarchy = Hierarchy::new(&document, &mut log).unwrap();
            let walked = hierarchy.walk(|_, _| {
                visited += 1;
                Ok(())
            });
            walked.unwrap();
            assert_eq!(visited, if listed == 0 { count } else { 2 * count + 1 });
            document.scenes.clear();
        }
    }

    #[test]
    fn cycles_and_shared_children_are_errors() {
        let cases = [
            (json!({"nodes": [{"children": [0]}]}), "the node hierarchy has a cycle"),
            (json!({"nodes": [{"children": [1]}, {"children": [0]}, {}]}), "cycle: nodes[1] is its own descendant"),
            (
                json!({"nodes": [{"children": [1]}, {}, {"children": [1]}]}),
                "nodes[1] is a child of nodes[0] and of nodes[2]",
            ),
            (json!({"nodes": [{"children": [1, 1]}, {}]}), "nodes[1] is a child"),
            (json!({"nodes": [{"children": [7]}]}), "nodes[7] does not exist"),
            (json!({"scenes": [{"nodes": [1]}], "nodes": [{}]}), "scenes[0].nodes: nodes[1] does not exist"),
            (json!({"scene": 1, "scenes": [{"nodes": [0]}], "nodes": [{}]}), "scenes[1] does not exist"),
            (json!({"scene": 0, "nodes": [{}]}), "scenes[0] does not exist"),
        ];
        for (json, message) in cases {
            let error = walked(json.clone()).unwrap_err().to_string();
            assert!(error.contains(message), "{json}: {error}");
        }
    }
}
