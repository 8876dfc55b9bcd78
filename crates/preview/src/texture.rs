//! Material textures: mip-mapped images, color lookup and opacity tests.
//!
//! This module neither decodes nor scales images: they arrive as mip levels in a [`TextureImage`].

use crate::color::linear;
use polyhaul_model::Array;
use polyhaul_model::error::{Result, planted, try_push};

/// An image with mip levels.
#[derive(Clone, Debug, Default)]
pub struct TextureImage {
    /// Mip levels, largest first: width and height, and RGBA bytes (sRGB) in rows from the top.
    pub levels: Vec<([usize; 2], Array<u8>)>,
}

/// The material property that a map controls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MapPurpose {
    /// Surface color.
    #[default]
    Color,
    /// Opacity: white is opaque, black is a hole.
    Opacity,
}

/// The image channel that determines opacity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MapChannel {
    /// Alpha for color maps. For opacity maps, alpha if the image has transparent pixels, otherwise brightness.
    #[default]
    Auto,
    /// Alpha channel.
    Alpha,
    /// Mean of red, green and blue.
    Brightness,
    /// Red, green or blue channel by index.
    Color(usize),
    /// Ignored: the map never makes holes.
    Nothing,
}

/// A map of a material.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MapUse {
    /// Purpose of the map.
    pub kind: MapPurpose,
    /// Index of the image, in the order of [`Textures::push`].
    pub image: usize,
    /// Scale of u and v.
    pub scale: [f32; 2],
    /// Offset of u and v, added after scaling.
    pub offset: [f32; 2],
    /// Whether coordinates outside the image are clamped to its border; otherwise the image repeats.
    pub clamps: bool,
    /// Channel for opacity.
    pub channel: MapChannel,
    /// Minimum opacity of a solid surface.
    pub cutoff: f32,
}

impl Default for MapUse {
    fn default() -> MapUse {
        MapUse {
            kind: MapPurpose::Color,
            image: 0,
            scale: [1.0; 2],
            offset: [0.0; 2],
            clamps: false,
            channel: MapChannel::Auto,
            cutoff: 0.5,
        }
    }
}

/// Textures of a scene's materials.
#[derive(Clone, Debug, Default)]
pub struct Textures {
    images: Vec<Option<TextureImage>>,
    /// Whether each image has transparent pixels.
    are_open: Vec<bool>,
    /// Color and opacity map per material.
    maps: Vec<[Option<MapUse>; 2]>,
}

impl Textures {
    /// Adds a map to a material. Later maps for the same purpose are ignored.
    ///
    /// # Errors
    /// If out of memory.
    pub fn add(&mut self, material: usize, map: MapUse) -> Result<()> {
        while self.maps.len() <= material {
            try_push(&mut self.maps, [None, None], "textures")?;
        }
        self.maps[material][map.kind as usize].get_or_insert(map);
        Ok(())
    }

    /// Appends an image; `None` reserves the index of a missing image.
    ///
    /// # Errors
    /// If out of memory.
    pub fn push(&mut self, image: Option<TextureImage>) -> Result<()> {
        // An image with an empty level has no color.
        let is_empty = |image: &TextureImage| image.levels.iter().any(|(size, _)| size.contains(&0));
        let image = image.filter(|image| !is_empty(image));
        try_push(&mut self.are_open, image.as_ref().is_some_and(TextureImage::is_open), "textures")?;
        try_push(&mut self.images, image, "textures")
    }

    /// Whether any material has a map.
    pub(crate) fn has_any(&self) -> bool {
        !self.maps.is_empty()
    }

    /// A material's map and image for a purpose.
    pub(crate) fn find(&self, material: Option<usize>, purpose: MapPurpose) -> Option<(&MapUse, &TextureImage)> {
        let map = self.maps.get(material?)?[purpose as usize].as_ref()?;
        Some((map, self.images.get(map.image)?.as_ref().filter(|image| !image.levels.is_empty())?))
    }

    /// Whether a material has holes: an opacity map or a color map with transparency.
    pub(crate) fn has_holes(&self, material: Option<usize>) -> bool {
        [MapPurpose::Color, MapPurpose::Opacity].into_iter().any(|purpose| self.hole_map(material, purpose).is_some())
    }

    /// A map that makes holes, with its image and channel.
    fn hole_map(&self, material: Option<usize>, purpose: MapPurpose) -> Option<(&MapUse, &TextureImage, MapChannel)> {
        let (map, image) = self.find(material, purpose)?;
        let is_open = self.are_open.get(map.image) == Some(&true);
        let channel = match (map.channel, purpose) {
            (MapChannel::Auto, MapPurpose::Opacity) if !is_open => MapChannel::Brightness,
            (MapChannel::Auto, _) => MapChannel::Alpha,
            (channel, _) => channel,
        };
        let has_holes = match channel {
            MapChannel::Alpha => is_open,
            channel => channel != MapChannel::Nothing,
        };
        (has_holes && !planted("texture-holes")).then_some((map, image, channel))
    }

    /// Whether the surface is solid at a texture coordinate.
    pub(crate) fn is_solid(&self, material: Option<usize>, uv: [f32; 2]) -> bool {
        let maps = [MapPurpose::Color, MapPurpose::Opacity].map(|purpose| self.hole_map(material, purpose));
        maps.into_iter().flatten().all(|(map, image, channel)| {
            let [r, g, b, a] = image.color(map, uv, 0.0);
            let value = match channel {
                MapChannel::Alpha => a,
                // Approximates the stored sRGB value.
                MapChannel::Color(number) => [r, g, b].get(number).map_or(1.0, |channel| channel.sqrt()),
                _ => ((r + g + b) / 3.0).sqrt(),
            };
            value >= map.cutoff
        })
    }
}

impl TextureImage {
    /// Whether any pixel is transparent. Checks only a small level, because mip mapping keeps holes at every level.
    fn is_open(&self) -> bool {
        let level = self.levels.iter().find(|(size, _)| size[0].max(size[1]) <= 256).or(self.levels.last());
        level.is_some_and(|(_, pixels)| pixels.as_chunks::<4>().0.iter().any(|pixel| pixel[3] < 250))
    }

    /// Trilinear lookup: linear color and alpha. `covered` is the width of a pixel in texels of the largest level.
    pub(crate) fn color(&self, map: &MapUse, uv: [f32; 2], covered: f32) -> [f32; 4] {
        let place: [f32; 2] = std::array::from_fn(|axis| uv[axis] * map.scale[axis] + map.offset[axis]);
        let last = (self.levels.len() - 1) as f32;
        let level = if covered > 1.0 { covered.log2().min(last) } else { 0.0 };
        let lower = level.floor();
        let part = level.fract();
        let near = self.at_level(lower as usize, place, map.clamps);
        if part == 0.0 {
            return near;
        }
        let far = self.at_level((lower as usize + 1).min(self.levels.len() - 1), place, map.clamps);
        std::array::from_fn(|channel| near[channel] + part * (far[channel] - near[channel]))
    }

    /// Size of the largest level.
    pub(crate) fn size(&self) -> [f32; 2] {
        self.levels.first().map_or([1.0; 2], |(size, _)| size.map(|side| side as f32))
    }

    fn at_level(&self, level: usize, [u, v]: [f32; 2], clamps: bool) -> [f32; 4] {
        let ([width, height], pixels) = &self.levels[level];
        // v points up, rows run down.
        // Texels are centered at half coordinates.
        let x = u * *width as f32 - 0.5;
        let y = (1.0 - v) * *height as f32 - 0.5;
        let left = x.floor();
        let above = y.floor();
        let across = x - left;
        let down = y - above;
        let wrap = |place: f32, size: usize| {
            let place = if place.is_finite() { place as i64 } else { 0 };
            if clamps { place.clamp(0, size as i64 - 1) as usize } else { place.rem_euclid(size as i64) as usize }
        };
        let pixel = |dx: f32, dy: f32| {
            let at = 4 * (wrap(above + dy, *height) * width + wrap(left + dx, *width));
            let texel = pixels.get(at..at + 4).and_then(|texel| texel.first_chunk());
            let [r, g, b, a] = texel.copied().unwrap_or([255; 4]);
            [linear(r), linear(g), linear(b), f32::from(a) / 255.0]
        };
        let corners = [pixel(0.0, 0.0), pixel(1.0, 0.0), pixel(0.0, 1.0), pixel(1.0, 1.0)];
        std::array::from_fn(|channel| {
            let [a, b, c, d] = corners.map(|corner| corner[channel]);
            let upper = a + across * (b - a);
            let lower = c + across * (d - c);
            upper + down * (lower - upper)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image() -> TextureImage {
        let pixels = vec![255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255, 255, 255, 255, 0];
        TextureImage { levels: vec![([2, 2], pixels.into()), ([1, 1], vec![128, 128, 128, 191].into())] }
    }

    #[test]
    fn the_first_row_is_at_the_top_and_levels_are_mixed() {
        let image = image();
        let map = MapUse::default();
        assert_eq!(image.color(&map, [0.25, 0.75], 0.0), [1.0, 0.0, 0.0, 1.0]);
        assert_eq!(image.color(&map, [0.75, 0.75], 1.0), [0.0, 1.0, 0.0, 1.0]);
        assert_eq!(image.color(&map, [0.25, 0.25], 0.5), [0.0, 0.0, 1.0, 1.0]);
        assert_eq!(image.color(&map, [0.5, 0.75], 0.0)[..2], [0.5, 0.5]);
        assert_eq!(image.color(&map, [0.3, 0.3], 2.0), image.color(&map, [0.9, 0.1], 64.0));
        let half = image.color(&map, [0.25, 0.75], 2f32.sqrt());
        assert!((half[0] - (0.5 + 0.5 * linear(128))).abs() < 1e-6, "{half:?}");
    }

    #[test]
    fn outside_it_repeats_or_its_border_does() {
        let image = image();
        let map = MapUse::default();
        let clamps = MapUse { clamps: true, ..map };
        assert_eq!(image.color(&map, [1.25, -0.25], 0.0), image.color(&map, [0.25, 0.75], 0.0));
        assert_eq!(image.color(&clamps, [9.0, 9.0], 0.0), [0.0, 1.0, 0.0, 1.0]);
        let moved = MapUse { scale: [2.0, 1.0], offset: [0.25, 0.0], ..map };
        assert_eq!(image.color(&moved, [0.5, 0.75], 0.0), image.color(&map, [0.25, 0.75], 0.0));
        for odd in [f32::NAN, f32::INFINITY, -1e30, 1e30] {
            image.color(&map, [odd, odd], odd);
        }
    }

    /// Tests a map of its own material with a one-pixel image.
    fn is_solid(pixel: [u8; 4], map: MapUse) -> bool {
        let mut textures = Textures::default();
        textures.push(Some(TextureImage { levels: vec![([1, 1], pixel.to_vec().into())] })).unwrap();
        textures.add(0, map).unwrap();
        textures.is_solid(Some(0), [0.5; 2])
    }

    #[test]
    fn opacity_is_alpha_or_brightness() {
        let map = |channel| MapUse { kind: MapPurpose::Opacity, channel, ..MapUse::default() };
        let dark = [10, 10, 10, 240];
        assert!(is_solid(dark, map(MapChannel::Auto)) && is_solid(dark, map(MapChannel::Alpha)));
        assert!(!is_solid([250, 250, 250, 20], map(MapChannel::Auto)));
        // An image without transparent pixels is itself the mask.
        assert!(!is_solid([10, 10, 10, 255], map(MapChannel::Auto)) && is_solid([200; 4], map(MapChannel::Brightness)));
        assert!(is_solid([200, 0, 0, 255], map(MapChannel::Color(0))));
        assert!(!is_solid([200, 0, 0, 255], map(MapChannel::Color(1))));
    }

    #[test]
    fn colors_have_holes_unless_their_alpha_is_ignored() {
        let clear = [250, 250, 250, 100];
        assert!(!is_solid(clear, MapUse::default()));
        assert!(is_solid(clear, MapUse { cutoff: 0.3, ..MapUse::default() }));
        let mut textures = Textures::default();
        textures.push(Some(TextureImage { levels: vec![([1, 1], clear.to_vec().into())] })).unwrap();
        textures.add(0, MapUse { channel: MapChannel::Nothing, ..MapUse::default() }).unwrap();
        assert!(!textures.has_holes(Some(0)) && textures.is_solid(Some(0), [0.5; 2]));
    }

    #[test]
    fn holes_are_found() {
        let mut textures = Textures::default();
        textures.push(Some(image())).unwrap();
        textures.push(None).unwrap();
        textures.add(1, MapUse::default()).unwrap();
        textures.add(2, MapUse { image: 1, ..MapUse::default() }).unwrap();
        assert!(textures.has_holes(Some(1)) && !textures.has_holes(Some(2)) && !textures.has_holes(None));
        assert!(textures.is_solid(Some(1), [0.25, 0.75]) && !textures.is_solid(Some(1), [0.75, 0.25]));
        assert!(textures.is_solid(Some(7), [0.0, 0.0]));
    }
}
