//! Expanded scenes, scenes built by hand, and relinked files.

use super::{comes_back, compact, read_text, write};
use polyhaul::model::render::{ParameterType, ParameterValues, Render, ShapeState, Step, Transform};
use polyhaul::model::{Mesh, Scene};
use polyhaul::ops::{self, Builder, GivenValues};
use polyhaul::options::{Instances, RunOptions, SceneWriteOptions};
use polyhaul::{ErrorKind, Reader, WriteOptions, Writer};
use polyhaul_testkit::corpus::Folder;

const TREE: &str = "WorldBegin Shape \"disk\" Translate 0 0 5 ObjectBegin \"tree\"
    AreaLightSource \"diffuse\" Shape \"sphere\"
    AttributeBegin Scale 2 2 2 Shape \"cylinder\" Shape \"cone\" AttributeEnd
    ActiveTransform EndTime Translate 0 3 0 ActiveTransform All Shape \"paraboloid\" ObjectEnd Identity
    AttributeBegin ConcatTransform [1 0 0 0 0 1 0 0 0 0 1 0 10 0 0 1] ObjectInstance \"tree\" AttributeEnd
    AttributeBegin Rotate 90 0 0 1 ConcatTransform [1 0 0 0 0 1 0 0 0 0 1 0 1 2 3 1] ObjectInstance \"tree\" AttributeEnd
    ObjectBegin \"none\" Shape \"hyperboloid\" ObjectEnd Shape \"sphere\" \"float radius\" 7
    AttributeBegin ActiveTransform EndTime Translate 1 0 0 ObjectInstance \"tree\" AttributeEnd";

fn expanded(instances: Instances) -> (Scene, Box<Render>) {
    let scene = read_text(TREE.as_bytes());
    let mut render = scene.render.clone().unwrap();
    ops::expand(&mut render, instances, &Default::default()).unwrap();
    (scene, render)
}

#[test]
fn instances_become_shapes_that_stand_where_they_stood() {
    let (scene, flat) = expanded(Instances::Flatten);
    let before = scene.render.as_deref().unwrap();
    let classes: Vec<&str> = flat.shapes().map(|shape| shape.class()).collect();
    let tree = ["sphere", "cylinder", "cone", "paraboloid"];
    assert_eq!(classes, [&["disk", "sphere"][..], &tree, &tree, &tree].concat());
    assert!(flat.objects.is_empty() && flat.instances.is_empty());
    let old = ops::places64(before).unwrap();
    let new = ops::places64(&flat).unwrap();
    let shapes: Vec<_> = flat.shapes().skip(2).collect();
    for (number, instance) in before.instances().enumerate() {
        let outer = old.of_instance(before, &instance);
        for (shape, inner) in shapes[4 * number..].iter().zip(before.objects[0].shapes.clone()) {
            let inner = old.matrix(before, before.shape(inner).unwrap().motion().start);
            let place = new.matrix(&flat, shape.motion().start);
            for (row, column) in (0..4).flat_map(|row| (0..4).map(move |column| (row, column))) {
                let product: f64 = (0..4).map(|at| outer[row][at] * inner[at][column]).sum();
                assert!((place[row][column] - product).abs() < 1e-12, "{number} {}", shape.class());
            }
        }
    }
    // Animated shapes, and shapes with animated instances.
    let moves: Vec<bool> = shapes.iter().map(|shape| shape.motion().is_animated()).collect();
    assert_eq!(moves, [[false, false, false, true], [false, false, false, true], [true; 4]].concat());
    let end = new.matrix(&flat, shapes[11].motion().end);
    assert_eq!([end[0][3], end[1][3], end[2][3]], [1.0, 3.0, 5.0]);
    let gives_light = |render: &Render| render.shapes().any(|shape| shape.state().unwrap().area_light.is_some());
    assert_eq!((gives_light(before), gives_light(&flat)), (true, false));
    comes_back(&Scene { render: Some(flat), ..Scene::default() });
}

#[test]
fn definitions_stand_once() {
    let (_, once) = expanded(Instances::Once);
    let classes: Vec<&str> = once.shapes().map(|shape| shape.class()).collect();
    assert_eq!(classes, ["disk", "sphere", "cylinder", "cone", "paraboloid", "hyperboloid", "sphere"]);
    assert!(once.objects.is_empty() && once.instances.is_empty());
    assert!(once.shapes().all(|shape| shape.state().unwrap().area_light.is_none()));
    assert!(once.shape(4).unwrap().motion().is_animated());
    let (scene, same) = expanded(Instances::Auto);
    assert!(scene.render == Some(same));
}

#[test]
fn a_borrowed_scene_stays_what_it_is() {
    let scene = read_text(TREE.as_bytes());
    let folder = Folder::new("pbrt-flat").unwrap();
    let path = folder.path().join("flat.pbrt");
    let options = WriteOptions::default().with_scene(SceneWriteOptions::default().with_instances(Instances::Flatten));
    Writer::new(&path).options(&options).scene(&scene).unwrap();
    assert!(read_text(TREE.as_bytes()).render == scene.render);
    assert_eq!(Reader::new(path).scene().unwrap().value.render.unwrap().shape_count(), 14);
}

#[test]
fn a_scene_is_made_by_hand() {
    let mut builder = Builder::default();
    let place = builder.transform(Transform::IDENTITY, Step::Scale([2.0; 3])).unwrap();
    let given = vec![
        (ParameterType::Float, "radius", GivenValues::Floats(vec![0.5])),
        (ParameterType::Bool, "reverse", GivenValues::Bools(vec![true])),
        (ParameterType::String, "names", GivenValues::Strings(vec!["a".into(), "b".into()])),
    ];
    builder.shape("sphere", given, ShapeState::default(), place).unwrap();
    let ball = builder.object("ball", 0).unwrap();
    let column = |x: f64| [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, x, 0.0, 0.0];
    builder.instances(&[ball, ball], vec![column(1.0), column(2.5)]).unwrap();
    let error = builder.instances(&[ball], Vec::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    // A definition of missing shapes is empty.
    builder.object("empty", 9).unwrap();
    let text = comes_back(&Scene { render: Some(Box::new(builder.finish())), ..Scene::default() });
    for line in ["\"float radius\" 0.5", "\"bool reverse\" true", "\"string names\" [ \"a\" \"b\" ]", "Scale 2 2 2"] {
        assert!(text.contains(line), "{text}");
    }
    assert!(text.contains("ConcatTransform [ 1 0 0 0 0 1 0 0 0 0 1 0 2.5 0 0 1 ]"), "{text}");
}

#[test]
fn quads_of_files_become_patches() {
    let text = "WorldBegin Shape \"plymesh\" \"string filename\" \"m.ply\" \"float alpha\" 0.5
        Shape \"plymesh\" \"string filename\" \"m.ply\" \"texture displacement\" \"bumps\"";
    let ply = "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n\
        property float u\nproperty float v\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n\
        0 0 0 0 0\n1 0 0 1 0\n1 1 0 1 1\n0 1 0 0 1\n4 0 1 2 3\n";
    let folder = Folder::new("pbrt-inline").unwrap();
    let path = folder.path().join("a.pbrt");
    std::fs::write(&path, text).unwrap();
    std::fs::write(folder.path().join("m.ply"), ply).unwrap();
    let scene = Reader::new(path).scene().unwrap().value;
    let mut render = scene.render.clone().unwrap();
    assert_eq!(ops::inline_meshes(&mut render, &scene.meshes).unwrap(), 1);
    let patch = render.shape(0).unwrap();
    assert_eq!((patch.class(), patch.mesh()), ("bilinearmesh", None));
    assert_eq!(patch.parameters().get("indices").unwrap().values, ParameterValues::Integers(&[0, 1, 3, 2]));
    assert_eq!(patch.parameters().get("alpha").unwrap().values, ParameterValues::Floats(&[0.5]));
    assert_eq!(patch.parameters().get("uv").unwrap().values.len(), 8);
    assert!(patch.parameters().get("filename").is_none());
    assert_eq!((render.shape(1).unwrap().class(), render.shape(1).unwrap().mesh()), ("plymesh", Some(0)));
    let none: [Mesh; 0] = [];
    assert_eq!(ops::inline_meshes(&mut render, &none).unwrap(), 1);
    let text = write(&Scene { render: Some(render), ..Scene::default() }, compact(), RunOptions::default());
    assert!(text.starts_with(b"WorldBegin\nShape \"bilinearmesh\" \"integer indices\" [0 1 3 2]"));
}
