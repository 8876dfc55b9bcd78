//! Prepares scenes for formats of Gaussian splats: extracts the splats and warns about everything else.
//!
//! This module does not encode splats. [`polyhaul_model::splats`] describes how a mesh stores them.

use crate::losses::{LeftOut, note, note_dropped, note_left_out};
use crate::parts::{PartsJob, THIRD_COORDINATES, homeless, homes, named, tables};
use polyhaul_model::Mesh;
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::options::SplatWriteOptions;
use polyhaul_model::splats::{HARMONICS, Splats, column_fault, says_antialiased};
use polyhaul_model::warnings::{Warnings, counted};

/// A scene to write as splats.
pub type SplatsJob<'a> = PartsJob<'a, SplatWriteOptions>;

/// Capabilities of a splat format.
pub struct SplatsTarget<'a> {
    /// Name of the format in messages.
    pub format: &'a str,
    /// Highest supported degree of spherical harmonics.
    pub max_degree: usize,
    /// Description of the precision of its numbers, for messages.
    pub precision: &'a str,
    /// Whether it stores the flag for splats trained with antialiased rendering.
    pub has_antialiasing: bool,
    /// Whether it stores comments.
    pub has_comments: bool,
}

/// Returns the splats of a scene that consists of one object with splats. Warns about everything that the file drops,
/// and about the rounding of its numbers.
///
/// # Errors
/// [`ErrorKind::Unsupported`] for other scenes and for objects with a transform; [`ErrorKind::Usage`] for a degree
/// above 4. Losses that `job.strict` refuses are errors, too.
pub fn splats_to_write<'a>(
    job: &SplatsJob<'a>,
    target: &SplatsTarget<'_>,
    warnings: &mut Warnings,
) -> Result<Splats<'a>> {
    let degree = usize::from(job.options.own.sh_degree);
    if degree >= HARMONICS.len() {
        let message = format!("invalid degree of spherical harmonics: {degree}");
        return Err(Error::new(ErrorKind::Usage, message).with_hint("choose a degree from 0 to 4"));
    }
    let splats = match job.parts {
        [] => return Err(no_splats(target.format, None)),
        [part] if part.frame.is_some() => {
            let message = format!("{} cannot store splats with a transform", target.format);
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        [part] => match Splats::from_mesh(part.mesh) {
            Some(splats) => splats,
            None => return Err(no_splats(target.format, Some(part.mesh))),
        },
        _ => {
            let message = format!("{} stores one object, but the scene has {}", target.format, job.parts.len());
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
    };
    let stored = splats.clone().up_to_degree(degree.min(target.max_degree));
    let columns: u64 = homes(job.parts).map(|part| column_count(part.mesh)).sum();
    let column_count = splats.column_count() as u64;
    let left = SplatsLeft {
        count: stored.len() as u64,
        normals: homes(job.parts).map(|part| used_normals(&part.mesh.normals)).sum(),
        harmonics: column_count - stored.column_count() as u64,
        columns: columns.saturating_sub(column_count),
    };
    note_losses(job, target, left, warnings);
    warnings.refuse_losses(job.strict)?;
    Ok(stored)
}

/// Returns whether a remark in the scene marks its splats as trained for antialiased rendering.
pub fn are_antialiased(job: &SplatsJob<'_>) -> bool {
    job.scene.infos.iter().chain(&job.scene.comments).any(|remark| says_antialiased(remark))
}

/// Creates the error for a scene without splats.
fn no_splats(format: &str, mesh: Option<&Mesh>) -> Error {
    let mut message = format!("{format} stores Gaussian splats, but the scene has none");
    if let Some(fault) = mesh.and_then(|mesh| column_fault(&mesh.vertex_columns)) {
        message = format!("{message}: {fault}");
    }
    let hint = "splats are vertices without faces, with the 32-bit float columns f_dc_0 to f_dc_2, opacity, \
                scale_0 to scale_2 and rot_0 to rot_3";
    Error::new(ErrorKind::Unsupported, message).with_hint(hint)
}

/// Counts for the warnings about splats.
#[derive(Clone, Copy, Debug, Default)]
pub struct SplatsLeft {
    /// Splats to write. Their values are rounded.
    pub count: u64,
    /// Nonzero normals.
    pub normals: u64,
    /// Columns of harmonics above the written degree.
    pub harmonics: u64,
    /// Vertex and face columns that do not belong to splats.
    pub columns: u64,
}

/// Returns the number of nonzero normals: training software writes zeros as a placeholder.
pub fn used_normals(normals: &[[f32; 3]]) -> u64 {
    normals.iter().filter(|normal| **normal != [0.0; 3]).count() as u64
}

fn column_count(mesh: &Mesh) -> u64 {
    (mesh.vertex_columns.len() + mesh.face_columns.len()) as u64
}

/// Warns about everything that a splat file drops, and about the rounding of its numbers.
pub fn note_losses(job: &SplatsJob<'_>, target: &SplatsTarget<'_>, left: SplatsLeft, warnings: &mut Warnings) {
    let sum = |count: &dyn Fn(&Mesh) -> usize| homes(job.parts).map(|part| count(part.mesh) as u64).sum::<u64>();
    let remarks = job.scene.infos.iter().chain(&job.scene.comments);
    let lost = remarks.filter(|remark| !(target.has_antialiasing && says_antialiased(remark))).count();
    let lost = if target.has_comments { 0 } else { lost };
    let others = [
        ("left-out-uvs", ["UV", "UVs"], sum(&|mesh| mesh.uvs.len())),
        ("left-out-uv-depths", THIRD_COORDINATES, sum(&|mesh| mesh.uv_depths.len())),
        ("left-out-normals", ["normal", "normals"], left.normals),
        ("left-out-colors", ["vertex color", "vertex colors"], sum(&|mesh| mesh.colors.len())),
        ("left-out-columns", ["non-splat column", "non-splat columns"], left.columns),
        ("left-out-remarks", ["comment", "comments"], lost as u64),
    ];
    let named = [named(job.parts), tables(job.scene)];
    let left_out = homeless(job.parts, job.materials).into_iter().chain(named).chain(others.map(LeftOut::from));
    note_left_out(target.format, left_out, job.output, warnings);
    let degree = usize::from(job.options.own.sh_degree).min(target.max_degree);
    note_harmonics(degree, left.harmonics, job.output, warnings);
    let message = format!("{} rounds splat values: {}", target.format, target.precision);
    note(job.output, "changed-numbers", left.count, message, warnings);
}

/// Warns about values that were clamped to the range of the format.
pub fn note_clamped(job: &SplatsJob<'_>, target: &SplatsTarget<'_>, count: u64, warnings: &mut Warnings) {
    let what = counted(count, ["splat value", "splat values"]);
    let verb = if count == 1 { "was" } else { "were" };
    let message = format!("{what} outside the range of {} {verb} clamped", target.format);
    note(job.output, "clamped-numbers", count, message, warnings);
}

/// Warns about columns of harmonics above the degree that is written.
pub fn note_harmonics(degree: usize, count: u64, output: &str, warnings: &mut Warnings) {
    let nouns = ["column of spherical harmonics", "columns of spherical harmonics"];
    note_dropped(&format!(" above degree {degree}"), [("left-out-harmonics", nouns, count)], output, warnings);
}
