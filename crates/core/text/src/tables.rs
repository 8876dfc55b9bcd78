//! Lookup tables shared by the vector kernels of all architectures.
//!
//! Each character of a set is stored at the index of its low nibble, so a byte is in the set if it equals the entry at
//! its own low nibble. Unused entries are zero, except entry 0, which a zero byte would match.

/// White space and the slash.
pub(crate) const SEPARATORS: [u8; 16] = *b" \0\0\0\0\0\0\0\0\t\n\x0B\x0C\r\0/";
/// White space.
pub(crate) const SPACES: [u8; 16] = *b" \0\0\0\0\0\0\0\0\t\n\x0B\x0C\r\0\0";
/// Characters that may precede a number in a list.
pub(crate) const BEFORE_IN_LIST: [u8; 16] = *b" \0\0\0\0\0\0\0\0\t\n[\0\r\0\0";

/// White space between the numbers of a list.
pub(crate) const BLANKS: [u8; 16] = *b" \0\0\0\0\0\0\0\0\t\n\0\0\r\0\0";
/// Characters at which a list of numbers stops; the vertical tab is missing because its entry holds `[`.
pub(crate) const STOPS: [u8; 16] = *b"\xFF\0\"#\0\0\0\0\0\0\0[\x0C]\0/";

/// Shuffle that reverses 16 bytes.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) const REVERSE: [u8; 16] = [15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0];

/// Positions of the set bits of each byte, lowest first, followed by zeros.
pub(crate) static PLACES: [[u8; 8]; 256] = {
    let mut table = [[0; 8]; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut bit = 0;
        let mut count = 0;
        while bit < 8 {
            if byte >> bit & 1 == 1 {
                table[byte][count] = bit;
                count += 1;
            }
            bit += 1;
        }
        byte += 1;
    }
    table
};
