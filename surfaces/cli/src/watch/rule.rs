//! Rules: remedies that `polyhaul watch --fix --save` found, kept for `polyhaul run`.
//!
//! A rule is a TOML file that people may edit, such as to put `*` in place of the names of files. It fits only the
//! build of the program that it was made for.

use polyhaul::{Error, ErrorKind, Result};
use polyhaul_watch::preload::reach;
use serde::Deserialize;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The version of rules.
const VERSION: u32 = 1;

/// A remedy for a program.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemedyRule {
    version: u32,
    /// Path of the program, for people.
    program: String,
    /// Build ID of the program's file, or of its interpreter; empty if it has none.
    build_id: String,
    /// Paths of the files whose small reads are answered from memory; `*` stands for any characters.
    #[serde(default)]
    pub files: Vec<String>,
    /// An allocator to preload.
    pub allocator: Option<PathBuf>,
    /// Measured seconds without and with the remedy.
    seconds_before: f64,
    seconds_after: f64,
}

impl RemedyRule {
    /// A rule for a program.
    pub fn new(program: &OsStr, files: Vec<String>, allocator: Option<PathBuf>, seconds: [f64; 2]) -> RemedyRule {
        let build_id = reach::build_id(program).unwrap_or_default();
        let [seconds_before, seconds_after] = seconds;
        let program = program.to_string_lossy().into_owned();
        RemedyRule { version: VERSION, program, build_id, files, allocator, seconds_before, seconds_after }
    }

    /// Reads a rule.
    pub fn read(path: &Path) -> Result<RemedyRule> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| Error::new(ErrorKind::Io, format!("cannot read {}: {error}", path.display())))?;
        let rule: RemedyRule = toml::from_str(&text).map_err(|error| {
            let line = error.span().map_or(0, |span| text[..span.start.min(text.len())].matches('\n').count());
            let message = format!("{}:{}: {}", path.display(), line + 1, error.message());
            Error::new(ErrorKind::Usage, message).with_hint("write it again with `polyhaul watch --fix --save`")
        })?;
        if rule.version != VERSION {
            let message = format!("{}: unknown version {}", path.display(), rule.version);
            return Err(Error::new(ErrorKind::Usage, message));
        }
        Ok(rule)
    }

    /// The rule as TOML.
    pub fn text(&self) -> String {
        // The strings of JSON are strings of TOML, too.
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let files: Vec<_> = self.files.iter().map(|file| quoted(file)).collect();
        let allocator = self.allocator.as_ref();
        let allocator =
            allocator.map_or_else(String::new, |path| format!("allocator = {}\n", quoted(&path.to_string_lossy())));
        format!(
            "# A remedy that `polyhaul watch --fix` measured, for `polyhaul run --rule`. `*` in files stands for any \
             characters.\nversion = {}\nprogram = {}\nbuild_id = {}\nfiles = [{}]\n{allocator}seconds_before = {:.6}\n\
             seconds_after = {:.6}\n",
            self.version,
            quoted(&self.program),
            quoted(&self.build_id),
            files.join(", "),
            self.seconds_before,
            self.seconds_after,
        )
    }

    /// Why the rule does not fit a program; `None` if it does.
    pub fn misfit(&self, program: &OsStr) -> Option<String> {
        let build_id = reach::build_id(program).unwrap_or_default();
        let missing = self.allocator.as_ref().filter(|path| !path.exists());
        match missing {
            _ if build_id != self.build_id => Some(format!("it was made for another build of {}", self.program)),
            Some(path) => Some(format!("{} is missing", path.display())),
            None if reach::check(program).is_err() => Some("the program cannot be recorded".into()),
            None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_as_they_were_written() {
        let allocator = Some(PathBuf::from("/usr/lib/lib\"a\".so"));
        let rule = RemedyRule::new("sh".as_ref(), vec!["/a b/*.tga".into(), "/ü".into()], allocator, [0.5, 0.125]);
        let path = std::env::temp_dir().join(format!("polyhaul-rule-{}.toml", std::process::id()));
        std::fs::write(&path, rule.text()).unwrap();
        assert_eq!(RemedyRule::read(&path).unwrap(), rule);
        std::fs::write(&path, "version = 1\nprogram = 3\n").unwrap();
        let error = RemedyRule::read(&path).unwrap_err().to_string();
        assert!(error.contains(".toml:2: "), "{error}");
        std::fs::write(&path, rule.text().replace("version = 1", "version = 2")).unwrap();
        assert!(RemedyRule::read(&path).unwrap_err().to_string().contains("unknown version 2"));
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn rules_fit_one_build() {
        let rule = RemedyRule::new("sh".as_ref(), Vec::new(), None, [1.0, 0.5]);
        assert!(rule.misfit("sh".as_ref()).is_none_or(|reason| reason.contains("recorded")));
        let other = RemedyRule { build_id: "00".into(), ..rule.clone() };
        assert_eq!(other.misfit("sh".as_ref()).unwrap(), "it was made for another build of sh");
        let missing = RemedyRule { allocator: Some("/no/such.so".into()), ..rule };
        assert_eq!(missing.misfit("sh".as_ref()).unwrap(), "/no/such.so is missing");
    }
}
