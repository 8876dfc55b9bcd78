//! Warns about everything in a scene that OFF cannot store. Changes nothing.

use super::writer::OffScene;
use polyhaul_geometry::losses::{CHANGED_REMARKS, LeftOut, note_changed, note_left_out};
use polyhaul_geometry::parts::{THIRD_COORDINATES, columns, homeless, homes, is_between_bytes, named, tables};
use polyhaul_model::names;
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{Domain, Mesh};

/// Properties of the colors of meshes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OffChannels {
    pub(super) any: bool,
    /// Number of colors with an undefined channel (NaN).
    missing: u64,
    /// Number of colors with a channel outside 0 to 1.
    outside: u64,
    /// Number of colors that bytes cannot represent exactly.
    rounded: u64,
    /// Whether any color has a channel that is more than 1 as a byte.
    has_large_bytes: bool,
    /// Whether any color has 1 as its largest byte.
    has_small_bytes: bool,
}

impl OffChannels {
    pub(super) fn of<'a>(meshes: impl Iterator<Item = &'a Mesh>) -> OffChannels {
        let mut channels = OffChannels::default();
        for mesh in meshes {
            channels.any |= !mesh.colors.is_empty();
            for color in &mesh.colors {
                let is_outside = |channel: &f32| !channel.is_nan() && !(0.0..=1.0).contains(channel);
                channels.missing += u64::from(color.iter().any(|channel| channel.is_nan()));
                channels.outside += u64::from(color.iter().any(is_outside));
                channels.rounded += u64::from(color.iter().any(|&channel| is_between_bytes(channel)));
                // Missing channels are white.
                let byte = |channel: &f32| if channel.is_nan() { 255 } else { color_byte(*channel) };
                let largest = color.iter().map(byte).fold(0, u8::max);
                channels.has_large_bytes |= largest > 1;
                channels.has_small_bytes |= largest == 1;
            }
        }
        channels
    }

    /// Whether a reader would mistake the bytes for values from 0 to 1.
    pub(super) fn is_ambiguous(&self) -> bool {
        self.has_small_bytes && !self.has_large_bytes
    }
}

/// Converts a channel, which is from 0 to 1, to the nearest byte.
pub(super) fn color_byte(channel: f32) -> u8 {
    (channel * 255.0 + 0.5) as u8
}

/// Warns about everything that OFF cannot store.
pub(super) fn note(off: &OffScene<'_>, channels: &OffChannels, warnings: &mut Warnings) {
    let job = off.job;
    let sum = |count: &dyn Fn(&Mesh) -> usize| homes(job.parts).map(|part| count(part.mesh) as u64).sum::<u64>();
    let face_normals = |mesh: &Mesh| if mesh.normal_domain == Domain::Face { mesh.normals.len() } else { 0 };
    let has_normals = job.options.scene.normals;
    // Points are written as faces with one corner.
    let kinds = homeless(job.parts, job.materials).into_iter().filter(|kind| kind.code != "left-out-points");
    let others = [
        ("left-out-normals", ["face normal", "face normals"], if has_normals { sum(&face_normals) } else { 0 }),
        ("left-out-uv-depths", THIRD_COORDINATES, sum(&|mesh| mesh.uv_depths.len())),
        ("left-out-remarks", ["comment", "comments"], job.scene.infos.len() as u64),
    ];
    let named = [named(job.parts), columns(homes(job.parts).map(|part| part.mesh), |_| false), tables(job.scene)];
    note_left_out("OFF", kinds.chain(named).chain(others.map(LeftOut::from)), job.output, warnings);
    let lines = job.comments.iter().flat_map(|comment| comment.split(['\n', '\r']));
    let changed = lines.filter(|line| names::remark(line).as_ref() != *line).count() as u64;
    let rounded = if off.as_bytes { channels.rounded } else { 0 };
    let others = [
        ("changed-remarks", CHANGED_REMARKS, changed, None),
        (
            "missing-color",
            ["vertex without a color was written as white", "vertices without a color were written as white"],
            channels.missing,
            None,
        ),
        (
            "clamped-color",
            ["color value outside 0 to 1 was clamped", "color values outside 0 to 1 were clamped"],
            channels.outside,
            None,
        ),
        (
            "changed-colors",
            ["color value was rounded to a byte", "color values were rounded to bytes"],
            rounded,
            Some("use `--float-colors` to keep them"),
        ),
    ];
    note_changed(others, job.output, warnings);
}
