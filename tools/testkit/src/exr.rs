//! Writes small uncompressed EXR files with arbitrary parts, channels, windows and attributes.

/// A part of a file.
pub struct ExrPart {
    /// Data window: left, top, right and bottom, inclusive.
    pub window: [i32; 4],
    /// Channels, in alphabetical order.
    pub channels: Vec<ExrChannel>,
    /// Additional attributes: name, type, value.
    pub attributes: Vec<(String, String, Vec<u8>)>,
    /// Tile width, tile height and level mode, or `None` for scanlines.
    pub tiles: Option<[u32; 3]>,
    /// Whether the part is declared deep; its blocks are then empty.
    pub is_deep: bool,
}

/// A channel of a part.
pub struct ExrChannel {
    /// Channel name.
    pub name: String,
    /// Sample type: 0 for 32-bit integers, 1 for halves, 2 for floats.
    pub kind: u32,
    /// Subsampling in x and y.
    pub sampling: [i32; 2],
    /// Returns the bits of the sample at a column and a row.
    pub sample: Box<dyn Fn(i32, i32) -> u32>,
}

impl ExrChannel {
    /// Creates a channel without subsampling.
    pub fn new(name: &str, kind: u32, sample: impl Fn(i32, i32) -> u32 + 'static) -> ExrChannel {
        ExrChannel { name: name.into(), kind, sampling: [1, 1], sample: Box::new(sample) }
    }
}

impl ExrPart {
    /// Creates a part of `width` × `height` pixels at the origin.
    pub fn new(width: i32, height: i32, channels: Vec<ExrChannel>) -> ExrPart {
        let window = [0, 0, width - 1, height - 1];
        ExrPart { window, channels, attributes: Vec::new(), tiles: None, is_deep: false }
    }

    /// Adds an attribute.
    #[must_use]
    pub fn with(mut self, name: &str, kind: &str, value: &[u8]) -> ExrPart {
        self.attributes.push((name.into(), kind.into(), value.into()));
        self
    }

    /// Returns the size of each level, largest first, and its level numbers in x and y.
    fn levels(&self) -> Vec<([i32; 2], [i32; 2])> {
        let [left, top, right, bottom] = self.window;
        let size = [right - left + 1, bottom - top + 1];
        let counts = size.map(|side| (side as u32).ilog2() as i32 + 1);
        let level = |at: [i32; 2]| ([0, 1].map(|axis| (size[axis] >> at[axis]).max(1)), at);
        match self.tiles {
            Some([_, _, 1]) => (0..counts[0].max(counts[1])).map(|number| level([number; 2])).collect(),
            Some([_, _, 2]) => (0..counts[1]).flat_map(|y| (0..counts[0]).map(move |x| [x, y])).map(level).collect(),
            _ => vec![(size, [0, 0])],
        }
    }

    fn header(&self, out: &mut Vec<u8>, is_multipart: bool) {
        let mut channels = Vec::new();
        for ExrChannel { name, kind, sampling, .. } in &self.channels {
            channels.extend([name.as_bytes(), &[0]].concat());
            let numbers = [*kind, 0, sampling[0] as u32, sampling[1] as u32];
            channels.extend(numbers.into_iter().flat_map(u32::to_le_bytes));
        }
        channels.push(0);
        let kind = match (self.tiles, self.is_deep) {
            (None, false) => "scanlineimage",
            (Some(_), false) => "tiledimage",
            (None, true) => "deepscanline",
            (Some(_), true) => "deeptile",
        };
        let window: Vec<u8> = self.window.into_iter().flat_map(i32::to_le_bytes).collect();
        let mut attributes = vec![
            ("channels", "chlist", channels),
            ("compression", "compression", vec![0]),
            ("dataWindow", "box2i", window.clone()),
            ("lineOrder", "lineOrder", vec![0]),
            ("pixelAspectRatio", "float", 1_f32.to_le_bytes().to_vec()),
            ("screenWindowCenter", "v2f", vec![0; 8]),
            ("screenWindowWidth", "float", 1_f32.to_le_bytes().to_vec()),
        ];
        if !self.attributes.iter().any(|(name, ..)| name == "displayWindow") {
            attributes.push(("displayWindow", "box2i", window));
        }
        if is_multipart || self.is_deep {
            attributes.push(("type", "string", kind.into()));
            attributes.push(("chunkCount", "int", (self.blocks().len() as i32).to_le_bytes().to_vec()));
        }
        if let Some([width, height, mode]) = self.tiles {
            let size = [width, height].into_iter().flat_map(u32::to_le_bytes);
            attributes.push(("tiles", "tiledesc", size.chain([mode as u8]).collect()));
        }
        let own_attributes =
            self.attributes.iter().map(|(name, kind, value)| (name.as_str(), kind.as_str(), value.clone()));
        for (name, kind, value) in attributes.into_iter().chain(own_attributes) {
            out.extend([name.as_bytes(), &[0], kind.as_bytes(), &[0]].concat());
            out.extend((value.len() as i32).to_le_bytes());
            out.extend(value);
        }
        out.push(0);
    }

    /// Returns the blocks, each with its coordinates and samples.
    fn blocks(&self) -> Vec<Vec<u8>> {
        let [left, top, right, bottom] = self.window;
        let mut blocks = Vec::new();
        let Some([width, height, _]) = self.tiles else {
            for row in top..=bottom {
                blocks.push(self.block(&[row], [left, right], [row, row]));
            }
            return blocks;
        };
        for (size, level) in self.levels() {
            for y in 0..(size[1] as u32).div_ceil(height) as i32 {
                for x in 0..(size[0] as u32).div_ceil(width) as i32 {
                    let part = |at: i32, side: u32, end: i32, first: i32| {
                        let start = at * side as i32;
                        [first + start, first + end.min(start + side as i32) - 1]
                    };
                    let columns = part(x, width, size[0], left);
                    let rows = part(y, height, size[1], top);
                    blocks.push(self.block(&[x, y, level[0], level[1]], columns, rows));
                }
            }
        }
        blocks
    }

    fn block(&self, place: &[i32], columns: [i32; 2], rows: [i32; 2]) -> Vec<u8> {
        let mut samples = Vec::new();
        for y in rows[0]..=rows[1] {
            for ExrChannel { kind, sampling, sample, .. } in &self.channels {
                let is_sampled = |at: i32, axis: usize| at.rem_euclid(sampling[axis]) == 0;
                let columns = (columns[0]..=columns[1]).filter(|x| is_sampled(*x, 0) && is_sampled(y, 1));
                let bytes = if *kind == 1 { 2 } else { 4 };
                columns.for_each(|x| samples.extend(&sample(x, y).to_le_bytes()[..bytes]));
            }
        }
        let place = place.iter().flat_map(|number| number.to_le_bytes());
        if self.is_deep {
            place.chain([0; 24]).collect()
        } else {
            place.chain((samples.len() as i32).to_le_bytes()).chain(samples).collect()
        }
    }
}

/// Encodes a file of one or more parts.
pub fn exr(parts: &[ExrPart]) -> Vec<u8> {
    let is_multipart = parts.len() > 1;
    let first = &parts[0];
    // Second byte of the version field: 0x02 for tiles, 0x08 for deep data, 0x10 for several parts.
    let flags = if is_multipart {
        0x10
    } else {
        u8::from(first.tiles.is_some() && !first.is_deep) << 1 | u8::from(first.is_deep) << 3
    };
    let mut out = vec![0x76, 0x2F, 0x31, 0x01, 2, flags, 0, 0];
    parts.iter().for_each(|part| part.header(&mut out, is_multipart));
    // An empty header ends the list of headers of a multipart file.
    out.extend(is_multipart.then_some(0));
    let blocks = parts.iter().enumerate().flat_map(|(number, part)| {
        let number = is_multipart.then_some((number as i32).to_le_bytes());
        part.blocks().into_iter().map(move |block| [number.as_ref().map_or(&[][..], |number| number), &block].concat())
    });
    let blocks: Vec<Vec<u8>> = blocks.collect();
    let mut place = out.len() + 8 * blocks.len();
    for block in &blocks {
        out.extend((place as u64).to_le_bytes());
        place += block.len();
    }
    out.extend(blocks.concat());
    out
}

/// Converts a float that is exactly representable as a half to its bits. Returns zero below 2^-14.
pub fn half(value: f32) -> u32 {
    let bits = value.to_bits();
    let sign = bits >> 16 & 0x8000;
    if value.abs() < f32::from_bits(113 << 23) { sign } else { sign | ((bits & 0x7FFF_FFFF) - (112 << 23)) >> 13 }
}
