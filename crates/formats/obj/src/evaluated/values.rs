//! The UVs and normals of an object, and their equality for deduplication.
//!
//! Values are deduplicated per object and numbered by first appearance (`geometry::dedup`): UVs by their bits, normals
//! by the digits to be written. Zero and negative zero are equal; the sign of the first occurrence is written.

use polyhaul_geometry::dedup::{BATCH, Dedup, DedupKey, Items, Unique, prefetch};
use polyhaul_geometry::frame::Frame;
use polyhaul_model::error::Result;
use polyhaul_model::options::Digits;
use polyhaul_model::{Domain, Elements, Mesh, NONE};
use polyhaul_pipeline::options::Cancel;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU8, Ordering};

/// If values and frame are below this magnitude, no overflow can make equal values differ.
const MODEST: f32 = 1e15;

/// Values of an attribute, and the mapping from corners to them.
#[derive(Clone, Copy)]
pub(super) struct ObjAttribute<'a, const N: usize> {
    values: &'a [[f32; N]],
    domain: Domain,
    /// Index of each corner's value, for [`Domain::Indexed`].
    stream: &'a [u32],
    corner_positions: &'a [u32],
    /// Nonzero for positions that a face uses, for [`Domain::Vertex`].
    used: &'a [AtomicU8],
    positions: usize,
}

pub(super) fn uvs(mesh: &Mesh) -> ObjAttribute<'_, 2> {
    ObjAttribute::new(mesh, &mesh.uvs, mesh.uv_domain, &mesh.faces.corner_uvs)
}

pub(super) fn normals(mesh: &Mesh) -> ObjAttribute<'_, 3> {
    ObjAttribute::new(mesh, &mesh.normals, mesh.normal_domain, &mesh.faces.corner_normals)
}

impl<'a, const N: usize> ObjAttribute<'a, N> {
    fn new(mesh: &'a Mesh, values: &'a [[f32; N]], domain: Domain, stream: &'a [u32]) -> Self {
        let Elements { corner_positions, .. } = &mesh.faces;
        ObjAttribute { values, domain, stream, corner_positions, used: &[], positions: mesh.positions.len() }
    }

    /// Returns whether [`ObjAttribute::with_used`] is needed.
    pub(super) fn wants_used(&self) -> bool {
        self.domain == Domain::Vertex && !self.values.is_empty()
    }

    /// Ignores the values at positions that no face uses.
    pub(super) fn with_used(self, used: &'a [AtomicU8]) -> Self {
        ObjAttribute { used, ..self }
    }

    /// Number of items in the domain.
    fn len(&self) -> usize {
        match self.domain {
            Domain::Indexed if self.values.is_empty() => 0,
            Domain::Indexed => self.stream.len(),
            _ => self.values.len(),
        }
    }

    /// Returns the value of an item.
    #[inline]
    pub(super) fn value(&self, item: usize) -> Option<[f32; N]> {
        self.value_in(self.domain, item)
    }

    /// Like [`ObjAttribute::value`], for a domain known at compile time.
    #[inline(always)]
    fn value_in(&self, domain: Domain, item: usize) -> Option<[f32; N]> {
        let place = match domain {
            Domain::Indexed => match self.stream[item] {
                NONE => return None,
                place => place as usize,
            },
            Domain::Vertex if self.used[item].load(Ordering::Relaxed) == 0 => return None,
            _ => item,
        };
        Some(self.values[place])
    }

    /// Returns a table index that is shared by items whose values are often equal.
    #[inline(always)]
    fn hint(&self, domain: Domain, item: usize) -> usize {
        match domain {
            Domain::Corner | Domain::Indexed => self.corner_positions[item] as usize,
            Domain::Vertex | Domain::Face => 0,
        }
    }

    fn hint_count(&self) -> usize {
        match self.domain {
            Domain::Corner | Domain::Indexed => self.positions,
            Domain::Vertex | Domain::Face => 0,
        }
    }

    #[inline(always)]
    fn same_bits(&self, domain: Domain, a: usize, b: usize) -> bool {
        match (self.value_in(domain, a), self.value_in(domain, b)) {
            (Some(a), Some(b)) => {
                a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits()) && a.iter().all(|part| part.abs() < MODEST)
            }
            _ => false,
        }
    }

    /// Returns the index of a corner's value after deduplication.
    #[inline]
    pub(super) fn number(&self, of_item: &[u32], face: usize, corner: usize) -> u32 {
        match self.domain {
            Domain::Corner | Domain::Indexed => of_item[corner],
            Domain::Vertex => of_item[self.corner_positions[corner] as usize],
            Domain::Face => of_item[face],
        }
    }
}

/// A domain known at compile time: one of the domains that large meshes use, or `None` for any other domain.
pub(super) trait ObjPlace: Sync {
    const DOMAIN: Option<Domain>;
}

pub(super) struct ByCorner;
pub(super) struct ByVertex;
pub(super) struct ByOther;

impl ObjPlace for ByCorner {
    const DOMAIN: Option<Domain> = Some(Domain::Corner);
}
impl ObjPlace for ByVertex {
    const DOMAIN: Option<Domain> = Some(Domain::Vertex);
}
impl ObjPlace for ByOther {
    const DOMAIN: Option<Domain> = None;
}

/// Computes the keys of a batch of values.
trait KeyBatch<const N: usize>: Fn(&[[f32; N]; BATCH], &mut [DedupKey; BATCH]) + Sync {}

impl<const N: usize, F: Fn(&[[f32; N]; BATCH], &mut [DedupKey; BATCH]) + Sync> KeyBatch<N> for F {}

/// Values with a key function, in a domain known at compile time.
struct Keyed<'a, const N: usize, P, F> {
    attribute: ObjAttribute<'a, N>,
    key: F,
    /// Whether equal bits always imply equal keys.
    bits_decide: bool,
    place: PhantomData<P>,
}

impl<const N: usize, P: ObjPlace, F> Keyed<'_, N, P, F> {
    #[inline(always)]
    fn domain(&self) -> Domain {
        P::DOMAIN.unwrap_or(self.attribute.domain)
    }
}

impl<const N: usize, P: ObjPlace, F: KeyBatch<N>> Items for Keyed<'_, N, P, F> {
    fn len(&self) -> usize {
        self.attribute.len()
    }

    #[inline]
    fn keys(&self, start: usize, offsets: &[u16], keys: &mut [DedupKey; BATCH]) {
        let value = |offset: u16| self.attribute.value_in(self.domain(), start + usize::from(offset));
        let mut values = [[0.0; N]; BATCH];
        for (place, &offset) in values.iter_mut().zip(offsets) {
            *place = value(offset).unwrap_or([0.0; N]);
        }
        (self.key)(&values, keys);
        // Only in these domains can an item lack a value.
        if matches!(self.domain(), Domain::Indexed | Domain::Vertex) {
            let without = keys.iter_mut().zip(offsets).filter(|(_, offset)| value(**offset).is_none());
            without.for_each(|(key, _)| *key = DedupKey::Skip);
        }
    }

    #[inline]
    fn hint(&self, item: usize) -> usize {
        self.attribute.hint(self.domain(), item)
    }

    fn hint_count(&self) -> usize {
        self.attribute.hint_count()
    }

    #[inline]
    fn surely_same(&self, a: usize, b: usize) -> bool {
        self.bits_decide && self.attribute.same_bits(self.domain(), a, b)
    }

    #[inline]
    fn prefetch(&self, item: usize) {
        prefetch(self.attribute.values, item);
        prefetch(self.attribute.corner_positions, item);
    }
}

/// The deduplicator and its output.
pub(super) struct Numbering<'a> {
    pub(super) dedup: &'a mut Dedup,
    pub(super) threads: usize,
    pub(super) cancel: &'a Cancel,
    pub(super) out: &'a mut Unique,
}

impl Numbering<'_> {
    fn run<const N: usize>(
        self,
        attribute: ObjAttribute<'_, N>,
        bits_decide: bool,
        key: impl KeyBatch<N>,
    ) -> Result<()> {
        match attribute.domain {
            Domain::Corner => self.run_in::<N, ByCorner>(attribute, bits_decide, key),
            Domain::Vertex => self.run_in::<N, ByVertex>(attribute, bits_decide, key),
            Domain::Indexed | Domain::Face => self.run_in::<N, ByOther>(attribute, bits_decide, key),
        }
    }

    fn run_in<const N: usize, P: ObjPlace>(
        self,
        attribute: ObjAttribute<'_, N>,
        bits_decide: bool,
        key: impl KeyBatch<N>,
    ) -> Result<()> {
        let items = Keyed { attribute, key, bits_decide, place: PhantomData::<P> };
        self.dedup.run(&items, self.threads, self.cancel, self.out)
    }
}

/// Numbers UVs; equal bits mean equal UVs.
pub(super) fn number_uvs(uvs: ObjAttribute<'_, 2>, numbering: Numbering<'_>) -> Result<()> {
    numbering.run(uvs, true, |uvs, keys| {
        for ([u, v], key) in uvs.iter().zip(keys) {
            // Adding 0 turns negative zero into zero.
            let [high, low] = [u + 0.0, v + 0.0].map(|part| u64::from(part.to_bits()));
            *key = if u.is_nan() || v.is_nan() { DedupKey::Alone } else { DedupKey::Value(high << 32 | low) };
        }
    })
}

/// Normals, deduplicated by the digits to be written.
pub(super) struct Normals<'a> {
    pub(super) attribute: ObjAttribute<'a, 3>,
    pub(super) frame: Frame,
    pub(super) rounding: Rounding,
}

/// Factor that normals are multiplied by for rounding, before they are compared and written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rounding(Option<f32>);

impl Rounding {
    /// Rounds to the digits to be written. With more than six digits or with the shortest form, normals are neither
    /// rounded nor deduplicated, because three such numbers do not fit in a key.
    pub(super) fn new(digits: Digits) -> Rounding {
        match digits {
            Digits::Fixed(digits @ 0..=6) => Rounding(Some(10.0f32.powi(digits.into()))),
            _ => Rounding(None),
        }
    }
}

impl Normals<'_> {
    /// Rounds normals as they will be written.
    pub fn write(&self, normals: &mut [[f32; 3]]) {
        let mut batch = [[0.0; 3]; BATCH];
        let mut lanes = [[0.0; BATCH]; 3];
        for normals in normals.chunks_mut(BATCH) {
            batch[..normals.len()].copy_from_slice(normals);
            self.frame.normals(&batch, &mut lanes);
            if let Some(scale) = self.rounding.0 {
                lanes.as_flattened_mut().iter_mut().for_each(|part| *part = step(*part, scale) / scale);
            }
            let [xs, ys, zs] = &lanes;
            for (((normal, x), y), z) in normals.iter_mut().zip(xs).zip(ys).zip(zs) {
                *normal = [*x, *y, *z];
            }
        }
    }
}

/// Rounds `part` to a multiple of `1 / scale`, as Blender does. Returns the multiple.
#[inline]
fn step(part: f32, scale: f32) -> f32 {
    ceil(scale * part - 0.5)
}

/// Rounds up, for values that fit in an `i32` or are NaN. The result has the sign of `value`. Without SSE 4.1,
/// `f32::ceil` is a call, which prevents vectorization.
#[inline]
fn ceil(value: f32) -> f32 {
    let whole = value as i32 as f32;
    let up = if whole < value { whole + 1.0 } else { whole };
    if value.is_nan() { value } else { up.copysign(value) }
}

/// Numbers normals; equal digits mean equal normals.
pub(super) fn number_normals(normals: &Normals<'_>, numbering: Numbering<'_>) -> Result<()> {
    let Some(scale) = normals.rounding.0 else {
        return numbering.run(normals.attribute, false, |_, keys| keys.fill(DedupKey::Alone));
    };
    let frame = normals.frame;
    numbering.run(normals.attribute, frame.is_within(MODEST), |normals, keys| {
        let mut lanes = [[0.0; BATCH]; 3];
        frame.normals(normals, &mut lanes);
        lanes.as_flattened_mut().iter_mut().for_each(|part| *part = step(*part, scale));
        let [xs, ys, zs] = &lanes;
        for (((key, x), y), z) in keys.iter_mut().zip(xs).zip(ys).zip(zs) {
            // Steps are at most about a million in magnitude: 21 bits including the sign.
            let bits = |step: f32| (step as i32 as u64) & 0x1f_ffff;
            let value = DedupKey::Value(bits(*x) << 42 | bits(*y) << 21 | bits(*z));
            *key = if x.is_nan() || y.is_nan() || z.is_nan() { DedupKey::Alone } else { value };
        }
    })
}
