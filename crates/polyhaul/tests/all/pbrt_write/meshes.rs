//! Converts mesh scenes to pbrt, and back.

use super::{compact, read_text, write};
use crate::support::try_written;
use polyhaul::model::{Domain, Elements, Mesh, Scene};
use polyhaul::ops::{self, Flat};
use polyhaul::options::{Instances, PbrtWriteOptions, Resolve, RunOptions};
use polyhaul::{Format, Input, ReadOptions, Reader, WriteOptions};
use std::sync::Arc;

const OBJ: &str = "mtllib m.mtl\no box\nv 0 0 0\nv 2 0 0\nv 2 2 0\nv 0 2 0\nv 0 0 1\nvt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\n\
    usemtl red\nf 1/1 2/2 3/3 4/4\nusemtl glass\nf 1 2 5\nusemtl red\nf 3/3 4/1 5/2\n\
    o lamp\nusemtl lamp\nf 2 3 5\nusemtl gone\nf 4 3 2\n";

const MTL: &str = "newmtl red\nKd 0.5 0.25 2\nNs 98\nKs 0.1 0.1 0.1\nNi 1.45\nd 0.5\nmap_Kd -s 2 3 1 wood.png\nillum 2\n\
    newmtl glass\nd 0.1\nNi 1.5\nillum 7\nnewmtl lamp\nKe 3 2 1\nKd 0 0 0\nKs 0.9 0.8 0.7\n";

fn obj() -> Scene {
    let resolver = Resolve(Arc::new(|_: &str| Ok(Some(Input::Memory(MTL.into(), "m.mtl".into())))));
    let options = ReadOptions::default().with_resolver(Some(resolver)).with_format(Some(Format::Obj));
    Reader::new(Input::Memory(OBJ.into(), "box.obj".into())).options(&options).scene().unwrap().value
}

#[test]
fn an_obj_becomes_a_scene_with_materials_camera_and_light() {
    let text = String::from_utf8(write(&obj(), compact(), RunOptions::default())).unwrap();
    for line in [
        "Film \"rgb\"",
        "Scale -1 1 1\nLookAt ",
        "Camera \"perspective\" \"float fov\" 40\n",
        "LightSource \"infinite\" \"rgb L\" [1 1 1]\n",
        "Texture \"red:0\" \"spectrum\" \"imagemap\" \"string filename\" \"wood.png\" \"float uscale\" 2 \"float vscale\" 3\n",
        // Dielectric, since it is transparent and has a refractive index.
        "MakeNamedMaterial \"glass\" \"string type\" \"dielectric\" \"float eta\" 1.5\n",
        "AreaLightSource \"diffuse\" \"rgb L\" [3 2 1]\n",
        "MakeNamedMaterial \"lamp\" \"string type\" \"conductor\" \"rgb reflectance\" [0.9 0.8 0.7]\n",
        "MakeNamedMaterial \"red\" \"string type\" \"coateddiffuse\" \"texture reflectance\" \"red:0\" \"float roughness\" 0.14142135 \
         \"bool remaproughness\" false \"float eta\" 1.45\n",
        "NamedMaterial \"red\"\nShape \"trianglemesh\" \"integer indices\" [0 1 2 0 2 3 2 4 5] \"point3 P\" \
         [0 0 0 2 0 0 2 2 0 0 2 0 0 2 0 0 0 1] \"point2 uv\" [0 0 1 0 1 1 0 1 0 0 1 0] \"float alpha\" 0.5\n",
        "Shape \"trianglemesh\" \"integer indices\" [0 1 2] \"point3 P\" [0 0 0 2 0 0 0 0 1]\n",
    ] {
        assert!(text.contains(line), "{line}\nis not in\n{text}");
    }
    let again = read_text(text.as_bytes());
    let render = again.render.as_deref().unwrap();
    assert_eq!(render.shape_count(), 4);
    assert_eq!(write(&again, compact(), RunOptions::default()), text.as_bytes());
}

#[test]
fn meshes_come_back_where_they_were() {
    let obj = obj();
    let text = write(&obj, PbrtWriteOptions::default(), RunOptions::default());
    let scene = read_text(&text);
    let Flat { scene: flat, left_out, .. } =
        ops::flatten(scene.render.as_deref().unwrap(), Vec::new(), Instances::Auto, &Default::default()).unwrap();
    assert!(left_out.is_empty());
    let triangles: usize = flat.meshes.iter().map(|mesh| mesh.faces.len()).sum();
    assert_eq!(triangles, 6);
    assert_eq!(flat.bounds(), obj.bounds());
    let names: Vec<&str> = flat.materials.iter().map(|material| material.name.as_str()).collect();
    assert_eq!(names, ["red", "glass", "lamp"]);
}

#[test]
fn instances_are_objects_that_share_a_mesh() {
    let text = "WorldBegin ObjectBegin \"tree\" ReverseOrientation
        AttributeBegin Scale 2 2 2 Shape \"trianglemesh\" \"point3 P\" [0 0 0 1 0 0 0 1 0] AttributeEnd
        Shape \"bilinearmesh\" \"point3 P\" [0 0 0 1 0 0 0 1 0 1 1 0] Shape \"sphere\" ObjectEnd
        AttributeBegin Translate 10 0 0 ObjectInstance \"tree\" AttributeEnd
        AttributeBegin Rotate 90 0 0 1 ObjectInstance \"tree\" AttributeEnd";
    let scene = read_text(text.as_bytes());
    let Flat { scene: flat, left_out, .. } =
        ops::flatten(scene.render.as_deref().unwrap(), Vec::new(), Instances::Auto, &Default::default()).unwrap();
    assert_eq!(left_out["sphere"], 1);
    assert_eq!(flat.meshes.len(), 2);
    assert_eq!(flat.meshes[0].uv_domain, Domain::Vertex);
    assert_eq!(flat.meshes[0].faces.corner_positions, [0, 2, 1]);
    assert_eq!(flat.meshes[1].faces.corner_positions, [0, 2, 3, 1]);
    let objects: Vec<(&str, usize)> = flat.objects.iter().map(|object| (object.name.as_str(), object.mesh)).collect();
    assert_eq!(objects, [("tree", 0), ("tree", 1), ("tree", 0), ("tree", 1)]);
    assert_eq!(flat.objects[0].transform.unwrap()[0], [2.0, 0.0, 0.0, 10.0]);
    let options = WriteOptions::default().with_format(Some(Format::Obj));
    let obj = String::from_utf8(try_written(&scene, &options).unwrap().0).unwrap();
    assert!(obj.contains("v 12.000000 0.000000 0.000000\n"), "{obj}");
    assert_eq!(obj.matches("o tree\n").count(), 4, "{obj}");
    // And back: each use of a mesh is a separate object.
    let back = String::from_utf8(write(&flat, compact(), RunOptions::default())).unwrap();
    assert_eq!(back.matches("ObjectInstance").count(), 4, "{back}");
    assert_eq!(back.matches("ObjectBegin").count(), 2, "{back}");
}

#[test]
fn reversed_faces_keep_the_uvs_of_their_corners() {
    let text = "WorldBegin ReverseOrientation Shape \"plymesh\" \"string filename\" \"a.ply\"";
    let mut scene = read_text(text.as_bytes());
    let render = scene.render.as_deref_mut().unwrap();
    render.meshes = vec![(0, 0)];
    let mesh = Mesh {
        positions: vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]].into(),
        faces: Elements { offsets: vec![0, 3].into(), corner_positions: vec![0, 1, 2].into(), ..Elements::default() },
        uvs: vec![[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]].into(),
        uv_domain: Domain::Corner,
        ..Mesh::default()
    };
    let flat = ops::flatten(render, vec![mesh], Instances::Auto, &Default::default()).unwrap().scene;
    assert_eq!(flat.meshes[0].faces.corner_positions, [0, 2, 1]);
    assert_eq!(*flat.meshes[0].uvs, [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]]);
}

#[test]
fn displacements_of_shapes_are_counted_when_they_are_dropped() {
    let shape = |more: &str| format!("Shape \"plymesh\" \"string filename\" \"a.ply\" {more}\n");
    let displaced = shape("\"texture displacement\" \"bumps\"");
    let mut scene = read_text(format!("WorldBegin\n{}{displaced}{displaced}", shape("")).as_bytes());
    let render = scene.render.as_deref_mut().unwrap();
    render.meshes = vec![(0, 0), (1, 0), (2, 0)];
    let flat = ops::flatten(render, vec![Mesh::default()], Instances::Auto, &Default::default()).unwrap();
    assert_eq!(flat.scene.meshes.len(), 1);
    assert_eq!(flat.left_out_arrays, [("displacement".to_owned(), 2)].into());
}

/// Converts a scene to meshes.
fn flattened(text: &str) -> Scene {
    let scene = read_text(text.as_bytes());
    ops::flatten(scene.render.as_deref().unwrap(), Vec::new(), Instances::Auto, &Default::default()).unwrap().scene
}

#[test]
fn generated_names_of_materials_are_distinct() {
    let shape = "Shape \"trianglemesh\" \"point3 P\" [0 0 0 1 0 0 0 1 0]";
    let flat = flattened(&format!(
        "WorldBegin Material \"diffuse\" \"rgb reflectance\" [1 0 0] {shape}
        MakeNamedMaterial \"diffuse-1\" \"string type\" \"diffuse\" NamedMaterial \"diffuse-1\" {shape}"
    ));
    let names: Vec<&str> = flat.materials.iter().map(|material| material.name.as_str()).collect();
    assert_eq!(names, ["diffuse-1_", "diffuse-1"]);
}

#[test]
fn generated_names_of_definitions_are_distinct() {
    let shape = "Shape \"trianglemesh\" \"point3 P\" [0 0 0 1 0 0 0 1 0]";
    let definitions = ["a", "a-3", "b"].map(|name| {
        let instance = format!("ObjectInstance \"{name}\"");
        format!("ObjectBegin \"{name}\" {shape} ObjectEnd {instance} {instance}\n")
    });
    let mut flat = flattened(&format!("WorldBegin {}", definitions.concat()));
    flat.objects.iter_mut().filter(|object| object.name == "b").for_each(|object| object.name = "a".into());
    // The third definition would be called `a-3`, like the second.
    let again = read_text(&write(&flat, compact(), RunOptions::default()));
    let render = again.render.as_deref().unwrap();
    assert_eq!((render.shape_count(), render.objects.len(), render.instances.len()), (3, 3, 6));
}
