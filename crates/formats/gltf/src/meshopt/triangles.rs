//! Decodes triangle indices: most triangles share an edge with a recent triangle and take one byte. See appendix A of
//! the extension, mode 1.

use super::{CUT, EXTRA, MeshoptResult, take, take_varint, unfolded};

/// Decodes triangles, with indices of `N` bytes, until `out` is full.
pub(super) fn decode<const N: usize>(
    bytes: &[u8],
    out: &mut [u8],
    to_bytes: impl Fn(u32) -> [u8; N],
) -> MeshoptResult<()> {
    let mut data = bytes.strip_prefix(&[0xe1]).ok_or("unknown triangle codec version")?;
    let (triangles, _) = out.as_chunks_mut::<N>().0.as_chunks_mut::<3>();
    let codes = take(&mut data, triangles.len())?;
    let (data, table) = data.split_last_chunk::<16>().ok_or(CUT)?;
    let mut decoder = TriangleDecoder { data, table, next: 0, last: 0, edges: Recent::new(), vertices: Recent::new() };
    for (triangle, &code) in triangles.iter_mut().zip(codes) {
        *triangle = decoder.triangle(code)?.map(&to_bytes);
    }
    if decoder.data.is_empty() { Ok(()) } else { Err(EXTRA) }
}

/// Ring buffer of the last 16 values.
struct Recent<T> {
    values: [T; 16],
    count: usize,
}

impl<T: Copy + Default> Recent<T> {
    fn new() -> Recent<T> {
        Recent { values: [T::default(); 16], count: 0 }
    }

    fn push(&mut self, value: T) {
        self.values[self.count % 16] = value;
        self.count += 1;
    }

    /// Returns the value that was pushed `age` values before the last one.
    fn get(&self, age: u8) -> MeshoptResult<T> {
        let age = usize::from(age);
        if age >= self.count {
            return Err("a triangle refers to an edge or vertex before the first");
        }
        Ok(self.values[(self.count - 1 - age) % 16])
    }
}

struct TriangleDecoder<'b> {
    data: &'b [u8],
    /// Pairs of vertex codes, for the triangle codes 0xf0 to 0xfd.
    table: &'b [u8; 16],
    /// Next unused index.
    next: u32,
    /// Last index that was stored as a delta.
    last: u32,
    edges: Recent<(u32, u32)>,
    vertices: Recent<u32>,
}

impl TriangleDecoder<'_> {
    fn triangle(&mut self, code: u8) -> MeshoptResult<[u32; 3]> {
        let edge = code >> 4;
        let vertex = code & 15;
        if edge == 15 {
            return self.without_edge(vertex);
        }
        let (a, b) = self.edges.get(edge)?;
        let c = match vertex {
            0 => self.take_next(),
            1..=12 => self.vertices.get(vertex)?,
            // 13 and 14 mean -1 (wrapping) and 1 relative to the last stored index, without a byte of data.
            13 => self.step(u32::MAX),
            14 => self.step(1),
            _ => self.take_index()?,
        };
        // The buffer already contains recent vertices.
        if !(1..=12).contains(&vertex) {
            self.vertices.push(c);
        }
        // Later codes count back from the newest edge, so the order of these two calls is part of the format.
        self.edges.push((c, b));
        self.edges.push((a, c));
        Ok([a, b, c])
    }

    /// Decodes a triangle without a shared edge. `code` is an index into the table, or 14 or 15 for a stored pair.
    fn without_edge(&mut self, code: u8) -> MeshoptResult<[u32; 3]> {
        let is_stored = code >= 14;
        let pair = if is_stored { *self.data.split_off_first().ok_or(CUT)? } else { self.table[usize::from(code)] };
        let second = pair >> 4;
        let third = pair & 15;
        if !is_stored && (second == 15 || third == 15) {
            return Err("invalid table");
        }
        // A stored zero restarts the numbering of new vertices.
        if is_stored && pair == 0 {
            self.next = 0;
        }
        let a = if code == 15 { self.take_index()? } else { self.take_next() };
        let b = self.vertex(second)?;
        let c = self.vertex(third)?;
        self.vertices.push(a);
        for (kind, vertex) in [(second, b), (third, c)] {
            if matches!(kind, 0 | 15) {
                self.vertices.push(vertex);
            }
        }
        for edge in [(b, a), (c, b), (a, c)] {
            self.edges.push(edge);
        }
        Ok([a, b, c])
    }

    /// Decodes a vertex, which is the next new vertex, a recent vertex, or a stored index.
    fn vertex(&mut self, kind: u8) -> MeshoptResult<u32> {
        match kind {
            0 => Ok(self.take_next()),
            15 => self.take_index(),
            // Counted from the newest vertex. The codes for a shared edge count from the second newest.
            _ => self.vertices.get(kind - 1),
        }
    }

    fn take_next(&mut self) -> u32 {
        let next = self.next;
        self.next = next.wrapping_add(1);
        next
    }

    fn take_index(&mut self) -> MeshoptResult<u32> {
        let delta = unfolded(take_varint(&mut self.data)?);
        Ok(self.step(delta))
    }

    fn step(&mut self, delta: u32) -> u32 {
        self.last = self.last.wrapping_add(delta);
        self.last
    }
}
