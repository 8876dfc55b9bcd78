//! Reading OBJ in Python: the package beside Python's readers, Blender's importer and the command.

use super::{
    Contestant, Group, Input, LIMIT_LINES, LIMIT_MEMORY, ONE_THREAD, TWO_THREADS, command, generated, reader, script,
};
use crate::bench::build::Tools;
use std::path::Path;

pub(in crate::bench) const TRIMESH: &str = "trimesh";
pub(in crate::bench) const BLENDER: &str = "Blender";
pub(in crate::bench) const COMMAND: &str = "the command, 2 threads";

/// Readers that take many seconds for the large file read it once, the small one so often.
const SLOW_ROUNDS_SMALL: usize = 3;

pub(super) fn groups(tools: &Tools, data: &Path, megabytes: u64) -> Result<Vec<Group>, String> {
    // meshio wants as many uvs as positions.
    let large = generated(tools, data, ("plain", "one mesh"), "plain", megabytes)?;
    let small = generated(tools, data, ("small", "one small mesh"), "plain", megabytes.div_ceil(10))?;
    Ok(vec![reading(tools, "python large", &large, 1), reading(tools, "python small", &small, SLOW_ROUNDS_SMALL)])
}

fn reading(tools: &Tools, key: &'static str, input: &Input, slow_rounds: usize) -> Group {
    let mut contestants = vec![
        reader(tools, LIMIT_LINES, "limit-lines", &input.path, 1),
        reader(tools, LIMIT_MEMORY, "limit-memory", &input.path, 1),
    ];
    let pythons = &tools.pythons;
    if let Some(python) = &pythons.polyhaul {
        let read = |name, reader: &str, args: Vec<_>| {
            let args = [script("read.py"), reader.into(), input.path.clone().into()].into_iter().chain(args);
            Contestant::new(name, command(tools, python, args))
        };
        contestants.push(read(ONE_THREAD, "polyhaul", vec!["1".into()]));
        contestants.push(read(TWO_THREADS, "polyhaul", vec!["2".into()]));
        contestants.push(read(COMMAND, "command", vec!["2".into(), tools.command.clone().into()]));
    }
    let mut slow = |name, python: &Path, args: [_; 2]| {
        let args = args.into_iter().chain([input.path.clone().into()]);
        let command = command(tools, python, args);
        contestants.push(Contestant { rounds: slow_rounds, ..Contestant::new(name, command) });
    };
    for name in [TRIMESH, "meshio", "open3d", "pymeshlab"] {
        if let Some(python) = &pythons.peers {
            slow(name, python, [script("read.py"), name.into()]);
        }
    }
    if let Some(python) = &pythons.blender {
        slow(BLENDER, python, [script("blender.py"), "read".into()]);
    }
    Group {
        key,
        title: format!("Reading {} in Python", input.title),
        input: input.clone(),
        baseline: TRIMESH,
        limit: LIMIT_LINES,
        contestants,
    }
}
