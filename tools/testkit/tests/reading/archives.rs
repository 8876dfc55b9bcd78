//! Members of zip archives: addressed by path, by name, or as the only one; damaged and hostile archives.

use crate::{options, read};
use polyhaul::options::{OnError, Resolve};
use polyhaul::{Error, ErrorKind, Input, Reader, inspect, read_referenced_image};
use polyhaul_bytes::{Archive, DecompressLimits, Source};
use polyhaul_testkit::corpus::{Folder, samples};
use polyhaul_testkit::hostile::{Fault, Hostile, Sizes};
use polyhaul_testkit::packed::{CODECS, pack, unpack};
use polyhaul_testkit::random::Random;
use polyhaul_testkit::zip::{METHODS, Member, Method, archive, simple};
use polyhaul_testkit::{alloc, generate, mutate, summary};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

const OBJ: &[u8] = b"mtllib paint.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl red\nf 1 2 3\n";
const MTL: &[u8] = b"newmtl red\nKd 1 0 0\nmap_Kd maps/dot.tga\n";
const DOT: [u8; 21] = [0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 24, 0, 3, 2, 1];
const PBRT: &[u8] = b"WorldBegin Include \"part.pbrt\" Shape \"plymesh\" \"string filename\" \"m/a.ply\"\n";
const PART: &[u8] = b"Shape \"sphere\"\n";
const PLY: &[u8] =
    b"ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\nend_header\n1 2 3\n";

fn scene_files() -> [(&'static str, &'static [u8]); 6] {
    [
        ("s/a.obj", OBJ),
        ("s/paint.mtl", MTL),
        ("s/maps/dot.tga", &DOT),
        ("s/b.pbrt", PBRT),
        ("s/part.pbrt", PART),
        ("s/m/a.ply", PLY),
    ]
}

fn memory(bytes: &[u8]) -> Input {
    Input::Memory(bytes.to_vec(), "x.zip".into())
}

fn member(bytes: &[u8], name: &str) -> Input {
    Input::Member(Box::new(memory(bytes)), name.into())
}

fn kind<T>(result: Result<T, Error>) -> Result<(), (ErrorKind, String)> {
    result.map(drop).map_err(|error| (error.kind(), error.to_string()))
}

/// The directory of an archive is cached for all its members, and read again if the file is replaced.
#[test]
fn a_replaced_archive_is_read_again() {
    let folder = Folder::new("zip-replaced").unwrap();
    let options = options(1, None);
    let count = |points: usize, name: &str| {
        let text = b"v 0 0 0\n".repeat(points);
        let members = [("first.obj", &b"v 0 0 0\n"[..]), (name, &text)];
        let path = folder.file("a.zip", simple(&members, Method::Deflate)).unwrap();
        assert_eq!(read(Input::Path(path.join("first.obj")), &options).unwrap().value.totals()[0], 1);
        read(Input::Path(path.join(name)), &options).unwrap().value.totals()[0]
    };
    assert_eq!((count(7, "other.obj"), count(900, "b.obj")), (7, 900));
}

#[test]
fn a_path_goes_on_behind_an_archive() {
    let folder = Folder::new("zip").unwrap();
    for method in METHODS {
        let path = folder.file("assets.zip", simple(&scene_files(), method)).unwrap();
        let loaded = read(Input::Path(path.join("s/a.obj")), &options(2, None)).unwrap();
        assert_eq!((loaded.value.totals()[0], loaded.value.materials[0].missing), (3, false), "{method:?}");
        assert!(loaded.report.warnings.is_empty(), "{:?}", loaded.report.warnings);
        // Counts only the members that were read, not the rest of the archive.
        assert_eq!(loaded.report.plain_bytes_in, (OBJ.len() + MTL.len()) as u64);
        let packed = |plain| Member::new("", plain, method).packed_bytes;
        assert_eq!(loaded.report.bytes_in, packed(OBJ) + packed(MTL));
        let loaded = read(Input::Path(path.join("s/b.pbrt")), &options(2, None)).unwrap();
        assert!(loaded.report.warnings.is_empty(), "{:?}", loaded.report.warnings);
        assert_eq!((loaded.value.render.unwrap().shapes().len(), loaded.value.meshes.len()), (2, 1));
        let dot = Reader::new(path.join("s/maps/dot.tga")).options(&options(1, None)).image().unwrap();
        assert_eq!(dot.value.width, 1);
        let dot = read_referenced_image(Some(&path.join("s/a.obj")), "maps/dot.tga", &options(1, None)).unwrap();
        assert_eq!(dot.value.width, 1);
        let valid = inspect::validate(Input::Path(path.join("s/a.obj")), &options(1, None)).unwrap();
        assert!(valid.valid && valid.report.warnings.is_empty(), "{:?}", valid.report.warnings);
    }
}

#[test]
fn what_is_not_there_is_an_error_with_some_of_what_is() {
    let folder = Folder::new("zip").unwrap();
    let path = folder.file("assets.zip", simple(&scene_files(), Method::Deflate)).unwrap();
    let (kind_of, message) = kind(read(Input::Path(path.join("s/c.obj")), &options(1, None))).unwrap_err();
    assert_eq!(kind_of, ErrorKind::Io);
    assert!(message.contains("s/a.obj") && message.contains("and 1 more"), "{message}");
    let (kind_of, message) = kind(read(Input::Path(path.clone()), &options(1, None))).unwrap_err();
    assert_eq!(kind_of, ErrorKind::Usage);
    assert!(message.contains("several") && message.contains("s/b.pbrt") && !message.contains("mtl"), "{message}");
    let empty = folder.file("empty.zip", simple(&[], Method::Stored)).unwrap();
    assert_eq!(kind(read(Input::Path(empty), &options(1, None))).unwrap_err().0, ErrorKind::Usage);
    // Only archives act as folders.
    let plain = folder.file("plain.obj", "v 0 0 0\n").unwrap();
    assert_eq!(kind(read(Input::Path(plain.join("a.obj")), &options(1, None))).unwrap_err().0, ErrorKind::Io);
    for name in ["../plain.obj", "s/../s/a.obj"] {
        let outside = read(Input::Path(path.join(name)), &options(1, None));
        assert!(outside.is_err(), "{name}");
    }
}

#[test]
fn an_archive_stands_for_its_one_member() {
    for method in METHODS {
        let files = [("notes.md", &b"hi"[..]), ("__MACOSX/._a.obj", b"x"), ("deep/a.obj", b"v 0 0 0\n")];
        let bytes = simple(&files, method);
        let stream = Input::Reader(Box::new(std::io::Cursor::new(bytes.clone())), "x.zip".into());
        let host = || Hostile::new(&bytes[..], Sizes::All);
        let hosts = [host(), host().seekable(), host().sized(bytes.len() as u64)];
        let hosts = hosts.into_iter().chain([host().seekable().sized(bytes.len() as u64)]);
        let hosts = hosts.map(|host| Input::Host(Box::new(host), "x.zip".into()));
        for input in [memory(&bytes), stream].into_iter().chain(hosts) {
            let loaded = read(input, &options(1, None)).unwrap();
            assert_eq!(loaded.value.totals()[0], 1);
        }
    }
    // Streams are buffered in memory, up to the limit.
    let large = [("a.obj", &vec![b'#'; 200_000][..])];
    let bytes = simple(&large, Method::Stored);
    let mut options = options(1, None);
    options.run.memory_limit = 100_000;
    let stream = Input::Reader(Box::new(std::io::Cursor::new(bytes)), "x.zip".into());
    let (kind_of, message) = kind(read(stream, &options)).unwrap_err();
    assert!(kind_of == ErrorKind::Limit && message.contains("memory_limit"), "{message}");
}

#[test]
fn archives_and_compression_nest() {
    let folder = Folder::new("zip").unwrap();
    for method in METHODS {
        let mut inner = simple(&[("s/a.obj", OBJ), ("s/paint.mtl", MTL)], method);
        let mut names = String::from("s/a.obj");
        for depth in 2..=5 {
            let name = format!("d/{depth}.zip");
            inner = simple(&[(&name, &inner), ("s/paint.mtl", b"newmtl wrong\n")], method);
            names = format!("{name}/{names}");
            let path = folder.file("x.zip", &inner).unwrap();
            let result = read(Input::Path(path.join(&names)), &options(1, None));
            match depth {
                5 => assert_eq!(kind(result).unwrap_err().0, ErrorKind::Limit),
                _ => assert!(!result.unwrap().value.materials[0].missing, "{names}"),
            }
        }
        for (codec, ending) in CODECS {
            let name = format!("a.obj.{ending}");
            let bytes = simple(&[(&name, &pack(codec, OBJ, 20))], method);
            let loaded = read(member(&bytes, &name), &options(1, None)).unwrap();
            assert_eq!((loaded.value.totals()[0], loaded.report.codec), (3, Some(codec)), "{name}");
            // The format follows from the name of the only member.
            assert_eq!(read(memory(&bytes), &options(1, None)).unwrap().value.totals()[0], 3);
        }
    }
}

#[test]
fn members_of_an_archive_that_a_host_has() {
    let mut grid = Vec::new();
    generate::grid(2_000_000, &mut grid).unwrap();
    for method in METHODS {
        let bytes = simple(&[("a.txt", &grid[..900_000]), ("s/grid.obj", &grid)], method);
        let expected = read(Input::Memory(grid.clone(), "x.zip/s/grid.obj".into()), &options(2, None));
        let host = |sizes| Hostile::new(&bytes[..], sizes).seekable().sized(bytes.len() as u64);
        for sizes in [Sizes::All, Sizes::Random(Random::new(7))] {
            let host = host(sizes.clone());
            let log = host.log();
            let input = Input::Member(Box::new(Input::Host(Box::new(host), "x.zip".into())), "s/grid.obj".into());
            let result = read(input, &options(2, None));
            assert_eq!(summary::outcome(&result), summary::outcome(&expected), "{method:?}");
            assert!(log.least_asked.load(Relaxed) >= 64 << 10, "{log:?}");
            let max_calls = bytes.len().div_ceil(64 << 10) + 4;
            assert!(!matches!(sizes, Sizes::All) || log.calls.load(Relaxed) <= max_calls, "{log:?}");
        }
        for at in [0, 100, 70_000, bytes.len() - 10] {
            for fault in [Fault::FailsAt(at), Fault::PanicsAt(at), Fault::ClaimsTooMuchAt(at)] {
                let input = Input::Host(Box::new(host(Sizes::All).with(fault)), "x.zip".into());
                let result = read(Input::Member(Box::new(input), "s/grid.obj".into()), &options(2, None));
                // The blocks before the fault may suffice.
                assert!(result.is_ok() || kind(result).unwrap_err().0 == ErrorKind::Host, "{at}");
            }
        }
    }
}

#[test]
fn a_host_may_answer_with_a_member() {
    let bytes = simple(&scene_files(), Method::Deflate);
    let resolve = move |name: &str| Ok(Some(member(&bytes, &format!("s/{name}"))));
    let options = options(1, None).with_resolver(Some(Resolve(Arc::new(resolve))));
    let loaded = Reader::new(Input::Memory(OBJ.to_vec(), "a.obj".into())).options(&options).scene().unwrap();
    assert!(!loaded.value.materials[0].missing);
}

#[test]
fn names_do_not_lead_out() {
    let folder = Folder::new("zip").unwrap();
    folder.file("out.mtl", "newmtl out\n").unwrap();
    let obj = b"mtllib ../out.mtl /out.mtl ../../out.mtl C:\\out.mtl ..\\s\\paint.mtl\nv 0 0 0\nusemtl out\n";
    let names = ["../out.mtl", "/out.mtl", "s/a.obj", "s/paint.mtl", "..\\out.mtl", "C:\\out.mtl", "s/../../x.obj"];
    let members: Vec<_> = names.iter().map(|name| Member::new(name, obj, Method::Stored)).collect();
    let bytes = archive(&members, b"");
    let limits = DecompressLimits::default();
    let opened = Archive::open(Source::memory(&bytes[..]), &limits).unwrap();
    assert_eq!(opened.names().collect::<Vec<_>>(), ["s/a.obj", "s/paint.mtl"]);
    let path = folder.file("x.zip", &bytes).unwrap();
    let loaded = read(Input::Path(path.join("s/a.obj")), &options(1, None)).unwrap();
    assert_eq!(loaded.report.warnings.counts().get("missing-library"), Some(&5));
    assert!(loaded.value.materials[0].missing);
    // Paths within the archive may be permitted.
    let outside = options(1, None).with_allow_outside(true);
    let loaded = read(Input::Path(path.join("s/a.obj")), &outside).unwrap();
    assert_eq!(loaded.report.warnings.counts().get("missing-library"), Some(&4));
}

#[test]
fn names_are_made_equal() {
    let names = ["./a//b.obj", "c\\d.obj", "e\u{fc}.obj"];
    let mut members: Vec<_> = names.iter().map(|name| Member::new(name, b"v 0 0 0\n", Method::Stored)).collect();
    members.push(Member::new(b"\xff.obj", b"v 0 0 0\n", Method::Stored));
    members.push(Member::new("folder/", b"", Method::Stored));
    let bytes = archive(&members, b"a comment");
    let opened = Archive::open(Source::memory(&bytes[..]), &DecompressLimits::default()).unwrap();
    assert_eq!(opened.names().collect::<Vec<_>>(), ["a/b.obj", "c/d.obj", "e\u{fc}.obj", "\u{a0}.obj"]);
}

/// Reads the first member of an archive, which must fail; returns the error.
fn broken(members: &[Member]) -> (ErrorKind, String) {
    kind(read(member(&archive(members, b""), "a.obj"), &options(1, None))).unwrap_err()
}

/// Change of a valid member, expected error kind, and part of the message.
type Case = (fn(&mut Member), ErrorKind, &'static str);

#[test]
fn hostile_archives() {
    let text = generate_text();
    let good = |method| Member::new("a.obj", &text, method);
    let with = |method, change: fn(&mut Member)| {
        let mut member = good(method);
        change(&mut member);
        member
    };
    for method in METHODS {
        let cases: [Case; 9] = [
            (|m| m.crc ^= 1, ErrorKind::Malformed, "checksum"),
            (|m| m.plain_bytes -= 1, ErrorKind::Malformed, "size"),
            (|m| m.plain_bytes += 1, ErrorKind::Malformed, "size"),
            (|m| m.packed_bytes -= 1, ErrorKind::Malformed, ""),
            (|m| m.packed_bytes += 1, ErrorKind::Malformed, "overlaps"),
            (|m| m.flags |= 1, ErrorKind::Unsupported, "encrypted"),
            (|m| m.method = 9, ErrorKind::Unsupported, "unsupported compression"),
            (|m| m.attributes = 0o120_777 << 16, ErrorKind::Unsupported, "link"),
            (|m| m.told_offset = Some(7), ErrorKind::Malformed, "no local file header at"),
        ];
        for (number, (change, expected, part)) in cases.into_iter().enumerate() {
            let (kind_of, message) = broken(&[with(method, change)]);
            assert_eq!(kind_of, expected, "{method:?} {number}: {message}");
            assert!(part == "size" || message.contains(part), "{method:?} {number}: {message}");
        }
        // Two names of the same member, and overlapping members.
        let same = |name: &str| Member { name: name.into(), told_offset: Some(0), ..good(method) };
        assert_eq!(broken(&[same("a.obj"), same("b.obj")]).0, ErrorKind::Malformed);
        let mut around = good(method);
        around.packed_bytes += 40;
        assert_eq!(broken(&[around, same("b.obj")]).0, ErrorKind::Malformed);
        let twice = [good(method), good(method)];
        assert!(broken(&twice).1.contains("two members"));
    }
}

fn generate_text() -> Vec<u8> {
    let mut text = Vec::new();
    generate::grid(100_000, &mut text).unwrap();
    text
}

#[test]
fn sizes_of_8_bytes_and_sizes_behind_the_data() {
    for method in METHODS {
        let mut members = [Member::new("a.obj", OBJ, method), Member::new("paint.mtl", MTL, method)];
        members[0].flags |= 8;
        for is_wide in [false, true] {
            members[1].is_wide = is_wide;
            let bytes = archive(&members, b"PK\x05\x06 is no end here");
            let loaded = read(member(&bytes, "a.obj"), &options(1, None)).unwrap();
            assert!(!loaded.value.materials[0].missing);
        }
        // Wrong sizes, some of which overflow.
        for size in [1 << 40, u64::MAX, u64::MAX - 100] {
            members[1].is_wide = true;
            members[1].packed_bytes = size;
            let bytes = archive(&members, b"");
            let error = kind(read(member(&bytes, "paint.mtl"), &options(1, None))).unwrap_err();
            assert_eq!(error.0, ErrorKind::Malformed, "{}", error.1);
            members[1].packed_bytes = members[1].packed.len() as u64;
        }
    }
}

#[test]
fn bombs_meet_the_limits() {
    let zeros = vec![b'\n'; 90 << 20];
    for method in [Method::Deflate, Method::Zstd] {
        let bytes = simple(&[("a.obj", &zeros)], method);
        let mut options = options(1, None);
        options.limits.decompressed_bytes = 50 << 20;
        let (kind_of, message) = kind(read(memory(&bytes), &options)).unwrap_err();
        assert!(kind_of == ErrorKind::Limit && message.contains("decompressed_bytes"), "{message}");
        options.limits.decompressed_bytes = u64::MAX;
        options.limits.decompressed_ratio = 100;
        let (kind_of, message) = kind(read(memory(&bytes), &options)).unwrap_err();
        assert!(kind_of == ErrorKind::Limit && message.contains("decompressed_ratio"), "{message}");
        // Opening the inner archive requires decompressing a bomb into memory.
        let outer = simple(&[("inner.zip", &simple(&[("a.obj", &zeros)], Method::Stored))], method);
        let (kind_of, _) = kind(read(member(&outer, "inner.zip/a.obj"), &self::options(1, None))).unwrap_err();
        assert_eq!(kind_of, ErrorKind::Limit);
    }
}

#[test]
fn a_large_directory_meets_the_memory_limit_before_it_is_read() {
    let members: Vec<_> = (0..30_000).map(|i| Member::new(format!("{i}.bin"), b"", Method::Stored)).collect();
    let many = archive(&members, b"");
    let mut options = options(1, None);
    options.run.memory_limit = 2 << 20;
    let (kind_of, message) = kind(read(memory(&many), &options)).unwrap_err();
    assert!(kind_of == ErrorKind::Limit && message.contains("memory_limit"), "{message}");
    assert_eq!(kind(read(memory(&many), &self::options(1, None))).unwrap_err().0, ErrorKind::Usage);
    // A count and a size without data.
    let mut lying = archive(&members[..2], b"");
    let end = lying.len() - 22;
    lying[end + 8..end + 12].copy_from_slice(&[0xfe; 4]);
    assert_eq!(kind(read(memory(&lying), &options)).unwrap_err().0, ErrorKind::Malformed);
}

/// Truncated archives must be errors; changed bytes must yield an error or a scene, with little memory and time.
#[test]
fn damage_anywhere() {
    alloc::cap(1 << 30);
    let mut random = Random::new(11);
    for method in METHODS {
        let mut members =
            [Member::new("a.obj", OBJ, method), Member::new("b.zip", &simple(&[("c", MTL)], method), method)];
        members[0].is_wide = true;
        let bytes = archive(&members, b"end");
        let options = options(1, None).with_on_error(OnError::Warn);
        for len in 0..bytes.len() {
            let result = read(member(&bytes[..len], "a.obj"), &options);
            assert!(result.is_err(), "{len}");
        }
        for at in 0..bytes.len() {
            for value in [0, 0xff, bytes[at] ^ 1, bytes[at] ^ 0x80] {
                let mut other = bytes.clone();
                other[at] = value;
                for name in ["a.obj", "b.zip/c"] {
                    let _ = read(member(&other, name), &options);
                }
            }
        }
        for _ in 0..2000 {
            let mut other = bytes.clone();
            mutate::shake(&mut other, &mut random);
            let limits = DecompressLimits::default().with_memory_bytes(1 << 20);
            let Ok(opened) = Archive::open(Source::memory(&other[..]), &limits) else { continue };
            for number in 0..opened.names().count().min(10) {
                if let Ok(member) = opened.member(number, "m", &limits) {
                    unpack(member, &limits.clone().with_bytes(1 << 20), 1000);
                }
            }
        }
    }
}

/// Archives written by other programs.
#[test]
fn the_samples() {
    let good = samples("zip/good", "zip");
    assert!(good.len() >= 4);
    for file in good {
        let loaded = read(Input::Path(file.path.join("scene/tri.obj")), &options(1, None)).unwrap();
        assert_eq!(loaded.value.totals()[0], 3, "{}", file.name);
        assert!(!loaded.value.materials[0].missing, "{}", file.name);
        let dot = Reader::new(file.path.join("scene/maps/dot.tga")).options(&options(1, None)).image().unwrap();
        assert_eq!((dot.value.width, dot.value.height), (2, 1), "{}", file.name);
    }
    let bad = samples("zip/bad", "zip");
    assert!(bad.len() >= 4);
    for file in bad {
        let result = read(Input::Path(file.path.join("scene/tri.obj")), &options(1, None));
        let (kind_of, message) = kind(result).unwrap_err();
        assert!(matches!(kind_of, ErrorKind::Malformed | ErrorKind::Unsupported), "{}: {message}", file.name);
    }
}
