//! `polyhaul batch IN... -o OUT`: converts a library of assets, resumably.
//!
//! Planning, the worker pool and the log are in `polyhaul-batch`. [`worker`] converts assets, `job` reads job files,
//! `status` prints `batch status`, and `page` writes its HTML page.

mod job;
mod page;
mod status;
mod worker;

pub use job::with_job;

use crate::args::batch::{BatchArgs, BatchCommand, EngineName};
use crate::convert::many::target_name;
use crate::convert::write_options;
use crate::exit::{DONE, FAILED, PARTLY, USAGE};
use crate::format::NamedFormat;
use crate::session::{JsonTo, Session};
use crate::{console, format, human, json, manual, many, words};
use clap::parser::ValueSource;
use polyhaul::options::Progress;
use polyhaul::place;
use polyhaul::{Error, ErrorKind, Format, Report, Result};
use polyhaul_batch::{
    Asset, AssetState, Damage, DoneRow, GoneAsset, Limits, LogWriter, Plan, PlanOptions, Pool, StatusRow, Task,
    WorkerCommand, compact_logs, has_log, is_manifest_stale, write_manifest,
};
use polyhaul_bytes::hash::xxh3_64;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Assets of at least this size are converted one at a time with all threads: on a single thread they would delay the
/// end of the run.
const LARGE_BYTES: u64 = 256_000_000;
/// Maximum number of tasks sent to a worker at a time, and the maximum total size of their sources. This many tasks fit
/// into a pipe.
const WORKER_TASKS: usize = 32;
const WORKER_BYTES: u64 = 4 << 20;
/// Maximum number of tasks sent to an engine at a time.
const ENGINE_TASKS: usize = 10_000;
/// Size at which buffered rows are printed.
const PRINTED_BYTES: usize = 1 << 20;
/// Environment variable with the Python interpreter that starts workers; set by the Python package.
const PYTHON: &str = "POLYHAUL_PYTHON";
/// Environment variable that requests lines `progress DONE TOTAL` on standard error; set by the Python package.
const PROGRESS: &str = "POLYHAUL_PROGRESS";
/// Options that do not affect the outputs. If any other option changes, the assets are converted again.
const EXECUTION_OPTIONS: [&str; 26] = [
    "inputs",
    "output",
    "job",
    "retry_failed",
    "force",
    "dry_run",
    "prune",
    "workers",
    "asset_memory",
    "asset_timeout",
    "engine",
    "address",
    "shard",
    "worker",
    "agent",
    "recursive",
    "include",
    "threads",
    "memory_limit",
    "spill_folder",
    "json",
    "quiet",
    "verbose",
    "warnings",
    "no_progress",
    "color",
];

/// The result of a run, for `--json`.
#[derive(Serialize)]
struct BatchDetails {
    assets: usize,
    /// Assets that were already done, and assets that failed before and were not retried.
    skipped: usize,
    skipped_failed: usize,
    converted: u64,
    failed: u64,
    /// Assets whose source no longer exists; their outputs were removed, or would be in a dry run.
    pruned: usize,
    /// Options changed since earlier runs: `--digits 3 (was not set)`.
    changed_options: Vec<String>,
    dry_run: bool,
}

impl BatchDetails {
    /// Whether the run added rows to the log.
    fn has_rows(&self) -> bool {
        self.converted + self.failed > 0 || self.pruned > 0
    }
}

/// Runs the subcommand.
pub fn run(session: &Session, args: &BatchArgs) -> u8 {
    match &args.command {
        Some(BatchCommand::Status(status)) => return status::run(session, status),
        Some(BatchCommand::Rows(rows)) => return print_rows(session, &rows.output),
        Some(BatchCommand::Merge(merge)) => return merge_logs(session, &merge.output),
        None => {}
    }
    let result = if args.engine.worker {
        worker::run(session, args).map(|()| DONE)
    } else if args.engine.agent {
        run_agent(session, args).map(|()| DONE)
    } else {
        convert_library(session, args)
    };
    result.unwrap_or_else(|error| session.fail("batch", &error, JsonTo::Stdout))
}

/// The options that affect the outputs.
struct LoggedOptions {
    /// One per line: `digits=3`.
    text: String,
    /// Their hash in hexadecimal digits.
    hash: String,
}

/// Collects the options of this command line that affect the outputs.
fn options_of_words() -> LoggedOptions {
    let mut command = manual::command();
    let words = std::iter::once(OsString::from("polyhaul")).chain(words::arguments().cloned());
    let matches = command.try_get_matches_from_mut(words);
    let mut options = Vec::new();
    if let Some((name, matches)) = matches.as_ref().ok().and_then(|matches| matches.subcommand())
        && let Some(command) = command.find_subcommand(name)
    {
        // The matches also contain the names of option groups.
        let names = command.get_arguments().map(|argument| argument.get_id().as_str());
        for name in names.filter(|name| !EXECUTION_OPTIONS.contains(name)) {
            if matches.value_source(name) == Some(ValueSource::CommandLine)
                && let Ok(Some(values)) = matches.try_get_raw(name)
            {
                let values: Vec<_> = values.map(|value| value.to_string_lossy()).collect();
                options.push(format!("{name}={}", values.join(",")));
            }
        }
    }
    options.sort_unstable();
    let text = options.join("\n");
    let hash = format!("{:016x}", xxh3_64(text.as_bytes()));
    LoggedOptions { text, hash }
}

/// Describes the options that differ between two runs.
fn changed_options(before: &str, now: &str) -> Vec<String> {
    let parse = |options: &str| -> BTreeMap<String, String> {
        let pairs = options.lines().filter_map(|line| line.split_once('='));
        // `collect` would sort first, with code of its own for each type.
        let mut values = BTreeMap::new();
        values.extend(pairs.map(|(name, value)| (flag_of(name), value.to_owned())));
        values
    };
    let before = parse(before);
    let now = parse(now);
    let shown = |name: &str, value: &str| if value == "true" { name.to_owned() } else { format!("{name} {value}") };
    let mut names: BTreeSet<&String> = BTreeSet::new();
    names.extend(before.keys().chain(now.keys()));
    let change = |name: &String| match (before.get(name), now.get(name)) {
        (before, now) if before == now => None,
        (Some(before), Some(now)) => Some(format!("{} (was {before})", shown(name, now))),
        (None, now) => now.map(|now| format!("{} (was not set)", shown(name, now))),
        (Some(before), None) => Some(format!("no {}", shown(name, before))),
    };
    names.into_iter().filter_map(change).collect()
}

/// The long flag of an option: `--compress` for `compression`.
fn flag_of(name: &str) -> String {
    let command = manual::command();
    let argument =
        command.find_subcommand("batch").and_then(|batch| batch.get_arguments().find(|arg| arg.get_id() == name));
    format!("--{}", argument.and_then(|argument| argument.get_long()).unwrap_or(name))
}

fn usage(message: impl Into<String>, hint: &str) -> Error {
    Error::new(ErrorKind::Usage, message.into()).with_hint(hint)
}

/// Plans and runs the conversion of a library.
fn convert_library(session: &Session, args: &BatchArgs) -> Result<u8> {
    let output = args.output.as_deref().unwrap_or(Path::new("."));
    // `with_job` replaced the first job file. An option that it left would have no effect.
    if let Some(job) = &args.job {
        return Err(usage(format!("the job file `{}` was not read", place::shown(job)), "use `--job` only once"));
    }
    let Some(to) = args.style.to else {
        return Err(usage("the output format is missing", "use `--to FORMAT`, or `to` in the job file"));
    };
    if args.inputs.iter().any(|input| format::is_stream(input)) {
        return Err(usage(
            "standard input (-) cannot be an asset",
            "use polyhaul convert, or ./- for a file with that name",
        ));
    }
    if many::is_no_folder(output) {
        return Err(usage(format!("`{}` is not a folder", place::shown(output)), "-o takes the output folder"));
    }
    // Check all options before reading anything.
    session.convert_options(&args.style)?;
    write_options(session, &args.style, Path::new(""), to.format)?;
    let mut plan = plan(args, output, to.format)?;
    let job = options_of_words();
    let damage = plan.resume(output, &job.hash)?;
    report_damage(session, &damage, "skipped", "; their assets will be converted again");
    let is_due = |asset: &Asset| {
        args.force
            || match asset.state {
                AssetState::New | AssetState::Changed => true,
                AssetState::Failed => args.retry_failed,
                AssetState::Done => false,
            }
    };
    let numbers: Vec<usize> = (0..plan.assets.len()).filter(|&number| is_due(&plan.assets[number])).collect();
    let skipped_failed = plan.assets.iter().filter(|asset| asset.state == AssetState::Failed && !is_due(asset)).count();
    let assets = plan.assets.len();
    let skipped = plan.assets.len() - numbers.len() - skipped_failed;
    let changed_options = report_changes(session, &plan, output, &job);
    let mut details = BatchDetails {
        assets,
        skipped,
        skipped_failed,
        converted: 0,
        failed: 0,
        pruned: 0,
        changed_options,
        dry_run: args.dry_run,
    };
    let find_gone = || {
        if !args.prune {
            return Ok(Vec::new());
        }
        polyhaul_batch::find_gone(output, &plan, args.engine.shard, |asset| output_path(args, asset))
    };
    if args.dry_run {
        return Ok(list(session, args, &plan, &numbers, &find_gone()?, details));
    }
    let mut ended = if numbers.is_empty() { Ok(()) } else { work(session, args, &plan, &job, &numbers, &mut details) };
    if ended.is_ok() {
        ended = find_gone().and_then(|gone| prune(session, output, &gone, &mut details));
    }
    if args.engine.shard.is_none() && ended.is_ok() && (details.has_rows() || is_manifest_stale(output)) {
        ended = write_manifest(output).map(drop);
    }
    Ok(finish(session, details, ended.err()))
}

/// Reports which options changed since the assets were last converted, and returns the changes.
fn report_changes(session: &Session, plan: &Plan, output: &Path, job: &LoggedOptions) -> Vec<String> {
    let Some((assets, other_hash)) = plan.other_options() else { return Vec::new() };
    let Some(before) = polyhaul_batch::kept_options(output, other_hash) else { return Vec::new() };
    let changes = changed_options(&before, &job.text);
    if session.talks() && !changes.is_empty() {
        let assets = human::plural(assets as u64, "asset");
        let changes = human::safe(&changes.join(", "));
        console::note(&format!("note: {assets} had other options: {changes}\n"));
    }
    changes
}

/// Removes the outputs of assets whose source no longer exists.
fn prune(session: &Session, output: &Path, gone: &[GoneAsset], details: &mut BatchDetails) -> Result<()> {
    if gone.is_empty() {
        return Ok(());
    }
    let mut log = LogWriter::create(output)?;
    for asset in gone {
        let row = asset.remove(output)?;
        log.append(&[DoneRow::Made(Box::new(row))])?;
        details.pruned += 1;
        if session.talks() && session.everywhere.verbose {
            console::note(&gone_line(output, asset));
        }
    }
    log.finish()
}

/// Formats the line for an asset whose source no longer exists.
fn gone_line(output: &Path, gone: &GoneAsset) -> String {
    // The log uses slashes on every system.
    let native = |path: &String| output.join(Path::new(path).components().collect::<PathBuf>());
    let outputs: Vec<_> = gone.outputs.iter().map(|path| human::path(&native(path))).collect();
    let removed = if outputs.is_empty() { "no outputs".to_owned() } else { outputs.join(", ") };
    format!("{} is gone: remove {removed}\n", human::safe(&gone.source))
}

/// Warns about damaged lines of the log.
fn report_damage(session: &Session, damage: &Damage, what_happened: &str, result: &str) {
    if damage.lines > 0 && session.talks() {
        let file = damage.first.as_deref().map(human::path).unwrap_or_default();
        let lines = human::plural(damage.lines, "damaged line");
        console::note(&format!("warning: {file}: {what_happened} {lines}{result}\n"));
    }
}

/// Lists the assets and checks that no output collides with another output or an input.
fn plan(args: &BatchArgs, output: &Path, to: Format) -> Result<Plan> {
    let find = args.find.options()?.with_exclude(output);
    let options = PlanOptions::default().with_find(find).with_shard(args.engine.shard);
    let is_texture_of = |from: Format| to.is_texture() && from.is_image() && !from.is_texture();
    let plan = Plan::find(&args.inputs, &options, |from| from.converts_to(to) || is_texture_of(from))?;
    if plan.assets.is_empty() && args.engine.shard.is_none() {
        return Err(many::none_found(&args.inputs, &args.find));
    }
    let names = plan.check_names(|asset| output_path(args, asset), "would be written to the same file");
    names.map_err(|error| error.with_hint("use `--full-names`, which keeps the inputs' extensions"))?;
    plan.check_sources(output, |asset| output_path(args, asset))?;
    Ok(plan)
}

/// The output path of an asset.
fn output_path(args: &BatchArgs, asset: &Asset) -> Result<PathBuf> {
    let format = Format::Obj;
    let to = args.style.to.unwrap_or(NamedFormat { format, extension: format.name() });
    let compression = args.style.compression()?;
    let output = args.output.as_deref().unwrap_or(Path::new("."));
    if !args.full_names {
        return Ok(output.join(target_name(&asset.name, to, compression)));
    }
    let mut name = asset.name.to_path_buf().into_os_string();
    name.push(".x");
    Ok(output.join(target_name(Path::new(&name), to, compression)))
}

fn list(
    session: &Session,
    args: &BatchArgs,
    plan: &Plan,
    numbers: &[usize],
    gone: &[GoneAsset],
    mut details: BatchDetails,
) -> u8 {
    let mut text = String::new();
    for &number in numbers {
        let asset = &plan.assets[number];
        let to = output_path(args, asset).map(|path| human::path(&path)).unwrap_or_default();
        text.push_str(&format!("{} -> {to}\n", human::path(&plan.source(asset))));
    }
    let output = args.output.as_deref().unwrap_or(Path::new("."));
    text.extend(gone.iter().map(|asset| gone_line(output, asset)));
    details.pruned = gone.len();
    if !session.everywhere.json && !console::result(&text) {
        return FAILED;
    }
    session.finish("batch", Some(details), &Report::default(), (DONE, None), JsonTo::Stdout)
}

/// Converts the assets with these indices and logs the results.
fn work(
    session: &Session,
    args: &BatchArgs,
    plan: &Plan,
    job: &LoggedOptions,
    numbers: &[usize],
    details: &mut BatchDetails,
) -> Result<()> {
    let output = args.output.as_deref().unwrap_or(Path::new("."));
    let session_threads = session.run_options().worker_threads();
    let is_large = |number: &&usize| plan.assets[**number].bytes.is_some_and(|bytes| bytes >= LARGE_BYTES);
    let (large, small): (Vec<_>, Vec<_>) = match args.engine.engine {
        EngineName::Local => numbers.iter().partition(is_large),
        EngineName::Ray => (Vec::new(), numbers.iter().collect()),
    };
    let mut log = LogWriter::create(output)?;
    keep_options(session, output, job);
    let bar = session.files_bar("converting");
    let progress = bar.callback();
    let total = numbers.len() as u64;
    let mut done_count = 0;
    let tells_progress = std::env::var_os(PROGRESS).is_some();
    let tell = |done_count: u64| {
        if tells_progress {
            console::note(&format!("progress {done_count} {total}\n"));
        }
    };
    tell(0);
    let mut log_rows = |mut rows: Vec<DoneRow>| {
        rows.retain(|row| !row.error().is_some_and(worker::is_cancelled));
        if rows.is_empty() {
            return log.flush_if_due();
        }
        // Count only rows that are in the log.
        log.append(&rows)?;
        for row in &rows {
            match row.error() {
                None => details.converted += 1,
                Some(_) => details.failed += 1,
            }
            bar.aside(|| show(session, row));
        }
        done_count += rows.len() as u64;
        if let Some(Progress(progress)) = &progress {
            progress(done_count, Some(total));
        }
        tell(done_count);
        Ok(())
    };
    let mut ended = Ok(());
    for (numbers, threads) in [(small, 1), (large, session_threads)] {
        let workers = if threads > 1 { 1 } else { args.engine.workers.map_or(session_threads, usize::from) };
        let mut tasks = numbers.into_iter().filter_map(|&number| {
            let path = output_path(args, &plan.assets[number]).ok()?;
            let memory = args.engine.asset_memory;
            let timeout = args.engine.asset_timeout.map(f64::from);
            Some(Task { threads, options: job.hash.clone(), memory, timeout, ..plan.task(number, &path, output) })
        });
        let mut pool = pool(args, workers);
        ended = pool.run(&mut tasks, &session.signals().cancel(), &mut log_rows);
        if ended.is_err() {
            break;
        }
    }
    drop(bar);
    let finished = log.finish();
    ended.and(finished)
}

/// Stores the options so that later runs can report changes. A failure is only a warning: nothing else depends on them.
fn keep_options(session: &Session, output: &Path, job: &LoggedOptions) {
    if let Err(error) = polyhaul_batch::keep_options(output, &job.hash, &job.text)
        && session.talks()
    {
        let error = human::safe(&error.to_string());
        console::note(&format!("warning: {error}; later runs cannot report which options changed\n"));
    }
}

/// Creates a pool of local worker processes or of an engine's agents.
fn pool(args: &BatchArgs, workers: usize) -> Pool {
    match args.engine.engine {
        EngineName::Local => Pool::new(command_of("--worker"), Limits { workers, ..local_limits() }),
        EngineName::Ray => {
            let mut command = command_of("--agent");
            let python = std::env::var_os(PYTHON).unwrap_or_else(|| "python3".into());
            let mut arguments: Vec<OsString> = ["-P", "-m", "polyhaul._ray_engine"].map(OsString::from).to_vec();
            if let Some(address) = &args.engine.address {
                arguments.extend(["--address".into(), address.into()]);
            }
            // The rest is the command line of the agents, which run on any machine.
            arguments.push("--".into());
            arguments.append(&mut command.arguments);
            let limits = Limits { workers: 1, tasks: ENGINE_TASKS, bytes: u64::MAX, is_engine: true, ..local_limits() };
            Pool::new(WorkerCommand { program: python.into(), arguments }, limits)
        }
    }
}

fn local_limits() -> Limits {
    let memory_code = worker::MEMORY_CODE;
    let usage_code = USAGE.into();
    Limits { workers: 1, tasks: WORKER_TASKS, bytes: WORKER_BYTES, is_engine: false, memory_code, usage_code }
}

/// The command line that starts this program in another role (`--worker` or `--agent`) with the same options.
fn command_of(role: &str) -> WorkerCommand {
    let skipped = |word: &OsString| word == "--agent" || word == "--json";
    let mut arguments: Vec<OsString> = words::arguments().filter(|word| !skipped(word)).cloned().collect();
    let at = arguments.iter().position(|word| word == "batch").map_or(0, |at| at + 1);
    arguments.insert(at, role.into());
    match std::env::var_os(PYTHON) {
        Some(python) => {
            arguments.splice(0..0, ["-P", "-m", "polyhaul"].map(OsString::from));
            WorkerCommand { program: python.into(), arguments }
        }
        None => WorkerCommand { program: std::env::current_exe().unwrap_or_else(|_| "polyhaul".into()), arguments },
    }
}

/// Runs as an agent: passes tasks from standard input to local workers and their rows to standard output.
fn run_agent(session: &Session, args: &BatchArgs) -> Result<()> {
    let workers = args.engine.workers.map_or(1, usize::from);
    let mut pool = Pool::new(command_of("--worker"), Limits { workers, ..local_limits() });
    let failed = |error| Error::io("read tasks", "standard input", error);
    // The sender may wait for rows before it sends more tasks, so never block on input while tasks are ready.
    let (sender, tasks) = std::sync::mpsc::channel::<Task>();
    let listen = move || {
        let lines = std::io::stdin().lines().map_while(std::result::Result::ok);
        lines.filter_map(|line| serde_json::from_str(&line).ok()).all(|task| sender.send(task).is_ok())
    };
    std::thread::Builder::new().spawn(listen).map_err(failed)?;
    let mut out = std::io::stdout().lock();
    while let Ok(task) = tasks.recv() {
        let mut ready = std::iter::once(task).chain(tasks.try_iter());
        pool.run(&mut ready, &session.signals().cancel(), &mut |rows| {
            let text: String = rows.into_iter().map(|row| line_of(row) + "\n").collect();
            out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(failed)
        })?;
    }
    Ok(())
}

/// Formats a row as JSON.
fn line_of(row: DoneRow) -> String {
    match row {
        DoneRow::Line(_, text) => text,
        DoneRow::Made(row) => serde_json::to_string(&row).unwrap_or_default(),
    }
}

fn show(session: &Session, row: &DoneRow) {
    if session.everywhere.json || session.everywhere.quiet {
        return;
    }
    let (asset, seconds) = row.asset();
    let asset = human::safe(asset);
    match row.error() {
        Some(error) => {
            console::note(&format!("failed: {asset}: {}: {}\n", error.kind, human::safe(&error.in_words())));
        }
        None if session.everywhere.verbose => {
            console::note(&format!("{asset}: {}\n", human::seconds(seconds)));
        }
        None => {}
    }
}

/// Prints the summary line and the JSON object, and returns the exit code.
fn finish(session: &Session, details: BatchDetails, error: Option<Error>) -> u8 {
    let BatchDetails { skipped, skipped_failed, converted, failed, pruned, .. } = details;
    if session.talks() {
        let mut text = human::plural(converted, "asset") + " converted";
        for (count, what) in [
            (failed, "failed"),
            (skipped as u64, "already done"),
            (skipped_failed as u64, "failed before (use `--retry-failed`)"),
            (pruned as u64, "gone and removed"),
        ] {
            if count > 0 {
                text.push_str(&format!(", {} {what}", human::count(count)));
            }
        }
        console::note(&format!("{text}; {}\n", human::seconds(session.seconds())));
    }
    if let Some(error) = &error {
        session.show_error(error);
        let code = session.exit_code(Some(error)).max(FAILED);
        return session.finish("batch", Some(details), &Report::default(), (code, Some(error)), JsonTo::Stdout);
    }
    let code = match failed + skipped_failed as u64 {
        0 => DONE,
        _ if converted == 0 && skipped == 0 => FAILED,
        _ => PARTLY,
    };
    session.finish("batch", Some(details), &Report::default(), (code, None), JsonTo::Stdout)
}

/// Prints all rows as JSON lines.
fn print_rows(session: &Session, output: &Path) -> u8 {
    let mut text = String::new();
    let printed = polyhaul_batch::each_row(output, &mut |status, row| {
        text.push_str(&json::line(&StatusRow { status, row }));
        // Stop reading if standard output is closed.
        if text.len() < PRINTED_BYTES || console::bytes(std::mem::take(&mut text).as_bytes()) {
            return Ok(());
        }
        Err(Error::cancelled())
    });
    if !console::bytes(text.as_bytes()) {
        return FAILED;
    }
    match printed {
        Ok(counts) if counts.rows == 0 && counts.damage.lines == 0 => {
            session.fail("batch", &status::no_log(output), JsonTo::Stderr)
        }
        Ok(counts) => {
            report_damage(session, &counts.damage, "skipped", "");
            session.end(DONE)
        }
        Err(error) if error.kind() == ErrorKind::Cancelled => FAILED,
        Err(error) => session.fail("batch", &error, JsonTo::Stderr),
    }
}

#[derive(Serialize)]
struct MergeDetails {
    rows: u64,
    /// Logs still being written by other runs; they were not merged.
    active_logs: usize,
    damaged_lines: u64,
}

/// Merges the logs of a library and writes its manifest.
fn merge_logs(session: &Session, output: &Path) -> u8 {
    let has_log = has_log(output).and_then(|has_log| if has_log { Ok(()) } else { Err(status::no_log(output)) });
    let merged = has_log.and_then(|()| Ok((compact_logs(output)?, write_manifest(output)?)));
    let (merged, counts) = match merged {
        Ok(merged) => merged,
        Err(error) => return session.fail("batch", &error, JsonTo::Stdout),
    };
    report_damage(session, &counts.damage, "kept", "");
    if session.talks() {
        if merged.active > 0 {
            let logs = human::plural(merged.active as u64, "log");
            console::note(&format!("kept {logs} of active runs; merge again when they finish\n"));
        }
        let path = human::path(&polyhaul_batch::manifest_path(output));
        console::note(&format!("{path}: {}\n", human::plural(counts.rows, "row")));
    }
    let damaged_lines = counts.damage.lines;
    let details = MergeDetails { rows: counts.rows, active_logs: merged.active, damaged_lines };
    session.finish("batch", Some(details), &Report::default(), (DONE, None), JsonTo::Stdout)
}
