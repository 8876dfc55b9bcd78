//! Selects the part and the channels of an EXR file that form the image.
//!
//! Channel names are prefixed with their view and layer: `left.diffuse.R`. Candidates, in order of preference, are the
//! channels of one layer: red, green and blue, or luminance with or without chroma; otherwise an incomplete set of
//! colors, with missing colors set to 0; otherwise the first channel, as gray. All other channels of the part or, if a
//! layer was requested, of that layer are kept under their names.

use super::channels::standard_names;
use super::header::{ExrChannel, ExrPart};
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Result};
use polyhaul_model::names::shown;
use polyhaul_model::options::ImageReadOptions;
use polyhaul_model::{ChannelType, Channels, ColorChannel};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Maximum number of names listed in a message.
const MAX_NAMES: usize = 8;

/// The selected image of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ExrPicture {
    /// Index of the part.
    pub(super) part: usize,
    pub(super) colors: ExrColors,
    /// Whether to read each channel of the part.
    pub(super) is_read: Vec<bool>,
}

/// The color channels of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ExrColors {
    pub(super) channels: Channels,
    /// Per sample of a pixel: the index of its channel, or `None` for a missing color.
    pub(super) samples: Vec<Option<usize>>,
    /// `RY` and `BY`, if present. The second sample is then the luminance, and RGB is computed from these three.
    pub(super) chroma: Option<[usize; 2]>,
    /// Prefix of the channel names, including the dot.
    prefix: String,
}

impl ExrColors {
    /// Returns the rank; lower is better. Complete images rank before incomplete images.
    fn rank(&self) -> usize {
        let is_complete = self.chroma.is_some() || self.samples.iter().all(Option::is_some);
        usize::from(!is_complete)
    }

    /// Returns the stored names and types of a pixel's samples, or nothing if they are the defaults for writing.
    pub(super) fn stored(&self, channels: &[ExrChannel]) -> Vec<ColorChannel> {
        let stored = self.named(channels);
        let is_usual = |(stored, name): (&ColorChannel, &&str)| stored.name == *name && stored.kind == ChannelType::F16;
        if stored.iter().zip(standard_names(self.channels)).all(is_usual) { Vec::new() } else { stored }
    }

    fn named(&self, channels: &[ExrChannel]) -> Vec<ColorChannel> {
        if self.chroma.is_some() {
            // Converted to RGB, which halves would round.
            let color = |name| ColorChannel { name: format!("{}{name}", self.prefix), kind: ChannelType::F32 };
            let mut stored: Vec<_> = ["R", "G", "B"].map(color).into();
            stored.extend(self.samples.get(3).map(|alpha| color_channel(channels, *alpha)));
            return stored;
        }
        self.samples.iter().map(|number| color_channel(channels, *number)).collect()
    }
}

fn color_channel(channels: &[ExrChannel], number: Option<usize>) -> ColorChannel {
    number.map_or_else(ColorChannel::default, |number| {
        let ExrChannel { name, kind, .. } = &channels[number];
        ColorChannel { name: name.clone(), kind: *kind }
    })
}

/// Splits a channel name into its layer and its own name.
fn split(name: &str) -> (&str, &str) {
    name.rsplit_once('.').unwrap_or(("", name))
}

/// Returns the sorted layers of a part, the unnamed layer first.
pub(super) fn layers(part: &ExrPart) -> Vec<String> {
    let mut layers: Vec<String> = part.channels.iter().map(|channel| split(&channel.name).0.to_owned()).collect();
    layers.sort();
    layers.dedup();
    layers
}

/// Returns whether a channel belongs to a layer or to one of its sublayers.
fn is_in(channel: &ExrChannel, layer: &str) -> bool {
    let channel_layer = split(&channel.name).0;
    channel_layer == layer || channel_layer.strip_prefix(layer).is_some_and(|rest| rest.starts_with('.'))
}

impl ExrPicture {
    /// Selects the requested image or, by default, the first image. A requested layer can also be the name or the view
    /// of a part.
    pub(super) fn choose(parts: &[ExrPart], requested: &ImageReadOptions, file: &Arc<str>) -> Result<ExrPicture> {
        let chosen = requested.part.as_ref().map(|name| find_part(parts, name, file)).transpose()?;
        let numbers = || (0..parts.len()).filter(|number| chosen.is_none_or(|chosen| chosen == *number));
        let Some(layer) = &requested.layer else {
            return first(parts, numbers(), |_| true, file);
        };
        let has_layer = |number: &usize| parts[*number].channels.iter().any(|channel| is_in(channel, layer));
        if numbers().any(|number| has_layer(&number)) {
            return first(parts, numbers().filter(has_layer), |channel| is_in(channel, layer), file);
        }
        let is_named = |number: &usize| parts[*number].name == *layer || parts[*number].view == *layer;
        if numbers().any(|number| is_named(&number)) {
            first(parts, numbers().filter(is_named), |_| true, file)
        } else {
            Err(no_layer(parts, numbers(), layer, file))
        }
    }
}

/// Returns the first image of these parts. Prefers complete images.
fn first(
    parts: &[ExrPart],
    numbers: impl Iterator<Item = usize> + Clone,
    is_wanted: impl Fn(&ExrChannel) -> bool,
    file: &Arc<str>,
) -> Result<ExrPicture> {
    let mut best: Option<(usize, ExrPicture)> = None;
    for number in numbers.clone().filter(|number| !parts[*number].is_deep) {
        let channels = &parts[number].channels;
        let is_read: Vec<bool> = channels.iter().map(&is_wanted).collect();
        for colors in pictures(channels, &is_read) {
            let rank = colors.rank();
            // Not `<=`: of equally good images, the first is chosen.
            if best.as_ref().is_none_or(|(best_rank, _)| rank < *best_rank) {
                best = Some((rank, ExrPicture { part: number, colors, is_read: is_read.clone() }));
            }
        }
        if best.is_none() {
            let samples = vec![is_read.iter().position(|is_read| *is_read)];
            let colors = ExrColors { channels: Channels::Gray, samples, chroma: None, prefix: String::new() };
            best = Some((usize::MAX, ExrPicture { part: number, colors, is_read }));
        }
    }
    best.map(|(_, picture)| picture).ok_or_else(|| {
        let message = match numbers.count() {
            0 | 1 => "deep images are not supported",
            _ => "the file has only deep images, which are not supported",
        };
        about(file, message).into_error(ErrorKind::Unsupported)
    })
}

/// Returns the images of all layers, the unnamed layer first.
fn pictures(channels: &[ExrChannel], is_read: &[bool]) -> Vec<ExrColors> {
    let mut layers: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
    for (number, channel) in channels.iter().enumerate().filter(|(number, _)| is_read[*number]) {
        let (layer, name) = split(&channel.name);
        // On duplicates `R` wins over `red`: channels are sorted, uppercase first.
        layers.entry(layer).or_default().entry(color_name(name)).or_insert(number);
    }
    let colors = |(layer, names): (&str, BTreeMap<&str, usize>)| {
        let prefix = if layer.is_empty() { String::new() } else { format!("{layer}.") };
        colors_of(&names, channels).map(|(channels, samples, chroma)| ExrColors { channels, samples, chroma, prefix })
    };
    layers.into_iter().filter_map(colors).collect()
}

/// Normalizes color names, which may be lowercase or words.
fn color_name(name: &str) -> &str {
    const WORDS: [(&str, [&str; 2]); 4] =
        [("R", ["r", "red"]), ("G", ["g", "green"]), ("B", ["b", "blue"]), ("A", ["a", "alpha"])];
    let matches = |(_, words): &&(&str, [&str; 2])| words.iter().any(|word| name.eq_ignore_ascii_case(word));
    WORDS.iter().find(matches).map_or(name, |(letter, _)| letter)
}

type ExrLayerColors = (Channels, Vec<Option<usize>>, Option<[usize; 2]>);

/// Returns the image formed by the channels of a layer, given their names.
fn colors_of(names: &BTreeMap<&str, usize>, channels: &[ExrChannel]) -> Option<ExrLayerColors> {
    let index_of = |name| names.get(name).copied();
    let alpha = index_of("A");
    let colors = ["R", "G", "B"].map(index_of);
    let with_alpha = |without, with| if alpha.is_some() { with } else { without };
    let rgb = with_alpha(Channels::Rgb, Channels::Rgba);
    let samples = |colors: &[Option<usize>]| colors.iter().copied().chain(alpha.map(Some)).collect::<Vec<_>>();
    if colors.iter().all(Option::is_some) {
        return Some((rgb, samples(&colors), None));
    }
    // `Y` next to `X` is a coordinate.
    if let Some(luminance) = index_of("Y")
        && index_of("X").is_none()
    {
        let is_chroma = |number: &usize| {
            let ExrChannel { kind, sampling, .. } = &channels[*number];
            *kind != ChannelType::U32 && sampling.iter().all(|step| *step <= 2)
        };
        let chroma = index_of("RY").filter(is_chroma).zip(index_of("BY").filter(is_chroma));
        // Existing color channels keep their names, so chroma is not converted next to them.
        let chroma = chroma.filter(|_| colors.iter().all(Option::is_none));
        return match chroma.filter(|_| channels[luminance].kind != ChannelType::U32) {
            Some((red, blue)) => Some((rgb, samples(&[None, Some(luminance), None]), Some([red, blue]))),
            None => Some((with_alpha(Channels::Gray, Channels::GrayAlpha), samples(&[Some(luminance)]), None)),
        };
    }
    colors.iter().any(Option::is_some).then(|| (rgb, samples(&colors), None))
}

/// Finds a part by name, number or view.
fn find_part(parts: &[ExrPart], requested: &str, file: &Arc<str>) -> Result<usize> {
    let by_number = || requested.parse().ok().filter(|number| *number < parts.len());
    let by_view = || parts.iter().position(|part| !part.view.is_empty() && part.view == requested);
    let by_name = parts.iter().position(|part| !part.name.is_empty() && part.name == requested);
    // A name may look like a number, so names come first.
    by_name.or_else(by_number).or_else(by_view).ok_or_else(|| {
        let labels = listed(parts.iter().enumerate().map(|(number, part)| part.label(number)));
        let message = format!("the file has no part `{}`; it has {labels}", shown(requested));
        about(file, message).into_error(ErrorKind::Usage)
    })
}

fn no_layer(parts: &[ExrPart], numbers: impl Iterator<Item = usize>, requested: &str, file: &Arc<str>) -> Error {
    let mut names: Vec<String> = numbers.flat_map(|number| layers(&parts[number])).collect();
    names.retain(|name| !name.is_empty());
    names.sort();
    names.dedup();
    let message = if names.is_empty() {
        format!("the file has no layer `{}`; its channels are not in layers", shown(requested))
    } else {
        let names = listed(names.iter().map(|name| format!("`{}`", shown(name))));
        format!("the file has no layer `{}`; it has {names}", shown(requested))
    };
    about(file, message).into_error(ErrorKind::Usage)
}

/// Creates a diagnostic about the file as a whole.
pub(super) fn about(file: &Arc<str>, message: impl Into<String>) -> Diagnostic {
    let mut diagnostic = Diagnostic::new(message);
    diagnostic.place.file = file.clone();
    diagnostic
}

/// Lists the first few names, and the number of remaining names.
pub(super) fn listed(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    let (first, rest) = names.split_at(names.len().min(MAX_NAMES));
    match rest.len() {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channels(names: &[&str]) -> Vec<ExrChannel> {
        let channel = |name: &&str| ExrChannel {
            name: (*name).into(),
            kind: ChannelType::F16,
            is_linear: false,
            sampling: [1, 1],
        };
        names.iter().map(channel).collect()
    }

    #[track_caller]
    fn check(names: &[&str], expected: Option<(Channels, &[Option<usize>])>) {
        let channels = channels(names);
        let mut pictures = pictures(&channels, &vec![true; channels.len()]);
        pictures.sort_by_key(ExrColors::rank);
        let first = pictures.first().map(|colors| (colors.channels, colors.samples.as_slice()));
        assert_eq!(first, expected, "{names:?}");
    }

    #[test]
    fn colors_without_a_layer_come_first() {
        check(&["B", "G", "R"], Some((Channels::Rgb, &[Some(2), Some(1), Some(0)])));
        check(&["A", "B", "G", "R", "Z"], Some((Channels::Rgba, &[Some(3), Some(2), Some(1), Some(0)])));
        check(&["A", "Y"], Some((Channels::GrayAlpha, &[Some(1), Some(0)])));
        check(&["Y"], Some((Channels::Gray, &[Some(0)])));
        check(&["A.B", "A.G", "A.R", "Y"], Some((Channels::Gray, &[Some(3)])));
        let layered = ["Z", "b.c.B", "b.c.G", "b.c.R", "d.Y"];
        check(&layered, Some((Channels::Rgb, &[Some(3), Some(2), Some(1)])));
        check(&["blue", "green", "red"], Some((Channels::Rgb, &[Some(2), Some(1), Some(0)])));
    }

    #[test]
    fn incomplete_colors_are_a_picture_if_no_layer_is_complete() {
        check(&["G", "R", "Z"], Some((Channels::Rgb, &[Some(1), Some(0), None])));
        check(&["A", "R"], Some((Channels::Rgba, &[Some(1), None, None, Some(0)])));
        check(&["R", "diffuse.B", "diffuse.G", "diffuse.R"], Some((Channels::Rgb, &[Some(3), Some(2), Some(1)])));
        check(&["N.X", "N.Y", "N.Z"], None);
        check(&["Z"], None);
        check(&[], None);
    }

    #[test]
    fn luminance_with_chroma_is_color() {
        let channels = channels(&["BY", "RY", "Y"]);
        let pictures = pictures(&channels, &[true; 3]);
        assert_eq!((pictures[0].channels, pictures[0].chroma), (Channels::Rgb, Some([1, 0])));
        let names: Vec<String> = pictures[0].stored(&channels).into_iter().map(|channel| channel.name).collect();
        assert_eq!(names, ["R", "G", "B"]);
    }
}
