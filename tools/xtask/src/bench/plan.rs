//! Loads `tools/bench/plan.toml`, the contestants and files, and fills in its commands for this machine.

use super::build::Tools;
use super::runs;
use crate::{root, term};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::SystemTime;

/// Contestants that the README prints in bold.
pub(super) const ONE_THREAD: &str = "polyhaul, 1 thread";
pub(super) const TWO_THREADS: &str = "polyhaul, 2 threads";
/// Suffix of the rows of an earlier build.
pub(super) const BEFORE: &str = ", before";

/// The plan of this repository.
pub(super) static PLAN: LazyLock<Plan> = LazyLock::new(|| {
    let text = include_str!("../../../bench/plan.toml");
    toml::from_str(text).unwrap_or_else(|error| panic!("tools/bench/plan.toml: {error}"))
});

/// Available measurements and their requirements.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Plan {
    /// Rust peers, by their names in the lock file of `tools/bench`.
    pub(super) crates: Vec<String>,
    /// Peers that no registry provides: programs in the folder of `--programs`.
    pub(super) ready: Vec<String>,
    /// Debian packages in addition to the packages of [`Plan::cpp`].
    pub(super) packages: Vec<String>,
    /// Selectable parts, in order.
    pub(super) part: Vec<Part>,
    pub(super) cpp: Vec<Cpp>,
    pub(super) python: Vec<Environment>,
    input: BTreeMap<String, Recipe>,
    group: Vec<Listed>,
}

/// A part that can be measured alone or omitted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Part {
    pub(super) name: String,
    /// Missing contestants, with reasons.
    pub(super) note: Option<String>,
    /// Programs that its module uses.
    #[serde(default)]
    needs: Vec<String>,
    /// Command that creates files, and commands that read them.
    pub(super) make: Option<String>,
    #[serde(default)]
    pub(super) commands: Vec<String>,
    /// Command that compares kernels in one process.
    pub(super) kernels: Option<String>,
    /// Factor for the number of rounds.
    #[serde(default = "one")]
    pub(super) turns: usize,
}

/// A C++ peer.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cpp {
    pub(super) name: String,
    /// Required Debian package.
    pub(super) package: String,
    /// Linker arguments.
    #[serde(default)]
    pub(super) libraries: Vec<String>,
}

/// A Python virtual environment.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Environment {
    pub(super) name: String,
    pub(super) folder: String,
    #[serde(default = "python3")]
    pub(super) base: String,
    pub(super) packages: Vec<String>,
}

/// Recipe of an input.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Recipe {
    path: PathBuf,
    title: String,
    make: String,
    size: Option<[u64; 3]>,
    of: Option<String>,
    #[serde(default)]
    after: Vec<String>,
}

/// A group, as written in the plan.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    part: String,
    key: String,
    title: String,
    input: String,
    output: Option<String>,
    /// Programs without which the group is omitted.
    #[serde(default)]
    needs: Vec<String>,
    #[serde(default)]
    resident: bool,
    baseline: String,
    limit: String,
    /// Group whose rows precede the rows of this group.
    like: Option<String>,
    #[serde(default)]
    rows: Vec<Line>,
}

/// A contestant: name, command, and maximum number of rounds.
#[derive(Deserialize)]
struct Line(String, String, #[serde(default)] Option<usize>);

fn one() -> usize {
    1
}

fn python3() -> String {
    "python3".into()
}

/// An input file and its content.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(super) struct Input {
    #[serde(skip)]
    pub(super) path: PathBuf,
    /// Description for headings.
    #[serde(skip)]
    pub(super) title: &'static str,
    #[serde(skip_serializing)]
    megabytes: u64,
    /// Uncompressed size in bytes; for a scene with other files, the size of its text.
    pub(super) bytes: u64,
    /// Size on disk: smaller if compressed, larger for a scene with other files.
    #[serde(skip_serializing)]
    disk_bytes: Option<u64>,
    pub(super) positions: u64,
    pub(super) faces: u64,
}

/// Contestants with the same input.
#[derive(Serialize)]
pub(super) struct Group {
    /// Name in records.
    pub(super) key: &'static str,
    #[serde(skip)]
    pub(super) title: &'static str,
    #[serde(flatten)]
    pub(super) input: Input,
    /// Peer that the other contestants are compared with.
    pub(super) baseline: &'static str,
    /// Contestant that measures the machine's limit.
    pub(super) limit: &'static str,
    #[serde(skip)]
    pub(super) contestants: Vec<Contestant>,
}

/// Name of a contestant and a command that prints a line of results.
pub(super) struct Contestant {
    pub(super) name: &'static str,
    pub(super) command: Vec<OsString>,
    /// Whether it is started once, keeps its data loaded, and prints a result for each input line.
    pub(super) resident: bool,
    /// Maximum number of rounds.
    pub(super) rounds: usize,
}

/// Finds a part by name.
pub(super) fn part(name: &str) -> Option<&'static Part> {
    PLAN.part.iter().find(|part| part.name == name)
}

/// Returns the names in braces that `parts` use, including those in the recipes of their inputs.
pub(super) fn uses(parts: &[&'static Part]) -> BTreeSet<&'static str> {
    let mut open: Vec<&'static str> = Vec::new();
    for part in parts {
        let commands = part.commands.iter().chain(&part.make).chain(&part.kernels);
        open.extend(commands.flat_map(|command| names(command)).chain(part.needs.iter().map(String::as_str)));
        for group in PLAN.group.iter().filter(|group| group.part == part.name) {
            open.extend(group.lines().flat_map(|line| names(&line.1)).chain([group.input.as_str()]));
        }
    }
    let mut seen = BTreeSet::new();
    while let Some(name) = open.pop() {
        if let Some(recipe) = PLAN.input.get(name).filter(|_| !seen.contains(name)) {
            open.extend(names(&recipe.make).chain(recipe.of.as_deref()));
        }
        seen.insert(name);
    }
    seen
}

/// Returns the names in braces of a command.
fn names(command: &str) -> impl Iterator<Item = &str> {
    command.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0))
}

/// Splits a command into words; text in single quotes is one word.
fn words(command: &str) -> impl Iterator<Item = &str> {
    let pieces = command.split('\'').enumerate();
    pieces.flat_map(|(i, piece)| if i % 2 == 1 { vec![piece] } else { piece.split_whitespace().collect() })
}

/// Values of the names in braces.
pub(super) struct Place<'a> {
    pub(super) tools: &'a Tools,
    /// Folder of inputs and outputs.
    pub(super) data: &'a Path,
    pub(super) megabytes: u64,
    /// Earlier build of `bench-obj`: each row of polyhaul is also measured with it.
    pub(super) before: Option<&'a Path>,
}

impl Place<'_> {
    /// Returns the groups of a part, in order, creating missing inputs.
    pub(super) fn groups(&self, part: &Part) -> Result<Vec<Group>, String> {
        let is_here = |name: &String| self.tools.programs.contains_key(name.as_str());
        let listed = PLAN.group.iter().filter(|group| group.part == part.name && group.needs.iter().all(is_here));
        listed.map(|group| self.group(group)).collect()
    }

    fn group(&self, listed: &'static Listed) -> Result<Group, String> {
        let input = self.input(&listed.input)?;
        let output = self.data.join("out").join(listed.output.as_deref().unwrap_or_default());
        let more = [("input", input.path.as_path()), ("output", &output)];
        let mut contestants = Vec::new();
        for line in listed.lines() {
            contestants.extend(self.contestant(listed, line, &more)?);
            if let Some(before) =
                self.before.filter(|_| line.0.starts_with("polyhaul") && line.1.matches("{bench}").count() == 1)
            {
                let twin = self.contestant(listed, line, &[more[0], more[1], ("bench", before)])?;
                // Leaked: row names are `'static`.
                contestants
                    .extend(twin.map(|twin| Contestant { name: format!("{}{BEFORE}", twin.name).leak(), ..twin }));
            }
        }
        let Listed { key, title, baseline, limit, .. } = listed;
        Ok(Group { key, title, input, baseline, limit, contestants })
    }

    /// Fills in a contestant of the plan. Returns `None` if a program of its command is missing.
    fn contestant(
        &self,
        listed: &Listed,
        Line(name, command, rounds): &'static Line,
        more: &[(&str, &Path)],
    ) -> Result<Option<Contestant>, String> {
        let Some(words) = self.fill(command, more)? else { return Ok(None) };
        let command = self.tools.prefix.iter().cloned().chain(words).collect();
        let resident = listed.resident && !name.starts_with("limit");
        Ok(Some(Contestant { name, command, resident, rounds: rounds.unwrap_or(usize::MAX) }))
    }

    /// Fills in the words of a command. Returns `None` if one of its programs is missing. `more` are names for this
    /// command only.
    pub(super) fn fill(&self, command: &str, more: &[(&str, &Path)]) -> Result<Option<Vec<OsString>>, String> {
        let mut filled = Vec::new();
        for mut rest in words(command) {
            let mut word = OsString::new();
            while let Some((before, (name, after))) =
                rest.split_once('{').and_then(|(a, b)| Some((a, b.split_once('}')?)))
            {
                let Some(value) = self.value(name, more)? else { return Ok(None) };
                word.push(before);
                word.push(value);
                rest = after;
            }
            word.push(rest);
            filled.push(word);
        }
        Ok(Some(filled))
    }

    fn value(&self, name: &str, more: &[(&str, &Path)]) -> Result<Option<PathBuf>, String> {
        if let Some((_, value)) = more.iter().find(|(other, _)| *other == name) {
            return Ok(Some(value.to_path_buf()));
        }
        Ok(match name {
            "data" => Some(self.data.into()),
            "scripts" => Some(scripts()),
            _ if PLAN.input.contains_key(name) => Some(self.input(name)?.path),
            _ => self.tools.programs.get(name).cloned(),
        })
    }

    /// Returns an input, creating it if missing.
    pub(super) fn input(&self, name: &str) -> Result<Input, String> {
        let recipe = PLAN.input.get(name).ok_or(format!("no input {name} in tools/bench/plan.toml"))?;
        let path = self.data.join(&recipe.path);
        let [times, plus, by] = recipe.size.unwrap_or([1, 0, 1]);
        let megabytes = ((self.megabytes * times + plus) / by).max(1);
        let of = recipe.of.as_deref().map(|of| self.input(of)).transpose()?;
        if let Some(input) = recipe.there(&path, megabytes, of.as_ref()) {
            return Ok(input);
        }
        let shown = recipe.path.display();
        term::out(format!("making {shown}\n"));
        let number = PathBuf::from(megabytes.to_string());
        let from = of.as_ref().map_or(&path, |of| &of.path);
        let words = self.fill(&recipe.make, &[("mb", &number), ("path", &path), ("of", from)])?.unwrap_or_default();
        let (program, args) = words.split_first().ok_or(format!("no program makes {shown}"))?;
        let made = root::runs(Command::new(program).args(args).stdout(Stdio::null()));
        if of.is_some() && !made {
            // A partial input would pass for a complete one in the next run.
            let _ = std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir_all(&path));
        }
        recipe.there(&path, megabytes, of.as_ref()).filter(|_| made).ok_or(format!("{shown} could not be made"))
    }
}

impl Listed {
    fn lines(&self) -> impl Iterator<Item = &Line> {
        let like = PLAN.group.iter().find(|group| Some(&group.key) == self.like.as_ref());
        like.into_iter().flat_map(|group| &group.rows).chain(&self.rows)
    }
}

impl Recipe {
    /// Returns an existing input if it is newer than its sources. An input that is not made from another input must
    /// also be complete and have this many megabytes.
    fn there(&'static self, path: &Path, megabytes: u64, of: Option<&Input>) -> Option<Input> {
        let title = &self.title;
        if let Some(of) = of {
            let is_new = changed(path) > changed(&of.path.with_extension("counts"));
            return is_new.then(|| Input { path: path.into(), title, ..of.clone() });
        }
        let latest = self.after.iter().filter_map(|name| changed(&scripts().join(name))).max();
        let counts = std::fs::read_to_string(path.with_extension("counts")).ok()?;
        let input = Input { path: path.into(), title, ..runs::fields(&counts)? };
        let is_of_size = input.megabytes == megabytes || !self.make.contains("{mb}");
        let is_whole = disk_bytes(path)? == input.disk_bytes.unwrap_or(input.bytes);
        (is_of_size && is_whole && changed(path) > latest).then_some(input)
    }
}

/// Folder of the benchmark's scripts.
fn scripts() -> PathBuf {
    root::root().join("tools/bench/python")
}

fn changed(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|data| data.modified()).ok()
}

/// Returns the size of a file, or of all files below a folder.
fn disk_bytes(path: &Path) -> Option<u64> {
    let data = std::fs::metadata(path).ok()?;
    if !data.is_dir() {
        return Some(data.len());
    }
    let entries: Vec<_> = std::fs::read_dir(path).ok()?.collect::<Result<_, _>>().ok()?;
    entries.iter().map(|entry| disk_bytes(&entry.path())).sum()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Fabricates a group without contestants, on an input of four positions and a face.
    pub(crate) fn group(key: &'static str) -> Group {
        let input = runs::fields("megabytes=1 bytes=1000 positions=4 faces=1").unwrap();
        let input = Input { path: "a.obj".into(), title: "a", ..input };
        let limit = "limit: read once, count lines";
        Group { key, title: key, input, baseline: "tobj", limit, contestants: Vec::new() }
    }

    #[test]
    fn counts_of_an_input_are_read() {
        let line = "megabytes=30 bytes=27729966 positions=178929 faces=178506\n";
        let input: Input = runs::fields(line).unwrap();
        assert_eq!((input.megabytes, input.faces), (30, 178_506));
        assert_eq!(input.disk_bytes, None);
        let scene: Input = runs::fields(&line.replace("pos", "disk_bytes=9 pos")).unwrap();
        assert_eq!((scene.bytes, scene.disk_bytes), (27_729_966, Some(9)));
        assert_eq!(runs::fields::<Input>("megabytes=30\n"), None);
    }

    #[test]
    fn the_plan_is_whole() {
        let programs = ["bench", "command", "polyhaul", "savetxt", "loadtxt", "strace", "taskset"];
        let is_known = |name: &str| {
            let words = ["data", "scripts", "input", "output", "mb", "path", "of"].iter().chain(&programs);
            let built = PLAN.cpp.iter().map(|program| &program.name).chain(&PLAN.ready);
            let set_up = built.chain(PLAN.python.iter().map(|program| &program.name));
            words.copied().chain(set_up.map(String::as_str)).any(|word| word == name) != PLAN.input.contains_key(name)
        };
        let parts: Vec<&Part> = PLAN.part.iter().collect();
        uses(&parts).into_iter().for_each(|name| assert!(is_known(name), "{name}"));
        for group in &PLAN.group {
            assert!(part(&group.part).is_some() && PLAN.input.contains_key(&group.input), "{}", group.key);
            let has = |name: &str| group.lines().any(|Line(program, ..)| program == name);
            assert!(has(&group.baseline) && has(&group.limit), "{}", group.key);
        }
    }

    #[test]
    fn quotes_hold_words_together() {
        assert_eq!(words("sh -c 'a \"$0\" b' {of} c").collect::<Vec<_>>(), ["sh", "-c", "a \"$0\" b", "{of}", "c"]);
        assert_eq!(names("{bench} read {input} 1").collect::<Vec<_>>(), ["bench", "input"]);
    }
}
