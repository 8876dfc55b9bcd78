//! Tables in which vector kernels look bytes up, whatever the CPU.
//!
//! Sets of characters have each of theirs at the place given by its lower four bits: a byte that is one of them finds
//! itself there. Zeros are at places that no zero maps to.

/// White space and the slash.
pub(crate) const SEPARATORS: [u8; 16] = *b" \0\0\0\0\0\0\0\0\t\n\x0B\x0C\r\0/";
/// White space.
pub(crate) const SPACES: [u8; 16] = *b" \0\0\0\0\0\0\0\0\t\n\x0B\x0C\r\0\0";
/// What may precede a number of a list.
pub(crate) const BEFORE_IN_LIST: [u8; 16] = *b" \0\0\0\0\0\0\0\0\t\n[\0\r\0\0";

/// White space between numbers of a list.
pub(crate) const BLANKS: [u8; 16] = *b" \0\0\0\0\0\0\0\0\t\n\0\0\r\0\0";
/// Characters that stop the numbers of a list; the vertical tab has no free place here.
pub(crate) const STOPS: [u8; 16] = *b"\xFF\0\"#\0\0\0\0\0\0\0[\x0C]\0/";

/// Reverses 16 bytes.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) const REVERSE: [u8; 16] = [15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0];

/// The places of the bits of a byte, lowest first.
pub(crate) static PLACES: [[u8; 8]; 256] = {
    let mut table = [[0; 8]; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut bit, mut at) = (0, 0);
        while bit < 8 {
            if byte >> bit & 1 == 1 {
                table[byte][at] = bit;
                at += 1;
            }
            bit += 1;
        }
        byte += 1;
    }
    table
};
