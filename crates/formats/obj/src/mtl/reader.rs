//! Interprets MTL statements: the meaning of each keyword, and messages about invalid ones.
//!
//! Opens no files. Fails because of a library's content only if the caller set `strict` or if a limit is exceeded.
//! Words and numbers are in `statement`, lines and locations in `lines`.

use super::MAPS;
use super::lines::{Line, Lines};
use super::statement::{Fault, MtlWeight, Parsed, Statement, out_of_memory, quoted};
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Result, limit_hint, try_push, try_string};
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{Illumination, Material, TextureMap};
use polyhaul_pipeline::options::ParseOptions;
use std::collections::HashSet;
use std::sync::Arc;

/// Maximum difference between `d` and 1 - `Tr` that is not a contradiction: exporters round to 3 digits.
const OPACITY_TOLERANCE: f32 = 2e-3;

/// Reads the materials of a library.
///
/// `text` is the whole library, `file` its name in diagnostics. Faults are added to `warnings`.
///
/// # Errors
///
/// [`ErrorKind::Limit`] if a line or a name is longer than `options.limits` allows; [`ErrorKind::Memory`]; with
/// `options.faults.strict`, [`ErrorKind::Malformed`] instead of the first warning.
pub fn read(text: &[u8], file: &Arc<str>, options: &ParseOptions, warnings: &mut Warnings) -> Result<Vec<Material>> {
    let mut library = MtlLibrary { limit: options.limits.materials, ..MtlLibrary::default() };
    for line in Lines::new(text) {
        let line = line?;
        let mut report = |fault| report(fault, &line, text, file, options, warnings);
        if line.bytes.len() as u64 > options.limits.line_bytes {
            report(line_too_long(&line, options.limits.line_bytes))?;
        }
        let Some(mut statement) = Statement::new(&line.bytes, options.limits.name_bytes) else { continue };
        let outcome = library.apply(&mut statement);
        for fault in statement.notes.into_iter().chain(outcome.err()) {
            report(fault)?;
        }
    }
    library.close()?;
    Ok(library.materials)
}

fn line_too_long(line: &Line<'_>, allowed: u64) -> Fault {
    let message = format!("line of {} bytes is longer than the limit `line_bytes` ({allowed} bytes)", line.bytes.len());
    Fault { code: "line-length", message, expected: None, marked: 0..0, weight: MtlWeight::Limit("line_bytes") }
}

/// Adds the location to a fault and reports it.
fn report(
    fault: Fault,
    line: &Line<'_>,
    text: &[u8],
    file: &Arc<str>,
    options: &ParseOptions,
    warnings: &mut Warnings,
) -> Result<()> {
    let hint = match fault.weight {
        MtlWeight::Memory => return Err(Error::memory("a material library")),
        MtlWeight::Limit(limit) => Some(limit_hint(limit)),
        MtlWeight::Note => None,
    };
    let diagnostic = Diagnostic {
        message: fault.message,
        expected: fault.expected.map(str::to_owned),
        hint,
        place: line.place(text, file, fault.marked.start),
        excerpt: Some(line.excerpt(text, fault.marked)),
        ..Diagnostic::default()
    };
    match fault.weight {
        MtlWeight::Note => warnings.note(options.faults, fault.code, diagnostic),
        _ => Err(diagnostic.into_error(ErrorKind::Limit)),
    }
}

/// The materials so far.
#[derive(Default)]
struct MtlLibrary {
    materials: Vec<Material>,
    names: HashSet<String>,
    open: Option<MtlOpen>,
    /// Maximum number of materials.
    limit: u64,
}

/// The material that statements apply to.
#[derive(Default)]
struct MtlOpen {
    material: Material,
    /// Whether it is parsed only to report faults, because its name is missing or taken.
    discarded: bool,
    /// Whether the opacity comes from `Tr`.
    opacity_from_tr: bool,
}

impl MtlLibrary {
    fn apply(&mut self, statement: &mut Statement<'_>) -> Parsed<()> {
        if statement.keyword().eq_ignore_ascii_case(b"newmtl") {
            return self.start_material(statement);
        }
        let Some(open) = &mut self.open else {
            let message = format!("{} before the first `newmtl`", quoted(statement.keyword()));
            let fault = statement.fault("statement-outside-material", statement.keyword_range(), message);
            return Err(Fault { expected: Some("`newmtl NAME` before it"), ..fault });
        };
        open.parameter(statement)?;
        statement.finish();
        Ok(())
    }

    /// Handles `newmtl`.
    fn start_material(&mut self, statement: &mut Statement<'_>) -> Parsed<()> {
        self.close().map_err(out_of_memory)?;
        let open = self.open.insert(MtlOpen { discarded: true, ..MtlOpen::default() });
        let name = statement.name()?;
        if name.is_empty() {
            let message = "material without a name; its statements are ignored".to_owned();
            let fault = statement.fault("missing-name", statement.last_range(), message);
            return Err(Fault { expected: Some("`newmtl NAME`"), ..fault });
        }
        self.names.try_reserve(1).map_err(out_of_memory)?;
        open.discarded = !self.names.insert(try_string(&name).map_err(out_of_memory)?);
        if open.discarded {
            let message = format!("duplicate material {}; the first definition is used", quoted(name.as_bytes()));
            return Err(statement.fault("duplicate-material", statement.last_range(), message));
        }
        if self.names.len() as u64 > self.limit {
            let message = format!("more materials than the limit `materials` ({})", self.limit);
            let fault = statement.fault("material-count", statement.last_range(), message);
            return Err(Fault { weight: MtlWeight::Limit("materials"), ..fault });
        }
        open.material.name = name;
        Ok(())
    }

    fn close(&mut self) -> Result<()> {
        match self.open.take().filter(|open| !open.discarded) {
            Some(open) => try_push(&mut self.materials, open.material, "materials"),
            None => Ok(()),
        }
    }
}

/// Sets a parameter. Warns if it was already set.
fn set<T>(parameter: &mut Option<T>, value: T, statement: &mut Statement<'_>) {
    if parameter.replace(value).is_some() {
        let message = format!("repeated {}; the last value is used", quoted(statement.keyword()));
        statement.note("repeated-statement", statement.keyword_range(), message);
    }
}

impl MtlOpen {
    /// Handles all keywords except `newmtl`.
    fn parameter(&mut self, s: &mut Statement<'_>) -> Parsed<()> {
        let material = &mut self.material;
        match short_lowercase(s.keyword()).trim_ascii_end() {
            b"ka" => set(&mut material.ambient, s.color()?, s),
            b"kd" => set(&mut material.diffuse, s.color()?, s),
            b"ks" => set(&mut material.specular, s.color()?, s),
            b"ke" => set(&mut material.emission, s.color()?, s),
            b"tf" | b"kt" => set(&mut material.transmission, s.color()?, s),
            b"ns" => set(&mut material.shininess, s.number()?, s),
            b"ni" => set(&mut material.refraction_index, s.number()?, s),
            b"sharpness" => set(&mut material.sharpness, s.number()?, s),
            b"illum" => set(&mut material.illumination, illumination(s)?, s),
            b"pr" => set(&mut material.roughness, s.number()?, s),
            b"pm" => set(&mut material.metallic, s.number()?, s),
            b"ps" => set(&mut material.sheen, s.number()?, s),
            b"pc" => set(&mut material.clearcoat, s.number()?, s),
            b"pcr" => set(&mut material.clearcoat_roughness, s.number()?, s),
            b"aniso" => set(&mut material.anisotropy, s.number()?, s),
            b"anisor" => set(&mut material.anisotropy_rotation, s.number()?, s),
            b"map_aat" => set(&mut material.texture_antialiasing, s.switch()?, s),
            b"d" => {
                let halo = s.take_if("-halo");
                let opacity = s.number()?;
                check_opacity(opacity, s);
                self.set_opacity(opacity, false, s);
                self.material.halo = halo;
            }
            b"tr" => {
                let transparency = s.number()?;
                check_opacity(transparency, s);
                self.set_opacity(1.0 - transparency, true, s);
            }
            _ => return self.map_or_other(s),
        }
        Ok(())
    }

    /// Sets the opacity. `d` takes precedence over `Tr` in either order.
    fn set_opacity(&mut self, opacity: f32, from_tr: bool, s: &mut Statement<'_>) {
        let slot = &mut self.material.opacity;
        match *slot {
            Some(other) if self.opacity_from_tr != from_tr => {
                if (other - opacity).abs() > OPACITY_TOLERANCE {
                    let message = "`d` and `Tr` contradict each other; `d` is used".to_owned();
                    s.note("conflicting-opacity", s.keyword_range(), message);
                }
                if !from_tr {
                    *slot = Some(opacity);
                }
                self.opacity_from_tr = false;
            }
            _ => {
                set(slot, opacity, s);
                self.opacity_from_tr = from_tr;
            }
        }
    }

    fn map_or_other(&mut self, s: &mut Statement<'_>) -> Parsed<()> {
        let map = MAPS.iter().find(|(keyword, _)| s.keyword().eq_ignore_ascii_case(keyword.as_bytes()));
        if let Some(&(_, kind)) = map {
            let keyword = String::from_utf8_lossy(s.keyword()).into_owned();
            let map = texture_map(TextureMap { kind, keyword, ..TextureMap::default() }, s)?;
            try_push(&mut self.material.maps, map, "texture maps").map_err(out_of_memory)?;
        } else {
            let message = format!("unknown statement {}; kept unchanged", quoted(s.keyword()));
            s.note("unknown-statement", s.keyword_range(), message);
            try_push(&mut self.material.other, s.whole()?, "statements").map_err(out_of_memory)?;
        }
        Ok(())
    }
}

/// Returns a keyword in lower case, padded with spaces. Returns only spaces if it is longer than any known keyword.
fn short_lowercase(keyword: &[u8]) -> [u8; 12] {
    let mut lower = [b' '; 12];
    if let Some(place) = lower.get_mut(..keyword.len()) {
        place.copy_from_slice(keyword);
        place.make_ascii_lowercase();
    }
    lower
}

fn check_opacity(value: f32, s: &mut Statement<'_>) {
    if value.is_finite() && !(0.0..=1.0).contains(&value) {
        let message = format!("{value} is outside the range 0 to 1");
        s.note("out-of-range", s.last_range(), message);
    }
}

/// Parses the number of an illumination model. Some exporters write it with a decimal point, such as `2.0`.
fn illumination(s: &mut Statement<'_>) -> Parsed<Illumination> {
    let value = s.number()?;
    if value.fract() == 0.0 && (0.0..=10.0).contains(&value) {
        return Ok(value as Illumination);
    }
    let message = format!("invalid illumination model {}", s.last_quoted());
    let fault = s.fault("out-of-range", s.last_range(), message);
    Err(Fault { expected: Some("an integer from 0 to 10"), ..fault })
}

/// Parses the options and the file of a texture map.
fn texture_map(mut map: TextureMap, s: &mut Statement<'_>) -> Parsed<TextureMap> {
    while texture_option(&mut map, s)? {}
    map.file = s.file()?;
    if map.file.starts_with('-') {
        let message = "unknown option; read as part of the file name".to_owned();
        s.note("unknown-option", s.last_range(), message);
    }
    Ok(map)
}

/// Parses one option. Returns whether there was one.
fn texture_option(map: &mut TextureMap, s: &mut Statement<'_>) -> Parsed<bool> {
    if s.take_if("-o") {
        map.offset = Some(s.numbers([0.0; 3])?);
    } else if s.take_if("-s") {
        map.scale = Some(s.numbers([1.0; 3])?);
    } else if s.take_if("-t") {
        map.turbulence = Some(s.numbers([0.0; 3])?);
    } else if s.take_if("-mm") {
        map.base_gain = Some(s.numbers([0.0, 1.0])?);
    } else if s.take_if("-bm") {
        map.bump_multiplier = Some(s.number()?);
    } else if s.take_if("-boost") {
        map.boost = Some(s.number()?);
    } else if s.take_if("-texres") {
        map.resolution = Some(s.number()?);
    } else if s.take_if("-blendu") {
        map.blend_u = Some(s.switch()?);
    } else if s.take_if("-blendv") {
        map.blend_v = Some(s.switch()?);
    } else if s.take_if("-clamp") {
        map.clamp = Some(s.switch()?);
    } else if s.take_if("-cc") {
        map.color_correction = Some(s.switch()?);
    } else if s.take_if("-imfchan") {
        map.channel = Some(s.choice("one of r, g, b, m, l, z", channel)?);
    } else if s.take_if("-type") {
        map.projection = Some(s.label()?);
    } else if s.take_if("-colorspace") {
        map.color_space = Some(s.label()?);
    } else {
        return Ok(false);
    }
    Ok(true)
}

fn channel(word: &[u8]) -> Option<char> {
    match word {
        [byte] => Some(char::from(byte.to_ascii_lowercase())).filter(|channel| "rgbmlz".contains(*channel)),
        _ => None,
    }
}
