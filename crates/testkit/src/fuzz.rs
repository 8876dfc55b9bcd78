//! What must hold for any bytes: the bodies of the fuzz targets, which also run as normal tests.
//!
//! A body panics where something does not hold; everything else, errors included, is fine. Images, PLY, STL,
//! pbrt and archives are in modules of their own.

mod archives;
mod images;
mod pbrt;
mod scans;

pub use archives::zip;
pub use images::{bmp, dds, exr, hdr, jpeg, ktx2, png, psd, tga};
pub use pbrt::pbrt;
pub use scans::{ply, stl};

use crate::corpus::Folder;
use crate::hostile::{Fault, Hostile, Sizes};
use crate::naive;
use crate::output::{Shared, try_named};
use crate::packed::unpack;
use crate::random::Random;
use crate::scene::broken_rule;
use crate::summary::{self, outcome};
use polyhaul::model::{Scalar, Scene, Table};
use polyhaul::options::{Digits, Header, Limits, Missing, ObjOptions, OnError, TableOptions, TableStyle, Types};
use polyhaul::{
    ErrorKind, Format, Input, LoadedTables, Output, ReadOptions, WriteOptions, load, load_tables, save_tables,
};
use polyhaul_bytes::{DecompressLimits, Source};
use polyhaul_text::cpu::Level;
use polyhaul_text::format::Page;
use polyhaul_text::parse::number::{self, IntegerError};
use polyhaul_text::parse::rows::{VALUE_SLACK, Window, face_rows, float_rows};
use polyhaul_text::scan::{Index, MAX_ENDS, MAX_LINES, PADDING, is_space};

/// Reads OBJ text in many ways, which must all come to the same; what was read must be sound, and
/// come back when it is written.
pub fn obj(data: &[u8]) {
    let mut random = Random::new(summary::hash(data.iter().map(|&b| u64::from(b))));
    let options = options(&mut random);
    let result = load(memory(data), &options);
    let expected = outcome(&result);
    for _ in 0..2 {
        let mut other = options.clone();
        other.run.chunk_bytes = Some(1 + random.below(80));
        other.run.threads = Some(1 + random.below(2));
        let positioned = outcome(&load(memory(data), &other));
        assert_eq!(expected, positioned, "chunks of {:?}", other.run);
        let sizes = Sizes::Random(random.clone());
        let reader = Hostile::new(data, sizes).with(Fault::Interrupted);
        let streamed = load(Input::Reader(Box::new(reader), NAME.into()), &other);
        assert_eq!(expected, outcome(&streamed), "a stream, chunks of {:?}", other.run);
    }
    match result {
        Ok(loaded) => {
            assert_eq!(broken_rule(&loaded.scene), None);
            if options.on_error == OnError::Raise {
                complete(data, &loaded.scene);
            }
            comes_back(&loaded.scene);
        }
        Err(error) => {
            let fault = matches!(error.kind(), ErrorKind::Internal | ErrorKind::Memory);
            assert!(!fault, "{error}");
        }
    }
}

const NAME: &str = "fuzz.obj";

fn memory(data: &[u8]) -> Input {
    Input::Memory(data.to_vec(), NAME.into())
}

/// One of a few ways to read, most of them with small limits.
fn options(random: &mut Random) -> ReadOptions {
    let mut options = ReadOptions::default();
    options.run.threads = Some(1);
    options.strict = random.once_in(8);
    if random.once_in(4) {
        options.on_error = OnError::Warn;
    }
    if random.once_in(2) {
        options.limits = Limits {
            line_bytes: 200 + random.below(4000) as u64,
            name_bytes: random.below(40) as u64,
            elements: random.below(200) as u64,
            files: random.below(4) as u64,
            ..Limits::default()
        };
    }
    options
}

/// A reading that did not fail has all elements that the text declares.
pub fn complete(text: &[u8], scene: &Scene) {
    let totals = scene.totals();
    let found: naive::Totals = std::array::from_fn(|kind| totals[kind] as usize);
    assert_eq!(naive::declared(text), found, "declared and found");
}

/// What is written and read again has the same values, and is written the same.
fn comes_back(scene: &Scene) {
    let Some(text) = written(scene) else { return };
    let input = Input::Memory(text.clone(), NAME.into());
    let again = match load(input, &ReadOptions::default()) {
        Ok(loaded) => loaded.scene,
        Err(error) => panic!("what was written is not read: {error:?}"),
    };
    assert_eq!(values(scene), values(&again), "values that come back");
    let twice = written(&again).unwrap_or_default();
    let show = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
    assert_eq!(show(&text), show(&twice), "the same text when written again");
}

/// The scene as OBJ text that keeps every bit; `None` where it cannot be written.
fn written(scene: &Scene) -> Option<Vec<u8>> {
    let options = WriteOptions {
        obj: ObjOptions {
            position_digits: Digits::Shortest,
            uv_digits: Digits::Shortest,
            normal_digits: Digits::Shortest,
            color_digits: Digits::Shortest,
            export_smooth_groups: true,
            ..ObjOptions::default()
        },
        ..WriteOptions::default()
    };
    match try_named(scene, NAME, &options) {
        Ok(text) => Some(text),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
            None
        }
    }
}

/// The arrays of a scene; a value that is not a number is like any other that is not.
fn values(scene: &Scene) -> String {
    let mut scene = scene.clone();
    for mesh in &mut scene.meshes {
        let rows = mesh.positions.to_mut().unwrap().iter_mut().chain(mesh.normals.to_mut().unwrap()).flatten();
        for value in rows.chain(mesh.uvs.to_mut().unwrap().iter_mut().flatten()) {
            *value = if value.is_nan() { f32::NAN } else { *value };
        }
        mesh.material_runs.clear();
        mesh.group_runs.clear();
        mesh.smoothing_runs.clear();
        mesh.groups.clear();
        mesh.curves.clear();
        // A weight of 1 and a depth of 0 need not be said.
        if mesh.position_weights.iter().all(|&weight| weight == 1.0) {
            mesh.position_weights.to_mut().unwrap().clear();
        }
        if mesh.uv_depths.iter().all(|&depth| depth == 0.0) {
            mesh.uv_depths.to_mut().unwrap().clear();
        }
    }
    scene.objects.clear();
    scene.materials.clear();
    scene.material_libraries.clear();
    summary::scene(&scene)
}

thread_local! {
    /// A material library needs a scene beside it.
    static FOLDER: Folder = match Folder::new("fuzz-mtl") {
        Ok(folder) => folder,
        Err(error) => panic!("no folder for temporary files: {error}"),
    };
}

/// Reads a material library: only limits and `strict` may make it fail, and names are distinct.
pub fn mtl(data: &[u8]) {
    let mut random = Random::new(summary::hash(data.iter().map(|&b| u64::from(b))));
    let options = options(&mut random);
    let scene = FOLDER.with(|folder| {
        let file = |name, bytes: &[u8]| match folder.file(name, bytes) {
            Ok(path) => path,
            Err(error) => panic!("no temporary file: {error}"),
        };
        file("fuzz.mtl", data);
        file("fuzz.obj", b"mtllib fuzz.mtl\n")
    });
    let results = [(); 2].map(|()| load(Input::Path(scene.clone()), &options));
    assert_eq!(outcome(&results[0]), outcome(&results[1]));
    let [result, _] = results;
    match result {
        Ok(loaded) => {
            let mut names: Vec<_> = loaded.scene.materials.iter().map(|m| &m.name).collect();
            names.sort();
            assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
        }
        Err(error) => match error.kind() {
            ErrorKind::Limit => assert_ne!(options.limits, Limits::default(), "{error}"),
            ErrorKind::Malformed => assert!(options.strict, "{error}"),
            kind => panic!("{kind:?}: {error}"),
        },
    }
}

/// Reads compressed bytes in many ways, which must all come to the same: plain bytes and damage, and the
/// scene. What is not compressed is taken for text.
pub fn packed(data: &[u8]) {
    let mut random = Random::new(summary::hash(data.iter().map(|&b| u64::from(b))));
    let limits = DecompressLimits::default().with_bytes(1 << 22).with_memory_bytes(16 << 20);
    let whole = unpack(Source::memory(data), &limits, 1 << 16);
    for _ in 0..2 {
        let block_bytes = 1 + random.below(3000);
        let sizes = Sizes::Random(random.clone());
        let stream = Source::reader(Box::new(Hostile::new(data, sizes).with(Fault::Interrupted)), NAME);
        let (plain, damage) = unpack(stream, &limits, block_bytes);
        // Members that are decoded side by side are there as a whole, or not at all.
        assert!(plain.starts_with(&whole.0), "{} and {} bytes", plain.len(), whole.0.len());
        assert_eq!(damage.is_some(), whole.1.is_some(), "{damage:?} {:?}", whole.1);
        let again = unpack(Source::reader(Box::new(data), NAME), &limits, 1 << 16);
        assert_eq!((plain, damage), again, "blocks of {block_bytes} bytes");
    }
    let mut options = options(&mut random);
    options.limits.decompressed_bytes = 1 << 22;
    options.run.memory_limit = 16 << 20;
    let result = load(memory(data), &options);
    let expected = outcome(&result);
    for _ in 0..2 {
        let mut other = options.clone();
        other.run.chunk_bytes = Some(1 + random.below(3000));
        other.run.threads = Some(1 + random.below(2));
        assert_eq!(expected, outcome(&load(memory(data), &other)), "chunks of {:?}", other.run);
        let reader = Hostile::new(data, Sizes::Random(random.clone()));
        let streamed = load(Input::Reader(Box::new(reader), NAME.into()), &other);
        assert_eq!(expected, outcome(&streamed), "a stream, chunks of {:?}", other.run);
    }
    if let Err(error) = result {
        assert!(!matches!(error.kind(), ErrorKind::Internal | ErrorKind::Memory), "{error}");
    }
}

/// Parses every token as every kind of number beside the standard library, and the text as rows
/// with every set of instructions, which may differ in what they leave to the slow path; formats every number, which
/// must come back.
pub fn numbers(data: &[u8]) {
    for token in data.split(|&byte| is_space(byte)) {
        floats(token);
        integers(token);
    }
    rows(data);
}

fn floats(token: &[u8]) {
    let expected = text(token).and_then(|text| text.parse::<f32>().ok());
    let found = number::f32(token);
    assert_eq!(found.map(same_nan), expected.map(same_nan), "f32 {token:?}");
    let expected = text(token).and_then(|text| text.parse::<f64>().ok());
    let found = number::f64(token);
    let bits = |value: f64| if value.is_nan() { u64::MAX } else { value.to_bits() };
    assert_eq!(found.map(bits), expected.map(bits), "f64 {token:?}");
    let (Some(single), Some(double)) = (number::f32(token), found) else { return };
    for digits in [0, 4, 6, 12] {
        let expected = format!("{single:.digits$} {double:.digits$}");
        let found = formatted(|page| {
            page.fixed_f32(single, digits);
            page.byte(b' ');
            page.fixed_f64(double, digits);
        });
        if single.is_finite() && double.is_finite() {
            assert_eq!(found, expected, "{digits} digits");
        }
    }
    let (short, long) = (formatted(|p| p.shortest_f32(single)), formatted(|p| p.shortest_f64(double)));
    assert_eq!(number::f32(short.as_bytes()).map(same_nan), Some(same_nan(single)), "{short}");
    assert_eq!(number::f64(long.as_bytes()).map(bits), Some(bits(double)), "{long}");
}

fn text(token: &[u8]) -> Option<&str> {
    std::str::from_utf8(token).ok()
}

fn same_nan(value: f32) -> u32 {
    if value.is_nan() { u32::MAX } else { value.to_bits() }
}

fn formatted(write: impl FnOnce(&mut Page)) -> String {
    let mut buffer = [0; 1000];
    let mut page = Page::new(&mut buffer);
    write(&mut page);
    assert!(!page.overflowed());
    String::from_utf8_lossy(page.as_bytes()).into_owned()
}

fn integers(token: &[u8]) {
    let digits = token.strip_prefix(b"-").or(token.strip_prefix(b"+")).unwrap_or(token);
    let plain = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    match number::i64(token) {
        Ok(value) => assert_eq!(text(token).and_then(|t| t.parse().ok()), Some(value)),
        Err(error) => {
            assert!(text(token).is_none_or(|t| t.parse::<i64>().is_err()), "{token:?}");
            assert_eq!(error == IntegerError::Overflow, plain, "{token:?}");
        }
    }
    match number::u64(token) {
        Ok(value) => assert_eq!(text(token).and_then(|t| t.parse().ok()), Some(value)),
        Err(error) => assert_eq!(error == IntegerError::Overflow, plain && digits.len() == token.len()),
    }
}

/// Rows of a text: what a kernel takes, it takes as the slow path would.
fn rows(data: &[u8]) {
    let mut padded = vec![b' '; PADDING];
    padded.extend_from_slice(data);
    padded.push(b'\n');
    padded.resize(padded.len() + PADDING, b'7');
    let end = padded.len() - PADDING;
    let mut index = Box::new(Index::new());
    for level in Level::all() {
        let mut start = PADDING;
        while start < end {
            index.scan(&padded, start, end, level);
            if index.lines().is_empty() {
                // A line with more tokens than a window holds: the slow path's part.
                let next = padded[start..end].iter().position(|&b| b == b'\n');
                start += next.map_or(end, |next| next + 1);
                continue;
            }
            let window = Window { padded: &padded, index: &index, level };
            window_rows(window);
            start = index.next_start();
        }
    }
}

/// All rows of a window, line by line, held against the slow path.
fn window_rows(window: Window<'_>) {
    let mut values = vec![0; MAX_ENDS + VALUE_SLACK];
    let mut row_ends = vec![0; MAX_LINES];
    for line in 0..window.index.lines().len() {
        let start = window.index.line_start(line);
        let bytes = &window.padded[start..window.index.lines()[line].newline as usize];
        let tokens: Vec<&[u8]> = bytes.split(|&b| is_space(b)).filter(|t| !t.is_empty()).collect();
        let mut out = [[0.0; 3]; 1];
        if float_rows(window, line, b"v", &mut out) == 1 {
            let slow: Vec<_> = tokens[1..].iter().filter_map(|t| number::f32(t)).collect();
            let same = |(a, b): (&f32, &f32)| a.to_bits() == b.to_bits();
            assert!(tokens.len() == 4 && slow.iter().zip(&out[0]).all(same), "{slow:?} {out:?}");
        }
        let faces = face_rows(window, line, b"f", &mut values, &mut row_ends[..1]);
        if faces.rows == 1 {
            let taken = &values[..faces.values];
            let slow = tokens[1..].iter().flat_map(|token| token.split(|&b| b == b'/'));
            let slow: Vec<u32> = slow.map(|part| text(part).and_then(|t| t.parse().ok()).unwrap_or(0)).collect();
            assert_eq!(slow, taken, "{:?}", String::from_utf8_lossy(bytes));
        }
    }
}

/// Reads bytes as a table, as an array of numpy where they begin so, in many ways that must all come to the same; what
/// was read comes back when it is written.
pub fn table(data: &[u8]) {
    const NAMES: [&str; 5] = ["x.csv", "x.tsv", "x.txt", "x.xyz", "x.pts"];
    let mut random = Random::new(summary::hash(data.iter().map(|&b| u64::from(b))));
    let name = if data.starts_with(b"\x93NUM") { "x.npy" } else { *random.pick(&NAMES) };
    let mut options = options(&mut random);
    options.limits.columns = 1 + random.below(200) as u64;
    options.table.missing = *random.pick(&[Missing::Error, Missing::Nan, Missing::Value(-1.5)]);
    options.table.header = *random.pick(&[Header::Auto, Header::Absent, Header::Present]);
    options.table.skip_lines = random.below(3) as u64;
    options.table.max_rows = random.once_in(4).then(|| random.below(9) as u64);
    if random.once_in(3) && name != "x.npy" {
        options.table.types = Types::All(*random.pick(&[Scalar::F32, Scalar::F64, Scalar::U8, Scalar::I64]));
    }
    let read = |options: &ReadOptions| load_tables(Input::Memory(data.to_vec(), name.into()), options);
    let result = read(&options);
    let expected = table_outcome(&result);
    for _ in 0..2 {
        let mut other = options.clone();
        other.run.chunk_bytes = Some(1 + random.below(80));
        other.run.threads = Some(1 + random.below(2));
        assert_eq!(expected, table_outcome(&read(&other)), "chunks of {:?}", other.run);
        let reader = Hostile::new(data, Sizes::Random(random.clone())).with(Fault::Interrupted);
        let streamed = load_tables(Input::Reader(Box::new(reader), name.into()), &other);
        assert_eq!(expected, table_outcome(&streamed), "a stream, chunks of {:?}", other.run);
    }
    match result {
        Ok(loaded) => table_comes_back(&loaded.tables[0]),
        Err(error) => {
            let fault = matches!(error.kind(), ErrorKind::Internal | ErrorKind::Memory);
            assert!(!fault, "{error}");
        }
    }
}

/// All that reading tables tells, as text: NaN is not equal to itself.
fn table_outcome(result: &polyhaul::Result<LoadedTables>) -> String {
    match result {
        Ok(loaded) => format!("{:?} {:?} {:?}", loaded.tables, loaded.comments, loaded.report.warnings),
        Err(error) => format!("{error:?} {:?}", error.diagnostic()),
    }
}

/// A table with columns and rows is the same when it was written and read, its names apart.
fn table_comes_back(table: &Table) {
    let types = table.columns.iter().map(|column| Some(column.values.scalar())).collect();
    let bare = TableOptions { header: Header::Absent, types: Types::Each(types), ..TableOptions::default() };
    if table.columns.is_empty() || table.row_count == 0 {
        return;
    }
    for (format, name) in [(Format::Csv, "x.csv"), (Format::Txt, "x.txt")] {
        let shared = Shared::default();
        let style = TableStyle { header: Some(false), ..TableStyle::default() };
        let options = WriteOptions { format: Some(format), table: style, ..WriteOptions::default() };
        let output = Output::Writer(Box::new(shared.clone()), name.into());
        save_tables(std::slice::from_ref(table), &[], &[], output, &options).expect("a table that was read is written");
        let options = ReadOptions { table: bare.clone(), ..ReadOptions::default() };
        let back = load_tables(Input::Memory(shared.take(), name.into()), &options).expect("what is written is read");
        for (column, original) in back.tables[0].columns.iter().zip(&table.columns) {
            assert_eq!(format!("{:?}", column.values), format!("{:?}", original.values));
        }
    }
}
