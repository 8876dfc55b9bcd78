//! Whether verdicts are right: jobs designed for one cause each, polyhaul's verdict, and independent observations of
//! the same run.
//!
//! [`jobs`] has the jobs, [`watch`] runs one and observes it, and [`cause`] determines by separate rules what held it
//! back. Only the verdict comes from polyhaul: cores are sampled by `perf` ([`samples`]), calls are those that the
//! system reports for each thread ([`threads`]) and that `strace` counts, bytes are those of the disk.

mod cause;
mod jobs;
mod samples;
mod threads;
mod watch;

use super::build::Tools;
use crate::{root, term};
use jobs::Task;
use serde::ser::{Serialize, SerializeStruct, Serializer};
use std::path::Path;
use std::process::Command;

/// The result of a job.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    /// What it does.
    pub(super) title: String,
    /// The cause it is designed for.
    pub(super) made: String,
    /// The verdict, and its share.
    pub(super) said: String,
    pub(super) share: f64,
    /// The observed causes with their shares, the largest first. Empty if observation was not possible.
    pub(super) seen: Vec<(&'static str, f64)>,
    /// The evidence in words.
    pub(super) evidence: String,
}

impl Row {
    /// Whether the verdict matches the observation; `None` without one.
    pub(super) fn agrees(&self) -> Option<bool> {
        self.seen.first().map(|(cause, _)| *cause == self.said)
    }

    /// The observed cause, for a table.
    pub(super) fn cause(&self) -> String {
        self.seen.first().map_or("not looked at".into(), |(cause, share)| format!("{cause}, {}", percent(*share)))
    }
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let cause = |(cause, share): &(&str, f64)| serde_json::json!({ "cause": cause, "share": share });
        let mut fields = serializer.serialize_struct("Row", 7)?;
        fields.serialize_field("job", &self.title)?;
        fields.serialize_field("made_to_be_bound_by", &self.made)?;
        fields.serialize_field("verdict", &self.said)?;
        fields.serialize_field("share", &self.share)?;
        fields.serialize_field("seen", &self.seen.iter().map(cause).collect::<Vec<_>>())?;
        fields.serialize_field("evidence", &self.evidence)?;
        fields.serialize_field("agrees", &self.agrees())?;
        fields.end()
    }
}

/// `62 %`.
pub(super) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// Makes the files, and does and watches every job.
pub(super) fn run(tools: &Tools, data: &Path, megabytes: u64) -> Result<Vec<Row>, String> {
    let folder = data.join("verdicts");
    jobs::make(tools, &folder, megabytes)?;
    let eyes = watch::Eyes::of_this_machine(&folder);
    let _first = First::over(tools);
    let one = |task: Task| {
        let title = &task.job.title;
        term::out(format!("verdicts: {title}\n"));
        let row = watch::row(&task, &eyes, &tools.prefix).map_err(|why| format!("{title}: {why}"))?;
        let agrees = row.agrees().map_or("-", |agrees| if agrees { "as seen" } else { "SEEN OTHERWISE" });
        term::out(format!("  {} {}; {}: {agrees}\n  {}\n", row.said, percent(row.share), row.cause(), row.evidence));
        Ok(row)
    };
    jobs::all(tools, &folder)?.into_iter().map(one).collect()
}

/// The observer has priority over the jobs while this lives: they could leave it no core.
struct First(bool);

impl First {
    fn over(tools: &Tools) -> First {
        let is_first = !tools.prefix.is_empty() && change_class(&["--reset-on-fork", "--fifo", "--pid", "6"]);
        First(is_first)
    }
}

impl Drop for First {
    fn drop(&mut self) {
        if self.0 {
            change_class(&["--other", "--pid", "0"]);
        }
    }
}

/// Calls `chrt` for this process.
fn change_class(words: &[&str]) -> bool {
    root::succeeds(Command::new("chrt").args(words).arg(std::process::id().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_agrees_with_the_largest_cause() {
        let mut row = Row { said: "parse".into(), ..Row::default() };
        assert_eq!((row.agrees(), row.cause().as_str()), (None, "not looked at"));
        row.seen = vec![("parse", 0.625), ("build", 0.2)];
        assert_eq!((row.agrees(), row.cause().as_str()), (Some(true), "parse, 62 %"));
        row.said = "build".into();
        assert_eq!(row.agrees(), Some(false));
        assert_eq!(serde_json::to_value(&row).unwrap()["agrees"], false);
    }
}
