//! Checks the fixed digits of every f32, all 2^32 bit patterns, for a given number of decimals.
//!
//! ```text
//! cargo run --release -p polyhaul-text --example prove_fixed -- [digits, 6] [threads, all]
//! ```
//!
//! Every value is formatted individually and in lines (the vector path, if the CPU has one) and compared with
//! independent integer arithmetic. On Unix, one value in 61 is also compared with the C library's `snprintf`.

use std::error::Error;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use polyhaul_text::format::{FixedLine, MAX_DIGITS, Page};

/// Number of values formatted and compared together.
const BATCH: usize = 4096;
/// Maximum length of an f32 with 12 decimals and a line feed, with a margin.
const VALUE_BYTES: usize = 64;
const PATTERNS: u64 = 1 << 32;
const SNPRINTF_STRIDE: usize = 61;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let digits = arguments.next().map_or(Ok(6), |text| text.parse())?;
    let default_threads = std::thread::available_parallelism()?.get();
    let threads = arguments.next().map_or(Ok(default_threads), |text| text.parse())?;
    if digits > MAX_DIGITS {
        return Err(format!("at most {MAX_DIGITS} digits").into());
    }
    let started = Instant::now();
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| Prover::new(digits).run(&next))).collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| "a thread panicked")?)
    })?;
    let seconds = started.elapsed().as_secs_f64();
    say(&format!("all {PATTERNS} values are correct with {digits} digits ({seconds:.0} s, {threads} threads)"))
}

fn say(line: &str) -> Result<(), Box<dyn Error>> {
    Ok(writeln!(std::io::stdout().lock(), "{line}")?)
}

/// Buffers of one thread.
struct Prover {
    digits: usize,
    line: FixedLine<'static>,
    expected: Vec<u8>,
    buffer: Vec<u8>,
}

impl Prover {
    fn new(digits: usize) -> Self {
        let line = FixedLine::new(b"", digits).separator(b'\n');
        Self { digits, line, expected: Vec::new(), buffer: vec![0; BATCH * VALUE_BYTES] }
    }

    /// Checks batches until none is left or one is wrong.
    fn run(mut self, next: &AtomicU64) -> Result<(), String> {
        loop {
            let first = next.fetch_add(BATCH as u64, Ordering::Relaxed);
            if first >= PATTERNS {
                return Ok(());
            }
            self.check(first as u32)?;
            let checked = first + BATCH as u64;
            if checked.is_multiple_of(PATTERNS / 16) {
                say(&format!("{} of 16", checked / (PATTERNS / 16))).map_err(|error| error.to_string())?;
            }
        }
    }

    fn check(&mut self, first: u32) -> Result<(), String> {
        let rows: Vec<[f32; 4]> = (first..=first + (BATCH as u32 - 1))
            .step_by(4)
            .map(|bits| std::array::from_fn(|lane| f32::from_bits(bits + lane as u32)))
            .collect();
        self.expected.clear();
        for (index, &value) in rows.as_flattened().iter().enumerate() {
            let start = self.expected.len();
            reference(&mut self.expected, value, self.digits);
            let is_sampled = (first as usize / BATCH + index).is_multiple_of(SNPRINTF_STRIDE);
            if is_sampled && !c_agrees(&self.expected[start..], value, self.digits) {
                return Err(format!("snprintf differs from the reference: {:#010x}", value.to_bits()));
            }
            self.expected.push(b'\n');
        }
        let mut page = Page::new(&mut self.buffer);
        for &value in rows.as_flattened() {
            page.fixed_f32(value, self.digits);
            page.byte(b'\n');
        }
        compare("individually", page.as_bytes(), &self.expected, first)?;
        page.clear();
        page.fixed_lines(&self.line, &rows);
        compare("in lines", page.as_bytes(), &self.expected, first)
    }
}

/// Returns an error with the first value that differs.
fn compare<'a>(how: &str, written: &'a [u8], expected: &'a [u8], first: u32) -> Result<(), String> {
    if written == expected {
        return Ok(());
    }
    let lines = |text: &'a [u8]| text.split(|&byte| byte == b'\n');
    let mut pairs = lines(written).zip(lines(expected)).enumerate();
    match pairs.find(|(_, (written, expected))| written != expected) {
        Some((index, (written, expected))) => {
            let [written, expected] = [written, expected].map(String::from_utf8_lossy);
            let bits = first + index as u32;
            Err(format!("{how}: {bits:#010x} is written as {written}, not {expected}"))
        }
        None => Err(format!("{how}: values are missing from {first:#010x} on")),
    }
}

/// Appends the digits of a value, computed with plain integer arithmetic: significand · 2^exponent · 10^digits, rounded
/// half to even.
fn reference(text: &mut Vec<u8>, value: f32, digits: usize) {
    let bits = value.to_bits();
    let field = (bits >> 23 & 0xFF) as i32;
    let fraction = bits & 0x7F_FFFF;
    if bits >> 31 == 1 {
        text.push(b'-');
    }
    if field == 0xFF {
        return text.extend_from_slice(if fraction == 0 { b"inf" } else { b"nan" });
    }
    let (significand, exponent) = if field == 0 { (fraction, -149) } else { (fraction + 0x80_0000, field - 150) };
    if exponent >= 0 {
        push_decimal(text, u128::from(significand) << exponent, 0);
        if digits > 0 {
            text.push(b'.');
            text.resize(text.len() + digits, b'0');
        }
        return;
    }
    let product = u64::from(significand) * 10u64.pow(digits as u32);
    let shift = exponent.unsigned_abs();
    // The product is below 2^64: with 65 or more bits shifted out, less than one half remains.
    let rounded = if shift > 64 { 0 } else { round_half_even(product, shift) };
    push_decimal(text, u128::from(rounded), digits);
}

/// Computes `product / 2^shift`, rounded half to even, for shifts of 1 to 64.
fn round_half_even(product: u64, shift: u32) -> u64 {
    let (quotient, remainder) = match shift {
        64 => (0, product),
        _ => (product >> shift, product & ((1 << shift) - 1)),
    };
    let half = 1u64 << (shift - 1);
    let up = remainder > half || (remainder == half && quotient % 2 == 1);
    quotient + u64::from(up)
}

/// Appends an integer with a point before its last `digits` digits.
fn push_decimal(text: &mut Vec<u8>, integer: u128, digits: usize) {
    const CHUNK: u128 = 10u128.pow(18);
    let mut reversed = [0u8; 48];
    let mut count = 0;
    let mut rest = integer;
    loop {
        let (mut low, high) = if rest < CHUNK { (rest as u64, 0) } else { ((rest % CHUNK) as u64, rest / CHUNK) };
        let chunk_start = count;
        while low > 0 || (high > 0 && count < chunk_start + 18) {
            reversed[count] = b'0' + (low % 10) as u8;
            low /= 10;
            count += 1;
        }
        if high == 0 {
            break;
        }
        rest = high;
    }
    while count < digits + 1 {
        reversed[count] = b'0';
        count += 1;
    }
    for position in (0..count).rev() {
        text.push(reversed[position]);
        if position == digits && digits > 0 {
            text.push(b'.');
        }
    }
}

#[cfg(unix)]
fn c_agrees(text: &[u8], value: f32, digits: usize) -> bool {
    use std::ffi::{c_char, c_int};
    unsafe extern "C" {
        fn snprintf(buffer: *mut c_char, size: usize, format: *const c_char, ...) -> c_int;
    }
    let mut buffer = [0u8; VALUE_BYTES];
    // SAFETY: the size is the buffer's own; `%.*f` takes an int and a double.
    let written = unsafe {
        snprintf(buffer.as_mut_ptr().cast(), buffer.len(), c"%.*f".as_ptr(), digits as c_int, f64::from(value))
    };
    // Converting a signaling NaN makes it quiet and keeps the sign.
    written as usize == text.len() && buffer.starts_with(text)
}

#[cfg(not(unix))]
fn c_agrees(_: &[u8], _: f32, _: usize) -> bool {
    true
}
