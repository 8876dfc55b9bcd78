//! Detects the CPU's instruction sets once per process.

use std::sync::atomic::{AtomicU8, Ordering};

/// Instruction set level of a kernel. Results are identical on every level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Any CPU.
    Portable,
    /// 16-byte vectors: NEON on any aarch64; SSSE3, SSE4.1 and POPCNT on x86-64 (2008 and later); simd128 in
    /// WebAssembly modules built with it.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
    Vector,
    /// x86-64 with AVX2, BMI1, BMI2, POPCNT and LZCNT (2013 and later).
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX2 level plus AVX-512 F, BW, CD, DQ, VL, VBMI, VBMI2 and VPOPCNTDQ (2019 and later).
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

const UNKNOWN: u8 = u8::MAX;
static BEST_LEVEL: AtomicU8 = AtomicU8::new(UNKNOWN);

impl Level {
    /// Returns the highest level that this CPU supports, or the level set by [`Level::cap`] if that is lower.
    pub fn best() -> Level {
        let code = BEST_LEVEL.load(Ordering::Relaxed);
        if code != UNKNOWN {
            return Self::available_from(code);
        }
        // Threads that get here at the same time detect and store the same level.
        let level = Self::detect();
        BEST_LEVEL.store(level as u8, Ordering::Relaxed);
        level
    }

    /// Caps [`Level::best`] at this level for the rest of the process. Benchmarks use it to estimate the speed of older
    /// CPUs.
    pub fn cap(self) {
        BEST_LEVEL.store(self.usable() as u8, Ordering::Relaxed);
    }

    /// Returns all levels up to [`Level::best`], the portable one first. Tests compare their results.
    pub fn all() -> impl Iterator<Item = Level> {
        let best = Level::best() as u8;
        (0..=best).map(Self::available_from)
    }

    /// Returns this level, or [`Level::best`] if that is lower.
    pub(crate) fn usable(self) -> Level {
        self.min(Level::best())
    }

    #[cfg(target_arch = "x86_64")]
    fn available_from(code: u8) -> Level {
        [Level::Portable, Level::Vector, Level::Avx2, Level::Avx512][usize::from(code.min(3))]
    }

    #[cfg(any(target_arch = "aarch64", target_arch = "wasm32"))]
    fn available_from(code: u8) -> Level {
        [Level::Portable, Level::Vector][usize::from(code.min(1))]
    }

    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32")))]
    fn available_from(_: u8) -> Level {
        Level::Portable
    }

    #[cfg(target_arch = "x86_64")]
    fn detect() -> Level {
        let vector = is_x86_feature_detected!("ssse3")
            && is_x86_feature_detected!("sse4.1")
            && is_x86_feature_detected!("popcnt");
        let avx2 = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("lzcnt");
        let avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512cd")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512vbmi2")
            && is_x86_feature_detected!("avx512vpopcntdq");
        // A level requires the instructions of all lower ones.
        match (vector, avx2, avx512) {
            (false, _, _) => Level::Portable,
            (true, false, _) => Level::Vector,
            (true, true, false) => Level::Avx2,
            (true, true, true) => Level::Avx512,
        }
    }

    #[cfg(any(target_arch = "aarch64", target_arch = "wasm32"))]
    fn detect() -> Level {
        // Known at compile time: all aarch64 CPUs have NEON, and an engine rejects a WebAssembly module that contains
        // instructions it does not support.
        let has_vectors = cfg!(any(target_arch = "aarch64", target_feature = "simd128"));
        if has_vectors { Level::Vector } else { Level::Portable }
    }

    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32")))]
    fn detect() -> Level {
        Level::Portable
    }
}
