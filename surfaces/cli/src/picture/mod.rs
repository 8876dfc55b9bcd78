//! Charts as files: SVG unchanged, or drawn as PNG in builds with the feature `png-charts`.
//!
//! The content of a chart is the library's, `polyhaul::report`; `records` decides when one is written.

#[cfg(feature = "png-charts")]
mod png;

use crate::file;
use polyhaul::Result;
use std::path::Path;

/// The endings of files that a chart can be written to.
pub const ENDINGS: &[&str] = &["svg", "png"];

/// The remedy, if this build cannot write a chart with this name.
pub fn missing_feature(path: &Path) -> Option<&'static str> {
    let message = "this command was built without the feature `png-charts`; write an .svg, or install the command with \
                   `--features png-charts`";
    (is_png(path) && !cfg!(feature = "png-charts")).then_some(message)
}

/// Writes a chart: as PNG, with two pixels per unit, if the name ends in `.png`, otherwise unchanged.
///
/// The file is replaced as a whole or not at all. Only for the program's own SVG.
///
/// # Errors
/// The file cannot be written. For PNG: the chart is not an SVG of ours, or too large.
pub fn write(svg: &str, path: &Path) -> Result<()> {
    #[cfg(feature = "png-charts")]
    if is_png(path) {
        return polyhaul::Writer::new(path).image(&png::drawn(svg)?).map(drop);
    }
    file::write(path, svg.as_bytes())
}

fn is_png(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("png"))
}
