//! Which channels of an EXR file make the image.

use crate::error::{Diagnostic, Error, ErrorKind, Result};
use crate::formats::names::shown;
use crate::model::Channels;
use exr::meta::header::Header;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The channels of an image.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Layer {
    /// The number of the part.
    pub(super) part: usize,
    pub(super) channels: Channels,
    /// Which sample of a pixel each channel of the part is, in their order.
    pub(super) places: Vec<Option<usize>>,
}

/// How many names a message has.
const MOST_NAMES: usize = 8;

impl Layer {
    /// The first one that is an image.
    pub(super) fn first(parts: &[Header], file: &Arc<str>) -> Result<Layer> {
        let found = parts.iter().enumerate().find_map(|(part, header)| {
            let names: Vec<String> = header.channels.list.iter().map(|channel| channel.name.to_string()).collect();
            of_names(&names).map(|(channels, places)| Layer { part, channels, places })
        });
        let layer = found.ok_or_else(|| without(parts, file))?;
        let channels = &parts[layer.part].channels.list;
        match channels.iter().find(|channel| channel.sampling.0 != 1 || channel.sampling.1 != 1) {
            None => Ok(layer),
            Some(channel) => {
                let name = channel.name.to_string();
                let message = format!("the channel `{}` has no value for each pixel; such are not read", shown(&name));
                Err(Diagnostic::at(file, 0, message).into_error(ErrorKind::Unsupported))
            }
        }
    }
}

/// The image that channels of these names make, if they do.
fn of_names(names: &[String]) -> Option<(Channels, Vec<Option<usize>>)> {
    let mut layers: BTreeMap<&str, [Option<usize>; 5]> = BTreeMap::new();
    for (number, name) in names.iter().enumerate() {
        let (layer, channel) = name.rsplit_once('.').unwrap_or(("", name));
        if let Some(place) = ["R", "G", "B", "A", "Y"].iter().position(|known| *known == channel) {
            layers.entry(layer).or_default()[place].get_or_insert(number);
        }
    }
    layers.into_values().find_map(|channels| {
        let (channels, samples) = match channels {
            [Some(red), Some(green), Some(blue), Some(alpha), _] => (Channels::Rgba, vec![red, green, blue, alpha]),
            [Some(red), Some(green), Some(blue), None, _] => (Channels::Rgb, vec![red, green, blue]),
            [.., Some(alpha), Some(gray)] => (Channels::GrayAlpha, vec![gray, alpha]),
            [.., None, Some(gray)] => (Channels::Gray, vec![gray]),
            _ => return None,
        };
        let place = |number| samples.iter().position(|sample| *sample == number);
        Some((channels, (0..names.len()).map(place).collect()))
    })
}

/// The error where no channels make an image.
fn without(parts: &[Header], file: &Arc<str>) -> Error {
    let names = parts.iter().flat_map(|header| &header.channels.list).map(|channel| channel.name.to_string());
    let names: Vec<String> = names.take(MOST_NAMES).map(|name| format!("`{}`", shown(&name))).collect();
    let message =
        format!("there are no channels `R`, `G` and `B`, and no `Y`; the first ones are {}", names.join(", "));
    Diagnostic::at(file, 0, message).into_error(ErrorKind::Unsupported)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn found(names: &[&str], wanted: Option<(Channels, &[Option<usize>])>) {
        let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
        assert_eq!(of_names(&names), wanted.map(|(channels, places)| (channels, places.to_vec())), "{names:?}");
    }

    #[test]
    fn colors_without_a_layer_come_first() {
        found(&["B", "G", "R"], Some((Channels::Rgb, &[Some(2), Some(1), Some(0)])));
        found(&["A", "B", "G", "R", "Z"], Some((Channels::Rgba, &[Some(3), Some(2), Some(1), Some(0), None])));
        found(&["A", "Y"], Some((Channels::GrayAlpha, &[Some(1), Some(0)])));
        found(&["Y"], Some((Channels::Gray, &[Some(0)])));
        found(&["A.B", "A.G", "A.R", "Y"], Some((Channels::Gray, &[None, None, None, Some(0)])));
        let layered = ["Z", "b.c.B", "b.c.G", "b.c.R", "d.Y"];
        found(&layered, Some((Channels::Rgb, &[None, Some(2), Some(1), Some(0), None])));
        found(&["G", "R", "Z"], None);
        found(&[], None);
    }
}
