//! What cores did: the samples of `perf`, and the work that a function belongs to.

/// The work of a thread on a core, named like causes; [`FRAME`] and [`OTHER`] are none.
pub(super) type Work = &'static str;

/// The program's own start and end.
pub(super) const FRAME: Work = "frame";
pub(super) const OTHER: Work = "other";

/// One sample: thread, time, and work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sample {
    pub(super) thread: u32,
    pub(super) seconds: f64,
    pub(super) work: Work,
    /// Whether it was in a fault for memory.
    pub(super) is_fault: bool,
}

/// Parts of names, the first match counts: among a sample's functions, the innermost that matches any. Loops over
/// numbers are parsing or formatting, whatever calls them, including memory that they touch first.
const NAMES: &[(Work, &[&str])] = &[
    (FRAME, &["do_exit", "sys_exit", "exit_mmap", "execve", "_dl_"]),
    ("read", &["vfs_read", "sys_read", "sys_pread"]),
    ("write", &["vfs_write", "sys_write", "sys_pwrite", "fsync", "fdatasync", "sys_rename"]),
    ("host", &["bench_jobs"]),
    ("decode", &["fdeflate", "formats::png", "png::"]),
    ("decompress", &["inflate", "decompress"]),
    ("compress", &["deflate", "matchfinder", "compress"]),
    ("parse", &["polyhaul_text::parse", "polyhaul_text::scan"]),
    ("format", &["polyhaul_text::format", "::writer"]),
    ("build", &["::publish", "::scatter", "Column"]),
    ("parse", &["::parse", "::statement", "::lexer"]),
    ("transform", &["::inspect", "::bounds", "polyhaul::ops"]),
];

/// Which work functions are, the innermost first.
fn work<'a>(functions: impl Iterator<Item = &'a str>) -> Work {
    let of = |name: &str| {
        NAMES.iter().find(|(_, parts)| parts.iter().any(|part| name.contains(part))).map(|(work, _)| *work)
    };
    functions.filter_map(of).next().unwrap_or(OTHER)
}

/// The samples in the output of `perf script -F tid,time,ip,sym`: a line with thread and time, then a function a line,
/// the innermost first, then an empty line.
pub(super) fn parse(text: &str) -> Vec<Sample> {
    text.split("\n\n").filter_map(sample).collect()
}

fn sample(paragraph: &str) -> Option<Sample> {
    let mut lines = paragraph.trim_matches('\n').lines();
    let mut head = lines.next()?.split_whitespace();
    let thread = head.next()?.parse().ok()?;
    let seconds = head.next()?.trim_end_matches(':').parse().ok()?;
    let functions: Vec<&str> = lines.filter_map(|line| line.split_whitespace().nth(1)).collect();
    let is_fault = functions.iter().any(|name| name.contains("page_fault"));
    Some(Sample { thread, seconds, work: work(functions.into_iter()), is_fault })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_read_and_named() {
        let text = " 77 12.500000: \n\tffff81 clear_page_erms\n\tffff82 asm_exc_page_fault\n\t   5d5 polyhaul::pipeline::column::Column<T>::write\n\n \
                    78 12.501000: \n\tffff81 _copy_to_iter\n\tffff82 vfs_read\n\n";
        let first = Sample { thread: 77, seconds: 12.5, work: "build", is_fault: true };
        assert_eq!(parse(text), [first, Sample { thread: 78, seconds: 12.501, work: "read", is_fault: false }]);
        assert_eq!(parse(""), []);
    }

    #[test]
    fn the_innermost_name_counts() {
        let of = |names: &[&str]| work(names.iter().copied());
        assert_eq!(of(&["memmove", "polyhaul_text::parse::rows", "polyhaul::formats::obj::writer"]), "parse");
        assert_eq!(of(&["polyhaul_bytes::compress::inflate::fast"]), "decompress");
        assert_eq!(of(&["deflate_compress_near_optimal"]), "compress");
        assert_eq!(of(&["memmove"]), OTHER);
    }
}
