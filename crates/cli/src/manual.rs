//! `polyhaul completions SHELL` and `polyhaul man [DIR]`: made from the declarations in `args`.

use crate::args::{Cli, CompletionsArgs, ManArgs};
use crate::{DONE, FAILED, console};
use clap::CommandFactory;

/// Prints the completion script of a shell.
pub fn completions(args: &CompletionsArgs) -> u8 {
    // Into memory first: the generator does not expect standard output to fail.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "polyhaul", &mut script);
    if console::bytes(&script) { DONE } else { FAILED }
}

/// Prints the manual page, or writes one per subcommand to a folder.
pub fn pages(args: &ManArgs) -> u8 {
    let done = match &args.folder {
        Some(folder) => std::fs::create_dir_all(folder)
            .and_then(|()| clap_mangen::generate_to(Cli::command(), folder))
            .map_err(|error| console::note(&format!("error: {}: {error}\n", folder.display())))
            .is_ok(),
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Cli::command()).render(&mut page).is_ok() && console::bytes(&page)
        }
    };
    if done { DONE } else { FAILED }
}
