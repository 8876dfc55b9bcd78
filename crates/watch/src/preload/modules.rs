//! Answers processes that ask for the system call instructions of a module.

use super::layout::{MAX_SITES, READY, RecordLayout, TAKEN};
use crate::code::elf::Elf;
use crate::code::sites::{self, Sites};
use crate::system;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Answers all pending requests.
pub(super) fn answer(layout: &RecordLayout) {
    for module in layout.modules.iter().filter(|module| module.state.load(Acquire) == TAKEN) {
        let inode = module.inode.load(Relaxed);
        let sites = sites_of(module.process.load(Relaxed), module.start.load(Relaxed), inode);
        let sites = sites.unwrap_or(Sites { missed: 1, ..Sites::default() });
        let count = sites.sites.len();
        let first = layout.next_site.load(Relaxed) as usize;
        layout.not_patched.fetch_add(sites.missed.into(), Relaxed);
        match layout.sites.get(first..first + count) {
            Some(slots) => {
                slots.iter().zip(&sites.sites).for_each(|(slot, site)| slot.set(site));
                module.first_site.store(first as u32, Relaxed);
                module.sites.store(count as u32, Relaxed);
                layout.next_site.store((first + count).min(MAX_SITES) as u32, Relaxed);
            }
            None => drop(layout.not_patched.fetch_add(count as u64, Relaxed)),
        }
        module.state.store(READY, Release);
        system::wake(&module.state);
    }
}

/// The instructions of the module that a process has mapped at an address.
fn sites_of(process: u32, start: u64, inode: u64) -> Option<Sites> {
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).ok()?;
    let prefix = format!("{start:08x}-");
    let line = maps.lines().find(|line| line.starts_with(&prefix))?;
    let path = line.get(line.find('/')?..)?;
    let file = File::open(format!("/proc/{process}/root{path}")).ok()?;
    // Another file may have taken the place of the mapped one.
    if file.metadata().ok()?.ino() != inode {
        return None;
    }
    Some(sites::find(&mut Elf::read(&file)?))
}
