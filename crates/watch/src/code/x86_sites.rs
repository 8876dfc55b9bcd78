//! Plans the replacement of system call instructions in x86-64 code.
//!
//! See `sites` for the ways that are tried. Branches are collected only if neighbors have to move, since that decodes
//! the whole module.

use super::elf::ElfSegment;
use super::sites::{Site, Sites};
use super::x86::{self, Flow, Instruction};
use std::ops::Range;

const SYSTEM_CALL: [u8; 2] = [0x0F, 0x05];

/// Sizes of a near jump (rel32) and of a short jump (rel8).
const JUMP_BYTES: usize = 5;
const SHORT_JUMP_BYTES: usize = 2;

/// Maximum distance of a short jump.
const MAX_SHORT: i64 = 127;

/// Maximum size of code without unwind information to search.
const MAX_GAP: usize = 1 << 20;

/// Maximum size of a code segment whose branches are collected.
const MAX_DECODED: usize = 16 << 20;

/// Maximum number of instructions before or after a call that move.
const MAX_MOVED: usize = 4;

/// Maximum size of these with the call, on each side: an instruction has at most 15 bytes.
const MAX_WINDOW: usize = 15 * (MAX_MOVED + 1);

/// Code before the call that returns from a signal handler. Unwinders recognize it.
const SIGNAL_RETURNS: [&[u8]; 2] = [&[0x48, 0xC7, 0xC0, 15, 0, 0, 0], &[0xB8, 15, 0, 0, 0]];

/// Code between two calls of musl's `__unmapself`: the first unmaps the stack of the thread, the second ends it. They
/// have to stay, since detours need a stack.
const UNMAPPED_EXITS: [&[u8]; 2] = [&[0x48, 0x31, 0xFF, 0xB8, 60, 0, 0, 0], &[0x31, 0xFF, 0xB8, 60, 0, 0, 0]];

/// A code segment. Offsets are relative to its start.
pub(super) struct ModuleCode<'a> {
    segment: &'a ElfSegment,
    /// Ranges of code, in order: functions, and what lies between them if it is not padding. glibc ends the unwind
    /// information of `clone` before its system call.
    functions: Vec<Range<usize>>,
    /// Padding between functions.
    padding: Vec<Range<usize>>,
}

/// Number of byte pairs that look like system calls.
pub(super) fn count_pairs(segment: &ElfSegment) -> u32 {
    memchr::memmem::find_iter(&segment.bytes, &SYSTEM_CALL).count() as u32
}

/// An instruction with its offset.
type Placed = (usize, Instruction);

impl<'a> ModuleCode<'a> {
    pub(super) fn new(segment: &'a ElfSegment, functions: &[Range<u64>]) -> ModuleCode<'a> {
        let offset = |address: u64| address.saturating_sub(segment.address) as usize;
        let mut code = ModuleCode { segment, functions: Vec::with_capacity(functions.len()), padding: Vec::new() };
        for (index, function) in functions.iter().enumerate() {
            let end = offset(function.end);
            code.functions.push(offset(function.start)..end);
            let next = functions.get(index + 1).map_or(segment.bytes.len(), |next| offset(next.start));
            if next > end {
                let is_padding = x86::is_padding(code.bytes(end..next));
                if is_padding {
                    code.padding.push(end..next);
                } else if next - end <= MAX_GAP {
                    code.functions.push(end..next);
                }
            }
        }
        code
    }

    fn bytes(&self, range: Range<usize>) -> &'a [u8] {
        self.segment.bytes.get(range).unwrap_or_default()
    }

    pub(super) fn add_to(&self, sites: &mut Sites) {
        let mut room = PaddingRoom(self.padding.clone());
        let mut crowded = Vec::new();
        for (function, call) in self.calls() {
            match room.take(call).and_then(|padding| self.site(call, padding, [0; 2])) {
                Some(site) => sites.sites.push(site),
                None => crowded.push((function, call)),
            }
        }
        if crowded.is_empty() || self.segment.bytes.len() > MAX_DECODED {
            sites.missed += crowded.len() as u32;
            return;
        }
        let targets = self.targets(&self.may_lead_near(&crowded));
        // Code without unwind information is one large range, so it is decoded once for all of its calls.
        for calls in crowded.chunk_by(|left, right| left.0 == right.0) {
            let instructions = self.decoded(&self.functions[calls[0].0]);
            for (_, call) in calls {
                let moved = window(&instructions, *call, &targets);
                match moved.and_then(|moved| self.site(*call, 0, moved)) {
                    Some(site) => sites.sites.push(site),
                    None => sites.missed += 1,
                }
            }
        }
    }

    fn site(&self, call: usize, padding: usize, [before, after]: [usize; 2]) -> Option<Site> {
        let address = |offset: usize| u32::try_from(self.segment.address + offset as u64).ok();
        Some(Site {
            call: address(call)?,
            padding: if padding == 0 { 0 } else { address(padding)? },
            before: before as u16,
            after: after as u16,
        })
    }

    /// All system calls, by index of the function and offset.
    fn calls(&self) -> Vec<(usize, usize)> {
        let mut calls = Vec::new();
        let mut last_function = 0;
        for pair in memchr::memmem::find_iter(&self.segment.bytes, &SYSTEM_CALL) {
            let after = self.functions.partition_point(|function| function.start <= pair);
            let Some(index) = after.checked_sub(1) else { continue };
            // All calls of a function are found at its first pair of bytes.
            if last_function == after || !self.functions[index].contains(&pair) {
                continue;
            }
            last_function = after;
            let instructions = self.decoded(&self.functions[index]).into_iter();
            let system_calls =
                instructions.filter(|(at, instruction)| instruction.flow == Flow::SystemCall && !self.has_to_stay(*at));
            calls.extend(system_calls.map(|(at, _)| (index, at)));
        }
        calls
    }

    /// Whether the code depends on this system call as it is.
    fn has_to_stay(&self, call: usize) -> bool {
        let before = self.bytes(call.saturating_sub(16)..call);
        let after = self.bytes(call + SYSTEM_CALL.len()..(call + 16).min(self.segment.bytes.len()));
        let is_call = |code: &[u8]| code == SYSTEM_CALL;
        let unmaps = |code: &&[u8]| {
            after.strip_prefix(*code).and_then(|rest| rest.get(..2)).is_some_and(is_call)
                || before.strip_suffix(*code).is_some_and(|rest| rest.ends_with(&SYSTEM_CALL))
        };
        SIGNAL_RETURNS.iter().any(|code| before.ends_with(code)) || UNMAPPED_EXITS.iter().any(unmaps)
    }

    /// The instructions of a function, up to the first invalid one.
    fn decoded(&self, function: &Range<usize>) -> Vec<Placed> {
        let mut instructions = Vec::new();
        self.decode(function, |placed| instructions.push(placed));
        instructions
    }

    fn decode(&self, function: &Range<usize>, mut each: impl FnMut(Placed)) {
        let code = self.bytes(function.clone());
        let mut at = 0;
        while let Some(instruction) = code.get(at..).and_then(x86::decode) {
            each((function.start + at, instruction));
            at += instruction.length;
        }
    }

    /// The functions that may contain a branch to one of these calls or its neighbors: those with bytes that, as a
    /// branch, would lead there, and those so close that a short branch could. Only they need to be decoded.
    fn may_lead_near(&self, calls: &[(usize, usize)]) -> Vec<&Range<usize>> {
        const REACH: usize = 2 * MAX_SHORT as usize;
        let mut near = Targets::new(self.segment.bytes.len());
        for (_, call) in calls {
            (call.saturating_sub(MAX_WINDOW)..call + MAX_WINDOW).for_each(|offset| near.add(offset));
        }
        let may_lead = |function: &&Range<usize>| {
            let calls_after = calls.partition_point(|(_, call)| call + REACH < function.start);
            let is_close = calls.get(calls_after).is_some_and(|(_, call)| *call < function.end + REACH);
            // The end of an opcode, then the distance. The opcode may have one byte, at the start of the function.
            let start = function.start.saturating_sub(1);
            let branches = self.bytes(start..function.end).windows(2 + size_of::<i32>()).enumerate();
            let leads_near = |(at, bytes): (usize, &[u8])| match *bytes {
                [_, 0xE8 | 0xE9, a, b, c, d] | [0x0F, 0x80..=0x8F, a, b, c, d] | [0xC7, 0xF8, a, b, c, d] => {
                    let distance = i32::from_le_bytes([a, b, c, d]);
                    near.has((start + at + bytes.len()).wrapping_add_signed(distance as isize))
                }
                _ => false,
            };
            is_close || branches.into_iter().any(leads_near)
        };
        self.functions.iter().filter(may_lead).collect()
    }

    /// Offsets to which direct branches of these functions lead.
    fn targets(&self, functions: &[&Range<usize>]) -> Targets {
        let mut targets = Targets::new(self.segment.bytes.len());
        for function in functions {
            self.decode(function, |(at, instruction)| {
                if let Flow::Branch(distance) = instruction.flow {
                    targets.add((at + instruction.length).wrapping_add_signed(distance as isize));
                }
            });
        }
        targets
    }
}

/// Sizes of the instructions before and after a call that have to move, so that a jump has room.
fn window(instructions: &[Placed], call: usize, targets: &Targets) -> Option<[usize; 2]> {
    let index = instructions.binary_search_by_key(&call, |(at, _)| *at).ok()?;
    let end = call + SHORT_JUMP_BYTES;
    // Offsets to which the window may extend, nearest first.
    let is_free = |placed: &&Placed| placed.1.is_movable();
    let before = instructions[..index].iter().rev().take_while(is_free).take(MAX_MOVED);
    let starts: Vec<usize> = std::iter::once(call).chain(before.map(|(at, _)| *at)).collect();
    let after = instructions[index + 1..].iter().take_while(is_free).take(MAX_MOVED);
    let ends = std::iter::once(end).chain(after.map(|(at, instruction)| at + instruction.length));
    let ends: Vec<usize> = ends.collect();
    let windows = starts.iter().flat_map(|start| ends.iter().map(|end| *start..*end));
    let fits = |window: &Range<usize>| window.len() >= JUMP_BYTES && !targets.lead_into(window);
    let window = windows.filter(fits).min_by_key(Range::len)?;
    Some([call - window.start, window.end - end])
}

/// Padding that is still free, in order.
struct PaddingRoom(Vec<Range<usize>>);

impl PaddingRoom {
    /// Takes padding for a jump that a short jump at `call` reaches.
    fn take(&mut self, call: usize) -> Option<usize> {
        let reach = |padding: usize| padding as i64 - (call + SHORT_JUMP_BYTES) as i64;
        let after = self.0.partition_point(|gap| reach(gap.end) < -MAX_SHORT);
        for gap in self.0.get_mut(after..)?.iter_mut().take_while(|gap| reach(gap.start) <= MAX_SHORT) {
            if gap.len() >= JUMP_BYTES && reach(gap.start) >= -MAX_SHORT {
                let padding = gap.start;
                gap.start += JUMP_BYTES;
                return Some(padding);
            }
        }
        None
    }
}

/// A set of offsets.
struct Targets(Vec<u64>);

impl Targets {
    fn new(bytes: usize) -> Targets {
        Targets(vec![0; bytes / 64 + 1])
    }

    fn has(&self, offset: usize) -> bool {
        self.0.get(offset / 64).is_some_and(|word| word >> (offset % 64) & 1 != 0)
    }

    fn add(&mut self, offset: usize) {
        if let Some(word) = self.0.get_mut(offset / 64) {
            *word |= 1 << (offset % 64);
        }
    }

    /// Whether a branch leads into a range, other than to its start.
    fn lead_into(&self, range: &Range<usize>) -> bool {
        (range.start + 1..range.end).any(|offset| self.has(offset))
    }
}

/// The plan with the branches of all functions, for tests that compare it with the one of fewer functions. Also returns
/// the number of functions, and of those that are decoded.
#[cfg(test)]
pub(super) fn thorough(elf: &crate::code::elf::Elf) -> Option<(Sites, [usize; 2])> {
    let functions = elf.functions()?;
    let mut sites = Sites::default();
    let mut counts = [0; 2];
    for segment in elf.code() {
        let code = ModuleCode::new(segment, &functions);
        let calls = code.calls();
        counts[0] += code.functions.len();
        counts[1] += code.may_lead_near(&calls).len();
        let functions: Vec<_> = code.functions.iter().collect();
        let targets = code.targets(&functions);
        for (function, call) in calls {
            let moved = window(&code.decoded(&code.functions[function]), call, &targets);
            sites.sites.extend(moved.and_then(|moved| code.site(call, 0, moved)));
        }
    }
    Some((sites, counts))
}

/// Sizes by offset of the system calls, for tests that compare with a disassembler.
#[cfg(test)]
pub(super) fn boundaries(elf: &crate::code::elf::Elf) -> Option<std::collections::HashMap<u64, usize>> {
    let functions = elf.functions()?;
    let mut boundaries = std::collections::HashMap::new();
    for segment in elf.code() {
        let code = ModuleCode::new(segment, &functions);
        for function in &code.functions {
            for (at, instruction) in code.decoded(function) {
                boundaries.insert(segment.address + at as u64, instruction.length);
            }
        }
    }
    Some(boundaries)
}
