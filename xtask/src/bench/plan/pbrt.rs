//! Reading pbrt scenes in one file and in 19, plain and compressed, beside `cat` and beside their halves: inflating
//! alone, and parsing alone.
//!
//! Scenes are larger than other inputs, 500 MB of text unless told; `--size 1200` makes them 2 GB.

use super::{Contestant, Group, INFLATE, Input, LIMIT_MEMORY, ONE_THREAD, PARSE, TWO_THREADS};
use super::{compressed, made, reader, ready};
use crate::bench::build::Tools;
use std::fs;
use std::path::Path;
use std::process::Command;

/// All files of a scene to nowhere.
pub(in crate::bench) const CAT: &str = "limit: cat";
/// The text of a scene for each byte of other inputs, as a fraction.
const SIZE: [u64; 2] = [5, 3];
/// No peer is in a registry: what the others are held against.
const BASELINE: &str = ONE_THREAD;

pub(super) fn groups(tools: &Tools, data: &Path, megabytes: u64) -> Result<Vec<Group>, String> {
    let megabytes = self::megabytes(megabytes);
    let scene = |kind: &str, title| made(tools, &data.join(kind), title, kind, megabytes);
    let one = scene("pbrt-one", "one file")?;
    let many = many(tools, data, megabytes)?;
    let gz = scene("pbrt-many-gz", "19 files, gzip in many members")?;
    let zst = scene("pbrt-many-zst", "19 files, zstd in many members")?;
    let member = one_member(&one, data)?;
    Ok(vec![
        plain(tools, "read pbrt one", &one),
        plain(tools, "read pbrt many", &many),
        packed(tools, "read pbrt one gz", &member, &one),
        packed(tools, "read pbrt many gz", &gz, &many),
        packed(tools, "read pbrt many zst", &zst, &many),
    ])
}

/// How much text a scene has, where other inputs have so much.
pub(super) fn megabytes(others: u64) -> u64 {
    (others * SIZE[0] / SIZE[1]).max(1)
}

/// The scene in many files.
pub(super) fn many(tools: &Tools, data: &Path, megabytes: u64) -> Result<Input, String> {
    let kind = "pbrt-many";
    made(tools, &data.join(kind), "19 files", kind, megabytes)
}

/// The one file of a scene compressed by `gzip`, with what belongs to it.
fn one_member(one: &Input, data: &Path) -> Result<Input, String> {
    let folder = data.join("pbrt-one-gz");
    copy_files(&one.path.join("geometry"), &folder.join("geometry"))
        .map_err(|error| format!("{}: {error}", folder.display()))?;
    let file = one.path.join("scene.pbrt");
    compressed(&file, &folder.join("scene.pbrt.gz"), |output| {
        let mut gzip = Command::new("gzip");
        gzip.arg("-c").arg(&file).stdout(fs::File::create(output)?);
        gzip.status()
    })?;
    Ok(Input { path: folder, title: "one file, gzip in one member", ..one.clone() })
}

/// Copies all files of a folder.
fn copy_files(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        fs::copy(&path, to.join(path.file_name().unwrap_or_default()))?;
    }
    Ok(())
}

fn plain(tools: &Tools, key: &'static str, input: &Input) -> Group {
    let read = |name, kind, threads| reader(tools, name, kind, &input.path, threads);
    let mut contestants = vec![
        read(CAT, "limit-cat", 1),
        read(LIMIT_MEMORY, "limit-memory", 1),
        read(ONE_THREAD, "polyhaul-pbrt", 1),
        read(TWO_THREADS, "polyhaul-pbrt", 2),
    ];
    contestants.extend(ready(tools, "minipbrt", "polyhaul-pbrt", &input.path.join("scene.pbrt"), &input.path));
    group(key, input, CAT, contestants)
}

/// A compressed scene, beside the same one that is not.
fn packed(tools: &Tools, key: &'static str, input: &Input, plain: &Input) -> Group {
    let read = |name, kind, input: &Input, threads| reader(tools, name, kind, &input.path, threads);
    let contestants = vec![
        read(CAT, "limit-cat", input, 1),
        read(INFLATE[0], "limit-inflate", input, 1),
        read(INFLATE[1], "limit-inflate", input, 2),
        read(PARSE[0], "polyhaul-pbrt", plain, 1),
        read(PARSE[1], "polyhaul-pbrt", plain, 2),
        read(ONE_THREAD, "polyhaul-pbrt", input, 1),
        read(TWO_THREADS, "polyhaul-pbrt", input, 2),
    ];
    group(key, input, INFLATE[1], contestants)
}

fn group(key: &'static str, input: &Input, limit: &'static str, contestants: Vec<Contestant>) -> Group {
    let title = format!("Reading pbrt: {}", input.title);
    Group { key, title, input: input.clone(), baseline: BASELINE, limit, contestants }
}
