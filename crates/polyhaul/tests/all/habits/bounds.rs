//! The bounds that `info` reports for a scene equal those of the converted file.

use crate::support::{memory, try_converted};
use polyhaul::inspect::info;
use polyhaul::{Format, ReadOptions, WriteOptions};
use polyhaul_testkit::corpus::samples;

/// Transforms and instances are applied in OBJ, which stores world-space positions.
#[test]
fn bounds_are_those_of_all_positions_in_their_places() {
    let write = WriteOptions::default().with_format(Some(Format::Obj));
    let read = ReadOptions::default();
    let mut tried = 0;
    for extension in ["glb", "pbrt", "ply", "off", "stl"] {
        for sample in samples(&format!("{extension}/good"), extension).into_iter().filter(|sample| sample.size < 20_000)
        {
            let Ok((inventory, _)) = info(sample.path.clone(), &read) else { continue };
            let Ok((obj, _)) = try_converted(polyhaul::Input::Path(sample.path.clone()), &read, &write) else {
                continue;
            };
            let Ok((of_obj, _)) = info(memory(obj, "x.obj"), &read) else { continue };
            let Some((bounds, expected)) = inventory.bounds.zip(of_obj.bounds) else { continue };
            let side = (0..3).map(|axis| expected.max[axis] - expected.min[axis]).fold(1.0, f64::max);
            // In OBJ, y is up.
            for axis in 0..3 {
                let is_near = |a: f64, b: f64| (a - b).abs() <= 1e-5 * side;
                let is_right =
                    is_near(bounds.min[axis], expected.min[axis]) && is_near(bounds.max[axis], expected.max[axis]);
                assert!(is_right, "{}: {bounds:?} in place of {expected:?}", sample.name);
            }
            tried += 1;
        }
    }
    assert!(tried > 0);
}
