//! What a scene holds: counted once, shown as a table or as JSON.

use crate::human;
use polyhaul::model::{Bounds, Scene};
use serde::Serialize;
use std::fmt::Write;

/// How many names the table shows.
const NAMES: usize = 8;

/// The counts of a scene.
#[derive(Clone, Copy, Default, Serialize)]
pub struct Contents {
    /// Objects.
    pub objects: u64,
    positions: u64,
    uvs: u64,
    normals: u64,
    colors: u64,
    /// Faces.
    pub faces: u64,
    triangles: u64,
    quads: u64,
    polygons: u64,
    corners: u64,
    lines: u64,
    points: u64,
    curves: u64,
    groups: u64,
    materials: u64,
    missing_materials: u64,
    textures: u64,
}

/// Everything that `info` tells about a scene.
#[derive(Default, Serialize)]
pub struct Inventory {
    #[serde(flatten)]
    contents: Contents,
    bounds: Option<Extent>,
    object_names: Vec<String>,
    material_names: Vec<String>,
    material_libraries: Vec<String>,
    texture_files: Vec<String>,
}

#[derive(Clone, Copy, Serialize)]
struct Extent {
    min: [f32; 3],
    max: [f32; 3],
}

impl Contents {
    /// Counts what a scene holds.
    pub fn counts(scene: &Scene) -> Contents {
        let [positions, uvs, normals, faces, lines, points, curves] = scene.totals();
        let mut contents = Contents { positions, uvs, normals, faces, lines, points, curves, ..Contents::default() };
        contents.objects = scene.objects.len() as u64;
        contents.materials = scene.materials.len() as u64;
        contents.missing_materials = scene.materials.iter().filter(|material| material.missing).count() as u64;
        contents.textures = scene.materials.iter().map(|material| material.maps.len() as u64).sum();
        for mesh in &scene.meshes {
            contents.colors += mesh.colors.len() as u64;
            contents.groups += mesh.groups.len() as u64;
            contents.corners += mesh.faces.corner_positions.len() as u64;
            contents.count_sizes(&mesh.faces.offsets);
        }
        contents
    }

    fn count_sizes(&mut self, offsets: &[u32]) {
        for pair in offsets.windows(2) {
            match pair[1] - pair[0] {
                3 => self.triangles += 1,
                4 => self.quads += 1,
                _ => self.polygons += 1,
            }
        }
    }

    fn add(&mut self, other: &Contents) {
        self.objects += other.objects;
        self.positions += other.positions;
        self.uvs += other.uvs;
        self.normals += other.normals;
        self.colors += other.colors;
        self.faces += other.faces;
        self.triangles += other.triangles;
        self.quads += other.quads;
        self.polygons += other.polygons;
        self.corners += other.corners;
        self.lines += other.lines;
        self.points += other.points;
        self.curves += other.curves;
        self.groups += other.groups;
        self.materials += other.materials;
        self.missing_materials += other.missing_materials;
        self.textures += other.textures;
    }
}

impl Inventory {
    /// Looks through a scene.
    pub fn of(scene: &Scene) -> Inventory {
        let maps = scene.materials.iter().flat_map(|material| &material.maps);
        let mut texture_files: Vec<_> = maps.map(|map| map.file.clone()).filter(|file| !file.is_empty()).collect();
        texture_files.sort_unstable();
        texture_files.dedup();
        Inventory {
            contents: Contents::counts(scene),
            bounds: scene.bounds().map(|Bounds { min, max }| Extent { min, max }),
            object_names: scene.objects.iter().map(|object| object.name.clone()).collect(),
            material_names: scene.materials.iter().map(|material| material.name.clone()).collect(),
            material_libraries: scene.material_libraries.clone(),
            texture_files,
        }
    }

    /// Adds the counts and bounds of another; names stay with their files.
    pub fn add(&mut self, other: &Inventory) {
        self.contents.add(&other.contents);
        let bounds = [self.bounds, other.bounds].into_iter().flatten();
        let boxes = bounds.map(|Extent { min, max }| Bounds { min, max });
        self.bounds = boxes.reduce(Bounds::union).map(|Bounds { min, max }| Extent { min, max });
    }

    /// The table.
    pub fn table(&self) -> String {
        let c = &self.contents;
        let mut text = String::new();
        let mut row = |name: &str, count: u64, note: String| {
            let note = if note.is_empty() { note } else { format!("  {note}") };
            let _ = writeln!(text, "  {name:<10}{:>14}{note}", human::count(count));
        };
        row("objects", c.objects, named(&self.object_names));
        row("positions", c.positions, if c.colors > 0 { "with colours".into() } else { String::new() });
        row("uvs", c.uvs, String::new());
        row("normals", c.normals, String::new());
        row("faces", c.faces, self.sizes());
        row("corners", c.corners, String::new());
        for (name, count) in [("lines", c.lines), ("points", c.points), ("curves", c.curves), ("groups", c.groups)] {
            if count > 0 {
                row(name, count, String::new());
            }
        }
        row("materials", c.materials, named(&self.material_names));
        if c.missing_materials > 0 {
            row("", c.missing_materials, "of them in no library".into());
        }
        if c.textures > 0 {
            row("textures", c.textures, named(&self.texture_files));
        }
        text.push_str(&self.bounds_row());
        text
    }

    fn sizes(&self) -> String {
        let c = &self.contents;
        let sizes = [("triangle", c.triangles), ("quad", c.quads), ("larger", c.polygons)];
        let some = sizes.into_iter().filter(|(_, count)| *count > 0);
        let words = some.map(|(word, count)| match word {
            "larger" => format!("{} larger", human::count(count)),
            _ => human::plural(count, word),
        });
        words.collect::<Vec<_>>().join(", ")
    }

    fn bounds_row(&self) -> String {
        match self.bounds {
            Some(Extent { min: [a, b, c], max: [x, y, z] }) => {
                format!("  {:<10}{:>14}  {a} {b} {c} to {x} {y} {z}\n", "bounds", "")
            }
            None => format!("  {:<10}{:>14}\n", "bounds", "none"),
        }
    }
}

fn named(names: &[String]) -> String {
    let known: Vec<&str> = names.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
    human::names(known.into_iter(), NAMES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use polyhaul::model::{Elements, Mesh};

    fn scene() -> Scene {
        let faces = Elements {
            offsets: vec![0, 3, 7].into(),
            corner_positions: vec![0, 1, 2, 0, 1, 2, 3].into(),
            ..Elements::default()
        };
        let positions = vec![[0.0, 0.1, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, -2.0]];
        Scene { meshes: vec![Mesh { positions: positions.into(), faces, ..Mesh::default() }], ..Scene::default() }
    }

    #[test]
    fn counts_and_bounds_add_up() {
        let one = Inventory::of(&scene());
        let mut both = Inventory::of(&Scene::default());
        both.add(&one);
        both.add(&one);
        let value = serde_json::to_value(&both).unwrap();
        assert_eq!((&value["faces"], &value["corners"]), (&4.into(), &14.into()));
        assert_eq!((&value["triangles"], &value["quads"]), (&2.into(), &2.into()));
        assert_eq!(value["bounds"]["min"][2], -2.0);
    }

    #[test]
    fn an_empty_scene_has_no_bounds() {
        let value = serde_json::to_value(Inventory::of(&Scene::default())).unwrap();
        assert!(value["bounds"].is_null());
        assert!(Inventory::of(&Scene::default()).table().contains("none"));
    }

    #[test]
    fn tables_line_up() {
        let table = Inventory::of(&scene()).table();
        assert!(table.contains("  faces                  2  1 triangle, 1 quad\n"), "{table}");
        assert!(table.contains("bounds                    0 0 -2 to 1 1 0\n"), "{table}");
    }
}
