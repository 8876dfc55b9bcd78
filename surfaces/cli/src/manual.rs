//! The complete command line, and its documentation: `polyhaul completions SHELL` and `polyhaul man [DIR]`.
//!
//! `args` declares the options. Nothing is parsed or run here.

use crate::args::{Cli, CompletionsArgs, ManArgs};
use crate::console;
use crate::exit::{DONE, FAILED};
use clap::{Arg, Command, CommandFactory, ValueHint};
use clap_mangen::Man;
use std::fmt::Write;
use std::path::Path;

/// Global options to hide in subcommands that reject or ignore them.
const NOT_TAKEN: [(&str, &[&str]); 7] = [
    ("run", &ALL),
    ("batch", &["trace", "report", "chart", RATES[0], RATES[1], RATES[2], RATES[3]]),
    (
        "limits",
        &[
            "threads",
            "memory_limit",
            "spill_folder",
            "strict",
            "allow",
            "on_error",
            "warnings",
            "trace",
            "report",
            "chart",
            RATES[0],
            RATES[1],
            RATES[2],
            RATES[3],
        ],
    ),
    ("watch", &["threads", "memory_limit", "spill_folder", "strict", "allow", "on_error", "warnings", "no_progress"]),
    ("sweep", &["trace", "report", RATES[0], RATES[1], RATES[2], RATES[3]]),
    ("completions", &ALL),
    ("man", &ALL),
];

const RATES: [&str; 4] = ["read_rate", "write_rate", "read_latency", "write_latency"];

const ALL: [&str; 19] = [
    "threads",
    "memory_limit",
    "spill_folder",
    "strict",
    "allow",
    "on_error",
    "warnings",
    "json",
    "quiet",
    "verbose",
    "no_progress",
    "color",
    "trace",
    "report",
    "chart",
    RATES[0],
    RATES[1],
    RATES[2],
    RATES[3],
];

/// The command line, with the options that do not apply hidden in each subcommand.
pub fn command() -> Command {
    let mut command = Cli::command().mut_args(without_files);
    let globals: Vec<Arg> = command.get_arguments().filter(|arg| arg.is_global_set()).cloned().collect();
    for subcommand in command.get_subcommands_mut() {
        *subcommand = std::mem::take(subcommand).mut_args(without_files);
        let name = subcommand.get_name().to_owned();
        let hidden = NOT_TAKEN
            .iter()
            .find(|(subcommand_name, _)| *subcommand_name == name)
            .map_or(&[][..], |(_, hidden)| hidden);
        // An argument of the subcommand replaces the global one of the same name.
        let is_hidden = |arg: &&Arg| hidden.contains(&arg.get_id().as_str());
        let hidden_globals = globals.iter().filter(is_hidden).map(|arg| arg.clone().hide(true));
        *subcommand = std::mem::take(subcommand).args(hidden_globals);
    }
    command
}

/// The command line with the global options copied into each subcommand.
fn built() -> Command {
    let mut command = command();
    command.build();
    command
}

/// Keeps shells from completing file names for an option without a value hint.
fn without_files(arg: Arg) -> Arg {
    let is_open = arg.get_action().takes_values() && arg.get_value_hint() == ValueHint::Unknown;
    if is_open { arg.value_hint(ValueHint::Other) } else { arg }
}

/// Prints the completion script of a shell.
pub fn completions(args: &CompletionsArgs) -> u8 {
    // Generate in memory: the generator panics if standard output fails.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command(), "polyhaul", &mut script);
    if console::bytes(&script) { DONE } else { FAILED }
}

/// Prints the man page, or writes one per subcommand to a folder.
pub fn pages(args: &ManArgs) -> u8 {
    let command = built();
    let is_written = match &args.folder {
        Some(folder) => write_all(&command, folder)
            .map_err(|error| console::note(&format!("error: {}: {error}\n", folder.display())))
            .is_ok(),
        None => page(&command).is_ok_and(|page| console::bytes(&page)),
    };
    if is_written { DONE } else { FAILED }
}

fn write_all(command: &Command, folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("polyhaul.1"), page(command)?)?;
    for subcommand in
        command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set() && subcommand.get_name() != "help")
    {
        std::fs::write(folder.join(format!("{}.1", display_name(subcommand))), page(subcommand)?)?;
    }
    Ok(())
}

/// The name of the page, such as `polyhaul-convert`.
fn display_name(command: &Command) -> &str {
    command.get_display_name().unwrap_or(command.get_name())
}

/// Renders a man page.
fn page(command: &Command) -> std::io::Result<Vec<u8>> {
    let version = format!("polyhaul {}", env!("CARGO_PKG_VERSION"));
    // No date, so that builds are reproducible; the version identifies the page.
    let man = Man::new(command.clone()).title(display_name(command)).source(version).manual("polyhaul manual");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    page.extend(synopsis(command).into_bytes());
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.get_subcommands().any(|subcommand| !subcommand.is_hide_set() && subcommand.get_name() != "help") {
        man.render_subcommands_section(&mut page)?;
    }
    page.extend(after(command).into_bytes());
    Ok(page)
}

/// The section with the usage line, such as `polyhaul convert [OPTIONS] IN OUT`.
fn synopsis(command: &Command) -> String {
    let usage = command.clone().render_usage().to_string();
    let usage = usage.strip_prefix("Usage: ").unwrap_or(&usage);
    let line = usage.lines().next().unwrap_or_default();
    format!(".SH SYNOPSIS\n{}\n", escaped(&line.replace(['<', '>'], "")))
}

/// The text after the options: paragraphs become notes, and a first line such as `Examples:` becomes a heading above
/// verbatim lines.
fn after(command: &Command) -> String {
    let text = command.get_after_long_help().or(command.get_after_help()).map(ToString::to_string).unwrap_or_default();
    let mut page = String::new();
    for part in text.split("\n\n").filter(|part| !part.is_empty()) {
        let (first, rest) = part.split_once('\n').unwrap_or((part, ""));
        let lines = |text: &str| text.lines().map(escaped).collect::<Vec<_>>().join("\n");
        // Writing to a string cannot fail.
        let _ = match first.strip_suffix(':') {
            Some(heading) => writeln!(page, ".SH \"{}\"\n.nf\n{}\n.fi", heading.to_uppercase(), lines(rest)),
            None => writeln!(page, ".SH NOTES\n{}", lines(part)),
        };
    }
    page
}

/// Escapes a line for roff.
fn escaped(line: &str) -> String {
    let line = line.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
    if line.starts_with('.') { format!("\\&{line}") } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// clap wraps this text, so line breaks in it would wrap lines twice.
    #[test]
    fn paragraphs_after_the_options_are_single_lines() {
        for subcommand in built().get_subcommands() {
            let text = subcommand.get_after_help().map(ToString::to_string).unwrap_or_default();
            for part in text.split("\n\n") {
                let first = part.lines().next().unwrap_or_default();
                let is_list = first.ends_with(':') && part.lines().skip(1).all(|line| line.starts_with("  "));
                assert!(is_list || part.lines().count() <= 1, "{}: {part}", subcommand.get_name());
            }
        }
    }

    fn help(name: &str) -> String {
        let mut command = built();
        command.find_subcommand_mut(name).unwrap().render_long_help().to_string()
    }

    #[test]
    fn subcommands_show_the_options_that_they_take() {
        for (name, hidden) in NOT_TAKEN {
            let help = help(name);
            for id in hidden {
                assert!(!help.contains(&format!("--{}", id.replace('_', "-"))), "{name} {id}\n{help}");
            }
        }
        assert!(help("convert").contains("--read-rate") && help("sweep").contains("--chart"));
        assert!(help("limits").contains("--json") && help("watch").contains("--quiet"));
        assert!(["--report", "--trace", "--chart", "--folded"].iter().all(|option| help("watch").contains(option)));
        // Hidden options are still parsed, so that the subcommand can reject them with a reason.
        assert!(command().try_get_matches_from(["polyhaul", "limits", "--trace", "a.json"]).is_ok());
        command().debug_assert();
    }

    #[test]
    fn options_mean_the_same_before_and_behind_a_subcommand() {
        use clap::FromArgMatches;
        for args in [["polyhaul", "--json", "-j", "3", "limits"], ["polyhaul", "limits", "--json", "-j", "3"]] {
            let cli = Cli::from_arg_matches(&command().try_get_matches_from(args).unwrap()).unwrap();
            assert!(cli.everywhere.json && cli.everywhere.threads == Some(3), "{cli:?}");
        }
        let args = ["polyhaul", "sweep", "a.obj", "--chart", "a.svg", "--color", "never"];
        let cli = Cli::from_arg_matches(&command().try_get_matches_from(args).unwrap()).unwrap();
        assert_eq!(cli.everywhere.chart, Some("a.svg".into()));
    }

    #[test]
    fn a_synopsis_is_one_short_line() {
        let command = built();
        let of = |name: &str| synopsis(&command.find_subcommand(name).unwrap().clone());
        assert_eq!(of("convert"), ".SH SYNOPSIS\npolyhaul convert [OPTIONS] IN... OUT\n");
        assert_eq!(of("limits"), ".SH SYNOPSIS\npolyhaul limits [OPTIONS] [FOLDER]\n");
        let page = String::from_utf8(page(command.find_subcommand("limits").unwrap()).unwrap()).unwrap();
        assert!(page.contains(".SH \"EXAMPLES\"\n.nf\n") && !page.contains("EXTRA"), "{page}");
    }

    #[test]
    fn completions_offer_values_and_no_files() {
        let mut script = Vec::new();
        clap_complete::generate(clap_complete::Shell::Bash, &mut command(), "polyhaul", &mut script);
        let script = String::from_utf8(script).unwrap();
        let of = |option: &str| {
            let at = script.find(&format!("                {option})\n")).unwrap();
            script[at..].lines().nth(1).unwrap().trim().to_owned()
        };
        for (option, value) in [
            ("--up-axis", "-X"),
            ("--digits", "shortest"),
            ("--delimiter", "semicolon"),
            ("--codecs", "as-is"),
            ("--to", "ply"),
        ] {
            assert!(of(option).contains("compgen -W") && of(option).contains(value), "{option}: {}", of(option));
        }
        assert!(!of("--memory-limit").contains("compgen -f"), "{}", of("--memory-limit"));
        // Shells still complete file names for inputs.
        assert!(script.contains("compgen -f"));
    }
}
