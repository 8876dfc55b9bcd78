//! Writes charts to files: SVG unchanged, or drawn as PNG in builds with the `png-charts` feature.
//!
//! `polyhaul::report` makes the charts; `records` and `sweep` decide when to write a chart.

#[cfg(feature = "png-charts")]
mod png;

use crate::file;
use polyhaul::Result;
use std::path::Path;

/// The extensions of chart files.
pub const ENDINGS: &[&str] = &["svg", "png"];

/// The message to show if this build cannot write a chart with this name.
pub fn missing_feature(path: &Path) -> Option<&'static str> {
    let message = "this command was built without the feature `png-charts`; write an .svg, or install the command with \
                   `--features png-charts`";
    (is_png(path) && !cfg!(feature = "png-charts")).then_some(message)
}

/// Writes a chart atomically: as PNG if the name ends in `.png`, otherwise as SVG.
///
/// The PNG has two pixels per SVG unit. Supports only the SVG that this program generates.
///
/// # Errors
/// If the file cannot be written or, for PNG, if the SVG cannot be drawn.
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
