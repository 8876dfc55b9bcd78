//! What a scene is said to hold.

use crate::support::data;
use polyhaul::inspect::{RenderInventory, info};
use polyhaul::{Input, ReadOptions};
use polyhaul_testkit::corpus::Folder;
use polyhaul_testkit::pbrt::{self, Layout, Spec};
use std::path::PathBuf;

fn of(path: PathBuf) -> RenderInventory {
    info(Input::Path(path), &ReadOptions::default()).unwrap().0.render.unwrap()
}

#[test]
fn a_generated_scene_holds_what_was_made() {
    for layout in [Layout::OneFile, Layout::Imports] {
        let folder = Folder::new(&format!("pbrt-contents-{layout:?}")).unwrap();
        let made = pbrt::write(&Spec { layout, ..Spec::new(400_000) }, folder.path()).unwrap();
        let found = of(made.main);
        let classes = made.counts.shapes.iter().map(|(class, count)| ((*class).to_owned(), *count));
        assert_eq!(found.classes, classes.collect::<Vec<_>>());
        assert_eq!(found.contents.shapes, made.counts.directives["Shape"]);
        assert_eq!(found.contents.instances, made.counts.directives["ObjectInstance"]);
        assert_eq!(found.contents.definitions, made.counts.directives["ObjectBegin"]);
        assert_eq!(found.contents.positions, made.counts.positions);
        assert_eq!(found.contents.unique_triangles, made.counts.unique_triangles);
        assert_eq!(found.contents.instanced_triangles, made.counts.instanced_triangles);
        assert_eq!(found.texture_files.len() as u64, made.counts.texture_files);
        assert_eq!(found.contents.missing_meshes, 0);
    }
}

#[test]
fn meshes_that_are_not_there_are_counted() {
    let path = data("bad/generated/plymesh_missing.pbrt");
    let found = of(path);
    assert_eq!((found.contents.missing_meshes, found.contents.unique_triangles), (1, 0));
    let lazy = ReadOptions { load_meshes: false, ..ReadOptions::default() };
    let lazy = info(Input::Path(data("good/02_import.pbrt")), &lazy).unwrap().0.render.unwrap();
    let full = of(data("good/02_import.pbrt"));
    assert_eq!((full.contents.missing_meshes, full.classes.clone()), (0, lazy.classes));
    assert!(lazy.contents.missing_meshes == full.contents.shapes && full.contents.unique_triangles > 0);
}
