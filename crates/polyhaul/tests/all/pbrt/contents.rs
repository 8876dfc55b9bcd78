//! Inventories of scenes.

use crate::pbrt::support::data;
use polyhaul::inspect::{FileSummary, RenderInventory, info, validate};
use polyhaul::options::{Codec, Resolve};
use polyhaul::{Input, ReadOptions, Report};
use polyhaul_testkit::corpus::Folder;
use polyhaul_testkit::pbrt::{self, FileKind, Layout, Made, Spec};
use std::path::PathBuf;
use std::sync::Arc;

fn of(path: PathBuf) -> RenderInventory {
    info(Input::Path(path), &ReadOptions::default()).unwrap().0.render.unwrap()
}

#[test]
fn a_generated_scene_holds_what_was_made() {
    for layout in [Layout::OneFile, Layout::Imports] {
        let folder = Folder::new(&format!("pbrt-contents-{layout:?}")).unwrap();
        let made = pbrt::write(&Spec { layout, ..Spec::new(400_000) }, folder.path()).unwrap();
        let inventory = of(made.main.clone());
        let classes = made.counts.shapes.iter().map(|(class, count)| ((*class).to_owned(), *count));
        assert_eq!(inventory.classes, classes.collect::<Vec<_>>());
        assert_eq!(inventory.contents.shapes, made.counts.directives["Shape"]);
        assert_eq!(inventory.contents.instances, made.counts.directives["ObjectInstance"]);
        assert_eq!(inventory.contents.definitions, made.counts.directives["ObjectBegin"]);
        assert_eq!(inventory.contents.positions, made.counts.positions);
        assert_eq!(inventory.contents.unique_triangles, made.counts.unique_triangles);
        assert_eq!(inventory.contents.instanced_triangles, made.counts.instanced_triangles);
        assert_eq!(inventory.texture_files.len() as u64, made.counts.texture_files);
        assert_eq!(inventory.contents.unread_meshes, 0);
        let directives = made.counts.directives.iter().map(|(name, count)| ((*name).to_owned(), *count));
        assert_eq!(inventory.directives, directives.collect::<Vec<_>>());
        // None of the textures exists.
        assert_eq!(
            (&inventory.missing_textures, inventory.missing_textures.is_empty()),
            (&inventory.texture_files, false)
        );
        let missing = made.counts.texture_files;
        let textures = FileSummary { kind: "texture", count: 0, missing, bytes: 0, plain_bytes: None };
        assert_eq!(inventory.files, [files_of(&made, FileKind::Text), files_of(&made, FileKind::Ply), textures]);
    }
}

#[test]
fn text_that_is_left_out_is_counted() {
    let folder = Folder::new("pbrt-contents-missing").unwrap();
    let text = "WorldBegin\nInclude \"a.pbrt\"\nInclude \"none.pbrt\"\nImport \"neither.pbrt\"\n";
    std::fs::write(folder.join("main.pbrt"), text).unwrap();
    std::fs::write(folder.join("a.pbrt"), "Shape \"sphere\"\n").unwrap();
    let options = crate::pbrt::support::lenient(ReadOptions::default());
    let (inventory, _) = info(Input::Path(folder.join("main.pbrt")), &options).unwrap();
    let text = inventory.render.unwrap().files.into_iter().find(|files| files.kind == "pbrt").unwrap();
    assert_eq!((text.count, text.missing), (2, 2));
}

/// Files of a kind, as generated.
fn files_of(made: &Made, kind: FileKind) -> FileSummary {
    let count = made.files.iter().filter(|file| file.kind == kind).count() as u64;
    let (plain_bytes, bytes) = made.bytes(kind);
    let kind = if kind == FileKind::Text { "pbrt" } else { "ply" };
    FileSummary { kind, count, missing: 0, bytes, plain_bytes: Some(plain_bytes) }
}

#[test]
fn compressed_files_are_told_as_they_are_stored_and_without_their_meshes() {
    let folder = Folder::new("pbrt-contents-gz").unwrap();
    let made = pbrt::write(&Spec { codec: Some(Codec::Gzip), ..Spec::new(400_000) }, folder.path()).unwrap();
    let options = |threads, load_meshes| {
        let mut options = crate::pbrt::support::options(threads, Some(4096));
        options.load_meshes = load_meshes;
        options
    };
    let told_by = |threads, load_meshes| info(Input::Path(made.main.clone()), &options(threads, load_meshes)).unwrap();
    let text = files_of(&made, FileKind::Text);
    let ply = files_of(&made, FileKind::Ply);
    assert!(text.bytes < text.plain_bytes.unwrap());
    let (full, report) = told_by(1, true);
    let render = full.render.clone().unwrap();
    assert_eq!(render.files[..2], [text.clone(), ply.clone()]);
    assert_eq!((report.bytes_in, report.plain_bytes_in), (text.bytes + ply.bytes, sum(&[&text, &ply])));
    // The sum for each format and codec.
    let of =
        |format| report.reads.iter().filter(|moved| moved.format == Some(format)).map(|moved| moved.bytes).sum::<u64>();
    assert_eq!([of("pbrt"), of("ply")], [text.bytes, ply.bytes], "{:?}", report.reads);
    assert!(report.reads.iter().any(|moved| moved.format == Some("pbrt") && moved.codec == Some(Codec::Gzip)));
    let (lazy, _) = told_by(7, false);
    let lazily = lazy.render.unwrap();
    assert_eq!(lazily.files[..2], [text, FileSummary { plain_bytes: None, ..ply }]);
    assert_eq!((&lazily.directives, &lazily.classes), (&render.directives, &render.classes));
    assert!(lazily.contents.unread_meshes >= lazily.files[1].count && lazily.files[1].count > 0);
    assert_eq!(told_by(7, true).0, full);
}

fn sum(files: &[&FileSummary]) -> u64 {
    files.iter().map(|files| files.plain_bytes.unwrap()).sum()
}

/// Inventory of a scene in a folder with these files, and all warning codes.
fn told(name: &str, files: &[(&str, &str)], options: &ReadOptions) -> (RenderInventory, Report) {
    let folder = Folder::new(name).unwrap();
    for (name, text) in files {
        std::fs::create_dir_all(folder.join(name).parent().unwrap()).unwrap();
        folder.file(name, text).unwrap();
    }
    let (inventory, report) = info(Input::Path(folder.join("in/main.pbrt")), options).unwrap();
    let complaints = validate(Input::Path(folder.join("in/main.pbrt")), options).unwrap().report.warnings;
    assert_eq!(complaints.counts(), report.warnings.counts());
    (inventory.render.unwrap(), report)
}

const IMAGES: &str = "WorldBegin\nLightSource \"infinite\" \"string filename\" \"sky.exr\"
Material \"diffuse\" \"string normalmap\" \"bumps.png\"
Texture \"a\" \"spectrum\" \"imagemap\" \"string filename\" \"a.png\"
Texture \"b\" \"float\" \"imagemap\" \"string filename\" \"a.png\"
AreaLightSource \"diffuse\" \"string filename\" \"../lamp.png\"
Shape \"bilinearmesh\" \"point3 P\" [ 0 0 0 1 0 0 0 1 0 1 1 0 ] \"string emissionfilename\" \"glow.png\"
Include \"parts/one.pbrt\"\nInclude \"parts/one.pbrt\"\n";

#[test]
fn images_are_looked_for_beside_the_files_that_may_name_them() {
    let files = [
        ("in/main.pbrt", IMAGES),
        ("in/parts/one.pbrt", "# nothing\n"),
        ("in/sky.exr", "12345"),
        ("in/parts/bumps.png", "123"),
        ("lamp.png", "1234567"),
    ];
    let (inventory, report) = told("pbrt-images", &files, &ReadOptions::default());
    assert_eq!(inventory.texture_files, ["../lamp.png", "a.png", "bumps.png", "glow.png", "sky.exr"]);
    assert_eq!(
        (&inventory.missing_textures[..], &inventory.outside_textures[..]),
        (&["a.png".into(), "glow.png".into()][..], &["../lamp.png".into()][..])
    );
    let counts = report.warnings.counts();
    assert_eq!((counts["missing-texture"], counts["outside-texture"], counts.len()), (2, 1, 2));
    let [text, _, textures] = &inventory.files[..] else { panic!("{:?}", inventory.files) };
    assert_eq!((text.count, text.bytes), (3, IMAGES.len() as u64 + 20));
    assert_eq!((textures.count, textures.missing, textures.bytes, textures.plain_bytes), (2, 2, 8, None));
    assert_eq!(inventory.directives.iter().find(|(name, _)| name == "Include").unwrap().1, 2);
    // With permission for files outside the folder.
    let outside = ReadOptions::default().with_allow_outside(true);
    let (inventory, report) = told("pbrt-images-outside", &files, &outside);
    assert_eq!(inventory.missing_textures, ["a.png", "glow.png"]);
    assert_eq!((inventory.files[2].bytes, report.warnings.counts().len()), (15, 1));
}

#[test]
fn meshes_that_are_left_alone_are_looked_for() {
    let shape = |name: &str| format!("Shape \"plymesh\" \"string filename\" \"{name}\"\n");
    let main = format!("WorldBegin\n{}{}{}", shape("a.ply"), shape("b.ply"), shape("a.ply"));
    let lazy = ReadOptions::default().with_load_meshes(false);
    let (inventory, report) = told("pbrt-lazy", &[("in/main.pbrt", &main), ("in/a.ply", "no mesh")], &lazy);
    assert_eq!(report.warnings.counts().iter().collect::<Vec<_>>(), [(&"missing-mesh", &1)]);
    let ply = FileSummary { kind: "ply", count: 1, missing: 1, bytes: 7, plain_bytes: None };
    assert_eq!((&inventory.files[1], inventory.contents.unread_meshes), (&ply, 3));
}

#[test]
fn files_of_a_scene_without_a_folder_are_asked_for_or_not_known() {
    let scene = || Input::Memory(IMAGES.into(), "x.pbrt".into());
    let text = |name: &str| name.ends_with("one.pbrt").then(|| Input::Memory(b"# 34\n".into(), String::new()));
    let resolving = |is_complete: bool| {
        let given =
            move |name: &str| Ok(text(name).or_else(|| is_complete.then(|| Input::Memory(Vec::new(), name.into()))));
        ReadOptions::default().with_resolver(Some(Resolve(Arc::new(given))))
    };
    let loaded = |options| info(scene(), &options).unwrap().0.render.unwrap();
    assert_eq!((loaded(resolving(true)).missing_textures.len(), loaded(resolving(true)).files[2].count), (0, 5));
    assert_eq!((loaded(resolving(false)).missing_textures.len(), loaded(resolving(false)).files[2].count), (4, 0));
    assert_eq!(loaded(resolving(false)).outside_textures.len(), 1);
    let alone = Input::Memory(IMAGES.split("Include").next().unwrap().into(), "x.pbrt".into());
    let (inventory, report) = info(alone, &ReadOptions::default()).unwrap();
    let render = inventory.render.unwrap();
    let kinds: Vec<_> = render.files.iter().map(|files| files.kind).collect();
    assert_eq!((kinds, render.missing_textures.len(), report.warnings.total()), (vec!["pbrt", "ply"], 0, 0));
}

#[test]
fn scenes_add_up() {
    let [mut first, second] = ["good/02_import.pbrt", "good/01_directives.pbrt"].map(|name| of(data(name)));
    let count = |inventory: &RenderInventory, name: &str| {
        inventory.directives.iter().find(|directive| directive.0 == name).map_or(0, |directive| directive.1)
    };
    let [a, b] = [&first, &second]
        .map(|inventory| (count(inventory, "Shape"), count(inventory, "Import"), inventory.files[0].bytes));
    let inventory_of = |inventory: &polyhaul::inspect::RenderInventory| polyhaul::inspect::Inventory {
        render: Some(inventory.clone()),
        ..polyhaul::inspect::Inventory::default()
    };
    let mut sum = inventory_of(&first);
    sum.add(&inventory_of(&second));
    first = sum.render.unwrap();
    assert_eq!((count(&first, "Shape"), count(&first, "Import")), (a.0 + b.0, a.1 + b.1));
    assert_eq!((first.files[0].bytes, first.files[0].plain_bytes.is_some()), (a.2 + b.2, true));
    assert!(first.directives.is_sorted() && a.1 > 0 && b.1 == 0);
}

#[test]
fn meshes_that_are_not_there_are_counted() {
    let path = data("bad/generated/plymesh_missing.pbrt");
    let inventory = of(path);
    assert_eq!((inventory.contents.unread_meshes, inventory.contents.unique_triangles), (1, 0));
    let lazy = ReadOptions::default().with_load_meshes(false);
    let lazy = info(Input::Path(data("good/02_import.pbrt")), &lazy).unwrap().0.render.unwrap();
    let full = of(data("good/02_import.pbrt"));
    assert_eq!((full.contents.unread_meshes, full.classes.clone()), (0, lazy.classes));
    assert!(lazy.contents.unread_meshes == full.contents.shapes && full.contents.unique_triangles > 0);
}
