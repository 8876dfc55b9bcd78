//! Writing the meshes of Blender's scenes: Blender's exporter, and polyhaul from the same arrays.

use super::{Contestant, Group, Input, LIMIT_WRITE, ONE_THREAD, TWO_THREADS, command, known, output, script, writer};
use crate::bench::build::Tools;
use crate::{root, term};
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

pub(in crate::bench) const BLENDER_ONE: &str = "Blender, 1 core";
pub(in crate::bench) const BLENDER_TWO: &str = "Blender, 2 cores";

/// What a scene is made by: a scene that is older is made anew.
const MAKERS: &[&str] = &["scenes.py", "arrays.py", "blender.py"];

/// None where Blender or polyhaul's package is missing, or no process can be held on one core.
pub(super) fn groups(tools: &Tools, data: &Path) -> Result<Vec<Group>, String> {
    let (Some(blender), Some(polyhaul), true) = (&tools.pythons.blender, &tools.pythons.polyhaul, tools.taskset) else {
        return Ok(Vec::new());
    };
    let scenes =
        [("export monkey", "monkey", "Suzanne, subdivided six times"), ("export many", "many", "two thousand objects")];
    let group = |(key, kind, title)| {
        let input = scene(blender, data, kind, title)?;
        Ok(writing(tools, key, &input, data, [blender, polyhaul]))
    };
    scenes.into_iter().map(group).collect()
}

/// A scene with its arrays and Blender's file, made unless it is there.
fn scene(blender: &Path, data: &Path, kind: &str, title: &'static str) -> Result<Input, String> {
    let folder = data.join(kind);
    let file = folder.join("scene.obj");
    if let Some(input) = known(&file, title).filter(|_| is_newer(&file)) {
        return Ok(input);
    }
    term::out(format!("making Blender's scene {kind}\n"));
    let mut command = Command::new(blender);
    command.args([script("blender.py"), "scene".into(), kind.into(), folder.into()]);
    let made = command.output().is_ok_and(|output| output.status.success());
    known(&file, title).filter(|_| made).ok_or(format!("Blender's scene {kind} could not be made"))
}

/// Whether `file` was made after the last change of the scripts that make it.
fn is_newer(file: &Path) -> bool {
    let changed = |path: &Path| std::fs::metadata(path).and_then(|data| data.modified()).ok();
    let scripts = root::root().join("bench").join("python");
    let latest: Option<SystemTime> = MAKERS.iter().filter_map(|name| changed(&scripts.join(name))).max();
    changed(file) > latest
}

fn writing(tools: &Tools, key: &'static str, input: &Input, data: &Path, [blender, polyhaul]: [&Path; 2]) -> Group {
    let folder = input.path.parent().unwrap_or(data);
    let resident = |name, python: &Path, args: Vec<OsString>, cores: &str| {
        let place = ["-c".into(), cores.into(), python.into()];
        let command = command(tools, Path::new("taskset"), place.into_iter().chain(args));
        Contestant { resident: true, ..Contestant::new(name, command) }
    };
    let exporter = |name, cores, file| {
        let args = vec![script("blender.py"), "export".into(), folder.into(), output(data, file).into()];
        resident(name, blender, args, cores)
    };
    let write = |name, threads: &str, cores, file| {
        let args = vec![script("write.py"), folder.into(), output(data, file).into(), threads.into()];
        resident(name, polyhaul, args, cores)
    };
    Group {
        key,
        title: format!("Writing from Blender's arrays: {}", input.title),
        input: input.clone(),
        baseline: BLENDER_TWO,
        limit: LIMIT_WRITE,
        contestants: vec![
            writer(tools, LIMIT_WRITE, "limit", &input.path, output(data, "limit.obj"), 1),
            write(ONE_THREAD, "1", "0", "polyhaul-1.obj"),
            exporter(BLENDER_ONE, "0", "blender-1.obj"),
            write(TWO_THREADS, "2", "0,1", "polyhaul-2.obj"),
            exporter(BLENDER_TWO, "0,1", "blender-2.obj"),
        ],
    }
}
