//! Decodes the length and control flow of x86-64 instructions.
//!
//! Decodes only what patching needs: the size of an instruction, the target of a direct branch, and whether the
//! instruction can be moved. Never interprets operands. Sources: Intel 64 and IA-32 Architectures Software
//! Developer's Manual, volume 2, chapter 2 and appendix A; AMD64 Architecture Programmer's Manual, volume 3 (XOP).
//! `sites` uses it.

/// Effect of an instruction on control flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Continues with the next instruction.
    Next,
    /// Makes a system call.
    SystemCall,
    /// May continue at this distance from the end of the instruction.
    Branch(i32),
    /// Continues elsewhere: a return, an indirect branch or a trap.
    Elsewhere,
}

/// The decoded parts of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Size in bytes, at most 15.
    pub length: usize,
    /// Effect on control flow.
    pub flow: Flow,
    /// Whether it uses RIP-relative addressing.
    pub is_relative: bool,
}

impl Instruction {
    /// Whether the instruction is position-independent.
    pub fn is_movable(&self) -> bool {
        self.flow == Flow::Next && !self.is_relative
    }
}

/// Maximum size of an instruction.
const MAX_BYTES: usize = 15;

/// Decodes the instruction at the start of `code`. Returns `None` if it is invalid in 64-bit mode or cut off.
pub fn decode(code: &[u8]) -> Option<Instruction> {
    let mut decoder = Decoder { code: code.get(..MAX_BYTES).unwrap_or(code), at: 0, has_wide: false, is_narrow: false };
    let instruction = decoder.instruction()?;
    (decoder.at <= decoder.code.len()).then_some(instruction)
}

/// Whether these bytes, up to the start of a function, are padding: instructions without effect, or traps.
pub fn is_padding(mut code: &[u8]) -> bool {
    while !code.is_empty() {
        let Some(instruction) = decode(code) else { return false };
        // The prefixes of long instructions without effect, then NOP, its form with an operand, or INT3.
        let prefixes = code.iter().take_while(|byte| matches!(byte, 0x66 | 0x2E | 0xF3)).count();
        let is_empty = matches!(code.get(prefixes..), Some([0x90 | 0xCC, ..] | [0x0F, 0x1F, ..]))
            || code.starts_with(&[0x48, 0x0F, 0x1F]);
        if !is_empty {
            return false;
        }
        code = &code[instruction.length..];
    }
    true
}

struct Decoder<'a> {
    code: &'a [u8],
    at: usize,
    /// Whether the prefix REX.W is present.
    has_wide: bool,
    /// Whether the operand size prefix is present.
    is_narrow: bool,
}

impl Decoder<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.code.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn instruction(&mut self) -> Option<Instruction> {
        let mut opcode = self.byte()?;
        while matches!(opcode, 0x66 | 0x67 | 0xF0 | 0xF2 | 0xF3 | 0x26 | 0x2E | 0x36 | 0x3E | 0x64 | 0x65) {
            self.is_narrow |= opcode == 0x66;
            opcode = self.byte()?;
        }
        if opcode & 0xF0 == 0x40 {
            self.has_wide = opcode & 8 != 0;
            opcode = self.byte()?;
        }
        match opcode {
            0x0F => self.two_bytes(),
            0xC5 => {
                self.byte()?;
                self.vector(1)
            }
            0xC4 => {
                let map = self.byte()? & 0x1F;
                self.byte()?;
                self.vector(map)
            }
            0x62 => {
                let map = self.byte()? & 7;
                self.at += 2;
                self.vector(map)
            }
            // XOP, unless the byte is the operand of POP.
            0x8F if self.code.get(self.at)? & 0x1F >= 8 => {
                let map = self.byte()? & 0x1F;
                self.at += 1;
                self.extended(map)
            }
            _ => self.one_byte(opcode),
        }
    }

    /// Size of an immediate operand that the operand size prefix makes narrower.
    fn full(&self) -> usize {
        if self.is_narrow { 2 } else { 4 }
    }

    fn one_byte(&mut self, opcode: u8) -> Option<Instruction> {
        match opcode {
            // Arithmetic: forms with operands, then the accumulator with an immediate.
            0x00..=0x3F => match opcode & 7 {
                0..=3 => self.operands(0),
                4 => self.plain(1),
                5 => self.plain(self.full()),
                _ => None,
            },
            0x50..=0x5F | 0x90..=0x99 | 0x9B..=0x9F | 0xA4..=0xA7 | 0xAA..=0xAF | 0x6C..=0x6F => self.plain(0),
            0xC9 | 0xF5 | 0xF8..=0xFD | 0xD7 | 0xEC..=0xEF => self.plain(0),
            0x63 | 0x84..=0x8F | 0xD0..=0xD3 | 0xD8..=0xDF => self.operands(0),
            0x68 | 0xA9 => self.plain(self.full()),
            0x69 | 0x81 => self.operands(self.full()),
            0x6A | 0xA8 | 0xB0..=0xB7 | 0xE4..=0xE7 => self.plain(1),
            0x6B | 0x80 | 0x83 | 0xC0 | 0xC1 | 0xC6 => self.operands(1),
            0x70..=0x7F | 0xE0..=0xE3 | 0xEB => self.short_branch(),
            // The prefix that narrows operands has no effect on near branches, except on old processors of AMD.
            0xE8 | 0xE9 => self.near_branch(),
            0xA0..=0xA3 => self.plain(8),
            0xB8..=0xBF => self.plain(if self.has_wide { 8 } else { self.full() }),
            0xC7 => self.operands(self.full()),
            0xC8 => self.plain(3),
            0xCD => self.flowing(1, Flow::Elsewhere),
            0xC2 | 0xCA => self.flowing(2, Flow::Elsewhere),
            0xC3 | 0xCB | 0xCC | 0xCF | 0xF1 | 0xF4 => self.flowing(0, Flow::Elsewhere),
            0xF6 | 0xF7 => {
                // TEST, the first two forms, has an immediate.
                let has_immediate = self.code.get(self.at)? & 0x30 == 0;
                let size = if opcode == 0xF6 { 1 } else { self.full() };
                self.operands(if has_immediate { size } else { 0 })
            }
            0xFE => self.operands(0),
            0xFF => {
                let form = self.code.get(self.at)? >> 3 & 7;
                let instruction = self.operands(0)?;
                let flow = if matches!(form, 2..=5) { Flow::Elsewhere } else { Flow::Next };
                Some(Instruction { flow, ..instruction })
            }
            _ => None,
        }
    }

    fn two_bytes(&mut self) -> Option<Instruction> {
        match self.byte()? {
            0x05 => self.flowing(0, Flow::SystemCall),
            0x07 | 0x0B | 0x34 | 0x35 => self.flowing(0, Flow::Elsewhere),
            0x06 | 0x08 | 0x09 | 0x0E | 0x30..=0x33 | 0x37 | 0x77 => self.plain(0),
            0xA0..=0xA2 | 0xA8..=0xAA | 0xC8..=0xCF => self.plain(0),
            0x38 => {
                self.byte()?;
                self.operands(0)
            }
            0x3A => {
                self.byte()?;
                self.operands(1)
            }
            0x80..=0x8F => self.near_branch(),
            0x0F | 0x70..=0x73 | 0xA4 | 0xAC | 0xBA | 0xC2 | 0xC4..=0xC6 => self.operands(1),
            0x04 | 0x0A | 0x0C | 0x24..=0x27 | 0x36 | 0x39 | 0x3B..=0x3F | 0xA6 | 0xA7 => None,
            _ => self.operands(0),
        }
    }

    /// Instructions with the prefixes VEX or EVEX, by opcode map.
    fn vector(&mut self, map: u8) -> Option<Instruction> {
        let opcode = self.byte()?;
        match map {
            // VZEROUPPER and VZEROALL have no operands.
            1 if opcode == 0x77 => self.plain(0),
            1 if matches!(opcode, 0x70..=0x73 | 0xC2 | 0xC4..=0xC6) => self.operands(1),
            3 => self.operands(1),
            1..=7 => self.operands(0),
            _ => None,
        }
    }

    /// Instructions with the prefix XOP, by opcode map.
    fn extended(&mut self, map: u8) -> Option<Instruction> {
        self.byte()?;
        match map {
            8 => self.operands(1),
            9 => self.operands(0),
            10 => self.operands(4),
            _ => None,
        }
    }

    /// An instruction with an immediate and no other operands in its code.
    fn plain(&mut self, immediate: usize) -> Option<Instruction> {
        self.flowing(immediate, Flow::Next)
    }

    fn flowing(&mut self, immediate: usize, flow: Flow) -> Option<Instruction> {
        self.at += immediate;
        Some(Instruction { length: self.at, flow, is_relative: false })
    }

    fn short_branch(&mut self) -> Option<Instruction> {
        let distance = i32::from(self.byte()?.cast_signed());
        self.flowing(0, Flow::Branch(distance))
    }

    fn near_branch(&mut self) -> Option<Instruction> {
        let bytes = self.code.get(self.at..self.at + 4)?;
        let distance = i32::from_le_bytes(bytes.try_into().ok()?);
        self.flowing(4, Flow::Branch(distance))
    }

    /// An instruction with operands in ModRM, SIB and displacement, then an immediate.
    fn operands(&mut self, immediate: usize) -> Option<Instruction> {
        let operand = self.byte()?;
        let mode = operand >> 6;
        let base = operand & 7;
        let mut displacement = match mode {
            1 => 1,
            2 => 4,
            _ => 0,
        };
        let is_relative = mode == 0 && base == 5;
        if mode != 3 && base == 4 {
            let index = self.byte()?;
            if mode == 0 && index & 7 == 5 {
                displacement = 4;
            }
        }
        if is_relative {
            displacement = 4;
        }
        self.at += displacement + immediate;
        Some(Instruction { length: self.at, flow: Flow::Next, is_relative })
    }
}
