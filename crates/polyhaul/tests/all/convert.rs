//! Conversions between files: content that is kept or adapted to the target, format detection, and the callback
//! `before`.

use crate::support::{codes, memory, stream, try_converted};
use polyhaul::model::{Column, Table, Values};
use polyhaul::options::{Axes, ColumnName, Compression, Digits, OnError, SceneWriteOptions};
use polyhaul::{
    Content, Error, ErrorKind, Format, Input, Loaded, Output, ReadOptions, Reader, Report, Tables, WriteOptions, Writer,
};
use polyhaul_bytes::Codec;
use polyhaul_testkit::corpus::{Folder, samples};
use polyhaul_testkit::options::PlyEncoding;
use polyhaul_testkit::output::Shared;
use polyhaul_testkit::packed::{CODECS, pack};

fn to(format: Format) -> WriteOptions {
    WriteOptions::default().with_format(Some(format))
}

#[track_caller]
fn converted(bytes: &[u8], name: &str, write: &WriteOptions) -> Vec<u8> {
    try_converted(memory(bytes, name), &ReadOptions::default(), write).unwrap().0
}

/// Converts text to text.
#[track_caller]
fn text(source: &str, name: &str, format: Format) -> String {
    let mut write = to(format);
    write.scene.ascii = true;
    String::from_utf8(converted(source.as_bytes(), name, &write)).unwrap()
}

#[track_caller]
fn refusal(source: &str, name: &str, read: &ReadOptions, format: Format) -> Error {
    try_converted(memory(source.as_bytes(), name), read, &to(format)).unwrap_err()
}

fn tables_of(bytes: &[u8]) -> Loaded<Tables> {
    Reader::new(memory(bytes, "x.ply")).tables().unwrap()
}

const CLOUD: &str = "ply\nformat ascii 1.0\ncomment made by hand\nobj_info scanner 7\nelement vertex 2\n\
    property float blue\nproperty double z\nproperty double x\nproperty double y\nproperty float red\n\
    property float green\nproperty ushort intensity\nproperty float scale_0\nelement face 1\n\
    property list uchar int vertex_indices\nelement camera 1\nproperty double view_px\nend_header\n\
    1 0.1 412345.123456789 -2 0 0.5 7 9.5\n0 3 4 5 1 0.25 65535 1\n2 0 1\n0.1\n";

#[test]
fn ply_to_ply_keeps_every_element_and_type() {
    let good_samples = samples("ply/good", "ply");
    assert!(good_samples.len() > 20);
    for file in good_samples {
        let bytes = file.bytes();
        let before = tables_of(&bytes);
        for encoding in PlyEncoding::ALL {
            let mut write = to(Format::Ply);
            encoding.set(&mut write);
            let after = tables_of(&converted(&bytes, "x.ply", &write));
            let [before, after] = [&before, &after]
                .map(|loaded| format!("{:?}{:?}{:?}", loaded.value.tables, loaded.value.comments, loaded.value.infos));
            assert!(before == after, "{}: {encoding:?}", file.name);
        }
    }
}

#[test]
fn options_of_a_mesh_make_it_one() {
    let mut write = to(Format::Ply);
    write.scene.global_scale = 2.0;
    let scaled = tables_of(&converted(CLOUD.as_bytes(), "x.ply", &write));
    let names: Vec<_> = scaled.value.tables.iter().map(|table| table.name.as_str()).collect();
    // A face with two corners is not part of a mesh.
    assert_eq!(names, ["vertex", "camera"]);
    let x = &scaled.value.tables[0].column("x").unwrap().values;
    assert_eq!(*x, Values::F64([412345.123456789 * 2.0, 8.0].into()));
    write.scene.global_scale = 1.0;
    let tables = tables_of(&converted(CLOUD.as_bytes(), "x.ply", &write));
    assert_eq!(tables.value.tables[1].columns[0].values.len(), 2);
    assert_eq!(tables.value.tables[0].column("x").unwrap().values, Values::F64([412345.123456789, 4.0].into()));
}

#[test]
fn vertices_become_a_table_by_name() {
    let expected = "# made by hand\n# scanner 7\nblue,z,x,y,red,green,intensity,scale_0\n\
        1,0.1,412345.123456789,-2,0,0.5,7,9.5\n0,3,4,5,1,0.25,65535,1\n";
    assert_eq!(text(CLOUD, "x.ply", Format::Csv), expected);
    let (_, report) =
        try_converted(memory(CLOUD.as_bytes(), "x.ply"), &ReadOptions::default(), &to(Format::Csv)).unwrap();
    assert_eq!(codes(&report), [("left-out-faces", 1), ("left-out-tables", 1)]);
}

#[test]
fn points_stand_in_the_order_of_their_format() {
    let xyz = "# made by hand\n# scanner 7\n412345.123456789 -2 0.1 7 0 128 255\n4 5 3 65535 255 64 0\n";
    assert_eq!(text(CLOUD, "x.ply", Format::Xyz), xyz);
    assert_eq!(text(CLOUD, "x.ply", Format::Pts), "2\n412345.123456789 -2 0.1 7 0 128 255\n4 5 3 65535 255 64 0\n");
    let csv = "Z,nx,ny,nz,X,note,Y\n1,0,0,1,2,9,3\n";
    assert_eq!(text(csv, "x.csv", Format::Xyz), "2 3 1 0.0 0.0 1.0\n");
    assert_eq!(text(csv, "x.csv", Format::Pts), "1\n2 3 1\n");
    // Columns without names are kept in order.
    assert_eq!(text("1 2 3 4 5\n", "x.txt", Format::Xyz), "1 2 3 4 5\n");
    let (_, report) =
        try_converted(memory(csv.as_bytes(), "x.csv"), &ReadOptions::default(), &to(Format::Xyz)).unwrap();
    assert_eq!(codes(&report), [("left-out-columns", 1)]);
    let error = refusal("a,b,c\n1,2,3\n", "x.csv", &ReadOptions::default(), Format::Xyz);
    assert!(error.kind() == ErrorKind::Usage && error.diagnostic().hint.as_ref().unwrap().contains("--columns"));
}

#[test]
fn colours_of_sixteen_bits_become_bytes() {
    let table = |values| {
        let names = ["x", "y", "z", "red", "green", "blue"];
        let column = |name: &str| Column { name: name.into(), values: Values::clone(&values), offsets: None };
        Table { name: "vertex".into(), row_count: 3, columns: names.map(column).into() }
    };
    let out = Shared::default();
    let output = Output::Writer(Box::new(out.clone()), "x".into());
    Writer::new(output).options(&to(Format::Ply)).tables(&[table(Values::U16([0, 257, 65535].into()))]).unwrap();
    let xyz = converted(&out.take(), "x.ply", &to(Format::Xyz));
    assert_eq!(String::from_utf8(xyz).unwrap(), "0 0 0 0 0 0\n257 257 257 1 1 1\n65535 65535 65535 255 255 255\n");
}

#[test]
fn a_table_becomes_vertices() {
    let csv = "# hello\nX,y,z,red,GREEN,blue,my value,id\n0,0.1,1,255,0,7,-3,1\n1e300,2,3,0,1,2,4,2\n";
    let ply = "ply\nformat ascii 1.0\ncomment hello\nelement vertex 2\nproperty double x\nproperty double y\n\
        property int z\nproperty uchar red\nproperty uchar green\nproperty uchar blue\nproperty int my_value\n\
        property int id\nend_header\n0 0.1 1 255 0 7 -3 1\n1e300 2 3 0 1 2 4 2\n";
    assert_eq!(without_title(&text(csv, "x.csv", Format::Ply)), ply);
    let unnamed = without_title(&text("1 2 3 9 8\n4 5 6 7 6\n", "x.txt", Format::Ply));
    let names: Vec<_> = unnamed.lines().filter_map(|line| line.strip_prefix("property int ")).collect();
    assert_eq!(names, ["x", "y", "z", "column_4", "column_5"]);
    let same = without_title(&text("a b,a_b,a_b\n1,2,3\n", "x.csv", Format::Ply));
    let names: Vec<_> = same.lines().filter_map(|line| line.strip_prefix("property int ")).collect();
    assert_eq!(names, ["a_b", "a_b_column_2", "a_b_column_3"]);
    assert!(refusal("x\n5000000000\n", "x.csv", &ReadOptions::default(), Format::Ply).kind() == ErrorKind::Usage);
}

/// Removes the writer's name from a header.
fn without_title(ply: &str) -> String {
    ply.lines().filter(|line| !line.contains("polyhaul")).map(|line| format!("{line}\n")).collect()
}

#[test]
fn tables_keep_their_numbers() {
    let csv = "id,weight\n1,0.1\n9007199254740993,1e-300\n";
    for format in [Format::Tsv, Format::Npy] {
        let there = converted(csv.as_bytes(), "x.csv", &to(format));
        let back = converted(&there, &format!("x.{}", format.name()), &to(Format::Csv));
        assert_eq!(String::from_utf8(back).unwrap(), csv, "{format:?}");
    }
}

#[test]
fn elements_and_columns_are_chosen() {
    let mut read = ReadOptions::default();
    read.table.element = Some("camera".into());
    let of = |read: &ReadOptions, format| {
        try_converted(memory(CLOUD.as_bytes(), "x.ply"), read, &to(format)).map(|(bytes, _)| bytes)
    };
    assert!(of(&read, Format::Csv).unwrap().ends_with(b"view_px\n0.1\n"));
    assert_eq!(tables_of(&of(&read, Format::Ply).unwrap()).value.tables.len(), 1);
    assert_eq!(
        Reader::new(memory(CLOUD.as_bytes(), "x.ply")).options(&read).tables().unwrap().value.tables[0].name,
        "camera"
    );
    read.table.element = None;
    read.table.columns = Some(vec![ColumnName::Name("scale_0".into()), ColumnName::Index(1)]);
    assert!(of(&read, Format::Txt).unwrap().ends_with(b"9.5 0.1\n1 3\n"));
    assert_eq!(of(&read, Format::Xyz).unwrap_err().kind(), ErrorKind::Usage);
    // The element is ambiguous.
    assert!(of(&read, Format::Ply).unwrap_err().diagnostic().hint.as_ref().unwrap().contains("vertex, face, camera"));
    read.table.columns = Some(vec![ColumnName::Name("none".into())]);
    assert!(of(&read, Format::Csv).unwrap_err().diagnostic().hint.as_ref().unwrap().contains("blue, z, x, y"));
    read.table.columns = Some(vec![ColumnName::Name("x".into()), ColumnName::Index(2)]);
    assert!(of(&read, Format::Csv).unwrap_err().to_string().contains("twice"));
    read.table.columns = None;
    read.table.element = Some("edge".into());
    assert!(of(&read, Format::Csv).unwrap_err().diagnostic().hint.as_ref().unwrap().contains("vertex, face, camera"));
    read.table.element = Some("face".into());
    assert!(
        of(&read, Format::Csv)
            .unwrap_err()
            .to_string()
            .contains("contains lists, which a table of numbers cannot store")
    );
    assert_eq!(refusal("1,2\n", "x.csv", &read, Format::Tsv).kind(), ErrorKind::Usage);
    // Requested options are never silently ignored.
    for (source, name) in [(CLOUD, "x.ply"), ("v 0 0 0\n", "x.obj")] {
        assert_eq!(refusal(source, name, &read, Format::Obj).kind(), ErrorKind::Usage, "{name}");
    }
    let two = "ply\nformat ascii 1.0\nelement a 0\nproperty int i\nelement b 0\nproperty int i\nend_header\n";
    let error = refusal(two, "x.ply", &ReadOptions::default(), Format::Csv);
    assert_eq!(error.diagnostic().hint.as_deref(), Some("choose one with `--element`: a, b"));
}

#[test]
fn points_of_a_scene_are_turned_and_scaled() {
    let mut write = to(Format::Xyz);
    write.scene.global_scale = 10.0;
    assert_eq!(converted(b"v 1 2 3\n", "x.obj", &write), b"10 20 30\n");
    assert_eq!(converted(b"x,y,z\n1,2,3\n", "x.csv", &write), b"10 20 30\n");
    write.scene.global_scale = 1.0;
    write.scene = write.scene.with_forward_axis(Some(Axes::BLENDER.forward)).with_up_axis(Some(Axes::BLENDER.up));
    assert_eq!(converted(b"v 1 2 3\n", "x.obj", &write), b"1 -3 2\n");
}

#[test]
fn formats_are_told_by_content_where_names_say_nothing() {
    let folder = Folder::new("convert-content").unwrap();
    let stl = b"solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid\n";
    let facet = [&[b'x'; 80][..], &1u32.to_le_bytes(), &[0; 50]].concat();
    let npy = converted(b"1,2\n", "x.csv", &to(Format::Npy));
    let contents: [(&[u8], &str, Format); 5] = [
        (CLOUD.as_bytes(), "x.ply", Format::Ply),
        (stl, "x.stl", Format::Ply),
        (&facet, "x.stl", Format::Obj),
        (&npy, "x.npy", Format::Csv),
        (b"v 1 2 3\n", "x.obj", Format::Ply),
    ];
    for (place, (bytes, name, format)) in contents.into_iter().enumerate() {
        let write = to(format);
        let expected = converted(bytes, name, &write);
        let same = |input| try_converted(input, &ReadOptions::default(), &write).unwrap().0 == expected;
        let path = |end: &str, bytes: &[u8]| Input::Path(folder.file(&format!("{place}{end}"), bytes).unwrap());
        assert!(same(memory(bytes, "somewhere")) && same(path("", bytes)), "{name}");
        assert!(name == "x.obj" || same(path(".dat", bytes)), "{name}");
        // The size of a stream, which identifies binary STL, is unknown.
        assert!(place == 2 || same(stream(bytes, "stdin")), "{name}");
        for (codec, extension) in CODECS {
            let packed = pack(codec, bytes, 20);
            let file = path(&format!(".{extension}"), &packed);
            assert!(place == 2 || same(stream(&packed, "stdin")) && same(file), "{name} {extension}");
        }
    }
    let unknown = Input::Path(folder.file("x.dat", b"what is this?\n").unwrap());
    let error = try_converted(unknown, &ReadOptions::default(), &to(Format::Ply)).unwrap_err();
    assert!(error.kind() == ErrorKind::Usage && error.diagnostic().hint.as_ref().unwrap().contains("ply, stl"));
}

#[test]
fn names_win_over_content_and_complaints_tell_of_it() {
    let hint = |error: Error| error.diagnostic().hint.clone().unwrap_or_default();
    for input in [memory, stream] {
        let read = |name: &str, text: &'static str| {
            let on_error = if name == "x.obj" { OnError::Warn } else { OnError::Raise };
            let read = ReadOptions::default().with_on_error(on_error);
            try_converted(input(text.as_bytes(), name), &read, &to(Format::Ply))
        };
        assert!(hint(read("x.stl", CLOUD).unwrap_err()).ends_with("`--from ply`"), "stl");
        assert!(hint(read("x.csv", CLOUD).unwrap_err()).ends_with("`--from ply`"), "csv");
        assert!(hint(read("x.obj", CLOUD).unwrap_err()).ends_with("`--from ply`"), "obj");
        assert_eq!(hint(read("x.ply", "ply\nformat ascii 1.0\nelement\n").unwrap_err()), "");
        assert_eq!(codes(&read("x.obj", "v 1 2 3\nwhat\n").unwrap().1), [("unknown-statement", 1)]);
    }
    let read = ReadOptions::default().with_format(Some(Format::Stl));
    let error = try_converted(memory(CLOUD.as_bytes(), "x.ply"), &read, &to(Format::Ply)).unwrap_err();
    assert!(hint(error).ends_with("`--from ply`"));
}

#[test]
fn before_writing_somebody_may_look_and_refuse() {
    let folder = Folder::new("convert-before").unwrap();
    let path = folder.join("x.ply");
    let run = |name: &str, source: &str, refuse: bool| {
        let mut seen = String::new();
        let before = |content: Content<'_>, report: &Report| {
            seen = match content {
                Content::Scene(scene) => format!("scene of {}", scene.meshes[0].positions.len()),
                Content::Tables(tables) => format!("{} of {}", tables[0].name, tables[0].row_count),
                _ => String::new(),
            };
            assert!(report.bytes_in > 0 && !path.exists());
            if refuse { Err(Error::new(ErrorKind::Host, "no")) } else { Ok(()) }
        };
        let read = ReadOptions::default();
        let write = WriteOptions::default();
        let conversion = Reader::new(memory(source.as_bytes(), name))
            .options(&read)
            .convert_with(Writer::new(&path).options(&write), before);
        (seen, conversion)
    };
    let (seen, conversion) = run("x.csv", "1,2,3\n", true);
    assert_eq!(
        (seen.as_str(), conversion.unwrap_err().kind(), folder.names().len()),
        ("vertex of 1", ErrorKind::Host, 0)
    );
    let (seen, conversion) = run("x.obj", "v 1 2 3\n", false);
    let conversion = conversion.unwrap();
    assert_eq!((seen.as_str(), conversion.reading.bytes_in, conversion.writing.bytes_in), ("scene of 1", 8, 0));
    assert!(conversion.writing.bytes_out > 0 && conversion.report().phases.len() == 2);
}

#[test]
fn compression_is_by_name_or_none_or_a_codec() {
    let written = |name: &str, compression, level| {
        let out = Shared::default();
        let output = Output::Writer(Box::new(out.clone()), name.into());
        let write = to(Format::Csv).with_compression(compression).with_level(level);
        Reader::new(memory(b"1,2\n", "x.csv")).convert(Writer::new(output).options(&write)).map(|_| out.take())
    };
    let plain = b"1,2\n".to_vec();
    assert_eq!(written("x.csv", Compression::Auto, None).unwrap(), plain);
    assert_eq!(written("x.csv.gz", Compression::None, None).unwrap(), plain);
    for level in [None, Some(9)] {
        assert!(written("x.csv.gz", Compression::Auto, level).unwrap().starts_with(&[0x1f, 0x8b]));
    }
    let zstd = [0x28, 0xb5, 0x2f, 0xfd];
    for name in ["x.csv", "x.csv.gz"] {
        assert!(written(name, Codec::Zstd.into(), None).unwrap().starts_with(&zstd));
    }
    let refused = [
        ("x.csv", Compression::Auto, 3),
        ("x.csv.gz", Compression::Auto, 13),
        ("x.csv.gz", Compression::None, 1),
        ("x", Compression::Lz4, 2),
    ];
    for (name, compression, level) in refused {
        assert_eq!(written(name, compression, Some(level)).unwrap_err().kind(), ErrorKind::Usage, "{name}");
    }
    // The error is detected before anything is read.
    let write = to(Format::Csv).with_level(Some(3));
    let nothing = Input::Path("no such file.csv".into());
    assert_eq!(try_converted(nothing, &ReadOptions::default(), &write).unwrap_err().kind(), ErrorKind::Usage);
}

#[test]
fn digits_hold_for_every_format() {
    let source = b"v 1 2 3\nvt 0.5 0.25\nvn 0 0 1\nf 1/1/1 1/1/1 1/1/1\n";
    for (format, end) in [(Format::Obj, ""), (Format::Ply, ""), (Format::Stl, ""), (Format::Xyz, "")] {
        let mut write = WriteOptions::default()
            .with_scene(SceneWriteOptions::default().with_digits(Some(Digits::Fixed(2))))
            .with_format(Some(format));
        write.scene.ascii = true;
        let text = String::from_utf8(converted(source, "x.obj", &write)).unwrap();
        let numbers = text.split_whitespace().filter(|word| word.contains('.') && word.parse::<f32>().is_ok());
        let wrong: Vec<_> = numbers.filter(|word| word.split('.').next_back().map(str::len) != Some(2)).collect();
        let wrong: Vec<_> = wrong.into_iter().filter(|word| *word != "1.0").collect();
        assert!(wrong.is_empty() && text.contains("1.00"), "{format:?}{end} {text}");
    }
}
