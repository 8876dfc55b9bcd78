//! Finds the system call instructions in the machine code of programs, and plans their replacement.
//!
//! `elf` reads files, `x86` decodes instructions, `sites` plans (with `x86_sites`). Nothing here changes code or runs
//! it.

pub mod elf;
pub mod sites;
#[cfg(target_arch = "x86_64")]
mod x86;
#[cfg(target_arch = "x86_64")]
mod x86_sites;
