//! What cores were at: the samples of `perf`, and which of polyhaul's work a function is.

/// What a thread on a core was at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Work {
    Read,
    Write,
    Parse,
    Build,
    Format,
    Decompress,
    Compress,
    Decode,
    Transform,
    Host,
    /// The program's own start and end.
    Frame,
    Other,
}

/// One sample: of which thread, when, and at what.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sample {
    pub(super) thread: u32,
    pub(super) seconds: f64,
    pub(super) work: Work,
    /// Whether it was in a fault for memory.
    pub(super) is_fault: bool,
}

/// Parts of names, the first that fits: of a sample's functions, the innermost that fits any. Loops over numbers are
/// parsing or formatting, whoever calls; so memory that they touch first is theirs too.
const NAMES: &[(&str, Work)] = &[
    ("do_exit", Work::Frame),
    ("sys_exit", Work::Frame),
    ("exit_mmap", Work::Frame),
    ("execve", Work::Frame),
    ("_dl_", Work::Frame),
    ("vfs_read", Work::Read),
    ("sys_read", Work::Read),
    ("sys_pread", Work::Read),
    ("vfs_write", Work::Write),
    ("sys_write", Work::Write),
    ("sys_pwrite", Work::Write),
    ("fsync", Work::Write),
    ("fdatasync", Work::Write),
    ("sys_rename", Work::Write),
    ("bench_jobs", Work::Host),
    ("fdeflate", Work::Decode),
    ("formats::png", Work::Decode),
    ("png::", Work::Decode),
    ("inflate", Work::Decompress),
    ("decompress", Work::Decompress),
    ("deflate", Work::Compress),
    ("matchfinder", Work::Compress),
    ("compress", Work::Compress),
    ("polyhaul_text::parse", Work::Parse),
    ("polyhaul_text::scan", Work::Parse),
    ("polyhaul_text::format", Work::Format),
    ("::writer", Work::Format),
    ("::publish", Work::Build),
    ("::scatter", Work::Build),
    ("Column", Work::Build),
    ("::parse", Work::Parse),
    ("::statement", Work::Parse),
    ("::lexer", Work::Parse),
    ("::inspect", Work::Transform),
    ("::bounds", Work::Transform),
    ("polyhaul::ops", Work::Transform),
];

/// Which work functions are, the innermost first.
fn work<'a>(functions: impl Iterator<Item = &'a str>) -> Work {
    let of = |name: &str| NAMES.iter().find(|(part, _)| name.contains(part)).map(|&(_, work)| work);
    functions.filter_map(of).next().unwrap_or(Work::Other)
}

/// The samples in what `perf script -F tid,time,ip,sym` prints: a line with thread and time, then a function a line,
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
        let first = Sample { thread: 77, seconds: 12.5, work: Work::Build, is_fault: true };
        assert_eq!(parse(text), [first, Sample { thread: 78, seconds: 12.501, work: Work::Read, is_fault: false }]);
        assert_eq!(parse(""), []);
    }

    #[test]
    fn the_innermost_name_counts() {
        let of = |names: &[&str]| work(names.iter().copied());
        assert_eq!(of(&["memmove", "polyhaul_text::parse::rows", "polyhaul::formats::obj::writer"]), Work::Parse);
        assert_eq!(of(&["polyhaul_bytes::compress::inflate::fast"]), Work::Decompress);
        assert_eq!(of(&["deflate_compress_near_optimal"]), Work::Compress);
        assert_eq!(of(&["memmove"]), Work::Other);
    }
}
