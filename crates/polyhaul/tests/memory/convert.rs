//! Converting stores the content once, and frees it afterwards.

use polyhaul::model::{Column, Mesh, Table, Values};
use polyhaul::options::RunOptions;
use polyhaul::{Format, Output, ReadOptions, Reader, WriteOptions, Writer};
use polyhaul_testkit::alloc;
use polyhaul_testkit::corpus::Folder;

const MIB: u64 = 1 << 20;
/// Allowed memory beyond the arrays and the limit.
const EXTRA_BYTES: u64 = 8 * MIB;

/// Vertices in a closed ring of triangles, with an additional column.
fn ring(count: usize) -> [Table; 2] {
    let floats = |name: &str, step: f32| Column {
        name: name.into(),
        values: Values::F32((0..count).map(|i| i as f32 * step).collect()),
        offsets: None,
    };
    let columns = vec![floats("x", 0.5), floats("y", -1.0), floats("z", 2.0), floats("heat", 0.1)];
    let corners = (0..count).flat_map(|i| [0, 1, 2].map(|k| ((i + k) % count) as i32));
    let faces = Column {
        name: "vertex_indices".into(),
        values: Values::I32(corners.collect()),
        offsets: Some((0..=count as u32).map(|i| 3 * i).collect()),
    };
    let table = |name: &str, columns| Table { name: name.into(), row_count: count, columns };
    [table("vertex", columns), table("face", vec![faces])]
}

#[test]
fn nothing_is_held_twice() {
    let _alone = crate::alone();
    let folder = Folder::new("convert-memory").unwrap();
    let path = folder.join("a.ply");
    Writer::new(&path).tables(&ring(1_000_000)).unwrap();
    let run = RunOptions::default().with_threads(Some(2)).with_memory_limit(8 * MIB);
    let read = ReadOptions::default().with_run(run.clone());
    let scene = Reader::new(&path).options(&read).scene().unwrap().value;
    let scene_bytes = scene.meshes.iter().map(Mesh::heap_bytes).sum();
    let tables = Reader::new(&path).options(&read).tables().unwrap().value.tables;
    let table_bytes = tables.iter().map(Table::heap_bytes).sum();
    drop((scene, tables));
    for (format, scale, model) in [
        (Format::Ply, 1.0, table_bytes),
        (Format::Csv, 1.0, table_bytes),
        (Format::Xyz, 1.0, table_bytes),
        (Format::Ply, 2.0, scene_bytes),
        (Format::Xyz, 2.0, scene_bytes),
        (Format::Stl, 2.0, scene_bytes),
        (Format::Obj, 2.0, scene_bytes),
    ] {
        let mut write = WriteOptions::default().with_format(Some(format)).with_run(run.clone());
        write.scene.global_scale = scale;
        let output = Output::Writer(Box::new(std::io::sink()), "nowhere".into());
        let (result, used) =
            alloc::measure(|| Reader::new(&path).options(&read).convert(Writer::new(output).options(&write)));
        assert!(result.unwrap().bytes_out > 10 * MIB);
        let max_bytes = model + run.memory_limit + EXTRA_BYTES;
        let what = format!("{format:?} {scale}: {} of {} MiB", used.peak_bytes >> 20, max_bytes >> 20);
        assert!(used.peak_bytes <= max_bytes && used.peak_bytes >= model, "{what}");
    }
}
