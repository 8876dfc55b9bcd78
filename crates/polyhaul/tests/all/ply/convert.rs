//! Converts PLY to OBJ.

use crate::ply::support::{header, memory};
use polyhaul::{Output, Reader, Writer};
use polyhaul_testkit::corpus::Folder;

#[test]
fn nothing_is_turned() {
    let lines = "element vertex 4\nproperty float x\nproperty float y\nproperty float z\nproperty float nx\n\
                 property float ny\nproperty float nz\nproperty float s\nproperty float t\nelement face 2\n\
                 property list uchar int vertex_indices\n";
    let rows = "0 0 0 0 0 1 0 0\n1 0 0 0 0 1 1 0\n1 1 0 0 0 1 1 1\n0 1 2 0 1 0 0 1\n3 0 1 2\n3 0 2 3\n";
    let folder = Folder::new("ply-convert").unwrap();
    let file = (header("ascii", lines) + rows).into_bytes();
    let output = Output::Path(folder.join("x.obj"));
    Reader::new(memory(&file)).convert(Writer::new(output)).unwrap();
    let text = folder.text("x.obj");
    assert!(text.contains("v 0.000000 1.000000 2.000000\n"), "{text}");
    assert!(text.contains("vt 1.000000 0.000000\n") && text.contains("vn -0.0000 1.0000 -0.0000\n"), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("f ")).count(), 2, "{text}");
    let again = polyhaul::read(folder.join("x.obj")).unwrap();
    assert_eq!(again.meshes[0].faces.corner_positions, [0, 1, 2, 0, 2, 3]);
}
