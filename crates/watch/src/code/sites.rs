//! Finds the system call instructions of a module, and plans how to replace each one by a jump.
//!
//! A jump to anywhere takes five bytes on x86-64, a system call instruction two. So a short jump leads to padding
//! between functions that has room for the long one. Where no padding is near, the neighbors of the instruction move
//! away with it, unless a branch leads to one of them or they depend on their address. The library syscall_intercept
//! (pmem) made this method known. On aarch64, every instruction has four bytes and one jump suffices.
//!
//! The recorder (`recorder/patch.c`) replaces the instructions; nothing is written here. `x86` decodes, `elf` reads.

use super::elf::Elf;
#[cfg(target_arch = "x86_64")]
use super::x86_sites::{self, ModuleCode, SYSTEM_CALL};
#[cfg(target_arch = "x86_64")]
use crate::order;

/// How a system call instruction is replaced. Addresses are relative to the start of the module in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Site {
    /// Address of the instruction.
    pub call: u32,
    /// Address of the padding that a short jump leads to, or 0 if neighbors move.
    pub padding: u32,
    /// Bytes of instructions before the call that move.
    pub before: u16,
    /// Bytes of instructions after the call that move.
    pub after: u16,
}

/// The system call instructions of a module.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Sites {
    /// Instructions that can be replaced, by address.
    pub sites: Vec<Site>,
    /// Number of instructions that cannot be replaced.
    pub missed: u32,
}

/// Plans the replacement of all system call instructions in a module.
#[cfg(target_arch = "aarch64")]
pub fn find(elf: &mut Elf) -> Sites {
    const SYSTEM_CALL: [u8; 4] = 0xD400_0001_u32.to_le_bytes();
    /// `mov x8, #139`: the call that returns from a signal handler. Unwinders recognize its code.
    const SIGNAL_RETURN: [u8; 4] = 0xD280_1168_u32.to_le_bytes();
    if elf.is_go() {
        return Sites::default();
    }
    /// `mov x8, #93`: ends the thread. In musl's `__unmapself`, the call before it unmaps the stack that detours need.
    const EXIT: [u8; 4] = 0xD280_0BA8_u32.to_le_bytes();
    let mut sites = Sites::default();
    for segment in elf.code() {
        let words: Vec<[u8; 4]> = segment.bytes(0..segment.size).as_chunks().0.to_vec();
        let word = |index: usize| words.get(index).copied().unwrap_or_default();
        for index in (0..words.len()).filter(|index| word(*index) == SYSTEM_CALL) {
            let previous = word(index.wrapping_sub(1));
            let unmaps = word(index + 1) == EXIT && word(index + 2) == SYSTEM_CALL;
            let ends = previous == EXIT && word(index.wrapping_sub(2)) == SYSTEM_CALL;
            if previous == SIGNAL_RETURN || unmaps || ends {
                continue;
            }
            match u32::try_from(segment.address + 4 * index as u64) {
                Ok(call) => sites.sites.push(Site { call, padding: 0, before: 0, after: 0 }),
                Err(_) => sites.missed += 1,
            }
        }
    }
    sites
}

/// Plans the replacement of all system call instructions in a module.
#[cfg(target_arch = "x86_64")]
pub fn find(elf: &mut Elf) -> Sites {
    let mut sites = Sites::default();
    let Some(calls) = elf.find(&SYSTEM_CALL) else {
        sites.missed = 1;
        return sites;
    };
    if calls.is_empty() || elf.is_go() {
        return sites;
    }
    // Most functions are far from all calls, and are not looked at.
    let Some(functions) = elf.functions(|extent| x86_sites::is_near(extent, &calls)) else {
        sites.missed = calls.len() as u32;
        return sites;
    };
    elf.load(&functions.iter().map(x86_sites::extent).collect::<Vec<_>>());
    for segment in elf.code() {
        ModuleCode::new(segment, &functions, &calls).add_to(&mut sites);
    }
    order::sort(&mut sites.sites, |left, right| left.call.cmp(&right.call));
    sites
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    /// Modules of this machine with system calls.
    fn modules() -> Vec<String> {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let mut paths: Vec<_> = maps.lines().filter_map(|line| line.split_once('/')).collect();
        paths.dedup_by_key(|(_, path)| *path);
        paths.iter().map(|(_, path)| format!("/{path}")).collect()
    }

    #[test]
    fn the_calls_of_the_c_library_are_found() {
        for path in modules() {
            let sites = find(&mut Elf::read(&File::open(&path).unwrap()).unwrap());
            if path.contains("libc.so") {
                assert!(sites.sites.len() > 100 && sites.missed == 0, "{sites:?}");
            }
        }
    }

    /// Of large segments, only parts are read. Instructions whose neighbors would have to move are missed there.
    #[test]
    #[cfg(target_arch = "x86_64")]
    fn segments_that_are_read_in_part_have_the_same_calls() {
        for path in modules() {
            let file = File::open(&path).unwrap();
            let [whole, part] =
                [usize::MAX, 0].map(|max_whole| find(&mut Elf::read_some(&file, Some(max_whole)).unwrap()));
            let by_padding: Vec<Site> = whole.sites.iter().copied().filter(|site| site.padding > 0).collect();
            assert_eq!(part.sites, by_padding, "{path}");
            assert_eq!(part.missed as usize, whole.missed as usize + whole.sites.len() - by_padding.len(), "{path}");
        }
    }

    /// No branch leads into instructions that move away, and only whole instructions move.
    #[test]
    #[cfg(target_arch = "x86_64")]
    fn branches_lead_to_no_code_that_moves() {
        for path in modules() {
            let mut elf = Elf::read(&File::open(&path).unwrap()).unwrap();
            let Some(targets) = x86_sites::branch_targets(&elf) else { continue };
            let boundaries = x86_sites::boundaries(&elf).unwrap();
            for site in find(&mut elf).sites.iter().filter(|site| site.padding == 0) {
                let start = u64::from(site.call) - u64::from(site.before);
                let end = u64::from(site.call) + 2 + u64::from(site.after);
                assert!(end - start >= 5 && !(start + 1..end).any(|address| targets.contains(&address)), "{site:?}");
                assert!([start, end].iter().all(|address| boundaries.contains_key(address)), "{path}: {site:?}");
            }
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn boundaries_are_those_of_a_disassembler() {
        let is_library = |path: &String| path.contains("libc.so");
        let Some(path) = modules().into_iter().find(is_library) else { return };
        let Ok(output) = std::process::Command::new("objdump").args(["-d", "-w", &path]).output() else { return };
        let boundaries = crate::code::x86_sites::boundaries(&Elf::read(&File::open(&path).unwrap()).unwrap()).unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let mut compared = 0;
        for line in text.lines() {
            let mut parts = line.split('\t');
            let Some(address) = parts.next().and_then(|part| part.trim().strip_suffix(':')) else { continue };
            let Some(length) = parts.next().map(|bytes| bytes.split_whitespace().count()) else { continue };
            let Some(decoded) = boundaries.get(&u64::from_str_radix(address, 16).unwrap()) else { continue };
            assert_eq!(*decoded, length, "{line}");
            compared += 1;
        }
        assert!(compared > 100_000, "{compared}");
    }
}
