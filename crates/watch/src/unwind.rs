//! Unwinds stacks with the call frame information that compilers emit.
//!
//! The information is read from the memory of the traced process, where it is mapped next to the code, so the file that
//! contains it is not needed. The format is `.eh_frame` (Linux Standard Base, DWARF 5 section 6.4). Only the registers
//! needed to find the next frame are tracked: stack pointer, frame pointer, return address.

use crate::system;
use libc::pid_t;

/// DWARF register numbers.
#[cfg(target_arch = "x86_64")]
const FP: u64 = 6;
#[cfg(target_arch = "x86_64")]
const SP: u64 = 7;
#[cfg(target_arch = "aarch64")]
const FP: u64 = 29;
#[cfg(target_arch = "aarch64")]
const SP: u64 = 31;

/// Maximum number of instructions in an unwind program, and maximum size of an entry in bytes. Real programs and
/// entries are smaller.
const MAX_STEPS: usize = 4096;
const MAX_BYTES: usize = 1 << 16;

/// Reads memory of another process, with a one-block cache.
pub struct Memory<'a> {
    process: pid_t,
    base: u64,
    piece: Vec<u8>,
    /// Number of bytes in `piece` that were read.
    count: usize,
    /// A copy of memory, and its address. It is used where it has the bytes.
    copy: (u64, &'a [u8]),
}

const PIECE_BYTES: usize = 4096;

impl<'a> Memory<'a> {
    /// Accesses the memory of a stopped process.
    pub fn new(process: pid_t) -> Memory<'a> {
        Memory::with_copy(process, 0, &[])
    }

    /// Accesses the memory of a process, except for a part that was copied before it changed.
    pub fn with_copy(process: pid_t, address: u64, bytes: &'a [u8]) -> Memory<'a> {
        Memory { process, base: 0, piece: Vec::new(), count: 0, copy: (address, bytes) }
    }

    /// Reads N bytes. Returns `None` if they are not mapped.
    pub fn read<const N: usize>(&mut self, address: u64) -> Option<[u8; N]> {
        if let Some(bytes) = part(self.copy.0, self.copy.1, address).or_else(|| self.kept(address)) {
            return Some(bytes);
        }
        // Reads more than N bytes: later values are often close, and every read is a system call.
        if self.piece.is_empty() {
            self.piece = vec![0; PIECE_BYTES];
        }
        self.count = system::memory(self.process, address, &mut self.piece);
        self.base = address;
        self.kept(address)
    }

    fn kept<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        part(self.base, self.piece.get(..self.count)?, address)
    }

    /// Reads a 64-bit word.
    pub fn word(&mut self, address: u64) -> Option<u64> {
        self.read(address).map(u64::from_le_bytes)
    }

    fn half(&mut self, address: u64) -> Option<u32> {
        self.read(address).map(u32::from_le_bytes)
    }

    fn bytes(&mut self, address: u64, count: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; if count <= MAX_BYTES { count } else { return None }];
        (system::memory(self.process, address, &mut bytes) == count).then_some(bytes)
    }
}

/// N bytes at an address, out of memory that starts at `base`.
fn part<const N: usize>(base: u64, bytes: &[u8], address: u64) -> Option<[u8; N]> {
    let start = usize::try_from(address.checked_sub(base)?).ok()?;
    bytes.get(start..start.checked_add(N)?)?.try_into().ok()
}

/// Location of the caller's value of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saved {
    /// Still in its register.
    Same,
    /// At this offset from the frame address.
    At(i64),
    /// Undefined: there is no caller.
    Gone,
}

/// Unwind rule at an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Whether the frame address is relative to the frame pointer instead of the stack pointer.
    pub by_frame_pointer: bool,
    /// Offset of the frame address.
    pub offset: i64,
    /// Location of the return address.
    pub link: Saved,
    /// Location of the caller's frame pointer.
    pub fp: Saved,
}

/// Finds the rule for the instruction at `pc` in the table (`.eh_frame_hdr`) at address `table`. Returns `None` if
/// there is no rule, or if it uses unsupported features.
pub fn rule(memory: &mut Memory<'_>, table: u64, pc: u64) -> Option<Rule> {
    let place = find(memory, table, pc)?;
    let entry = Entry::read(memory, place)?;
    if !(entry.start..entry.start.wrapping_add(entry.length)).contains(&pc) {
        return None;
    }
    let shared = &entry.shared;
    let mut row = Row { rule: FIRST, link_register: shared.link_register, shared };
    row.run(&shared.program, u64::MAX)?;
    row.run_after(&entry.program, pc - entry.start)
}

/// Finds the entry of a function by binary search.
fn find(memory: &mut Memory<'_>, table: u64, pc: u64) -> Option<u64> {
    // Version 1, with the encodings that all linkers use: pcrel | sdata4, udata4, datarel | sdata4.
    if memory.read(table)? != [1u8, 0x1B, 0x03, 0x3B] {
        return None;
    }
    let place = |offset: u32| table.wrapping_add_signed(i64::from(offset.cast_signed()));
    let mut low = 0;
    let mut high = u64::from(memory.half(table + 8)?);
    while low < high {
        let middle = low.midpoint(high);
        if place(memory.half(table + 12 + 8 * middle)?) <= pc {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Some(place(memory.half(table + 12 + 8 * low.checked_sub(1)? + 4)?))
}

/// The shared part of entries (CIE).
struct Shared {
    code_step: u64,
    data_step: i64,
    link_register: u64,
    /// Encoding of addresses.
    encoding: u8,
    /// Whether entries contain augmentation data.
    has_extra: bool,
    program: Vec<u8>,
}

/// The entry of a function (FDE).
struct Entry {
    shared: Shared,
    start: u64,
    length: u64,
    program: Vec<u8>,
}

impl Entry {
    fn read(memory: &mut Memory<'_>, at: u64) -> Option<Entry> {
        let count = memory.half(at)?;
        let bytes = memory.bytes(at + 4, count as usize)?;
        let mut bytes = Bytes(&bytes);
        // The field is the distance from itself back to the shared part.
        let shared = Shared::read(memory, (at + 4).checked_sub(u64::from(bytes.half()?))?)?;
        let start = bytes.address(shared.encoding, at + 8)?;
        // A length has the number format of the address, but is not relative to anything.
        let length = bytes.address(shared.encoding & 0x0F, 0)?;
        if shared.has_extra {
            let extra = bytes.unsigned()?;
            bytes.skip(extra)?;
        }
        Some(Entry { shared, start, length, program: bytes.0.to_vec() })
    }
}

impl Shared {
    fn read(memory: &mut Memory<'_>, at: u64) -> Option<Shared> {
        let count = memory.half(at)?;
        let bytes = memory.bytes(at + 4, count as usize)?;
        Shared::parse(&bytes)
    }

    fn parse(bytes: &[u8]) -> Option<Shared> {
        let mut bytes = Bytes(bytes);
        let id = bytes.half()?;
        let version = bytes.byte()?;
        let letters = bytes.text()?;
        // Other augmentations than `z...` have no size, so they could not be skipped.
        if id != 0 || !matches!(version, 1 | 3) || !(letters.is_empty() || letters.starts_with(b"z")) {
            return None;
        }
        let code_step = bytes.unsigned()?;
        let data_step = bytes.signed()?;
        // Version 1 stores the register as a byte, version 3 as a LEB128 number.
        let link_register = if version == 1 { u64::from(bytes.byte()?) } else { bytes.unsigned()? };
        let mut encoding = 0;
        let has_extra = !letters.is_empty();
        let program = if has_extra {
            let count = bytes.unsigned()?;
            let mut extra = Bytes(bytes.skip(count)?);
            encoding = extra.encoding(letters)?;
            bytes.0
        } else {
            bytes.0
        };
        Some(Shared { code_step, data_step, link_register, encoding, has_extra, program: program.to_vec() })
    }
}

/// Initial rule of an unwind program.
const FIRST: Rule = Rule { by_frame_pointer: false, offset: 0, link: Saved::Same, fp: Saved::Same };

/// State of an unwind program: the current rule.
struct Row<'a> {
    rule: Rule,
    link_register: u64,
    shared: &'a Shared,
}

impl Row<'_> {
    /// Runs the program of an entry up to `target` bytes into the function.
    fn run_after(mut self, program: &[u8], target: u64) -> Option<Rule> {
        self.run(program, target)?;
        Some(self.rule)
    }

    fn run(&mut self, program: &[u8], target: u64) -> Option<()> {
        // The rule after the shared program, to which `DW_CFA_restore` returns.
        let initial = self.rule;
        let mut saved = Vec::new();
        let mut bytes = Bytes(program);
        let mut place = 0u64;
        for _ in 0..MAX_STEPS {
            let Some(code) = bytes.byte() else { return Some(()) };
            let low = u64::from(code & 0x3F);
            let step = match (code >> 6, code) {
                // DW_CFA_advance_loc
                (1, _) => low,
                // DW_CFA_offset
                (2, _) => {
                    let at = self.scaled(bytes.unsigned()?)?;
                    self.save(low, Saved::At(at));
                    continue;
                }
                // DW_CFA_restore
                (3, _) => {
                    self.restore(low, initial);
                    continue;
                }
                // DW_CFA_advance_loc1, 2 and 4
                (_, 0x02) => u64::from(bytes.byte()?),
                (_, 0x03) => u64::from(u16::from_le_bytes(bytes.take()?)),
                (_, 0x04) => u64::from(bytes.half()?),
                // DW_CFA_restore_extended
                (_, 0x06) => {
                    let register = bytes.unsigned()?;
                    self.restore(register, initial);
                    continue;
                }
                // DW_CFA_remember_state
                (_, 0x0A) => {
                    saved.push(self.rule);
                    continue;
                }
                // DW_CFA_restore_state
                (_, 0x0B) => {
                    self.rule = saved.pop()?;
                    continue;
                }
                _ => {
                    self.change(code, &mut bytes)?;
                    continue;
                }
            };
            place = place.checked_add(step.checked_mul(self.shared.code_step)?)?;
            if place > target {
                return Some(());
            }
        }
        None
    }

    /// Executes an instruction that [`Row::run`] does not handle itself.
    fn change(&mut self, code: u8, bytes: &mut Bytes<'_>) -> Option<()> {
        match code {
            // DW_CFA_nop, DW_CFA_AARCH64_negate_ra_state and DW_CFA_GNU_args_size
            // Whether return addresses are signed does not matter: the signature is masked out in `stacks`.
            0x00 | 0x2D => {}
            0x2E => drop(bytes.unsigned()?),
            // DW_CFA_offset_extended
            0x05 => {
                let register = bytes.unsigned()?;
                let offset = bytes.unsigned()?;
                let at = self.scaled(offset)?;
                self.save(register, Saved::At(at));
            }
            // DW_CFA_offset_extended_sf
            0x11 => {
                let register = bytes.unsigned()?;
                let offset = bytes.signed()?;
                self.save(register, Saved::At(offset.checked_mul(self.shared.data_step)?));
            }
            // DW_CFA_undefined
            0x07 => {
                let register = bytes.unsigned()?;
                self.save(register, Saved::Gone);
            }
            // DW_CFA_same_value
            0x08 => {
                let register = bytes.unsigned()?;
                self.save(register, Saved::Same);
            }
            // DW_CFA_def_cfa, def_cfa_register and def_cfa_offset
            0x0C => {
                self.count_from(bytes.unsigned()?)?;
                self.rule.offset = bytes.unsigned()?.cast_signed();
            }
            0x0D => self.count_from(bytes.unsigned()?)?,
            0x0E => self.rule.offset = bytes.unsigned()?.cast_signed(),
            // DW_CFA_def_cfa_sf and def_cfa_offset_sf
            0x12 => {
                self.count_from(bytes.unsigned()?)?;
                self.rule.offset = bytes.signed()?.checked_mul(self.shared.data_step)?;
            }
            0x13 => self.rule.offset = bytes.signed()?.checked_mul(self.shared.data_step)?,
            // DW_CFA_expression and DW_CFA_val_expression: ignored for registers that are not tracked.
            0x10 | 0x16 => {
                let register = bytes.unsigned()?;
                let count = bytes.unsigned()?;
                bytes.skip(count)?;
                if register == FP || register == self.link_register {
                    return None;
                }
            }
            _ => return None,
        }
        Some(())
    }

    fn scaled(&self, offset: u64) -> Option<i64> {
        offset.cast_signed().checked_mul(self.shared.data_step)
    }

    fn count_from(&mut self, register: u64) -> Option<()> {
        self.rule.by_frame_pointer = match register {
            FP => true,
            SP => false,
            _ => return None,
        };
        Some(())
    }

    fn save(&mut self, register: u64, saved: Saved) {
        if register == self.link_register {
            self.rule.link = saved;
        } else if register == FP {
            self.rule.fp = saved;
        }
    }

    fn restore(&mut self, register: u64, initial: Rule) {
        self.save(register, if register == FP { initial.fp } else { initial.link });
    }
}

/// Reads values from the front of a byte slice.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*head)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take::<1>().map(|[byte]| byte)
    }

    fn half(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn skip(&mut self, count: u64) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(usize::try_from(count).ok()?)?;
        self.0 = rest;
        Some(head)
    }

    /// Reads NUL-terminated text.
    fn text(&mut self) -> Option<&'a [u8]> {
        let end = self.0.iter().position(|byte| *byte == 0)?;
        let text = self.skip(end as u64)?;
        self.skip(1)?;
        Some(text)
    }

    fn unsigned(&mut self) -> Option<u64> {
        self.leb().map(|(value, _, _)| value)
    }

    fn signed(&mut self) -> Option<i64> {
        let (value, bits, last) = self.leb()?;
        let is_negative = last & 0x40 != 0 && bits < 64;
        Some((if is_negative { value | u64::MAX << bits } else { value }).cast_signed())
    }

    /// Reads a LEB128 number. Returns the value, its bit count and the last byte.
    fn leb(&mut self) -> Option<(u64, u32, u8)> {
        let mut value = 0;
        let mut bits = 0;
        while bits < 64 {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7F) << bits;
            bits += 7;
            if byte & 0x80 == 0 {
                return Some((value, bits, byte));
            }
        }
        None
    }

    /// Decodes an address stored at `here`.
    fn address(&mut self, encoding: u8, here: u64) -> Option<u64> {
        let value = match encoding & 0x0F {
            0x00 | 0x04 | 0x0C => u64::from_le_bytes(self.take()?),
            0x02 => u64::from(u16::from_le_bytes(self.take()?)),
            0x03 => u64::from(self.half()?),
            0x0A => i64::from(i16::from_le_bytes(self.take()?)).cast_unsigned(),
            0x0B => i64::from(self.half()?.cast_signed()).cast_unsigned(),
            _ => return None,
        };
        match encoding & 0x70 {
            0x00 => Some(value),
            0x10 => Some(here.wrapping_add(value)),
            _ => None,
        }
    }

    /// Encoding of function addresses, from the augmentation string.
    fn encoding(&mut self, letters: &[u8]) -> Option<u8> {
        let mut encoding = 0;
        for letter in letters {
            match letter {
                b'R' => encoding = self.byte()?,
                b'L' => drop(self.byte()?),
                b'P' => {
                    let how = self.byte()?;
                    // Skips the address of the personality routine; only its length matters.
                    self.address(how & 0x0F, 0)?;
                }
                b'z' | b'S' | b'B' => {}
                _ => return None,
            }
        }
        Some(encoding)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A CIE as compilers emit it on x86-64: the frame address is 8 above the stack pointer, the return address 8 below
    /// the frame address.
    #[cfg(target_arch = "x86_64")]
    const SHARED: &[u8] = b"\0\0\0\0\x01zR\0\x01\x78\x10\x01\x1B\x0C\x07\x08\x90\x01";

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn a_prologue_is_followed() {
        let shared = Shared::parse(SHARED).unwrap();
        assert_eq!((shared.code_step, shared.data_step, shared.link_register, shared.encoding), (1, -8, 16, 0x1B));
        // push rbp at 1; mov rbp, rsp at 4; leave at 0x30, with the state restored for the code after it.
        let program = b"\x41\x0E\x10\x86\x02\x43\x0D\x06\x6C\x0A\x0C\x07\x08\xC6\x41\x0B\0\0";
        let at = |target| {
            let mut row = Row { rule: FIRST, link_register: 16, shared: &shared };
            row.run(&shared.program, u64::MAX).unwrap();
            row.run_after(program, target).unwrap()
        };
        let start = Rule { by_frame_pointer: false, offset: 8, link: Saved::At(-8), fp: Saved::Same };
        let pushed = Rule { offset: 16, fp: Saved::At(-16), ..start };
        assert_eq!([at(0), at(1), at(3)], [start, pushed, pushed]);
        let framed = Rule { by_frame_pointer: true, ..pushed };
        assert_eq!([at(4), at(0x2F), at(0x30), at(0x31)], [framed, framed, start, framed]);
    }

    #[test]
    fn numbers_of_any_length() {
        let mut bytes = Bytes(b"\x78\xFF\x00\x80\x7F\xE5\x8E\x26");
        assert_eq!((bytes.signed(), bytes.signed(), bytes.signed()), (Some(-8), Some(127), Some(-128)));
        assert_eq!((bytes.unsigned(), bytes.unsigned()), (Some(624_485), None));
        assert_eq!(Bytes(&[0x80; 12]).unsigned(), None);
    }

    #[test]
    fn damage_is_no_rule() {
        #[cfg(target_arch = "x86_64")]
        for end in 0..12 {
            assert!(Shared::parse(&SHARED[..end]).is_none(), "{end}");
        }
        let mut memory = Memory::new(std::process::id() as pid_t);
        let hostile = [0xFFu8; 64];
        assert_eq!(rule(&mut memory, hostile.as_ptr() as u64, 5), None);
        assert_eq!((memory.word(8), memory.bytes(8, 1 << 30)), (None, None));
        let value = 77u64;
        assert_eq!(memory.word((&raw const value) as u64), Some(77));
    }

    /// Finds the rule of this test function in the program's own unwind table.
    #[test]
    fn our_own_frames_have_rules() {
        let maps = crate::stacks::Modules::from_process(std::process::id() as pid_t);
        let here = our_own_frames_have_rules as fn() as usize as u64;
        let module = maps.find(here).unwrap();
        let mut memory = Memory::new(std::process::id() as pid_t);
        let rule = rule(&mut memory, module.frames.unwrap(), here).unwrap();
        assert!(!rule.by_frame_pointer && rule.fp == Saved::Same, "{rule:?}");
    }
}
