//! The same scene, warnings and error for any number of threads and any chunk size, from a file or a stream.

use crate::pbrt::support::{options, render, same, text};

#[test]
fn a_comment_in_a_matrix_takes_nothing_behind_it() {
    for (behind, place) in [("]#c\nFoo\n", "x.pbrt:3:1"), ("]\nFoo\n", "x.pbrt:3:1"), ("]Foo\n", "x.pbrt:2:18")] {
        let scene = format!("Transform [1 0 0 0 0 1 0 0 # rows\n0 0 1 0 0 0 0 1 {behind}");
        let error = text(&scene, &options(1, None)).unwrap_err();
        assert_eq!(error.place().to_string(), place, "{error}");
    }
}

/// Many instances and curves, so that every array crosses chunk boundaries.
#[test]
fn instances_and_curves_are_the_same_in_any_pieces() {
    let mut scene = String::from("WorldBegin\nObjectBegin \"o\"\nShape \"sphere\"\nObjectEnd\n");
    for n in 0..400 {
        let a = n as f32 * 0.37 - 40.0;
        let b = n % 7;
        scene += &format!(
            "AttributeBegin\n{} [ 1 0 0 0 0 {a} 0 0 0 0 1 0 {b} {a} 3.25 {} ]\nObjectInstance \"o\"\nAttributeEnd\n\
             Shape \"curve\" \"point3 P\" [ {a} 0 1 {b} 2 3 ] \"float width\" {a}\n",
            if n % 5 == 0 { "Transform" } else { "ConcatTransform" },
            if n % 50 == 49 { 2 } else { 1 },
        );
    }
    let expected = text(&scene, &options(1, None));
    let loaded = expected.as_ref().unwrap();
    assert_eq!((render(loaded).instances.len(), render(loaded).shape_count()), (400, 401));
    assert_eq!(render(loaded).instances().count(), 400);
    for chunk_bytes in [1, 100, 500, 1000, 3000, 20_000] {
        for threads in [1, 2, 3, 8] {
            let actual = text(&scene, &options(threads, Some(chunk_bytes)));
            assert!(same(&actual, &expected), "{chunk_bytes} {threads}");
        }
    }
    let other = text(&scene.replace("3.25", "3.5"), &options(1, None)).unwrap();
    assert!(other.value != loaded.value);
}
