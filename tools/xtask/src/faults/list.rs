//! All planted faults: what each does, which rules it breaks, and the tests that must detect it.
//!
//! Faults with the same tests are adjacent, so that the tests are run once without a fault for all of them.

use super::rules::Rule::{self, I, P};

/// A fault, and the tests that must detect it.
#[derive(Clone, Copy)]
pub(super) struct Fault {
    /// Name that the code with the fault passes to `planted`.
    pub(super) name: &'static str,
    /// Description of what the program does wrong.
    pub(super) what: &'static str,
    pub(super) breaks: &'static [Rule],
    pub(super) tests: TestSet,
}

/// Some tests of a test binary.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct TestSet {
    pub(super) package: &'static str,
    /// The name of the test target; `lib` for unit tests.
    pub(super) binary: &'static str,
    /// Part of the names of the tests, or a file for pytest; empty for all tests.
    pub(super) filter: &'static str,
}

/// Unit tests of a package.
const fn unit(package: &'static str, filter: &'static str) -> TestSet {
    TestSet { package, binary: "lib", filter }
}

/// Tests in the target `all` of a package.
const fn all(package: &'static str, filter: &'static str) -> TestSet {
    TestSet { package, binary: "all", filter }
}

/// Tests of the promises of a format.
const fn promises(filter: &'static str) -> TestSet {
    TestSet { package: "polyhaul", binary: "promises", filter }
}

/// Tests of the Python package, in a file.
const fn pytest(filter: &'static str) -> TestSet {
    TestSet { package: "polyhaul-python", binary: "pytest", filter }
}

/// Tests in another target of a package.
const fn target(package: &'static str, binary: &'static str, filter: &'static str) -> TestSet {
    TestSet { package, binary, filter }
}

const fn fault(name: &'static str, what: &'static str, breaks: &'static [Rule], tests: TestSet) -> Fault {
    Fault { name, what, breaks, tests }
}

/// All faults.
#[rustfmt::skip]
pub(super) const FAULTS: &[Fault] = &[
    // Numbers and text.
    fault("fixed-rounding", "cuts numbers off instead of rounding them", &[I(7), P(17)], all("polyhaul-text", "format_fixed")),
    fault("parse-single", "parses unusual doubles in single precision", &[I(7), P(17)], all("polyhaul-text", "parse_")),
    fault("line-last", "does not count a last line end", &[P(28)], all("polyhaul-text", "scan")),
    fault("quotes-block", "forgets an open quote at the end of a block", &[I(2), P(13)], unit("polyhaul-text", "scan::quotes")),
    fault("rows-allocate", "allocates while it formats rows", &[I(6)], target("polyhaul-text", "rows_allocate_nothing", "")),
    // Arrays on disk.
    fault("spill-tail", "does not copy the last page of an array that moves", &[I(1)], target("polyhaul-spill", "arrays", "an_array_that_grows")),
    fault("spill-open", "keeps the file of a freed array", &[I(1)], target("polyhaul-spill", "arrays", "files_of_arrays")),
    // Traces.
    fault("trace-nested", "counts the time of nested spans twice", &[I(3)], unit("polyhaul-trace", "the_time_of_a_span")),
    fault("trace-failed", "counts failed calls as calls that moved bytes", &[I(5)], unit("polyhaul-trace", "a_failed_call")),
    // Object stores.
    fault("cloud-secret", "shows user information of URLs in errors", &[P(25)], unit("polyhaul-cloud", "secrets_are_scrubbed")),
    fault("cloud-offset", "returns bytes of an object from the wrong offset", &[P(17)], unit("polyhaul-cloud", "window")),
    // Files, compression, hosts.
    fault("rename-unsynced", "renames a durable file that was not synced", &[P(11)], all("polyhaul-bytes", "durable_syncs")),
    fault("temporary-left", "leaves the temporary file of a failed write", &[I(4), P(9)], all("polyhaul-bytes", "whatever_fails")),
    fault("write-torn", "takes a short write for a whole one", &[I(4), P(9)], all("polyhaul-bytes", "interrupted_and_short_writes")),
    fault("write-forgotten", "finishes a file after a failed write", &[I(4), P(9)], all("polyhaul-bytes", "nothing_can_be_finished")),
    fault("mode-lost", "does not keep the mode of a replaced file", &[P(12)], all("polyhaul-bytes", "the_mode_of_a_replaced_file")),
    fault("signal-left", "leaves temporary files when a signal ends the program", &[P(10)], target("polyhaul-bytes", "interrupted", "")),
    fault("leftover-stays", "does not remove files of killed runs", &[P(23)], unit("polyhaul-bytes", "leftovers")),
    fault("leftover-locked", "removes temporary files that are in use", &[I(4), P(23)], unit("polyhaul-bytes", "leftovers")),
    fault("gzip-checksum", "does not compare the checksum of gzip members", &[P(4)], all("polyhaul-bytes", "no_changed_byte")),
    fault("zip-checksum", "does not compare the checksum of zip members", &[P(4)], target("polyhaul-testkit", "reading", "hostile_archives")),
    fault("ratio-limit", "does not check the compression ratio", &[P(7), P(24)], all("polyhaul-bytes", "bombs_are_stopped")),
    fault("source-shrinks", "takes a file that shrinks for a whole one", &[P(15)], all("polyhaul-bytes", "a_file_that_shrinks")),
    fault("source-device", "opens devices and pipes that a scene refers to", &[P(14)], all("polyhaul-bytes", "only_regular_files")),
    fault("host-overrun", "accepts more bytes from a host than requested", &[P(18)], all("polyhaul-bytes", "broken_contracts")),
    fault("host-small", "passes small writes to a host", &[I(5), P(18)], all("polyhaul-bytes", "small_writes_reach_it")),
    // Warnings and errors.
    fault("warning-twice", "counts warnings twice by severity", &[I(3), P(21)], unit("polyhaul-model", "severities_follow")),
    fault("warning-dropped", "drops a kind of warnings when it joins two logs", &[I(3), P(21)], unit("polyhaul-model", "warnings::")),
    fault("strict-losses", "lets losses pass with --strict", &[I(3), P(21)], unit("polyhaul-model", "severities_follow")),
    fault("control-shown", "shows control characters in names", &[P(25)], unit("polyhaul-model", "error::")),
    fault("error-line", "names the line before the one with the error", &[P(28)], unit("polyhaul-model", "error::")),
    fault("memory-abort", "aborts if a list cannot grow", &[P(8)], target("polyhaul-testkit", "out_of_memory", "ply_of_text")),
    // Chunks.
    fault("failure-last", "reports a later error than the first one", &[I(2), P(13)], unit("polyhaul-pipeline", "the_error_of_the_lowest_chunk")),
    fault("memory-slots", "uses more chunks than the memory limit allows", &[I(1)], unit("polyhaul-pipeline", "memory_bounds_the_crew")),
    fault("chunk-end", "loses the last byte of a file", &[P(3)], unit("polyhaul-pipeline", "chunks_are_whole")),
    fault("line-limit", "accepts lines of one byte more than the limit", &[P(7)], unit("polyhaul-pipeline", "a_line_over_the_limit")),
    fault("line-endless", "reads a line to its end before it checks the limit", &[I(1), P(24)], unit("polyhaul-pipeline", "a_line_over_the_limit")),
    fault("offset-32-bits", "cuts offsets in streams to 32 bits", &[P(16)], target("polyhaul-testkit", "reading", "a_fault_behind_four")),
    // Geometry.
    fault("weld-normals", "joins vertices whose normals differ", &[P(21)], unit("polyhaul-geometry", "weld::")),
    fault("normals-flipped", "computes normals that point inward", &[P(17)], unit("polyhaul-geometry", "normals::")),
    fault("edge-manifold", "does not find edges of more than two faces", &[I(3)], unit("polyhaul-geometry", "surface::")),
    fault("axes-mirrored", "mirrors scenes that it turns", &[P(21)], unit("polyhaul-geometry", "transform::")),
    fault("ear-blocked", "triangulates across corners inside a triangle", &[P(21)], all("polyhaul", "ops::")),
    fault("origin-rounded", "rounds the origin that it takes out of coordinates", &[I(7), P(27)], all("polyhaul", "precise::")),
    // Scans.
    fault("filter-border", "drops rows on the border of a filter", &[P(21)], target("polyhaul-scan", "all", "filters_mean")),
    fault("every-more", "keeps fewer than every n-th row", &[P(21)], target("polyhaul-scan", "all", "parts_choose")),
    fault("rank-self", "numbers kept rows from the wrong place", &[P(28)], unit("polyhaul-scan", "set::")),
    // Pictures.
    fault("depth-inverted", "draws what is behind over what is in front", &[P(17)], unit("polyhaul-preview", "the_nearest_remains")),
    fault("edge-shared", "draws the edges of neighbors twice", &[P(13)], unit("polyhaul-preview", "neighbors_leave_no_gap")),
    fault("texture-holes", "draws holes of textures as surfaces", &[P(21)], unit("polyhaul-preview", "texture::")),
    // Verdicts and pages.
    fault("markup-raw", "does not escape names in pages", &[P(25)], unit("polyhaul-insight", "nothing_gets_out_of_markup")),
    fault("ceilings-cut", "trusts figures of a machine that are cut off", &[P(3)], unit("polyhaul-insight", "kept")),
    fault("verdict-throttled", "does not attribute throttling to reading and writing", &[I(3)], unit("polyhaul-insight", "verdict::")),
    // The facade.
    fault("outside-link", "follows a link out of the folder of the scene", &[P(14)], target("polyhaul-testkit", "reading", "libraries::")),
    fault("diff-column", "ignores the first column when it compares tables", &[I(3), P(21)], all("polyhaul-cli", "diff_compares")),
    fault("folder-link", "follows links to folders", &[P(14)], unit("polyhaul", "many::")),
    fault("files-order", "passes results on in the order in which they are done", &[I(2), P(13)], unit("polyhaul", "many::")),
    fault("link-stale", "does not adjust paths to the new folder", &[I(9), P(22)], all("polyhaul", "references::")),
    // Batches.
    fault("log-unlocked", "does not lock the log of a run", &[P(30)], unit("polyhaul-batch", "log::")),
    fault("log-removed", "writes rows to a log that was removed", &[P(30)], unit("polyhaul-batch", "log::")),
    fault("log-checksum", "accepts damaged lines of logs", &[P(30)], all("polyhaul-cli", "batch_logs::")),
    fault("merge-damage", "drops damaged lines when it merges logs", &[P(30)], all("polyhaul-cli", "batch_logs::")),
    fault("manifest-stale", "trusts an old manifest", &[P(30)], all("polyhaul-cli", "batch_logs::")),
    fault("clock-order", "lets clocks decide which attempt is the last", &[P(30)], all("polyhaul-cli", "batch_logs::")),
    fault("prune-changed", "removes outputs that were changed by hand", &[P(30)], all("polyhaul-cli", "outputs_without_a_source")),
    fault("blame-last", "blames the wrong task for a crash", &[P(30)], unit("polyhaul-batch", "pool::")),
    fault("summary-last", "counts the last row instead of the last attempt", &[P(30)], unit("polyhaul-batch", "summary::")),
    // Watched programs.
    fault("watch-reused", "counts calls for the file that a descriptor stood for before", &[P(31)], unit("polyhaul-watch", "files::")),
    fault("watch-open", "does not stop at all calls of its table", &[P(31)], unit("polyhaul-watch", "filter::")),
    fault("watch-waits", "takes every call for a wait", &[P(31)], unit("polyhaul-watch", "files::")),
    fault("record-own", "loses the calls that a thread had not yet added to the common counts", &[P(31)], target("polyhaul-watch", "record", "calls_before_a_crash")),
    fault("record-effect", "records no reads", &[P(31)], target("polyhaul-watch", "record", "calls_of_many_threads")),
    fault("cure-share", "answers reads from memory though another descriptor has the position", &[P(31)], target("polyhaul-watch", "cure", "reads_are_answered")),
    fault("cure-memory", "writes to memory that is not writable any more", &[P(31)], target("polyhaul-watch", "cure", "reads_are_answered")),
    fault("watch-rate", "throttles reads to a higher rate than requested", &[P(31)], target("polyhaul-watch", "slowed", "reads_take_their_time")),
    fault("watch-mapped", "fills mapped files from their start", &[P(31)], target("polyhaul-watch", "slowed", "mapped_files_have")),
    fault("watch-code", "loses the exit code of the program", &[P(31)], all("polyhaul-cli", "codes_and_signals_pass")),
    fault("watch-signal", "loses the signal that ended the program", &[P(31)], all("polyhaul-cli", "codes_and_signals_pass")),
    // The command.
    fault("exit-lost", "exits with 0 after an error", &[P(9)], all("polyhaul-cli", "a_failed_conversion")),
    fault("exit-partly", "does not distinguish some failures from all", &[I(3)], all("polyhaul-cli", "some_of_many")),
    fault("allow-ignored", "ignores --allow", &[I(3)], all("polyhaul-cli", "strict_reading")),
    fault("signal-code", "exits with 1 after a signal", &[P(10)], all("polyhaul-cli", "a_signal_ends")),
    fault("output-lost", "exits with 0 if standard output fails", &[P(9)], all("polyhaul-cli", "a_full_disk_is_an_error")),
    // C and WebAssembly.
    fault("c-panic", "lets panics pass the border", &[P(20)], unit("polyhaul-capi", "a_panic_is_an_error")),
    fault("c-size", "accepts structs that are too small", &[P(20)], unit("polyhaul-capi", "raw")),
    fault("part-base", "shifts the indices of a part of a file", &[P(13)], unit("polyhaul-wasm", "part::")),
    // Python.
    fault("python-exception", "replaces exceptions of callbacks with its own", &[P(19)], pytest("tests/test_callbacks.py")),
    // Formats.
    fault("image-pixels", "accepts one pixel more than the limit", &[P(7)], all("polyhaul", "images::")),
    fault("image-upward", "does not turn images whose first row is at the bottom", &[P(17)], all("polyhaul", "images::")),
    fault("tga-pages", "writes pages of an image twice", &[P(21)], all("polyhaul", "images::")),
    fault("ply-index", "accepts an index past the end", &[P(1)], all("polyhaul", "ply::")),
    fault("ply-lines", "counts too few lines", &[P(28)], all("polyhaul", "ply::")),
    fault("ply-pages", "loses a row between two pages", &[P(21)], all("polyhaul", "ply_write::")),
    fault("split-normals", "joins vertices whose normals differ for PLY", &[P(21)], all("polyhaul", "ply_write::")),
    fault("stl-machine", "forgets the state between two chunks", &[I(2), P(13)], all("polyhaul", "stl::")),
    fault("stl-truncated", "accepts files that are cut off", &[P(3)], all("polyhaul", "stl::")),
    fault("pbrt-import", "imports a file into the wrong state", &[P(21)], all("polyhaul", "pbrt::")),
    fault("pbrt-instances", "joins instances of different shapes", &[P(21)], all("polyhaul", "pbrt::")),
    fault("pbrt-lines", "counts too few lines", &[P(28)], all("polyhaul", "pbrt::")),
    fault("pbrt-pages", "loses an entity between two pages", &[P(21)], all("polyhaul", "pbrt_write::")),
    fault("severity-cell", "has a wrong severity in the table", &[I(3), P(21)], all("polyhaul", "losses::")),
    fault("severity-target", "ignores the target of a severity", &[I(3), P(21)], all("polyhaul", "losses::")),
    fault("names-collide", "searches all names for each name", &[P(6)], promises("growth::obj")),
    fault("image-claimed", "reserves memory for pixels that a file only declares", &[P(5)], promises("memory::tga")),
    fault("bmp-palette", "accepts colors past the palette", &[P(1), P(4)], promises("::bmp")),
    fault("csv-columns", "accepts rows that are too long", &[P(3)], promises("::csv")),
    fault("csv-columns", "accepts rows that are too long", &[P(3)], promises("::tsv")),
    fault("csv-columns", "accepts rows that are too long", &[P(3)], promises("::txt")),
    fault("csv-columns", "accepts rows that are too long", &[P(3)], promises("::xyz")),
    fault("dds-pixels", "does not check how many bytes are left", &[P(3)], promises("::dds")),
    fault("exr-twice", "accepts a row twice", &[P(4)], promises("::exr")),
    fault("glb-index", "accepts an index past the end", &[P(1)], promises("::glb")),
    fault("glb-index", "accepts an index past the end", &[P(2)], target("polyhaul-testkit", "reading", "fuzzing::gltf")),
    fault("hdr-run", "accepts a run past the end of a row", &[P(1), P(4)], promises("::hdr")),
    fault("jpg-end", "takes the end of a file for the end of the image", &[P(3)], promises("::jpg")),
    fault("ktx2-size", "accepts levels of the wrong size", &[P(4)], promises("::ktx2")),
    fault("npy-size", "accepts files that are cut off", &[P(3)], promises("::npy")),
    fault("chunk-crlf", "starts a chunk between CR and LF", &[I(2), P(13)], promises("::obj")),
    fault("obj-index", "accepts an index past the end", &[P(1)], promises("::obj")),
    fault("off-index", "accepts an index past the end", &[P(1)], promises("::off")),
    fault("pbrt-numbers", "accepts what is not a number", &[P(4)], promises("::pbrt")),
    fault("ply-index", "accepts an index past the end", &[P(1)], promises("::ply")),
    fault("ply-rows", "accepts more rows than a file has", &[P(3), P(5)], promises("::ply")),
    fault("png-palette", "accepts colors past the palette", &[P(4)], promises("::png")),
    fault("psd-run", "accepts a run past the end of a row", &[P(1), P(4)], promises("::psd")),
    fault("pts-count", "accepts fewer points than declared", &[P(3)], promises("::pts")),
    fault("sog-pixels", "accepts images that are too small", &[P(3)], promises("::sog")),
    fault("splat-cut", "accepts files that are cut off", &[P(3)], promises("::splat")),
    fault("spz-cut", "accepts files that are cut off", &[P(3)], promises("::spz")),
    fault("stl-truncated", "accepts files that are cut off", &[P(3)], promises("::stl")),
    fault("tga-map", "takes the first color for those past the palette", &[P(4)], promises("::tga")),
    fault("obj-skipped", "keeps the values of skipped statements", &[P(28)], target("polyhaul-testkit", "reading", "repair::")),
    fault("gltf-instances", "does not limit instances without data", &[P(24), P(29)], target("polyhaul-gltf", "hostile", "")),
    fault("gltf-decoded", "does not limit what compressed views become", &[P(7), P(24)], target("polyhaul-gltf", "hostile", "")),
];
