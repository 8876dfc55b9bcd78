//! The options of subcommands that accept folders and several files.

use clap::Args;
use polyhaul::Result;
use polyhaul::many::FindOptions;

/// Selection of files in folders.
#[derive(Debug, Args)]
#[command(next_help_heading = "Folders")]
pub struct FindArgs {
    /// Search the subfolders of input folders too
    #[arg(long)]
    pub recursive: bool,
    /// In input folders, process the files that match this pattern, such as '*.obj', regardless of format; can be
    /// repeated [default: all files with the extension of a format]
    ///
    /// `*` matches any characters except slashes, `**/` matches any folders; case is ignored. A pattern with a slash
    /// is matched against the path relative to the folder, other patterns against the file name.
    #[arg(long, value_name = "PATTERN")]
    pub include: Vec<String>,
}

impl FindArgs {
    /// The library's options.
    pub fn options(&self) -> Result<FindOptions> {
        FindOptions::default().with_recursive(self.recursive).with_include(self.include.iter().map(String::as_str))
    }
}

/// Options for converting several files into a folder.
#[derive(Debug, Args)]
#[command(next_help_heading = "Folders")]
pub struct ManyArgs {
    /// Selection of files in folders.
    #[command(flatten)]
    pub find: FindArgs,
    /// List what would be converted, without writing anything
    #[arg(long)]
    pub dry_run: bool,
    /// Skip inputs whose output exists
    #[arg(long)]
    pub no_clobber: bool,
    /// Skip inputs that are not newer than their output
    #[arg(long, conflicts_with = "no_clobber")]
    pub newer: bool,
}
