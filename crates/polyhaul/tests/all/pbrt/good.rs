//! The scenes of `testdata/pbrt/good` with hand-checked results, and the scenes of `bad` with their messages.

use crate::pbrt::support::{data, lenient, options, read, render, scenes, summary};
use polyhaul::model::render::{MaterialUse, ParameterType, ParameterValues, Render, Step};
use polyhaul::{Input, Reader};

const GOOD: [(&str, &str); 10] = [
    (
        "good/01_directives.pbrt",
        "disk sphere sphere disk cylinder sphere | objects inst:1 | instances 2 | materials 4+1 | textures 2 | \
         lights 1+1 | media 1 | options 3",
    ),
    (
        "good/02_import.pbrt",
        "plymesh plymesh plymesh plymesh | objects  | instances 0 | materials 0+1 | textures 0 | lights 1+0 | media 0 | \
         options 0",
    ),
    (
        "good/03_shapes.pbrt",
        "trianglemesh bilinearmesh bilinearmesh loopsubdiv curve curve curve sphere cylinder disk | objects  | \
         instances 0 | materials 0+0 | textures 0 | lights 1+0 | media 0 | options 0",
    ),
    (
        "good/04_types.pbrt",
        "sphere trianglemesh disk disk sphere sphere sphere | objects  | instances 0 | materials 6+3 | textures 6 | \
         lights 5+0 | media 0 | options 1",
    ),
    (
        "good/05_tokens_crlf.pbrt",
        "trianglemesh sphere sphere | objects  | instances 0 | materials 0+1 | textures 0 | lights 1+0 | media 0 | \
         options 0",
    ),
    (
        "good/06_media.pbrt",
        "sphere sphere sphere | objects  | instances 0 | materials 1+0 | textures 0 | lights 1+0 | media 4 | \
         options 0",
    ),
    ("good/09_empty_world.pbrt", EMPTY),
    ("good/10_import_multi_gz.pbrt", IMPORTED),
    ("good/10_import_multi_plain.pbrt", IMPORTED),
    ("good/07_instances.pbrt", INSTANCES),
];
const EMPTY: &str = " | objects  | instances 0 | materials 0+0 | textures 0 | lights 0+0 | media 0 | options 0";
const IMPORTED: &str =
    "sphere | objects imported:1 | instances 1 | materials 0+0 | textures 0 | lights 1+0 | media 0 | options 0";
const INSTANCES: &str =
    "trianglemesh | objects tri grid:1 | instances 64 | materials 0+0 | textures 0 | lights 1+0 | media 0 | options 0";

#[test]
fn good_scenes_are_what_they_say() {
    for (name, expected) in GOOD {
        assert_eq!(summary(render(&read(name))), expected, "{name}");
    }
}

#[test]
fn compressed_scenes_are_the_same() {
    let plain = read("good/07_instances.pbrt");
    for name in ["good/07_instances.pbrt.gz", "good/07_instances_multi.pbrt.gz"] {
        assert!(read(name).value == plain.value, "{name}");
    }
}

#[test]
fn what_pbrt_v3_said_is_an_error_with_a_hint_or_taken_with_warnings() {
    let path = || Input::Path(data("good/08_worldend_v3.pbrt"));
    let error = Reader::new(path()).options(&options(1, None)).scene().unwrap_err();
    assert!(
        error.to_string().contains("08_worldend_v3.pbrt:7:21: the type `color` is from pbrt-v3 or earlier"),
        "{error}"
    );
    assert_eq!(
        error.diagnostic().hint.as_deref(),
        Some("upgrade the scene with pbrt-v4: `pbrt --upgrade old.pbrt > new.pbrt`, or write `rgb`")
    );
    let loaded = Reader::new(path()).options(&lenient(options(2, None))).scene().unwrap();
    assert_eq!(loaded.report.warnings.counts()["old-syntax"], 5);
    let render = render(&loaded);
    let shape = render.shape(0).unwrap();
    assert_eq!(shape.parameters().get("P").unwrap().kind, ParameterType::Point3);
    assert_eq!(shape.parameters().get("S").unwrap().kind, ParameterType::Vector3);
    assert_eq!(render.parameters(&render.lights[0]).get("I").unwrap().kind, ParameterType::Rgb);
}

fn floats<'a>(render: &'a Render, shape: usize, name: &str) -> &'a [f32] {
    match render.shape(shape).unwrap().parameters().get(name).unwrap().values {
        ParameterValues::Floats(values) => values,
        other => panic!("{other:?}"),
    }
}

#[test]
fn values_are_what_the_text_says() {
    let loaded = read("good/03_shapes.pbrt");
    let scene = render(&loaded);
    let mesh = scene.shape(0).unwrap().parameters();
    assert_eq!(mesh.get("indices").unwrap().values, ParameterValues::Integers(&[0, 1, 2, 0, 2, 3]));
    assert_eq!(mesh.get("P").unwrap().values.rows::<3>().unwrap()[2], [1.0, 1.0, 0.0]);
    assert_eq!(floats(scene, 1, "P")[5], 1.25);
    assert_eq!(scene.shape(6).unwrap().parameters().string("type"), Some("ribbon"));
    assert_eq!(floats(scene, 6, "width"), [0.2]);

    let loaded = read("good/05_tokens_crlf.pbrt");
    let scene = render(&loaded);
    assert_eq!(scene.parameters(&scene.film.unwrap()).string("filename"), Some("05 \"q\" \\ .exr"));
    assert_eq!(scene.text(scene.materials[0].entity.name), "tab\tname 'x' \u{e9} \u{6f22}\u{5b57}");
    assert_eq!(floats(scene, 0, "P"), [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    assert_eq!((floats(scene, 1, "radius"), floats(scene, 2, "radius")), (&[0.5][..], &[1e-38][..]));
    let MaterialUse::Named(name) = scene.shape(0).unwrap().state().unwrap().material else { panic!() };
    assert_eq!(name, scene.materials[0].entity.name);

    let loaded = read("good/04_types.pbrt");
    let scene = render(&loaded);
    let spectrum = |light: usize, name: &str| scene.parameters(&scene.lights[light]).get(name).unwrap();
    assert_eq!(spectrum(1, "I").kind, ParameterType::Spectrum);
    assert_eq!(scene.parameters(&scene.lights[2]).string("L"), Some("spds/step.spd"));
    let ParameterValues::Floats(values) = spectrum(4, "L").values else { panic!() };
    assert_eq!(values, [1.5, 0.2, 0.3]);
    let constant = scene.parameters(&scene.textures[2].entity).get("value").unwrap();
    assert_eq!((constant.kind, constant.values.len()), (ParameterType::Spectrum, 8));
}

#[test]
fn imports_have_a_state_of_their_own_and_meshes_are_read_once() {
    let loaded = read("good/02_import.pbrt");
    let scene = render(&loaded);
    assert_eq!(loaded.value.meshes.len(), 3);
    let meshes: Vec<_> = scene.shapes().map(|shape| shape.mesh()).collect();
    assert_eq!(meshes, [Some(0), Some(1), Some(2), Some(0)]);
    assert_eq!(loaded.value.meshes[0].positions.len(), 5);
    let (parent, step) = scene.step(scene.shape(0).unwrap().motion().start).unwrap();
    assert_eq!((scene.step(parent), step), (None, Step::Translate([0.0, 0.0, 1.0])));
}

/// Outcome of each bad scene: the location and the start of the error message, or the warning.
const BAD: [(&str, &str); 42] = [
    ("active_transform_bad", "3:1: `ActiveTransform` is incomplete"),
    ("attribute_end_extra", "unmatched-end"),
    ("attribute_unclosed", "6:1: `AttributeBegin` at"),
    ("bad_escape", "3:11: unknown escape sequence `\\q`"),
    ("bad_number", "3:15: `three` is not a number"),
    ("camera_in_world", "3:1: `Camera` is allowed only before"),
    ("comment_glued", "3:15: `3#c` is not a number"),
    ("dup_param", "repeated-parameter"),
    ("empty", "1:1: the scene has no `WorldBegin`"),
    ("empty_decl", "3:16: incomplete parameter declaration"),
    ("escape_eof", "3:7: this string is not terminated"),
    ("import_outside_world", "1:1: `Import` is allowed only"),
    ("include_a", "include_b.pbrt:1:1: cannot read the file `"),
    ("include_missing", "3:1: cannot read the file `"),
    ("include_self", "1:1: cannot read the file `"),
    ("include_traversal", "3:1: cannot read the file `../../../../../../etc/passwd`: it is outside"),
    ("instance_undefined", "3:1: undefined object `nope`"),
    ("int_as_float", "3:44: `1.5` is not an integer"),
    ("int_overflow", "3:46: `99999999999` does not fit in a 32-bit integer"),
    ("lookat_8", "1:1: `LookAt` has 8 numbers; expected 9"),
    ("missing_bracket", "3:31: this list is not closed with `]`"),
    ("missing_value", "3:16: this parameter has no values"),
    ("mixed_values", "3:35: expected numbers, found a string"),
    ("named_material_undefined", "undefined-material"),
    ("nesting_30k", "ok"),
    ("no_type", "3:16: incomplete parameter declaration"),
    ("nonutf8", "non-utf8-name"),
    ("zeros", "3:1: `Shape?` is not a pbrt directive"),
    ("object_nested", "4:1: `ObjectBegin` is not allowed"),
    ("object_unclosed", "5:1: `ObjectBegin` at"),
    ("p_not_multiple_of_3", "3:50: this `point3` has 8 numbers; expected a multiple of 3"),
    ("plymesh_missing", "missing-mesh"),
    ("shape_before_world", "1:1: `Shape` is allowed only after"),
    ("token_200k", "3:1: `AAAAAA"),
    ("transform_15", "1:1: `Transform` has 15 numbers"),
    ("unknown_directive", "3:1: `Shpae` is not a pbrt directive"),
    ("unterminated_string", "3:7: this string is not terminated"),
    ("unterminated_string_eof", "3:7: this string is not terminated"),
    ("world_twice", "3:1: repeated `WorldBegin`"),
    ("worldend", "4:1: `WorldEnd` is a directive of pbrt-v3 or earlier, not of pbrt-v4"),
    ("include_b", "include_a.pbrt:1:1: cannot read the file `"),
    ("include_self", "1:1: cannot read the file `include_self.pbrt`"),
];

#[test]
fn bad_scenes_are_errors_with_places_or_repaired() {
    for (name, expected) in BAD {
        let result = Reader::new(data(&format!("bad/generated/{name}.pbrt"))).options(&options(1, None)).scene();
        match result {
            Ok(loaded) => {
                let codes: Vec<_> = loaded.report.warnings.counts().keys().copied().collect();
                assert_eq!(codes.first().copied().unwrap_or("ok"), expected, "{name}");
            }
            Err(error) => {
                let message = error.to_string();
                let is_expected = [":", "/", "\\"].iter().any(|start| message.contains(&format!("{start}{expected}")));
                assert!(is_expected, "{name}: {message}");
            }
        }
    }
    let tested = |scene: &str| BAD.iter().any(|(name, _)| scene.ends_with(&format!("/{name}.pbrt")));
    for scene in scenes("bad/generated") {
        assert!(tested(&scene) || scene.ends_with(".gz"), "{scene}");
        if scene.ends_with(".gz") {
            let result = Reader::new(data(&scene)).options(&options(2, None)).scene();
            let codes = result.map(|loaded| loaded.report.warnings.counts().keys().copied().collect::<Vec<_>>());
            let is_plain = scene.ends_with("not_gzip.pbrt.gz");
            assert_eq!(codes.ok(), is_plain.then(|| vec!["not-compressed"]), "{scene}");
        }
    }
}
