//! Channels and parts of EXR files, as text and JSON.
//!
//! `contents` describes the pixels that were read.

use crate::human;
use polyhaul::model::{ImagePart, PartChannel};
use serde::Serialize;

/// A channel, without its samples.
#[derive(Serialize)]
pub struct NamedChannel {
    name: String,
    #[serde(rename = "type")]
    kind: &'static str,
    /// Sample spacing in columns and rows, or `None` for one sample per pixel.
    #[serde(skip_serializing_if = "Option::is_none")]
    sampling: Option<[usize; 2]>,
}

/// A part of a multi-part file, without its pixels.
#[derive(Serialize)]
pub struct PartOfFile {
    name: String,
    view: String,
    width: usize,
    height: usize,
    deep: bool,
    /// Whether this part was read.
    read: bool,
    levels: usize,
    layers: Vec<String>,
    channels: Vec<NamedChannel>,
}

impl NamedChannel {
    pub fn from_channel(channel: &PartChannel) -> NamedChannel {
        let PartChannel { name, kind, sampling } = channel;
        NamedChannel { name: name.clone(), kind: kind.name(), sampling: (*sampling != [1, 1]).then_some(*sampling) }
    }

    pub fn words(&self) -> String {
        let sampling = self.sampling.map(|[across, down]| format!(", 1 per {across} x {down} pixels"));
        format!("{} ({}{})", human::safe(&self.name), self.kind, sampling.unwrap_or_default())
    }
}

impl PartOfFile {
    pub fn from_part(part: &ImagePart) -> PartOfFile {
        PartOfFile {
            name: part.name.clone(),
            view: part.view.clone(),
            width: part.width,
            height: part.height,
            deep: part.is_deep,
            read: part.is_chosen,
            levels: part.levels,
            layers: part.layers.iter().filter(|layer| !layer.is_empty()).cloned().collect(),
            channels: part.channels.iter().map(NamedChannel::from_channel).collect(),
        }
    }

    pub fn words(&self, number: usize) -> String {
        let mut words = format!("  part {number}");
        for (what, name) in [("", &self.name), ("view ", &self.view)] {
            if !name.is_empty() {
                words += &format!(", {what}{}", human::safe(name));
            }
        }
        words += &format!(": {} x {} pixels", self.width, self.height);
        words += if self.deep { ", deep" } else { "" };
        if self.levels > 1 {
            words += &format!(", {} levels", self.levels);
        }
        if !self.layers.is_empty() {
            let layers: Vec<String> = self.layers.iter().map(|layer| human::safe(layer)).collect();
            words += &format!(", layers {}", layers.join(" "));
        }
        let channels: Vec<String> = self.channels.iter().map(NamedChannel::words).collect();
        format!("{words}; channels {}\n", channels.join(", "))
    }
}

/// Text for people: one line for the extra channels, one for the attributes, and one per part.
pub fn lines(extra: &[NamedChannel], attributes: &[String], parts: &[PartOfFile]) -> String {
    let mut lines = String::new();
    if !extra.is_empty() {
        let names: Vec<String> = extra.iter().map(NamedChannel::words).collect();
        lines += &format!("  more channels: {}\n", names.join(", "));
    }
    if !attributes.is_empty() {
        let names: Vec<String> = attributes.iter().map(|name| human::safe(name)).collect();
        lines += &format!("  attributes: {}\n", names.join(", "));
    }
    lines + &parts.iter().enumerate().map(|(number, part)| part.words(number)).collect::<String>()
}
