//! Encodes rows of blocks with Intel's ISPC texture compressor.
//!
//! Only this file uses the library. It calls the kernels directly, because the library's wrappers are written in C++
//! and need the C++ runtime. Each call compresses one row of blocks; a block depends only on its own pixels. The
//! kernels dispatch on the CPU: AVX2 and AVX-512 produce the same bytes, and CPUs without AVX2 round a few percent of
//! blocks differently. `compress` prepares the pixels.

use super::compress::BlockQuality;
use polyhaul_model::Encoding;
use polyhaul_model::error::{Error, ErrorKind, Result};

/// The pixels for a row of blocks: four rows of samples.
#[derive(Clone, Copy)]
pub(super) struct Strip<'a> {
    pub(super) bytes: &'a [u8],
    /// Pixels per row, a multiple of 4.
    pub(super) width: usize,
    /// Distance between rows in bytes.
    pub(super) stride_bytes: usize,
    /// Whether all alpha values are 255.
    #[cfg_attr(all(windows, target_env = "gnu"), expect(dead_code, reason = "for kernels that are not there"))]
    pub(super) is_opaque: bool,
}

/// Alignment of pixels in bytes: the kernels read them as 32-bit integers.
pub(super) const ALIGNED: usize = 4;

/// Returns the kernel's samples per pixel and bytes per sample, or `None` for encodings without a kernel.
pub(super) fn kernel_input(encoding: Encoding) -> Option<(usize, usize)> {
    match encoding {
        Encoding::Bc1 | Encoding::Bc3 | Encoding::Bc7 => Some((4, 1)),
        Encoding::Bc4 { signed: false } => Some((1, 1)),
        Encoding::Bc5 { signed: false } => Some((2, 1)),
        Encoding::Bc6h { signed: false } => Some((4, 2)),
        _ => None,
    }
}

/// Compresses a row of blocks into `blocks`, which must have the exact size.
pub(super) fn encode(encoding: Encoding, quality: BlockQuality, strip: Strip<'_>, blocks: &mut [u8]) -> Result<()> {
    let fits = || {
        let (samples, bytes) = kernel_input(encoding)?;
        let row_bytes = strip.width.checked_mul(samples * bytes)?;
        let needed = strip.stride_bytes.checked_mul(3)?.checked_add(row_bytes)?;
        let is_whole = strip.width > 0 && strip.width.is_multiple_of(4) && row_bytes <= strip.stride_bytes;
        let has_room = strip.bytes.len() >= needed && blocks.len() == strip.width / 4 * encoding.bytes();
        let is_aligned = strip.bytes.as_ptr().align_offset(ALIGNED) == 0 && strip.stride_bytes.is_multiple_of(ALIGNED);
        let is_counted = i32::try_from(strip.stride_bytes).is_ok();
        (is_whole && has_room && is_counted && (is_aligned || samples * bytes < ALIGNED)).then_some(())
    };
    fits().ok_or_else(|| Error::new(ErrorKind::Internal, "a row of blocks does not fit its pixels"))?;
    kernels::encode(encoding, quality, strip, blocks)
}

#[cfg(all(
    any(target_arch = "x86_64", target_arch = "aarch64"),
    any(all(target_os = "linux", target_env = "gnu"), target_os = "macos", all(windows, target_env = "msvc"))
))]
mod kernels {
    use super::Strip;
    use crate::blocks::compress::BlockQuality;
    use intel_tex_2::bindings::kernel;
    use intel_tex_2::{bc6h, bc7};
    use polyhaul_model::Encoding;
    use polyhaul_model::error::{Error, ErrorKind, Result};

    // The library's archive contains an unused C++ object that needs `__gxx_personality_v0` from the C++ runtime. In
    // unoptimized builds, Rust's linker (rust-lld, the default on this target) pulls it in, and dependents of this
    // crate would fail to link. The runtime is linked as needed, so programs that do not use the object do not depend
    // on it. Release builds never pull it in. See https://github.com/rust-lang/rust/issues/135257.
    #[cfg(all(debug_assertions, target_os = "linux", target_arch = "x86_64"))]
    #[link(name = "libstdc++.so.6", kind = "dylib", modifiers = "+verbatim")]
    unsafe extern "C" {}

    /// Calls the kernel. The caller has checked the sizes of the strip and of `blocks`.
    pub(super) fn encode(encoding: Encoding, quality: BlockQuality, strip: Strip<'_>, blocks: &mut [u8]) -> Result<()> {
        let mut surface = kernel::rgba_surface {
            // The kernels do not write to it.
            ptr: strip.bytes.as_ptr().cast_mut(),
            width: strip.width as i32,
            height: 4,
            stride: strip.stride_bytes as i32,
        };
        let from = &raw mut surface;
        let to = blocks.as_mut_ptr();
        // SAFETY: `super::encode`, the only caller, checked that `bytes` holds 4 rows of `width` pixels of the kernel's
        // type, `stride` apart and aligned, and that `blocks` has exactly the size of their blocks. The kernels only
        // read the pixels and keep no pointer.
        unsafe {
            match encoding {
                Encoding::Bc1 => kernel::CompressBlocksBC1_ispc(from, to),
                Encoding::Bc3 => kernel::CompressBlocksBC3_ispc(from, to),
                Encoding::Bc4 { .. } => kernel::CompressBlocksBC4_ispc(from, to),
                Encoding::Bc5 { .. } => kernel::CompressBlocksBC5_ispc(from, to),
                Encoding::Bc6h { .. } => kernel::CompressBlocksBC6H_ispc(from, to, &mut bc6h_settings(quality)),
                Encoding::Bc7 => {
                    kernel::CompressBlocksBC7_ispc(from, to, &mut bc7_settings(quality, strip.is_opaque));
                }
                _ => return Err(Error::new(ErrorKind::Internal, "no kernel for this block format")),
            }
        }
        Ok(())
    }

    fn bc6h_settings(quality: BlockQuality) -> kernel::bc6h_enc_settings {
        let settings = match quality {
            BlockQuality::Fast => bc6h::very_fast_settings(),
            BlockQuality::Normal => bc6h::basic_settings(),
            BlockQuality::Best => bc6h::very_slow_settings(),
        };
        kernel::bc6h_enc_settings {
            slow_mode: settings.slow_mode,
            fast_mode: settings.fast_mode,
            refineIterations_1p: settings.refine_iterations_1p as i32,
            refineIterations_2p: settings.refine_iterations_2p as i32,
            fastSkipTreshold: settings.fast_skip_threshold as i32,
        }
    }

    fn bc7_settings(quality: BlockQuality, is_opaque: bool) -> kernel::bc7_enc_settings {
        let settings = match (quality, is_opaque) {
            (BlockQuality::Fast, true) => bc7::opaque_ultra_fast_settings(),
            (BlockQuality::Fast, false) => bc7::alpha_ultra_fast_settings(),
            (BlockQuality::Normal, true) => bc7::opaque_fast_settings(),
            (BlockQuality::Normal, false) => bc7::alpha_fast_settings(),
            (BlockQuality::Best, true) => bc7::opaque_slow_settings(),
            (BlockQuality::Best, false) => bc7::alpha_slow_settings(),
        };
        kernel::bc7_enc_settings {
            mode_selection: settings.mode_selection,
            refineIterations: settings.refine_iterations.map(|count| count as i32),
            skip_mode2: settings.skip_mode2,
            fastSkipTreshold_mode1: settings.fast_skip_threshold_mode1 as i32,
            fastSkipTreshold_mode3: settings.fast_skip_threshold_mode3 as i32,
            fastSkipTreshold_mode7: settings.fast_skip_threshold_mode7 as i32,
            mode45_channel0: settings.mode45_channel0 as i32,
            refineIterations_channel: settings.refine_iterations_channel as i32,
            channels: settings.channels,
        }
    }
}

/// Stub for systems without kernels in the library.
#[cfg(not(all(
    any(target_arch = "x86_64", target_arch = "aarch64"),
    any(all(target_os = "linux", target_env = "gnu"), target_os = "macos", all(windows, target_env = "msvc"))
)))]
mod kernels {
    use super::Strip;
    use crate::blocks::compress::BlockQuality;
    use polyhaul_model::Encoding;
    use polyhaul_model::error::{Error, ErrorKind, Result};

    pub(super) fn encode(_: Encoding, _: BlockQuality, _: Strip<'_>, _: &mut [u8]) -> Result<()> {
        let error = Error::new(ErrorKind::Unsupported, "block compression is not available on this system");
        Err(error.with_hint("choose an uncompressed `encoding`, such as `rgba8`"))
    }
}
