//! Which image is read of a file that holds many.

use clap::Args;
use polyhaul::options::ImageReadOptions;

/// Which image is read of an EXR file.
#[derive(Debug, Args)]
#[command(next_help_heading = "Reading images (EXR)")]
pub struct LayerArgs {
    /// Read only the channels of this layer or view, such as `diffuse` [default: all channels of the part]
    #[arg(long, value_name = "NAME")]
    pub layer: Option<String>,
    /// Read this part, by name, number (from 0) or view [default: the first part with colors]
    #[arg(long, value_name = "PART")]
    pub part: Option<String>,
}

impl LayerArgs {
    /// In the library's form.
    pub fn options(&self) -> ImageReadOptions {
        ImageReadOptions::default().with_layer(self.layer.clone()).with_part(self.part.clone())
    }
}
