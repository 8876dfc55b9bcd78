//! Plans the replacement of system call instructions in x86-64 code.
//!
//! See `sites` for the ways that are tried. Only functions near calls are decoded, and branches are collected only if
//! neighbors have to move: most of a large module is searched for a few bytes and not decoded.

#[cfg(test)]
use super::elf::Elf;
use super::elf::{ElfSegment, FunctionExtent};
use super::sites::{Site, Sites};
use super::x86::{self, Flow, Instruction};
use memchr::memmem;
use std::ops::Range;

pub(super) const SYSTEM_CALL: [u8; 2] = [0x0F, 0x05];

/// XBEGIN, which leads elsewhere if its transaction fails.
const START_TRANSACTION: [u8; 2] = [0xC7, 0xF8];

/// Sizes of a near jump (rel32) and of a short jump (rel8).
const JUMP_BYTES: usize = 5;
const SHORT_JUMP_BYTES: usize = 2;

/// Maximum distance of a short jump.
const MAX_SHORT: i64 = 127;

/// Maximum size of code without unwind information to search.
const MAX_GAP: usize = 1 << 20;

/// Maximum number of instructions before or after a call that move.
const MAX_MOVED: usize = 4;

/// Maximum size of these with the call, on each side: an instruction has at most 15 bytes.
const MAX_WINDOW: usize = 15 * (MAX_MOVED + 1);

/// Code before the call that returns from a signal handler. Unwinders recognize it.
const SIGNAL_RETURNS: [&[u8]; 2] = [&[0x48, 0xC7, 0xC0, 15, 0, 0, 0], &[0xB8, 15, 0, 0, 0]];

/// Code between two calls of musl's `__unmapself`: the first unmaps the stack of the thread, the second ends it. They
/// have to stay, since detours need a stack.
const UNMAPPED_EXITS: [&[u8]; 2] = [&[0x48, 0x31, 0xFF, 0xB8, 60, 0, 0, 0], &[0x31, 0xFF, 0xB8, 60, 0, 0, 0]];

/// Maximum distance from a call to code that matters for its replacement: padding, or a short branch to its neighbors.
const REACH: usize = 2 * MAX_SHORT as usize;

/// What matters of a function: its code, and what lies between it and the next one.
pub(super) fn extent(function: &FunctionExtent) -> Range<u64> {
    function.code.start..function.next.min(function.code.end.saturating_add(MAX_GAP as u64))
}

/// Whether a range is near one of these calls.
pub(super) fn is_near(range: &Range<u64>, calls: &[u64]) -> bool {
    let after = calls.partition_point(|call| call + (REACH as u64) < range.start);
    calls.get(after).is_some_and(|call| *call < range.end.saturating_add(REACH as u64))
}

/// The code of a segment near calls. Offsets are relative to its start.
pub(super) struct ModuleCode<'a> {
    segment: &'a ElfSegment,
    /// Bytes that look like calls.
    possible: Vec<usize>,
    /// Ranges of code, in order: functions, and what lies between them if it is not padding. glibc ends the unwind
    /// information of `clone` before its system call.
    functions: Vec<Range<usize>>,
    /// Padding between functions.
    padding: Vec<Range<usize>>,
}

/// An instruction with its offset.
type Placed = (usize, Instruction);

impl<'a> ModuleCode<'a> {
    /// Selects from the functions and possible calls of the module.
    pub(super) fn new(segment: &'a ElfSegment, functions: &[FunctionExtent], calls: &[u64]) -> ModuleCode<'a> {
        let addresses = segment.address..segment.address + segment.size as u64;
        let offset = |address: &u64| (address.clamp(&addresses.start, &addresses.end) - addresses.start) as usize;
        let possible = calls.iter().filter(|call| addresses.contains(call)).map(offset).collect();
        let mut code = ModuleCode { segment, possible, functions: Vec::new(), padding: Vec::new() };
        for function in functions.iter().filter(|function| addresses.contains(&function.code.start)) {
            let [start, end, next] = [&function.code.start, &function.code.end, &function.next].map(offset);
            code.functions.push(start..end);
            if next <= end || !is_near(&(function.code.end..function.next), calls) {
                continue;
            }
            if x86::is_padding(code.bytes(end..next)) {
                code.padding.push(end..next);
            } else if next - end <= MAX_GAP {
                code.functions.push(end..next);
            }
        }
        code
    }

    fn bytes(&self, range: Range<usize>) -> &'a [u8] {
        self.segment.bytes(range)
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
        // Branches from anywhere may lead to neighbors of a call.
        if crowded.is_empty() || !self.segment.is_whole() {
            sites.missed += crowded.len() as u32;
            return;
        }
        let targets = self.targets(&crowded);
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
        let mut instruction = 0;
        let mut last_index = None;
        for call in &self.possible {
            let after = self.functions.partition_point(|function| function.start <= *call);
            let Some(index) = after.checked_sub(1).filter(|index| self.functions[*index].contains(call)) else {
                continue;
            };
            let function = &self.functions[index];
            if last_index.replace(index) != Some(index) {
                instruction = function.start;
            }
            // Whether an instruction starts there can only be told from the start of the function.
            while instruction < *call {
                let decoded = x86::decode(self.bytes(instruction..function.end));
                instruction = decoded.map_or(usize::MAX, |decoded| instruction + decoded.length);
            }
            if instruction == *call && !self.has_to_stay(*call) {
                calls.push((index, *call));
            }
        }
        calls
    }

    /// Whether the code depends on this system call as it is.
    fn has_to_stay(&self, call: usize) -> bool {
        let before = self.bytes(call.saturating_sub(16)..call);
        let after = self.bytes(call + SYSTEM_CALL.len()..(call + 16).min(self.segment.size));
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

    /// Offsets near these calls to which branches lead. Short branches are decoded. Bytes that look like a long branch
    /// to there count as one without being decoded: false positives are safe, and rarely cost a window.
    fn targets(&self, calls: &[(usize, usize)]) -> Targets {
        let mut targets = Targets::new(self.segment.size);
        for function in self.functions.iter().filter(|function| is_close(function, calls)) {
            self.add_targets(function, &mut targets);
        }
        let mut near = Targets::new(self.segment.size);
        for (_, call) in calls {
            (call.saturating_sub(MAX_WINDOW)..call + MAX_WINDOW).for_each(|offset| near.add(offset));
        }
        self.long_branches().filter(|target| near.has(*target)).for_each(|target| targets.add(target));
        targets
    }

    /// Adds the offsets to which the direct branches of a function lead.
    fn add_targets(&self, function: &Range<usize>, targets: &mut Targets) {
        self.decode(function, |(at, instruction)| {
            if let Flow::Branch(distance) = instruction.flow {
                targets.add((at + instruction.length).wrapping_add_signed(distance as isize));
            }
        });
    }

    /// Offsets to which all bytes that look like long branches lead.
    fn long_branches(&self) -> impl Iterator<Item = usize> {
        let bytes = self.segment.bytes(0..self.segment.size);
        let opcodes = memchr::memchr3_iter(0xE8, 0xE9, 0x0F, bytes).chain(memmem::find_iter(bytes, &START_TRANSACTION));
        opcodes.filter_map(|at| match bytes.get(at..)? {
            [0xE8 | 0xE9, rest @ ..] | [0x0F, 0x80..=0x8F, rest @ ..] | [0xC7, 0xF8, rest @ ..] => {
                let distance = i32::from_le_bytes(*rest.first_chunk()?);
                Some((bytes.len() - rest.len() + size_of::<i32>()).wrapping_add_signed(distance as isize))
            }
            _ => None,
        })
    }
}

/// Whether a short branch in a function may lead to one of these calls or its neighbors.
fn is_close(function: &Range<usize>, calls: &[(usize, usize)]) -> bool {
    let calls_after = calls.partition_point(|(_, call)| call + REACH < function.start);
    calls.get(calls_after).is_some_and(|(_, call)| *call < function.end + REACH)
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

/// The code of each segment, with all functions.
#[cfg(test)]
fn all_code(elf: &Elf) -> Option<Vec<ModuleCode<'_>>> {
    let functions = elf.functions(|_| true)?;
    let calls = elf.find(&SYSTEM_CALL)?;
    Some(elf.code().map(|segment| ModuleCode::new(segment, &functions, &calls)).collect())
}

/// Addresses to which the decoded branches of all functions lead, for tests.
#[cfg(test)]
pub(super) fn branch_targets(elf: &Elf) -> Option<std::collections::HashSet<u64>> {
    let mut addresses = std::collections::HashSet::new();
    for code in all_code(elf)? {
        let mut targets = Targets::new(code.segment.size);
        code.functions.iter().for_each(|function| code.add_targets(function, &mut targets));
        let offsets = (0..code.segment.size).filter(|offset| targets.has(*offset));
        addresses.extend(offsets.map(|offset| code.segment.address + offset as u64));
    }
    Some(addresses)
}

/// Sizes of the instructions by address, for tests that compare with a disassembler.
#[cfg(test)]
pub(super) fn boundaries(elf: &Elf) -> Option<std::collections::HashMap<u64, usize>> {
    let mut boundaries = std::collections::HashMap::new();
    for code in all_code(elf)? {
        for function in &code.functions {
            for (at, instruction) in code.decoded(function) {
                boundaries.insert(code.segment.address + at as u64, instruction.length);
            }
        }
    }
    Some(boundaries)
}
