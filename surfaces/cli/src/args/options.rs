//! Generates the flags of the library's options, with the groups as headings.
//!
//! No option is named here: names, types, defaults and help come from `polyhaul::options`. A flag that is on by default
//! becomes `--no-NAME`. Options of every subcommand are declared in [`super::Everywhere`].

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use polyhaul::options::{Limits, OptionChoice, OptionGroup, OptionKind, OptionRow, RowOptions};
use polyhaul::{Error, ErrorKind, Format, ReadOptions, Result, WriteOptions};
use std::ffi::OsStr;
use std::marker::PhantomData;

/// Options whose flags are not generated: every subcommand has the flag, or the flag has another form, as for formats.
const ELSEWHERE: [&str; 7] = ["format", "threads", "memory_limit", "spill_folder", "strict", "allow", "on_error"];

/// An option group whose options become flags.
pub trait FlagGroup: OptionGroup + Default + Clone + Send + Sync + 'static {
    /// The prefix of the flags' headings.
    const HEADING: &str;
    /// `input` or `output`: the side whose format determines which options apply.
    const SIDE: &str;

    /// Whether an option becomes a flag of this group.
    fn has(row: &OptionRow) -> bool {
        row.group != "limits" && !ELSEWHERE.contains(&row.name)
    }
}

impl FlagGroup for ReadOptions {
    const HEADING: &str = "Reading";
    const SIDE: &str = "input";

    // Only conversions filter rows, with the flags of `RowOptions`.
    fn has(row: &OptionRow) -> bool {
        row.group != "limits" && row.group != RowOptions::GROUP && !ELSEWHERE.contains(&row.name)
    }
}

impl FlagGroup for RowOptions {
    const HEADING: &str = "Filtering vertices and";
    const SIDE: &str = "input";
}

impl FlagGroup for WriteOptions {
    const HEADING: &str = "Writing";
    const SIDE: &str = "output";
}

/// The options given on the command line.
#[derive(Debug)]
pub struct GivenOptions<T> {
    given: Vec<(OptionRow, String)>,
    options: PhantomData<T>,
}

impl<T: FlagGroup> GivenOptions<T> {
    /// Sets the given options in `options`.
    ///
    /// # Errors
    /// If values contradict each other. Each single value was checked when it was parsed.
    pub fn apply<G: OptionGroup>(&self, options: &mut G) -> Result<()> {
        for (row, text) in &self.given {
            let failed = |error: polyhaul::options::SetError| Error::new(ErrorKind::Usage, error.to_string());
            options.set(&row.full_name(), text).map_err(failed)?;
        }
        Ok(())
    }

    /// Whether an option was given.
    pub fn is_given(&self, name: &str) -> bool {
        self.given.iter().any(|(row, _)| row.name == name)
    }

    /// Fails if a given option other than the shared options applies to none of the formats. If a format is unknown,
    /// any option may apply.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`], with the option and the formats to which it applies.
    pub fn check(&self, formats: &[Option<Format>]) -> Result<()> {
        self.check_some(formats, |row| !is_shared(row))
    }

    /// Like [`GivenOptions::check`], for options that affect both reading and writing, with the formats of both sides.
    ///
    /// # Errors
    /// As for [`GivenOptions::check`].
    pub fn check_shared(&self, formats: &[Option<Format>]) -> Result<()> {
        self.check_some(formats, is_shared)
    }

    fn check_some(&self, formats: &[Option<Format>], is_checked: fn(&OptionRow) -> bool) -> Result<()> {
        let Some(formats) = formats.iter().copied().collect::<Option<Vec<Format>>>() else { return Ok(()) };
        let Some(first) = formats.first() else { return Ok(()) };
        for (row, text) in self.given.iter().filter(|(row, _)| is_checked(row)) {
            let choice = row.kind.choices().iter().find(|choice| choice.name == text && !choice.format.is_empty());
            let only = choice.map(|choice| [choice.format]);
            let names = only.as_ref().map_or(row.formats, |only| only);
            if formats.iter().any(|format| format.is_among(names)) {
                continue;
            }
            let flag = match choice {
                Some(choice) => format!("{} {}", flag_name(row), choice.name),
                None => flag_name(row),
            };
            let side = T::SIDE;
            let message =
                format!("{flag} applies only to {} {side}, but the {side} format is {}", listed(names), first.name());
            let hint = match names.first() {
                Some(name) if side == "output" => format!("remove {flag}, or choose the format with --to {name}"),
                _ => format!("remove {flag}"),
            };
            return Err(Error::new(ErrorKind::Usage, message).with_hint(hint));
        }
        Ok(())
    }
}

impl<T: FlagGroup> FromArgMatches for GivenOptions<T> {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Self, clap::Error> {
        let mut given = Vec::new();
        for row in T::rows().into_iter().filter(T::has) {
            let text = match row.kind {
                OptionKind::Flag if !matches.get_flag(row.name) => continue,
                OptionKind::Flag => (!is_on(&row)).to_string(),
                _ => match matches.get_many::<String>(row.name) {
                    // Only filters can be given repeatedly; all of them must hold.
                    Some(texts) if texts.len() > 1 => {
                        texts.map(|text| format!("({text})")).collect::<Vec<_>>().join(" and ")
                    }
                    Some(texts) => texts.cloned().collect(),
                    None => continue,
                },
            };
            given.push((row, text));
        }
        Ok(GivenOptions { given, options: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> std::result::Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl<T: FlagGroup> Args for GivenOptions<T> {
    fn augment_args(command: Command) -> Command {
        // An option for both reading and writing becomes one flag.
        let is_new = |row: &&OptionRow| command.get_arguments().all(|arg| arg.get_id().as_str() != row.name);
        let named: Vec<OptionRow> = ReadOptions::rows().into_iter().chain(WriteOptions::rows()).collect();
        let rows = T::rows();
        let new_rows = rows.iter().filter(|row| T::has(row)).filter(is_new);
        let flags: Vec<Arg> = new_rows.map(|row| flag::<T>(row, &named)).collect();
        command.args(flags)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// Whether an option affects both reading and writing.
fn is_shared(row: &OptionRow) -> bool {
    let is_among = |rows: Vec<OptionRow>| rows.iter().any(|other| other.is(row.group, row.name));
    is_among(ReadOptions::rows()) && is_among(WriteOptions::rows())
}

/// Whether a flag is on by default.
fn is_on(row: &OptionRow) -> bool {
    row.default == "true"
}

/// The flag of an option, including the dashes.
pub fn flag_name(row: &OptionRow) -> String {
    format!("--{}", long_name(row, row.name))
}

fn long_name(row: &OptionRow, name: &str) -> String {
    let name = name.replace('_', "-");
    match name.strip_prefix("no-") {
        _ if !is_on(row) => name,
        Some(opposite) => opposite.into(),
        None => format!("no-{name}"),
    }
}

/// The flag of an option. `named` has the options that the help may mention.
fn flag<T: FlagGroup>(row: &OptionRow, named: &[OptionRow]) -> Arg {
    let name = row.name;
    let kind = row.kind;
    let help = with_flags(&help(row), named);
    let mut arg = Arg::new(name).long(long_name(row, name)).help_heading(heading::<T>(row));
    if let Some(more) = more_help(row) {
        arg = arg.long_help(format!("{help}\n\n{}", with_flags(&more, named)));
    }
    arg = arg.help(help);
    if !row.alias.is_empty() {
        arg = arg.alias(long_name(row, row.alias));
    }
    if kind == OptionKind::Flag {
        return arg.action(ArgAction::SetTrue);
    }
    // Filters accumulate; other options have a single value.
    let is_filter = matches!(kind.inner(), OptionKind::Special { name: "Filter", .. });
    arg.action(if is_filter { ArgAction::Append } else { ArgAction::Set })
        .value_name(value_name(kind))
        .allow_hyphen_values(true)
        .hide_possible_values(kind.choices().iter().all(|choice| choice.docs.is_empty()))
        .value_parser(OptionParser::<T> { name, kind, options: PhantomData })
}

/// Checks a value against the library's options and returns it as text.
#[derive(Clone)]
struct OptionParser<T> {
    name: &'static str,
    kind: OptionKind,
    options: PhantomData<T>,
}

impl<T: FlagGroup + Clone> TypedValueParser for OptionParser<T> {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> std::result::Result<String, clap::Error> {
        let name = self.name;
        let parse = move |text: &str| match T::default().set(name, text) {
            Ok(()) => Ok(text.to_owned()),
            Err(error) => Err(error.reason.unwrap_or_default()),
        };
        TypedValueParser::parse_ref(&parse, command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let choice = |choice: &'static OptionChoice| PossibleValue::new(choice.name).help(choice.summary());
        match *self.kind.inner() {
            OptionKind::Choice(choices) => {
                let mut values: Vec<PossibleValue> = choices.iter().map(choice).collect();
                match self.kind {
                    OptionKind::Optional(_, none @ "auto") => {
                        values.insert(0, PossibleValue::new(none).help("Depends on the input"));
                    }
                    OptionKind::Optional(_, none) => values.push(PossibleValue::new(none)),
                    _ => {}
                }
                Some(Box::new(values.into_iter()))
            }
            OptionKind::Special { words: words @ [_, ..], .. } => Some(Box::new(words.iter().map(PossibleValue::new))),
            _ => None,
        }
    }
}

/// The placeholder of a value in the usage.
fn value_name(kind: OptionKind) -> String {
    match kind {
        OptionKind::Flag => String::new(),
        OptionKind::Integer(..) => "N".into(),
        OptionKind::Positive => "FACTOR".into(),
        OptionKind::Text => "TEXT".into(),
        OptionKind::Choice(_) => "CHOICE".into(),
        OptionKind::Special { name, .. } => name.to_uppercase(),
        OptionKind::Optional(kind, _) => value_name(*kind),
    }
}

/// The heading of an option's group.
fn heading<T: FlagGroup>(row: &OptionRow) -> String {
    match row.group {
        "" => T::HEADING.into(),
        group => format!("{} {}", T::HEADING, group_title(group)),
    }
}

/// The name of a group in headings.
fn group_title(group: &str) -> &str {
    match group {
        "obj" => "OBJ",
        "ply" => "PLY",
        "stl" => "STL",
        "gltf" => "glTF",
        "image" => "images",
        "table" => "tables",
        "texture" => "textures",
        group => group,
    }
}

/// The short help: what the option does, the formats it applies to, and its default.
fn help(row: &OptionRow) -> String {
    let summary = row.summary();
    // The formats are omitted if the summary or the heading names them.
    let is_named = |format: &&str| summary.contains(shown(format)) || shown(format) == group_title(row.group);
    let has_formats = row.formats.len() <= MAX_LISTED && !row.formats.iter().all(is_named);
    let mut help = if is_on(row) { negated(&summary) } else { summary };
    if has_formats {
        help += &format!(" ({})", row.formats.iter().map(|name| shown(name)).collect::<Vec<_>>().join(", "));
    }
    if row.kind != OptionKind::Flag && !["none", ""].contains(&row.default.as_str()) {
        help += &format!(" [default: {}]", row.default);
    }
    help
}

/// Maximum number of formats to list in the help.
const MAX_LISTED: usize = 4;

/// Negates a summary: `Write normals` becomes `Do not write normals`.
fn negated(summary: &str) -> String {
    let mut letters = summary.chars();
    let first = letters.next().map(|letter| letter.to_ascii_lowercase());
    first.into_iter().fold("Do not ".to_owned(), |text, letter| format!("{text}{letter}")) + letters.as_str()
}

/// The long help: the documentation after the first sentence, and the syntax of special values.
fn more_help(row: &OptionRow) -> Option<String> {
    let mut more = row.details();
    if let OptionKind::Special { expected, .. } = row.kind.inner() {
        more += &format!("{}Value: {expected}.", if more.is_empty() { "" } else { " " });
    }
    (!more.is_empty()).then_some(more)
}

/// Replaces the names of options in code font with their flags: `` `digits` `` becomes `--digits`.
fn with_flags(text: &str, named: &[OptionRow]) -> String {
    let parts = text.split('`').enumerate().map(|(index, part)| {
        let row = named.iter().find(|row| row.name == part);
        // Every second part is in code font.
        match (index % 2, row) {
            (0, _) => part.to_owned(),
            (_, Some(row)) => flag_name(row),
            (_, None) => format!("`{part}`"),
        }
    });
    parts.collect()
}

/// Joins formats for a sentence: `OBJ, PLY or OFF`.
fn listed(names: &[&str]) -> String {
    let names: Vec<&str> = names.iter().map(|name| shown(name)).collect();
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

/// The usual spelling of a format.
fn shown(name: &str) -> &str {
    match name {
        "obj" => "OBJ",
        "ply" => "PLY",
        "stl" => "STL",
        "off" => "OFF",
        "glb" => "glTF",
        "spz" => "SPZ",
        "splat" => ".splat",
        "sog" => "SOG",
        "compressed_ply" => "compressed PLY",
        "tga" => "TGA",
        "png" => "PNG",
        "jpg" => "JPEG",
        "exr" => "EXR",
        "ktx2" => "KTX2",
        name => name,
    }
}

/// Parses a limit: `NAME=N`, where N may have a unit.
///
/// # Errors
/// Describes the expected value.
pub fn limit(text: &str) -> std::result::Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=N")?;
    let name = format!("{}.{}", Limits::GROUP, name.replace('-', "_"));
    let mut limits = Limits::default();
    match limits.set(&name, value) {
        Ok(()) if limits.get(&name).as_deref() == Some("0") => Err("expected more than 0".into()),
        Ok(()) => Ok((name, value.to_owned())),
        Err(error) => Err(error.reason.unwrap_or_else(|| format!("expected one of the limits {}", limit_names()))),
    }
}

/// Applies changes to the default limits. Their values were checked when they were parsed.
pub fn limits(changes: &[(String, String)]) -> Limits {
    let mut limits = Limits::default();
    for (name, text) in changes {
        let _ = limits.set(name, text);
    }
    limits
}

/// The help of `--limit`.
pub fn limit_help() -> String {
    format!("Change a limit: {}", limit_names())
}

fn limit_names() -> String {
    Limits::rows().iter().map(|row| row.name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::Parser;

    fn convert(words: &[&str]) -> std::result::Result<Box<crate::args::ConvertArgs>, clap::Error> {
        let words = ["polyhaul", "convert", "a.obj", "b.obj"].iter().chain(words);
        match Cli::try_parse_from(words)?.command {
            crate::args::Command::Convert(args) => Ok(args),
            _ => panic!("another subcommand"),
        }
    }

    #[test]
    fn every_option_has_a_flag_that_sets_it() {
        for row in WriteOptions::rows().iter().filter(|row| WriteOptions::has(row)) {
            let flag = flag_name(row);
            let word = match row.kind {
                OptionKind::Flag => flag,
                kind if !kind.choices().is_empty() => {
                    format!("{flag}={}", kind.choices().last().map_or("", |choice| choice.name))
                }
                OptionKind::Special { name: "Meshes", .. } => format!("{flag}=inline"),
                OptionKind::Special { name: "Origin", .. } => format!("{flag}=1,2,3"),
                _ if row.default == "4" => format!("{flag}=2"),
                _ => format!("{flag}=4"),
            };
            let args = convert(&[&word]).unwrap();
            let mut options = WriteOptions::default();
            args.style.write.apply(&mut options).unwrap();
            assert_ne!(options.get(&row.full_name()).as_ref(), Some(&row.default), "{word}");
        }
    }

    #[test]
    fn values_are_checked_by_the_table() {
        let message = |word: &str| convert(&[word]).unwrap_err().to_string();
        assert!(message("--quality=101").contains("expected 1 to 100"));
        assert!(message("--digits=13").contains("expected 0 to 12, or shortest"));
        assert!(message("--smoothing=x").contains("flags"));
    }

    #[test]
    fn limits_change_one_field() {
        let change = limit("line-bytes=1KiB").unwrap();
        assert_eq!(limits(&[change]), Limits::default().with_line_bytes(1024));
        assert!(limit("lines=1").unwrap_err().contains("line_bytes"));
        assert!(limit("elements=0").is_err() && limit("elements=0KB").is_err() && limit("elements").is_err());
    }
}
