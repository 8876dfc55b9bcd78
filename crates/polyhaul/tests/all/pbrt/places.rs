//! Compares transforms with an independent calculation: each directive applied to a point, in f64.

use crate::pbrt::support::{options, render, text};
use polyhaul::model::render::Render;
use polyhaul::ops::{places32, places64};

/// Applies a directive to a point.
fn apply(directive: &str, numbers: &[f64], [x, y, z]: [f64; 3]) -> [f64; 3] {
    match directive {
        "Translate" => [x + numbers[0], y + numbers[1], z + numbers[2]],
        "Scale" => [x * numbers[0], y * numbers[1], z * numbers[2]],
        // Rodrigues' formula.
        "Rotate" => {
            let angle = numbers[0] * std::f64::consts::PI / 180.0;
            let axis = &numbers[1..];
            let size = axis.iter().map(|a| a * a).sum::<f64>().sqrt();
            let [a, b, c] = [axis[0] / size, axis[1] / size, axis[2] / size];
            let dot = (a * x + b * y + c * z) * (1.0 - angle.cos());
            let cross = [b * z - c * y, c * x - a * z, a * y - b * x];
            std::array::from_fn(|i| [x, y, z][i] * angle.cos() + cross[i] * angle.sin() + [a, b, c][i] * dot)
        }
        _ => {
            let at = |row: usize| numbers[row] * x + numbers[4 + row] * y + numbers[8 + row] * z + numbers[12 + row];
            let w = at(3);
            [at(0) / w, at(1) / w, at(2) / w]
        }
    }
}

fn near(a: f64, b: f64, by: f64) -> bool {
    (a - b).abs() <= by * (1.0 + b.abs())
}

fn moved(matrix: [[f64; 4]; 4], [x, y, z]: [f64; 3]) -> [f64; 3] {
    let row = |row: usize| matrix[row][0] * x + matrix[row][1] * y + matrix[row][2] * z + matrix[row][3];
    [row(0) / row(3), row(1) / row(3), row(2) / row(3)]
}

fn check(render: &Render, expected: [f64; 3], point: [f64; 3], what: &str) {
    let double = places64(render).unwrap();
    let single = places32(render).unwrap();
    let instance = render.instances().next().unwrap();
    let position = moved(double.of_instance(render, &instance), point);
    let found32 = moved(single.of_instance(render, &instance).map(|row| row.map(f64::from)), point);
    for axis in 0..3 {
        assert!(near(position[axis], expected[axis], 1e-12), "{what}: {position:?} {expected:?}");
        assert!(near(found32[axis], expected[axis], 2e-5), "{what}: {found32:?} {expected:?}");
    }
}

#[test]
fn chains_of_transforms() {
    const STEPS: [(&str, &str); 6] = [
        ("Translate", "1.5 -2 .25"),
        ("Scale", "2 .5 -3"),
        ("Rotate", "33.3 1 2 -2"),
        ("ConcatTransform", "[ 1 .1 0 0  0 2 .2 0  .3 0 1 0  4 5 6 1 ]"),
        ("ConcatTransform", "[ 1 0 0 .01  0 1 0 0  0 0 1 .02  0 1 0 2 ]"),
        ("Rotate", "-120 0 1 0"),
    ];
    let numbers = |text: &str| -> Vec<f64> {
        text.split([' ', '[', ']']).filter(|word| !word.is_empty()).map(|word| word.parse().unwrap()).collect()
    };
    for first in STEPS {
        for second in STEPS {
            for third in STEPS {
                let steps = [first, second, third];
                let lines: Vec<_> = steps.iter().map(|(name, values)| format!("{name} {values}")).collect();
                let scene =
                    format!("WorldBegin\nObjectBegin \"o\"\nObjectEnd\n{}\nObjectInstance \"o\"\n", lines.join("\n"));
                let loaded = text(&scene, &options(1, None)).unwrap();
                let point = [0.7, -1.1, 2.3];
                // The last directive is applied first.
                let expected =
                    steps.iter().rev().fold(point, |point, (name, values)| apply(name, &numbers(values), point));
                check(render(&loaded), expected, point, &lines.join(" "));
            }
        }
    }
}

#[test]
fn look_at_and_named_systems() {
    let scene = "LookAt 3 4 5  0 .5 0  0 0 1\nCamera \"perspective\"\nWorldBegin\nCoordSysTransform \"camera\"\n\
                 ObjectInstance \"o\"\nObjectBegin \"o\"\nObjectEnd\n";
    let loaded = text(scene, &options(1, None)).unwrap();
    // The camera's origin is its position, and its z axis points at its target.
    check(render(&loaded), [3.0, 4.0, 5.0], [0.0; 3], "the eye");
    let distance = (9.0f64 + 3.5 * 3.5 + 25.0).sqrt();
    check(render(&loaded), [0.0, 0.5, 0.0], [0.0, 0.0, distance], "the point looked at");
}

#[test]
fn moving_things_have_two_places() {
    let scene = "WorldBegin\nTranslate 1 0 0\nActiveTransform EndTime\nTranslate 0 1 0\nShape \"a\"\n\
                 ActiveTransform All\nIdentity\nShape \"b\"\n";
    let loaded = text(scene, &options(1, None)).unwrap();
    let render = render(&loaded);
    let places = places64(render).unwrap();
    let motion = render.shape(0).unwrap().motion();
    assert!(motion.is_animated());
    assert_eq!(moved(places.matrix(render, motion.start), [0.0; 3]), [1.0, 0.0, 0.0]);
    assert_eq!(moved(places.matrix(render, motion.end), [0.0; 3]), [1.0, 1.0, 0.0]);
    assert!(!render.shape(1).unwrap().motion().is_animated());
}
