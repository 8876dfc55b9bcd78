//! Records call stacks as addresses within modules.
//!
//! Frames are unwound with the compiler's tables (`unwind`), or by frame pointer if there are none. Names are resolved
//! at the end (`symbols`). The traced process is never written to.

use crate::order;
use crate::system::Registers;
use crate::unwind::{self, Memory, Rule, Saved};
use libc::pid_t;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// Maximum number of frames per stack.
const MAX_FRAMES: usize = 32;

/// Maximum number of distinct stacks. Further stacks are combined into one without frames.
const MAX_STACKS: usize = 1 << 16;

/// Maximum number of cached unwind rules per process. If there are more after unwinding a stack, all are dropped.
const MAX_RULES: usize = 1 << 16;

/// Maximum number of distinct stacks per file and per thread.
const MAX_OF_A_FILE: usize = 1 << 10;

/// A code address in a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// Index into [`Shelf::modules`].
    pub module: u32,
    /// Address in the module's file, or in memory if there is no module.
    pub address: u64,
}

/// Calls and time by stack.
#[derive(Debug, Default)]
pub struct Stacks(HashMap<u32, (u64, i64)>);

impl Stacks {
    /// Adds a call with its stack.
    pub fn add(&mut self, stack: u32, time_ns: i64) {
        self.add_several(stack, 1, time_ns);
    }

    /// Adds calls with the same stack.
    pub fn add_several(&mut self, stack: u32, calls: u64, time_ns: i64) {
        self.add_limited(stack, calls, time_ns, MAX_OF_A_FILE);
    }

    fn add_limited(&mut self, stack: u32, calls: u64, time_ns: i64, max_stacks: usize) {
        let stack = if self.0.len() < max_stacks || self.0.contains_key(&stack) { stack } else { OTHERS };
        let entry = self.0.entry(stack).or_default();
        *entry = (entry.0 + calls, entry.1 + time_ns);
    }

    /// Adds time on a processor. There are no more samples than milliseconds, so all stacks are kept that the shelf
    /// keeps.
    pub fn add_time(&mut self, stack: u32, samples: u64, time_ns: i64) {
        self.add_limited(stack, samples, time_ns, MAX_STACKS);
    }

    /// Adds other stacks; all are kept that they have.
    pub fn append(&mut self, others: &Stacks) {
        others.0.iter().for_each(|(stack, (calls, time_ns))| self.add_time(*stack, *calls, *time_ns));
    }

    /// Time of all stacks.
    pub fn total_ns(&self) -> i64 {
        self.0.values().map(|(_, time_ns)| time_ns).sum()
    }

    /// Index, number of calls and time of each stack, longest time first.
    pub fn sorted(&self) -> Vec<(u32, u64, i64)> {
        let mut stacks: Vec<_> = self.0.iter().map(|(stack, (calls, time_ns))| (*stack, *calls, *time_ns)).collect();
        let key = |(stack, calls, time_ns): &(u32, u64, i64)| (Reverse((*time_ns, *calls)), *stack);
        order::sort(&mut stacks, |left, right| key(left).cmp(&key(right)));
        stacks
    }
}

/// Index of the stack without frames.
const OTHERS: u32 = 0;

/// Interned stacks and modules.
#[derive(Debug)]
pub struct Shelf {
    /// Module names: paths, names in brackets such as `[vdso]`, or empty if unknown.
    pub modules: Vec<String>,
    places: HashMap<String, u32>,
    stacks: Vec<Vec<Frame>>,
    numbers: HashMap<Vec<Frame>, u32>,
}

impl Default for Shelf {
    fn default() -> Shelf {
        let places = HashMap::new();
        let numbers = HashMap::from([(Vec::new(), OTHERS)]);
        Shelf { modules: Vec::new(), places, stacks: vec![Vec::new()], numbers }
    }
}

impl Shelf {
    /// Frames of a stack, innermost first.
    pub fn frames(&self, stack: u32) -> &[Frame] {
        self.stacks.get(stack as usize).map_or(&[], Vec::as_slice)
    }

    fn module(&mut self, name: &str) -> u32 {
        if let Some(place) = self.places.get(name) {
            return *place;
        }
        let place = self.modules.len() as u32;
        self.modules.push(name.to_owned());
        self.places.insert(name.to_owned(), place);
        place
    }

    fn number(&mut self, frames: Vec<Frame>) -> u32 {
        if let Some(number) = self.numbers.get(&frames) {
            return *number;
        }
        if self.stacks.len() >= MAX_STACKS {
            return OTHERS;
        }
        let number = self.stacks.len() as u32;
        self.stacks.push(frames.clone());
        self.numbers.insert(frames, number);
        number
    }
}

/// Code mapped from a file.
#[derive(Debug)]
pub struct Module {
    name: String,
    start: u64,
    end: u64,
    /// Difference between addresses in memory and in the file.
    bias: u64,
    /// Address of its unwind table (`.eh_frame_hdr`).
    pub frames: Option<u64>,
}

/// Code mappings of a process, sorted by address.
#[derive(Debug, Default)]
pub struct Modules(Vec<Module>);

impl Modules {
    /// Reads the current mappings.
    pub fn from_process(process: pid_t) -> Modules {
        let text = fs::read(format!("/proc/{process}/maps")).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let mut memory = Memory::new(process);
        let mut modules = Vec::new();
        let mut first = ("", 0);
        let map = format!("/tmp/perf-{process}.map");
        let has_map = Path::new(&map).is_file();
        for line in text.lines() {
            let Some((start, end, is_code, offset, name)) = mapping(line) else { continue };
            // The ELF header is in the first mapping of a module.
            if offset == 0 || name != first.0 {
                first = (name, start);
            }
            if is_code
                && has_map
                && (name.is_empty() || name.starts_with("[anon") || name.starts_with("/memfd:doublemapper"))
            {
                // Compiled at run time: the map has addresses in memory.
                modules.push(Module { name: map.clone(), start, end, bias: 0, frames: None });
            } else if is_code {
                let (bias, frames) = headers(&mut memory, first.1).unwrap_or((start - offset.min(start), None));
                modules.push(Module { name: name.to_owned(), start, end, bias, frames });
            }
        }
        Modules(modules)
    }

    /// The module that contains an address.
    pub fn find(&self, address: u64) -> Option<&Module> {
        let module = self.0.get(self.0.partition_point(|module| module.end <= address))?;
        (module.start <= address).then_some(module)
    }
}

/// Parses a line of `maps`: start, end, whether executable, file offset, name.
fn mapping(line: &str) -> Option<(u64, u64, bool, u64, &str)> {
    let mut parts = line.splitn(6, ' ');
    let (start, end) = parts.next()?.split_once('-')?;
    let rights = parts.next()?;
    let offset = parts.next()?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    let name = parts.nth(2).unwrap_or("").trim_start();
    Some((number(start)?, number(end)?, rights.contains('x'), number(offset)?, name))
}

/// Reads the load bias and the address of the unwind table from the ELF header mapped at `base`.
fn headers(memory: &mut Memory<'_>, base: u64) -> Option<(u64, Option<u64>)> {
    const LOAD: u32 = 1;
    const FRAMES: u32 = 0x6474_E550;
    // 64-bit little-endian ELF: e_phoff at 32, e_phnum at 56; p_type at 0 and p_vaddr at 16 of each program header.
    if memory.read(base)? != *b"\x7FELF\x02\x01" {
        return None;
    }
    let at = base.checked_add(memory.word(base + 32)?)?;
    let count = u16::from_le_bytes(memory.read(base + 56)?);
    let mut bias = None;
    let mut frames = None;
    for header in (0..u64::from(count)).map(|index| at + 56 * index) {
        let kind = u32::from_le_bytes(memory.read(header)?);
        let address = memory.word(header + 16)?;
        match kind {
            // Segments are mapped in whole pages, so `base` has the address of the segment, rounded down to a page.
            LOAD if bias.is_none() => bias = Some(base.wrapping_sub(address & !0xFFF)),
            FRAMES => frames = Some(address),
            _ => {}
        }
    }
    let bias = bias?;
    Some((bias, frames.map(|address| bias.wrapping_add(address))))
}

/// Cached modules and unwind rules of a process.
#[derive(Debug, Default)]
pub struct Space {
    modules: Option<Modules>,
    rules: HashMap<u64, Option<Rule>>,
}

impl Space {
    /// Unwinds a stopped thread. Returns the index of its stack.
    pub fn walk(&mut self, thread: pid_t, registers: &Registers, shelf: &mut Shelf) -> u32 {
        self.unwind(thread, Memory::new(thread), Cursor::new(registers), shelf)
    }

    /// Unwinds a copy of a stack, of a process that runs.
    pub fn walk_copy(&mut self, process: pid_t, copy: &StackCopy<'_>, shelf: &mut Shelf) -> u32 {
        let memory = Memory::with_copy(process, copy.sp, copy.bytes);
        let cursor = Cursor { pc: copy.pc, sp: copy.sp, fp: copy.fp, link: copy.link };
        self.unwind(process, memory, cursor, shelf)
    }

    fn unwind(&mut self, thread: pid_t, mut memory: Memory<'_>, start: Cursor, shelf: &mut Shelf) -> u32 {
        let mut at = start;
        let mut frames = Vec::new();
        let mut may_look_again = self.modules.is_some();
        while frames.len() < MAX_FRAMES {
            // A return address may lie past the end of its function.
            let pc = if frames.is_empty() { at.pc } else { at.pc - 1 };
            if self.modules.as_ref().is_none_or(|modules| may_look_again && modules.find(pc).is_none()) {
                may_look_again = false;
                // Rules are dropped, too: their addresses may belong to other code now.
                *self = Space { modules: Some(Modules::from_process(thread)), ..Space::default() };
            }
            let module = self.modules.as_ref().and_then(|modules| modules.find(pc));
            let name = module.map_or("", |module| module.name.as_str());
            let address = pc.wrapping_sub(module.map_or(0, |module| module.bias));
            frames.push(Frame { module: shelf.module(name), address });
            let rule = module.and_then(|module| module.frames).and_then(|table| {
                *self.rules.entry(pc).or_insert_with(|| unwind::rule(&mut Memory::new(thread), table, pc))
            });
            match at.caller(&mut memory, rule) {
                Some(caller) => at = caller,
                None => break,
            }
        }
        if self.rules.len() > MAX_RULES {
            self.rules.clear();
        }
        shelf.number(frames)
    }
}

/// A copy of the registers and the stack of a thread.
pub struct StackCopy<'a> {
    /// Program counter.
    pub pc: u64,
    /// Stack pointer: the address of the first byte.
    pub sp: u64,
    /// Frame pointer.
    pub fp: u64,
    /// Return address, if in a register.
    pub link: Option<u64>,
    /// The stack, from the stack pointer up.
    pub bytes: &'a [u8],
}

/// Unwinding state.
struct Cursor {
    pc: u64,
    sp: u64,
    fp: u64,
    link: Option<u64>,
}

impl Cursor {
    fn new(registers: &Registers) -> Cursor {
        Cursor { pc: registers.pc, sp: registers.sp, fp: registers.fp, link: registers.link }
    }

    /// Steps to the caller. Returns `None` at the outermost frame, or if the result is implausible.
    fn caller(&self, memory: &mut Memory<'_>, rule: Option<Rule>) -> Option<Cursor> {
        let rule = rule.unwrap_or(BY_FRAME_POINTER);
        let base = if rule.by_frame_pointer { self.fp } else { self.sp };
        let frame = base.checked_add_signed(rule.offset)?;
        let pc = match rule.link {
            Saved::Same => self.link?,
            Saved::At(offset) => memory.word(frame.checked_add_signed(offset)?)?,
            Saved::Gone => return None,
        };
        let fp = match rule.fp {
            Saved::At(offset) => memory.word(frame.checked_add_signed(offset)?)?,
            Saved::Same | Saved::Gone => self.fp,
        };
        // Some processors sign return addresses in the unused upper bits.
        let pc = pc & 0x0000_FFFF_FFFF_FFFF;
        // Each frame must lie further up the stack; otherwise, damaged frames could form a cycle.
        // A leaf function whose return address is in a register can have a frame of size 0.
        let goes_up = frame > self.sp || frame == self.sp && self.link.is_some();
        (goes_up && pc > 0xFFF).then_some(Cursor { pc, sp: frame, fp, link: None })
    }
}

/// Fallback for code without a rule: assumes that the function keeps a frame pointer.
const BY_FRAME_POINTER: Rule = Rule { by_frame_pointer: true, offset: 16, link: Saved::At(-8), fp: Saved::At(-16) };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_maps_are_read() {
        let line = "7f00a000-7f00b000 r-xp 00026000 fe:00 1234                       /lib/a b.so";
        assert_eq!(mapping(line), Some((0x7F00_A000, 0x7F00_B000, true, 0x26000, "/lib/a b.so")));
        assert_eq!(mapping("10-20 rw-p 00000000 00:00 0 "), Some((16, 32, false, 0, "")));
        assert_eq!((mapping(""), mapping("nonsense"), mapping("g-h r-xp 0 0 0")), (None, None, None));
    }

    #[test]
    fn stacks_are_kept_once() {
        let mut shelf = Shelf::default();
        let frames =
            vec![Frame { module: shelf.module("a"), address: 1 }, Frame { module: shelf.module("b"), address: 2 }];
        let number = shelf.number(frames.clone());
        assert_eq!((number, shelf.number(frames.clone()), shelf.number(Vec::new())), (1, 1, OTHERS));
        assert_eq!((shelf.frames(1), shelf.frames(9)), (frames.as_slice(), &[][..]));
        assert_eq!((shelf.module("b"), shelf.modules.len()), (1, 2));
        let mut stacks = Stacks::default();
        [1, 0, 1].iter().for_each(|stack| stacks.add(*stack, 5));
        assert_eq!(stacks.sorted(), [(1, 2, 10), (0, 1, 5)]);
    }

    #[test]
    fn a_broken_chain_ends_the_walk() {
        let mut memory = Memory::new(std::process::id() as pid_t);
        let at = Cursor { pc: 5, sp: 64, fp: 32, link: None };
        assert!(at.caller(&mut memory, None).is_none());
        let words = [0u64, 0x5000, 0, 0];
        let base = words.as_ptr() as u64;
        let at = Cursor { pc: 5, sp: base - 8, fp: base, link: None };
        let caller = at.caller(&mut memory, None).unwrap();
        assert_eq!((caller.pc, caller.sp, caller.fp), (0x5000, base + 16, 0));
        // A frame that does not lie further up would loop forever.
        assert!(Cursor { pc: 5, sp: base + 16, fp: base, link: None }.caller(&mut memory, None).is_none());
    }
}
