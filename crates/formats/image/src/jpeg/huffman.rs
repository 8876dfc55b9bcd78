//! Huffman decoding (T.81, Annexes C and F). Frequent codes are decoded into whole coefficients in one lookup.

/// Bits per table lookup. Codes have up to 16 bits, but codes longer than a lookup are rare.
const LOOKUP_BITS: u32 = 10;

/// Maximum length of a code in bits.
const MAX_CODE_BITS: usize = 16;

/// A Huffman table.
#[derive(Clone)]
pub(super) struct JpegCodes {
    /// By the next [`LOOKUP_BITS`] bits: the length of the code in the upper byte and its symbol in the lower byte; 0
    /// for longer codes.
    lookup: Box<[u16; 1 << LOOKUP_BITS]>,
    /// By the next [`LOOKUP_BITS`] bits: a whole coefficient, with its value in the upper 16 bits, the number of zeros
    /// before it in the next 8, and the length of code and value in the lowest 8; 0 if code and value are longer than a
    /// lookup, or for codes without a value.
    coefficients: Box<[i32; 1 << LOOKUP_BITS]>,
    /// By length: the end of the codes of up to this length, left-aligned in 16 bits.
    ends: [u32; MAX_CODE_BITS + 1],
    /// By length: the offset from a code to the index of its symbol.
    offsets: [i32; MAX_CODE_BITS + 1],
    symbols: [u8; 256],
}

impl JpegCodes {
    /// Builds the tables from the number of codes per length and their symbols. Returns `None` if there are too many
    /// codes.
    pub(super) fn new(counts: &[u8; MAX_CODE_BITS], symbols: &[u8]) -> Option<JpegCodes> {
        let mut table = JpegCodes {
            lookup: Box::new([0; 1 << LOOKUP_BITS]),
            coefficients: Box::new([0; 1 << LOOKUP_BITS]),
            ends: [0; MAX_CODE_BITS + 1],
            offsets: [0; MAX_CODE_BITS + 1],
            symbols: [0; 256],
        };
        table.symbols.get_mut(..symbols.len())?.copy_from_slice(symbols);
        // Canonical codes: the codes of each length continue the codes of the previous length (T.81, C.2).
        let mut code = 0_u32;
        let mut place = 0_usize;
        for (bits, count) in (1..).zip(counts) {
            let end = code + u32::from(*count);
            if end > 1 << bits {
                return None;
            }
            table.offsets[bits] = place as i32 - code as i32;
            for symbol in symbols.get(place..place + usize::from(*count))? {
                table.fill(code, bits as u32, *symbol);
                code += 1;
            }
            place += usize::from(*count);
            table.ends[bits] = code << (MAX_CODE_BITS - bits);
            code <<= 1;
        }
        Some(table)
    }

    /// Adds a code to the lookup tables.
    fn fill(&mut self, code: u32, bits: u32, symbol: u8) {
        if bits > LOOKUP_BITS {
            return;
        }
        let spare = LOOKUP_BITS - bits;
        let zeros = i32::from(symbol >> 4);
        let size = u32::from(symbol & 15);
        // Every continuation of the code has the same entry, apart from the bits of a value.
        for rest in 0..1_u32 << spare {
            let index = (code << spare | rest) as usize;
            // Never 0, which marks longer codes, because a code has at least one bit.
            self.lookup[index] = (bits << 8) as u16 | u16::from(symbol);
            if size > 0 && size <= spare {
                let value = extend(u64::from(rest >> (spare - size)), size);
                self.coefficients[index] = value << 16 | zeros << 8 | (bits + size) as i32;
            }
        }
    }
}

/// Decodes a value of `size` bits: the upper half of the range is positive, the lower half negative (T.81, F.2.2.1).
#[inline(always)]
fn extend(bits: u64, size: u32) -> i32 {
    let value = bits as i32;
    if size > 0 && value >> (size - 1) == 0 { value - ((1_i32 << size) - 1) } else { value }
}

/// Damage of the compressed data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JpegDamage {
    /// Bits that are not a code of the table.
    Code,
    /// A run of zeros past the end of the block, or a value with too many bits.
    Block,
    /// The data ends before the last pixel.
    End,
}

/// The bit buffer, kept across calls.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BitState {
    /// The next bits, left-aligned. Bits after `count` are 0 or equal to the next bits in the data.
    bits: u64,
    /// The number of valid bits.
    count: u32,
    /// Number of valid bits that are zeros past the end of the data.
    padding: u32,
}

impl BitState {
    /// Returns the number of unused bits, which is negative if more bits were used than the data has.
    pub(super) fn left(self) -> i32 {
        self.count as i32 - self.padding as i32
    }
}

/// Reads bits up to a marker.
pub(super) struct JpegBits<'a> {
    data: &'a [u8],
    at: usize,
    state: BitState,
}

impl<'a> JpegBits<'a> {
    pub(super) fn new(data: &'a [u8], state: BitState) -> JpegBits<'a> {
        JpegBits { data, at: 0, state }
    }

    /// Returns the number of bytes read.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn state(&self) -> BitState {
        self.state
    }

    /// Refills the buffer to at least 56 bits; past the end of the data, with zeros.
    #[inline(always)]
    fn fill(&mut self) {
        if let Some(bytes) = self.data.get(self.at..).and_then(|rest| rest.first_chunk()) {
            let word = u64::from_be_bytes(*bytes);
            // An FF byte starts a marker or is followed by a stuffed byte. Tests whether the complement has a zero
            // byte.
            const LOW: u64 = u64::MAX / 255;
            if (!word).wrapping_sub(LOW) & word & (LOW << 7) == 0 {
                // Loads as many whole bytes as fit, so the count becomes 56 to 63. The bits past the count are loaded
                // again.
                self.state.bits |= word >> self.state.count;
                self.at += ((63 - self.state.count) >> 3) as usize;
                // Whole bytes do not change the lowest three bits of the count.
                self.state.count |= 56;
                return;
            }
        }
        self.fill_slowly();
    }

    /// Refills the buffer byte by byte: at stuffed bytes and near the end.
    #[cold]
    #[inline(never)]
    fn fill_slowly(&mut self) {
        while self.state.count < 56 {
            let byte = match (self.data.get(self.at), self.data.get(self.at + 1)) {
                (Some(0xFF), Some(0)) => {
                    self.at += 2;
                    0xFF
                }
                (Some(0xFF), _) | (None, _) => {
                    self.state.padding += 8;
                    0
                }
                (Some(byte), _) => {
                    self.at += 1;
                    *byte
                }
            };
            self.state.bits |= u64::from(byte) << 56 >> self.state.count;
            self.state.count += 8;
        }
    }

    #[inline(always)]
    fn need(&mut self, count: u32) {
        if self.state.count < count {
            self.fill();
        }
    }

    #[inline(always)]
    fn pass(&mut self, count: u32) {
        self.state.bits <<= count;
        self.state.count -= count;
    }

    /// Removes and returns up to 16 bits, which must be available.
    #[inline(always)]
    fn take(&mut self, count: u32) -> u64 {
        // Two shifts, since a shift by 64 for `count` 0 would overflow.
        let value = self.state.bits >> 1 >> (63 - count);
        self.pass(count);
        value
    }

    /// Reads a bit.
    #[inline(always)]
    pub(super) fn bit(&mut self) -> bool {
        self.need(1);
        self.take(1) == 1
    }

    /// Reads up to 16 bits as an unsigned number.
    #[inline(always)]
    pub(super) fn number(&mut self, count: u32) -> u32 {
        self.need(count);
        self.take(count) as u32
    }

    /// Decodes a symbol. At least 16 bits must be available.
    #[inline(always)]
    fn symbol(&mut self, table: &JpegCodes) -> Result<u8, JpegDamage> {
        let entry = table.lookup[(self.state.bits >> (64 - LOOKUP_BITS)) as usize];
        if entry != 0 {
            self.pass(u32::from(entry >> 8));
            return Ok(entry as u8);
        }
        self.long_symbol(table)
    }

    #[cold]
    #[inline(never)]
    fn long_symbol(&mut self, table: &JpegCodes) -> Result<u8, JpegDamage> {
        let next = (self.state.bits >> 48) as u32;
        let longer = LOOKUP_BITS as usize + 1..=MAX_CODE_BITS;
        let bits = longer.clone().find(|bits| next < table.ends[*bits]).ok_or(self.damage())?;
        let code = (next >> (MAX_CODE_BITS - bits)) as i32;
        let place = usize::try_from(code + table.offsets[bits]).map_err(|_| self.damage())?;
        self.pass(bits as u32);
        table.symbols.get(place).copied().ok_or(self.damage())
    }

    /// Returns the kind of damage for an invalid code: the end of the data if the code includes padding.
    fn damage(&self) -> JpegDamage {
        if self.state.padding > 0 { JpegDamage::End } else { JpegDamage::Code }
    }

    /// Decodes a symbol of a progressive scan.
    #[inline(always)]
    pub(super) fn next_symbol(&mut self, table: &JpegCodes) -> Result<u8, JpegDamage> {
        self.need(32);
        self.symbol(table)
    }

    /// Decodes a signed value of up to 16 bits.
    #[inline(always)]
    pub(super) fn value(&mut self, size: u32) -> i32 {
        self.need(16);
        let bits = self.take(size);
        extend(bits, size)
    }

    /// Decodes the difference between the DC coefficients of this block and the previous one.
    #[inline(always)]
    pub(super) fn difference(&mut self, table: &JpegCodes) -> Result<i32, JpegDamage> {
        self.need(32);
        let size = u32::from(self.symbol(table)?);
        if size > 16 {
            return Err(JpegDamage::Block);
        }
        let bits = self.take(size);
        Ok(extend(bits, size))
    }

    /// Decodes the next AC coefficient of a sequential block: the number of zeros before it and its value. A value of 0
    /// ends the block, unless 15 zeros precede it.
    #[inline(always)]
    pub(super) fn coefficient(&mut self, table: &JpegCodes) -> Result<Coefficient, JpegDamage> {
        self.need(32);
        // 32 bits cover the longest code and value, of 16 bits each.
        let entry = table.coefficients[(self.state.bits >> (64 - LOOKUP_BITS)) as usize];
        if entry != 0 {
            self.pass((entry & 0xFF) as u32);
            return Ok(Coefficient { zeros: (entry >> 8 & 0xFF) as usize, value: entry >> 16 });
        }
        let symbol = self.symbol(table)?;
        let size = u32::from(symbol & 15);
        let bits = self.take(size);
        Ok(Coefficient { zeros: usize::from(symbol >> 4), value: extend(bits, size) })
    }
}

/// A coefficient, with the number of zeros before it in zigzag order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Coefficient {
    pub(super) zeros: usize,
    pub(super) value: i32,
}
