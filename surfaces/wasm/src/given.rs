//! Converts arrays and names from JavaScript to a scene or tables to write.
//!
//! JavaScript fills arrays allocated here, and then describes them in lines of the request. Indices are checked when
//! the scene is written. A line consists of words, some with a name at the end:
//!
//! | line | meaning |
//! |---|---|
//! | `mesh NAME` | starts a mesh, which the following lines describe |
//! | `positions ARRAY`, `colors ARRAY` | three floats or doubles per position, and four floats per position |
//! | `uvs ARRAY DOMAIN`, `normals ARRAY DOMAIN` | the domain is `indexed`, or `vertex`: one per position |
//! | `faces OFFSETS POSITIONS UVS NORMALS`, `lines ...` | polygons and polylines; `-` for no UVs or normals |
//! | `points ARRAY` | the position index of each point |
//! | `material FACE NAME` | the material starting at a face |
//! | `table ROWS NAME` | starts a table |
//! | `column VALUES OFFSETS NAME` | a column of the table; `-` for one number per row |

use polyhaul::model::{Array, Column, Counts, Domain, Elements, Material, Mesh, Object, ObjectKind, Run, Scene};
use polyhaul::model::{Table, Values};
use std::collections::HashMap;

/// An array, with a variant for each count of numbers per item.
pub(crate) enum GivenArray {
    Pairs(Array<[f32; 2]>),
    Triples(Array<[f32; 3]>),
    ExactTriples(Array<[f64; 3]>),
    Quads(Array<[f32; 4]>),
    Numbers(Values),
}

impl GivenArray {
    /// Allocates an array of zeros, and returns it with its address. `kind` is the index of its type in the order of
    /// [`Values`]. Returns `None` if out of memory, or if the type is not supported.
    pub(crate) fn zeros(kind: u32, width: u32, count: usize) -> Option<(GivenArray, *mut u8)> {
        macro_rules! numbers {
            ($($number:literal $variant:ident,)+) => {
                match (kind, width) {
                    $(($number, 1) => zeros(count).map(|(array, at)| (GivenArray::Numbers(Values::$variant(array)), at)),)+
                    (8, 2) => zeros(count).map(|(array, at)| (GivenArray::Pairs(array), at)),
                    (8, 3) => zeros(count).map(|(array, at)| (GivenArray::Triples(array), at)),
                    (9, 3) => zeros(count).map(|(array, at)| (GivenArray::ExactTriples(array), at)),
                    (8, 4) => zeros(count).map(|(array, at)| (GivenArray::Quads(array), at)),
                    _ => None,
                }
            };
        }
        numbers!(0 I8, 1 U8, 2 I16, 3 U16, 4 I32, 5 U32, 6 I64, 7 U64, 8 F32, 9 F64,)
    }
}

fn zeros<T: Clone + Default>(count: usize) -> Option<(Array<T>, *mut u8)> {
    let mut values = Vec::new();
    values.try_reserve_exact(count).ok()?;
    values.resize(count, T::default());
    let at = values.as_mut_ptr().cast();
    Some((values.into(), at))
}

/// Builds the scene that the lines describe: meshes, tables, or both. Fails only if the caller has a bug.
pub(crate) fn scene(lines: &[String], arrays: Vec<GivenArray>) -> Result<Scene, String> {
    let mut description = Description { arrays, ..Description::default() };
    for line in lines {
        description.apply(line).ok_or_else(|| format!("invalid description `{line}`"))?;
    }
    Ok(description.finish())
}

#[derive(Default)]
struct Description {
    arrays: Vec<GivenArray>,
    scene: Scene,
    /// The index of each material by name.
    materials: HashMap<String, u32>,
}

impl Description {
    fn apply(&mut self, line: &str) -> Option<()> {
        let (key, rest) = line.split_once(' ')?;
        match key {
            "mesh" => self.start_mesh(rest),
            "table" => {
                let (rows, name) = rest.split_once(' ')?;
                self.scene.tables.push(Table { name: name.into(), row_count: rows.parse().ok()?, columns: Vec::new() });
            }
            "column" => {
                let mut words = rest.splitn(3, ' ');
                let values = self.numbers(words.next()?)?;
                let offsets = self.indices(words.next()?)?;
                let column = Column { name: words.next()?.into(), values, offsets };
                self.scene.tables.last_mut()?.columns.push(column);
            }
            "material" => {
                let (face, name) = rest.split_once(' ')?;
                self.use_material(face.parse().ok()?, name)?;
            }
            _ => self.fill(key, &rest.split(' ').collect::<Vec<_>>())?,
        }
        Some(())
    }

    fn start_mesh(&mut self, name: &str) {
        let mesh = self.scene.meshes.len();
        self.scene.objects.push(Object { name: name.into(), mesh, ..Object::default() });
        self.scene.meshes.push(Mesh::default());
    }

    /// Sets an array of the current mesh: `key` and `words` are the words of a line.
    fn fill(&mut self, key: &str, words: &[&str]) -> Option<()> {
        let mut mesh = self.scene.meshes.pop()?;
        match (key, words) {
            ("positions", [array]) => self.positions(array, &mut mesh)?,
            ("colors", [array]) => mesh.colors = self.quads(array)?,
            ("uvs", [array, domain]) => (mesh.uvs, mesh.uv_domain) = (self.pairs(array)?, domain_of(domain)?),
            ("normals", [array, domain]) => {
                mesh.normals = self.triples(array)?;
                mesh.normal_domain = domain_of(domain)?;
            }
            ("faces", words) => mesh.faces = self.elements(words)?,
            ("lines", words) => mesh.lines = self.elements(words)?,
            ("points", [array]) => mesh.points = self.indices(array)??,
            _ => return None,
        }
        self.scene.meshes.push(mesh);
        Some(())
    }

    fn use_material(&mut self, face: u32, name: &str) -> Option<()> {
        let next = self.materials.len() as u32;
        let value = *self.materials.entry(name.into()).or_insert(next);
        if value == next {
            // Only the name is known: the caller has the material library.
            self.scene.materials.push(Material { name: name.into(), missing: true, ..Material::default() });
        }
        let mesh = self.scene.meshes.last_mut()?;
        let at = Counts { faces: face, lines: 0, points: 0, curves: 0, ..mesh.counts() };
        mesh.material_runs.push(Run { at, value });
        Some(())
    }

    fn elements(&mut self, words: &[&str]) -> Option<Elements> {
        let &[offsets, positions, uvs, normals] = words else { return None };
        Some(Elements {
            offsets: self.indices(offsets)??,
            corner_positions: self.indices(positions)??,
            corner_uvs: self.indices(uvs)?.unwrap_or_default(),
            corner_normals: self.indices(normals)?.unwrap_or_default(),
        })
    }

    fn given(&mut self, word: &str) -> Option<&mut GivenArray> {
        self.arrays.get_mut(word.parse::<usize>().ok()?)
    }

    fn pairs(&mut self, word: &str) -> Option<Array<[f32; 2]>> {
        if let GivenArray::Pairs(array) = self.given(word)? { Some(std::mem::take(array)) } else { None }
    }

    fn triples(&mut self, word: &str) -> Option<Array<[f32; 3]>> {
        if let GivenArray::Triples(array) = self.given(word)? { Some(std::mem::take(array)) } else { None }
    }

    /// Sets the positions, in single or double precision.
    fn positions(&mut self, word: &str, mesh: &mut Mesh) -> Option<()> {
        match self.given(word)? {
            GivenArray::Triples(array) => mesh.positions = std::mem::take(array),
            GivenArray::ExactTriples(array) => {
                mesh.set_exact_positions(std::mem::take(array).into_vec().ok()?).ok()?;
                mesh.drop_needless_precision();
            }
            _ => return None,
        }
        Some(())
    }

    fn quads(&mut self, word: &str) -> Option<Array<[f32; 4]>> {
        if let GivenArray::Quads(array) = self.given(word)? { Some(std::mem::take(array)) } else { None }
    }

    fn numbers(&mut self, word: &str) -> Option<Values> {
        if let GivenArray::Numbers(values) = self.given(word)? { Some(std::mem::take(values)) } else { None }
    }

    /// Indices, which several lines may share; the inner `None` stands for `-`.
    fn indices(&mut self, word: &str) -> Option<Option<Array<u32>>> {
        if word == "-" {
            return Some(None);
        }
        let GivenArray::Numbers(Values::U32(array)) = self.given(word)? else { return None };
        array.share();
        Some(Some(array.clone()))
    }

    fn finish(mut self) -> Scene {
        // A single mesh without a name needs no object. Several meshes need one object each, or OBJ would merge them.
        if let [only] = &mut self.scene.objects[..]
            && only.name.is_empty()
        {
            only.kind = ObjectKind::Unnamed;
        }
        for (object, mesh) in self.scene.objects.iter_mut().zip(&self.scene.meshes) {
            object.end = mesh.counts();
        }
        self.scene
    }
}

fn domain_of(word: &str) -> Option<Domain> {
    match word {
        "indexed" => Some(Domain::Indexed),
        "vertex" => Some(Domain::Vertex),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use polyhaul::options::Digits;
    use polyhaul::{HostWrite, Output, Writer};
    use std::sync::{Arc, Mutex};

    fn numbers(values: &[u32]) -> GivenArray {
        GivenArray::Numbers(Values::U32(values.iter().copied().collect()))
    }

    /// An output in memory.
    struct Bytes(Arc<Mutex<Vec<u8>>>);

    impl HostWrite for Bytes {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
    }

    fn written(scene: &Scene, name: &str) -> String {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let output = Output::Host(Box::new(Bytes(bytes.clone())), name.into());
        Writer::new(output).digits(Digits::Shortest).scene(scene).unwrap();
        String::from_utf8(std::mem::take(&mut bytes.lock().unwrap())).unwrap()
    }

    #[test]
    fn lines_describe_meshes_that_share_indices() {
        let arrays = vec![
            GivenArray::Triples([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.25]].into()),
            GivenArray::Pairs([[0.0, 0.0], [0.5, 0.0], [1.0, 0.1]].into()),
            numbers(&[0, 3]),
            numbers(&[0, 1, 2]),
            GivenArray::Triples([[0.0, 0.0, 5.0]].into()),
            numbers(&[0]),
        ];
        let lines = ["mesh a b", "positions 0", "uvs 1 indexed", "faces 2 3 3 -", "material 0 red paint"];
        let lines = [&lines[..], &["mesh ", "positions 4", "points 5"]].concat();
        let lines: Vec<_> = lines.into_iter().map(String::from).collect();
        let scene = scene(&lines, arrays).unwrap();
        let text = written(&scene, "a.obj");
        let expected = "o a b\nv 0 0 0\nv 1 0 0\nv 1 1 0.25\nvt 0 0\nvt 0.5 0\nvt 1 0.1\nusemtl red paint\n\
                      f 1/1 2/2 3/3\n";
        assert!(text.contains(expected) && text.contains("v 0 0 5\n") && text.contains("p 4\n"), "{text}");
    }

    #[test]
    fn meshes_without_names_are_told_apart() {
        let mesh = |at: usize| ["mesh ".to_owned(), format!("positions {at}")];
        let arrays = |count| (0..count).map(|_| GivenArray::Triples([[0.0, 0.0, 1.0]].into())).collect();
        let several = written(&scene(&[mesh(0), mesh(1)].concat(), arrays(2)).unwrap(), "a.obj");
        assert!(several.contains("o \nv 0 0 1\no \nv 0 0 1\n"), "{several}");
        let single = written(&scene(&mesh(0), arrays(1)).unwrap(), "a.obj");
        assert!(single.contains("v 0 0 1\n") && !single.contains("o \n"), "{single}");
    }

    #[test]
    fn tables_have_columns_of_any_type() {
        let (given, _) = GivenArray::zeros(1, 1, 2).unwrap();
        let lines = ["table 2 some rows".to_owned(), "column 0 - a name".to_owned()];
        let scene = scene(&lines, vec![given]).unwrap();
        let column = Column { name: "a name".into(), values: Values::U8([0, 0].into()), offsets: None };
        assert_eq!(scene.tables, [Table { name: "some rows".into(), row_count: 2, columns: vec![column] }]);
    }

    #[test]
    fn what_is_not_valid_is_named() {
        for line in ["mesh", "positions 0", "curves 1 2", "column 0 - x", "table x y"] {
            let result = scene(&[line.to_owned()], vec![numbers(&[1])]);
            assert_eq!(result.err(), Some(format!("invalid description `{line}`")));
        }
        assert!(GivenArray::zeros(1, 2, 1).is_none() && GivenArray::zeros(10, 1, 1).is_none());
        assert!(GivenArray::zeros(9, 1, usize::MAX / 4).is_none());
    }
}
