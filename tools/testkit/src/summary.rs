//! Prints scenes, warnings and errors as text that is the same on every machine.
//!
//! Two results are equal if their texts are: small arrays are printed, large ones are reduced to their size and a hash
//! of their bits.

use polyhaul::error::{Diagnostic, Warning};
use polyhaul::model::{Counts, Elements, Mesh, NONE, Run, Scene};
use polyhaul::warnings::Warnings;
use polyhaul::{Error, Loaded};
use std::fmt::{Debug, Write};

/// Maximum number of rows of an array to print; longer arrays are hashed.
const SHOWN_ROWS: usize = 12;
/// Maximum number of warnings to print; the rest are hashed.
const SHOWN_WARNINGS: usize = 24;

/// Prints the result of reading: the scene with all warnings, or the error.
pub fn outcome(result: &Result<Loaded<Scene>, Error>) -> String {
    match result {
        Ok(loaded) => scene(&loaded.value) + &warnings(&loaded.report.warnings),
        Err(e) => error(e),
    }
}

/// Prints a scene.
pub fn scene(scene: &Scene) -> String {
    let mut out = String::new();
    for (index, mesh) in scene.meshes.iter().enumerate() {
        let _ = writeln!(out, "mesh {index}");
        arrays(&mut out, mesh);
    }
    for object in &scene.objects {
        let _ = writeln!(
            out,
            "object {:?} {:?} of mesh {} from {} to {}",
            object.name,
            object.kind,
            object.mesh,
            counts(object.start),
            counts(object.end)
        );
    }
    list(&mut out, "material", &scene.materials);
    list(&mut out, "library", &scene.material_libraries);
    out
}

fn arrays(out: &mut String, mesh: &Mesh) {
    floats(out, "positions", &mesh.positions);
    floats(out, "weights", &as_rows(&mesh.position_weights));
    floats(out, "colors", &mesh.colors);
    floats(out, "uvs", &mesh.uvs);
    floats(out, "uv depths", &as_rows(&mesh.uv_depths));
    floats(out, "normals", &mesh.normals);
    elements(out, "faces", &mesh.faces);
    elements(out, "lines", &mesh.lines);
    indices(out, "points", &mesh.points);
    list(out, "curve", &mesh.curves);
    list(out, "group", &mesh.groups);
    runs(out, "material", &mesh.material_runs);
    runs(out, "group", &mesh.group_runs);
    runs(out, "smoothing", &mesh.smoothing_runs);
}

fn as_rows(values: &[f32]) -> Vec<[f32; 1]> {
    values.iter().map(|&value| [value]).collect()
}

fn floats<const N: usize>(out: &mut String, name: &str, rows: &[[f32; N]]) {
    if rows.is_empty() {
        return;
    }
    let bits = rows.iter().flatten().map(|value| u64::from(value.to_bits()));
    let _ = write!(out, "  {name}: {} #{:016x}", rows.len(), hash(bits));
    if rows.len() <= SHOWN_ROWS {
        for row in rows {
            let _ = write!(out, " {row:?}");
        }
    }
    out.push('\n');
}

fn elements(out: &mut String, name: &str, elements: &Elements) {
    if *elements == Elements::default() {
        return;
    }
    let count = elements.len();
    let corners = elements.corner_positions.len();
    let _ = writeln!(out, "  {name}: {count} with {corners} corners");
    indices(out, "  offsets", &elements.offsets);
    indices(out, "  corner positions", &elements.corner_positions);
    indices(out, "  corner uvs", &elements.corner_uvs);
    indices(out, "  corner normals", &elements.corner_normals);
}

fn indices(out: &mut String, name: &str, values: &[u32]) {
    if values.is_empty() {
        return;
    }
    let numbers = values.iter().map(|&value| u64::from(value));
    let _ = write!(out, "  {name}: {} #{:016x}", values.len(), hash(numbers));
    if values.len() <= 4 * SHOWN_ROWS {
        for &value in values {
            let _ = write!(out, " {}", index(value));
        }
    }
    out.push('\n');
}

fn index(value: u32) -> String {
    match value {
        NONE => "-".to_owned(),
        value => value.to_string(),
    }
}

fn runs(out: &mut String, name: &str, runs: &[Run]) {
    if runs.len() > 4 * SHOWN_ROWS {
        let numbers = runs.iter().flat_map(|run| run.at.to_array().into_iter().chain([run.value]));
        let hash = hash(numbers.map(u64::from));
        let _ = writeln!(out, "  {name} runs: {} #{hash:016x}", runs.len());
        return;
    }
    for run in runs {
        let value = index(run.value);
        let _ = writeln!(out, "  {name} {value} from {}", counts(run.at));
    }
}

/// Prints the nonzero counts of positions, uvs, normals, faces, lines, points and curves.
fn counts(counts: Counts) -> String {
    let names = ["v", "vt", "vn", "f", "l", "p", "c"];
    let parts = names.iter().zip(counts.to_array());
    let parts: Vec<String> =
        parts.filter(|(_, count)| *count > 0).map(|(name, count)| format!("{name}{count}")).collect();
    if parts.is_empty() { "0".to_owned() } else { parts.join(",") }
}

/// Prints one line per item, without absent fields.
fn list<T: Debug>(out: &mut String, name: &str, items: &[T]) {
    if items.len() > 8 * SHOWN_ROWS {
        let text: Vec<u8> = items.iter().flat_map(|item| format!("{item:?}\n").into_bytes()).collect();
        let hash = hash(text.into_iter().map(u64::from));
        let _ = writeln!(out, "{name}: {} #{hash:016x}", items.len());
        return;
    }
    for item in items {
        let _ = writeln!(out, "{name} {}", present(&format!("{item:?}")));
    }
}

/// Removes the fields of a struct that are `None`, `false` or empty.
fn present(text: &str) -> String {
    let mut text = text.to_owned();
    // `SourceFolder` differs between machines.
    for absent in [": None", ": false", ": []", ": \"\"", ": SourceFolder"] {
        while let Some(at) = text.find(absent) {
            let start = text[..at].rfind([' ', '{']).map_or(at, |i| i + 1);
            let end = at + absent.len();
            let end = end + usize::from(text[end..].starts_with(',')) * 2;
            text.replace_range(start..end, "");
        }
    }
    text.replace(",  }", " }").replace("{  }", "{}")
}

/// Prints all warnings: the count of each kind, and their messages.
pub fn warnings(warnings: &Warnings) -> String {
    let mut out = String::new();
    for (code, count) in warnings.counts() {
        let _ = writeln!(out, "warnings {code}: {count}");
    }
    let texts: Vec<String> = warnings
        .kept()
        .iter()
        .map(|warning| format!("warning {}: {}", warning.code, diagnostic(&warning.diagnostic)))
        .collect();
    let (shown, rest) = texts.split_at(texts.len().min(SHOWN_WARNINGS));
    shown.iter().for_each(|text| out += text);
    if !rest.is_empty() {
        // Without folders: the hash must not depend on the location of the files.
        let folder = |warning: &Warning| {
            let file = &*warning.diagnostic.place.file;
            file.rfind(['/', '\\']).map_or(String::new(), |end| file[..=end].to_owned())
        };
        let bare = rest.iter().zip(&warnings.kept()[shown.len()..]);
        let bare: String = bare.map(|(text, warning)| text.replacen(&folder(warning), "", 1)).collect();
        let hash = hash(bare.bytes().map(u64::from));
        let _ = writeln!(out, "and {} warnings #{hash:016x}", rest.len());
    }
    out
}

/// Prints an error.
pub fn error(error: &Error) -> String {
    format!("error {:?}: {}", error.kind(), diagnostic(error.diagnostic()))
}

fn diagnostic(diagnostic: &Diagnostic) -> String {
    let mut out = format!("{diagnostic}\n");
    if let Some(hint) = &diagnostic.hint {
        let _ = writeln!(out, "  hint: {hint}");
    }
    if let Some(offset) = diagnostic.place.offset {
        let _ = writeln!(out, "  byte {offset}");
    }
    if let Some(excerpt) = &diagnostic.excerpt {
        let marked = excerpt.text.get(excerpt.marked.clone());
        let _ = writeln!(out, "  line {:?} marked {marked:?}", excerpt.text);
    }
    out
}

/// Hashes numbers (FNV-1a variant, one 64-bit word at a time).
pub fn hash(numbers: impl IntoIterator<Item = u64>) -> u64 {
    numbers
        .into_iter()
        .fold(0xCBF2_9CE4_8422_2325, |hash, number| (hash ^ number).wrapping_mul(0x0000_0100_0000_01B3).rotate_left(23))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::everything;
    use std::collections::HashSet;

    #[test]
    fn every_change_of_a_scene_changes_its_text() {
        let changes: [fn(&mut Scene); 16] = [
            |_| {},
            |scene| scene.meshes[0].positions.to_mut().unwrap()[3][1] = -0.0,
            |scene| scene.meshes[0].position_weights.to_mut().unwrap()[0] = 0.5,
            |scene| scene.meshes[0].colors.to_mut().unwrap()[15][3] = 0.0,
            |scene| scene.meshes[0].uvs.to_mut().unwrap().swap(0, 1),
            |scene| scene.meshes[0].uv_depths.to_mut().unwrap().clear(),
            |scene| scene.meshes[0].normals.to_mut().unwrap()[1][2] += 1.0,
            |scene| scene.meshes[0].faces.offsets.to_mut().unwrap()[1] += 1,
            |scene| scene.meshes[0].faces.corner_normals.to_mut().unwrap()[2] = 1,
            |scene| scene.meshes[0].lines.corner_uvs.to_mut().unwrap().clear(),
            |scene| scene.meshes[0].points.to_mut().unwrap().push(0),
            |scene| scene.meshes[0].group_runs[1].value = 0,
            |scene| scene.meshes[0].smoothing_runs[1].at.lines += 1,
            |scene| scene.meshes[0].groups[0].push('x'),
            |scene| scene.objects[0].end.uvs += 1,
            |scene| scene.materials[0].halo = true,
        ];
        let texts = changes.map(|change| {
            let mut changed = everything();
            change(&mut changed);
            scene(&changed)
        });
        assert_eq!(HashSet::from(texts).len(), changes.len());
    }

    #[test]
    fn absent_fields_are_left_out() {
        let text = "A { name: \"x\", missing: false, kd: None, maps: [], other: Some(1) }";
        assert_eq!(present(text), "A { name: \"x\", other: Some(1) }");
        assert_eq!(present("A { kd: Some(1), other: [] }"), "A { kd: Some(1) }");
    }
}
