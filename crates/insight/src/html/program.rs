//! Generates the report of a watched program, with the parts of a job's report.
//!
//! The verdict, figures and tables are given as text; nothing here judges. See `surfaces/cli/src/watch`.

use super::{Heading, HtmlJob, charts, filled, flames, page, tables};
use crate::ceilings::Ceilings;
use crate::words::escaped;
use polyhaul_trace::Recording;
use std::fmt::Write;

/// Content of the report of a watched program. All text may come from the program.
#[derive(Clone, Debug, Default)]
pub struct ProgramPage {
    /// Threads with their spans, and samples.
    pub recording: Recording,
    /// Heading.
    pub heading: Heading,
    /// What limited the program.
    pub verdict: String,
    /// Figures with their names, such as `("1.20 s", "elapsed")`.
    pub figures: Vec<(String, String)>,
    /// What the report does not include.
    pub notes: Vec<String>,
    /// Time on cores by stack: functions, outermost first, and nanoseconds.
    pub stacks: Vec<(Vec<String>, u64)>,
    /// Tables. Those without rows are left out.
    pub tables: Vec<ProgramTable>,
    /// Maximum rates of the machine.
    pub ceilings: Option<Ceilings>,
}

/// A table of a report.
#[derive(Clone, Debug, Default)]
pub struct ProgramTable {
    /// Title.
    pub title: String,
    /// Names of the columns.
    pub columns: Vec<&'static str>,
    /// Rows. The first cell is a name, which may be broken between any characters.
    pub rows: Vec<Vec<String>>,
    /// What to know about the figures.
    pub note: String,
}

impl ProgramPage {
    /// Generates the page: a self-contained HTML file, as [`html`](super::html) does for jobs.
    ///
    /// ```
    /// use polyhaul_insight::{Heading, ProgramPage};
    ///
    /// let heading = Heading { command: "cp a b".into(), ..Heading::default() };
    /// let page = ProgramPage { heading, verdict: "no single cause stands out".into(), ..ProgramPage::default() };
    /// assert!(page.html().contains("no single cause stands out"));
    /// ```
    pub fn html(&self) -> String {
        let job = HtmlJob::new(&self.recording, &self.heading, None, self.ceilings.as_ref());
        let main = filled(include_str!("program.html"), |name| match name {
            "verdict" => escaped(&self.verdict),
            "figures" => self.figures(),
            "notes" => self.notes.iter().map(|note| paragraph("note", note)).collect(),
            "charts" => charts(&job),
            "merged" => tables::notes(&job),
            "flames" => self.flames(),
            "tables" => self.tables.iter().filter(|table| !table.rows.is_empty()).map(ProgramTable::html).collect(),
            "ceilings" => tables::ceilings(&job),
            _ => String::new(),
        });
        page(&job, &main)
    }

    fn figures(&self) -> String {
        self.figures.iter().fold(String::new(), |mut html, (value, name)| {
            tables::figure(&mut html, &escaped(value), &escaped(name));
            html
        })
    }

    fn flames(&self) -> String {
        let flames = flames::flames(&self.stacks);
        if flames.is_empty() {
            return String::new();
        }
        format!(
            "<section aria-labelledby=flames><h2 id=flames>Time on cores by function</h2>{flames}\
             <p class=soft>Each box is a function, below the one that calls it, and as wide as the time that it and the \
             functions below it take. Hover over a box for its full name and time.</p></section>"
        )
    }
}

impl ProgramTable {
    fn html(&self) -> String {
        let columns: String = self.columns.iter().map(|name| format!("<th scope=col>{name}")).collect();
        let title = escaped(&self.title);
        let mut html = format!("<h3>{title}</h3><table class=files><thead><tr>{columns}</tr></thead><tbody>");
        for row in &self.rows {
            html.push_str("<tr>");
            for (index, cell) in row.iter().enumerate() {
                let cell = escaped(cell);
                let _ = match index {
                    0 => write!(html, "<th scope=row><span class=name>{cell}</span></th>"),
                    _ => {
                        let column = self.columns.get(index).unwrap_or(&"").to_lowercase();
                        write!(html, "<td data-is=\"{column}\">{cell}</td>")
                    }
                };
            }
            html.push_str("</tr>");
        }
        html + "</tbody></table>" + &paragraph("soft", &self.note)
    }
}

/// A paragraph; nothing if the text is empty.
fn paragraph(class: &str, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("<p class={class}>{}</p>", escaped(text)) }
}
