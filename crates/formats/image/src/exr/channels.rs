//! Determines the channels to write for an image, sorted by name, and builds the header before them.

use super::header::{ExrWindow, MAX_NAME_BYTES, STORAGE};
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::names::shown;
use polyhaul_model::options::ImageWriteOptions;
use polyhaul_model::{ChannelSamples, ChannelType, Channels, Image, ImageAttribute};
use std::collections::BTreeMap;

/// Maximum length in bytes of a name without the flag for long names.
const SHORT_NAME_BYTES: usize = 31;
/// ZIP compression in blocks of 16 rows.
const ZIP: u8 = 3;

/// A channel to write.
pub(super) struct OutChannel<'a> {
    pub(super) name: &'a str,
    pub(super) kind: ChannelType,
    pub(super) source: ChannelSource<'a>,
}

/// The source of a channel's samples.
pub(super) enum ChannelSource<'a> {
    /// This sample of each pixel.
    Color(usize),
    /// A separate plane.
    Plane(&'a ChannelSamples),
}

/// Returns the default channel names of a pixel's samples.
pub(super) fn standard_names(channels: Channels) -> &'static [&'static str] {
    match channels {
        Channels::Gray => &["Y"],
        Channels::GrayAlpha => &["Y", "A"],
        Channels::Rgb => &["R", "G", "B"],
        Channels::Rgba => &["R", "G", "B", "A"],
    }
}

/// Returns the type with which sample `place` of each pixel is written.
fn color_kind(image: &Image, place: usize, style: &ImageWriteOptions) -> ChannelType {
    match image.stored.get(place).map(|stored| stored.kind) {
        Some(ChannelType::F32 | ChannelType::U32) => ChannelType::F32,
        _ if style.exr_float => ChannelType::F32,
        _ => ChannelType::F16,
    }
}

/// Returns the name and the index of each written sample of a pixel: all except samples missing from the original file,
/// and samples whose exact values are in an extra channel.
fn colors(image: &Image) -> Vec<(&str, usize)> {
    let standard = || standard_names(image.channels).iter().copied().zip(0..).collect();
    if image.stored.is_empty() {
        return standard();
    }
    let is_exact = |name: &str| image.extra.iter().any(|channel| channel.name == name);
    let stored = image.stored.iter().map(|stored| stored.name.as_str()).zip(0..);
    let written: Vec<_> = stored.filter(|(name, _)| !name.is_empty() && !is_exact(name)).collect();
    if written.is_empty() && image.extra.is_empty() { standard() } else { written }
}

/// Returns the indices of the samples of a pixel that are written as halves.
pub(super) fn halves(image: &Image, style: &ImageWriteOptions) -> Vec<usize> {
    let is_half = |place: &usize| color_kind(image, *place, style) == ChannelType::F16;
    colors(image).into_iter().map(|(_, place)| place).filter(is_half).collect()
}

/// Returns whether colors must be premultiplied for writing.
pub(super) fn multiplies(image: &Image) -> bool {
    image.channels.has_alpha() && !image.premultiplied
}

/// Returns the channels of an image, sorted by name.
pub(super) fn channels<'a>(image: &'a Image, style: &ImageWriteOptions) -> Result<Vec<OutChannel<'a>>> {
    // The format requires channels sorted by the bytes of their names.
    let mut by_name = BTreeMap::new();
    let colors = colors(image).into_iter().map(|(name, place)| OutChannel {
        name,
        kind: color_kind(image, place, style),
        source: ChannelSource::Color(place),
    });
    let planes = image.extra.iter().map(|channel| OutChannel {
        name: &channel.name,
        kind: match channel.samples.kind() {
            // EXR has no 8-bit or 16-bit integers. Halves distinguish all 8-bit values, and floats all 16-bit values.
            ChannelType::U8 | ChannelType::F16 => ChannelType::F16,
            ChannelType::U16 | ChannelType::F32 => ChannelType::F32,
            ChannelType::U32 => ChannelType::U32,
        },
        source: ChannelSource::Plane(&channel.samples),
    });
    for channel in colors.chain(planes) {
        check_name(channel.name, "channel")?;
        if let Some(duplicate) = by_name.insert(channel.name.as_bytes(), channel) {
            return Err(usage(format!("the image has two channels called `{}`", shown(duplicate.name))));
        }
    }
    Ok(by_name.into_values().collect())
}

fn usage(message: String) -> Error {
    Error::new(ErrorKind::Usage, message)
}

fn check_name(name: &str, what: &str) -> Result<()> {
    if name.is_empty() || name.len() > MAX_NAME_BYTES || name.contains('\0') {
        let name = shown(name);
        return Err(usage(format!("invalid {what} name `{name}`; expected 1 to {MAX_NAME_BYTES} bytes without NUL")));
    }
    Ok(())
}

/// Returns the data window of an image: from its original file, or at the origin.
pub(super) fn window(image: &Image) -> Result<ExrWindow> {
    let size = [image.width, image.height].map(|side| i32::try_from(side).unwrap_or(i32::MAX));
    let window = declared(image, "dataWindow")?.unwrap_or(ExrWindow { min: [0, 0], max: size.map(|side| side - 1) });
    if window.size() == [image.width, image.height] {
        Ok(window)
    } else {
        let [across, down] = window.size();
        let Image { width, height, .. } = image;
        Err(usage(format!("the attribute `dataWindow` has {across} x {down} pixels; the image has {width} x {height}")))
    }
}

fn declared(image: &Image, name: &str) -> Result<Option<ExrWindow>> {
    let attribute = image.attributes.iter().find(|attribute| attribute.name == name);
    let invalid = || usage(format!("the attribute `{name}` is not a valid window"));
    attribute.map(|attribute| ExrWindow::from_value(&attribute.value).ok_or_else(invalid)).transpose()
}

/// Builds everything before the offset table.
pub(super) fn header(image: &Image, channels: &[OutChannel<'_>]) -> Result<Vec<u8>> {
    let data = window(image)?;
    let display = declared(image, "displayWindow")?.unwrap_or(data);
    let attribute =
        |name: &str, kind: &str, value: Vec<u8>| ImageAttribute { name: name.into(), kind: kind.into(), value };
    let one_float = || 1_f32.to_le_bytes().to_vec();
    let required = [
        attribute("channels", "chlist", list(channels)),
        attribute("compression", "compression", vec![ZIP]),
        attribute("dataWindow", "box2i", data.bytes()),
        attribute("displayWindow", "box2i", display.bytes()),
        attribute("lineOrder", "lineOrder", vec![0]),
        attribute("pixelAspectRatio", "float", one_float()),
        attribute("screenWindowCenter", "v2f", vec![0; 8]),
        attribute("screenWindowWidth", "float", one_float()),
    ];
    let mut by_name: BTreeMap<&str, &ImageAttribute> =
        required.iter().map(|attribute| (attribute.name.as_str(), attribute)).collect();
    // Attributes of the image replace required ones with the same name, except those about how pixels are stored.
    for attribute in image.attributes.iter().filter(|attribute| !STORAGE.contains(&attribute.name.as_str())) {
        check_name(&attribute.name, "attribute")?;
        check_name(&attribute.kind, "attribute type")?;
        by_name.insert(&attribute.name, attribute);
    }
    let names = by_name.values().flat_map(|attribute| [attribute.name.as_str(), attribute.kind.as_str()]);
    let is_long = names.chain(channels.iter().map(|channel| channel.name)).any(|name| name.len() > SHORT_NAME_BYTES);
    // Magic, version 2, and the flag for long names (bit 10).
    let mut bytes = vec![0x76, 0x2F, 0x31, 0x01, 2, if is_long { 4 } else { 0 }, 0, 0];
    for ImageAttribute { name, kind, value } in by_name.into_values() {
        let size =
            i32::try_from(value.len()).map_err(|_| usage(format!("the attribute `{name}` exceeds 2^31 - 1 bytes")))?;
        bytes.try_reserve(name.len() + kind.len() + value.len() + 6).map_err(|_| Error::memory("the header"))?;
        for text in [name, kind] {
            bytes.extend_from_slice(text.as_bytes());
            bytes.push(0);
        }
        bytes.extend_from_slice(&size.to_le_bytes());
        bytes.extend_from_slice(value);
    }
    bytes.push(0);
    Ok(bytes)
}

fn list(channels: &[OutChannel<'_>]) -> Vec<u8> {
    let mut list = Vec::new();
    for channel in channels {
        let kind: i32 = match channel.kind {
            ChannelType::U32 => 0,
            ChannelType::F32 => 2,
            _ => 1,
        };
        list.extend_from_slice(channel.name.as_bytes());
        list.push(0);
        // Type; pLinear and reserved bytes; sampling in x and y.
        for number in [kind, 0, 1, 1] {
            list.extend_from_slice(&number.to_le_bytes());
        }
    }
    list.push(0);
    list
}
