//! Uvs and normals: which values an object has, and what makes two of them one.
//!
//! Values are merged per object and numbered by their first appearance (`ops::dedup`): uvs by their
//! bits, normals by what their digits will be. Zero and minus zero are one value, whose sign is the
//! first's.

use super::frame::Frame;
use crate::error::Result;
use crate::model::{Domain, Elements, Mesh, NONE};
use crate::ops::dedup::{Dedup, Items, Key, Unique, prefetch};
use crate::options::{Cancel, Digits};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU8, Ordering};

/// Below this, and with a frame below this, nothing overflows to what is unlike itself.
const MODEST: f32 = 1e15;

/// The values of an attribute, and where a corner finds its own.
#[derive(Clone, Copy)]
pub(super) struct Attribute<'a, const N: usize> {
    values: &'a [[f32; N]],
    domain: Domain,
    /// The values' places, for [`Domain::Indexed`].
    stream: &'a [u32],
    corner_positions: &'a [u32],
    /// Which positions a face uses, for [`Domain::Vertex`].
    used: &'a [AtomicU8],
    positions: usize,
}

pub(super) fn uvs(mesh: &Mesh) -> Attribute<'_, 2> {
    Attribute::new(mesh, &mesh.uvs, mesh.uv_domain, &mesh.faces.corner_uvs)
}

pub(super) fn normals(mesh: &Mesh) -> Attribute<'_, 3> {
    Attribute::new(mesh, &mesh.normals, mesh.normal_domain, &mesh.faces.corner_normals)
}

impl<'a, const N: usize> Attribute<'a, N> {
    fn new(mesh: &'a Mesh, values: &'a [[f32; N]], domain: Domain, stream: &'a [u32]) -> Self {
        let Elements { corner_positions, .. } = &mesh.faces;
        Attribute { values, domain, stream, corner_positions, used: &[], positions: mesh.positions.len() }
    }

    /// Whether it wants to know which positions are used.
    pub(super) fn wants_used(&self) -> bool {
        self.domain == Domain::Vertex && !self.values.is_empty()
    }

    /// Leaves out the values of positions that no face uses.
    pub(super) fn with_used(self, used: &'a [AtomicU8]) -> Self {
        Attribute { used, ..self }
    }

    /// How many items there are: what the domain counts.
    fn len(&self) -> usize {
        match self.domain {
            Domain::Indexed if self.values.is_empty() => 0,
            Domain::Indexed => self.stream.len(),
            _ => self.values.len(),
        }
    }

    /// The value of an item.
    #[inline]
    pub(super) fn value(&self, item: usize) -> Option<[f32; N]> {
        self.value_in(self.domain, item)
    }

    /// As [`Attribute::value`], where the compiler knows the domain.
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

    /// Where values that are often equal meet.
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

    /// The number of a corner's value in what deduplication gave.
    #[inline]
    pub(super) fn number(&self, of_item: &[u32], face: usize, corner: usize) -> u32 {
        match self.domain {
            Domain::Corner | Domain::Indexed => of_item[corner],
            Domain::Vertex => of_item[self.corner_positions[corner] as usize],
            Domain::Face => of_item[face],
        }
    }
}

/// A domain that the compiler knows.
pub(super) trait Place: Sync {
    const DOMAIN: Domain;
}

pub(super) struct ByIndex;
pub(super) struct ByCorner;
pub(super) struct ByVertex;
pub(super) struct ByFace;

impl Place for ByIndex {
    const DOMAIN: Domain = Domain::Indexed;
}
impl Place for ByCorner {
    const DOMAIN: Domain = Domain::Corner;
}
impl Place for ByVertex {
    const DOMAIN: Domain = Domain::Vertex;
}
impl Place for ByFace {
    const DOMAIN: Domain = Domain::Face;
}

/// Values whose keys are made by a function, in a domain that the compiler knows.
struct Keyed<'a, const N: usize, P, F> {
    attribute: Attribute<'a, N>,
    key: F,
    /// Whether the same bits surely give the same key.
    bits_decide: bool,
    place: PhantomData<P>,
}

impl<const N: usize, P: Place, F: Fn([f32; N]) -> Key + Sync> Items for Keyed<'_, N, P, F> {
    fn len(&self) -> usize {
        self.attribute.len()
    }

    #[inline]
    fn key(&self, item: usize) -> Key {
        match self.attribute.value_in(P::DOMAIN, item) {
            Some(value) => (self.key)(value),
            None => Key::Skip,
        }
    }

    #[inline]
    fn hint(&self, item: usize) -> usize {
        self.attribute.hint(P::DOMAIN, item)
    }

    fn hint_count(&self) -> usize {
        self.attribute.hint_count()
    }

    #[inline]
    fn surely_same(&self, a: usize, b: usize) -> bool {
        self.bits_decide && self.attribute.same_bits(P::DOMAIN, a, b)
    }

    #[inline]
    fn prefetch(&self, item: usize) {
        prefetch(self.attribute.values, item);
        prefetch(self.attribute.corner_positions, item);
    }
}

/// Who deduplicates, and where the result goes.
pub(super) struct Numbering<'a> {
    pub(super) dedup: &'a mut Dedup,
    pub(super) threads: usize,
    pub(super) cancel: &'a Cancel,
    pub(super) out: &'a mut Unique,
}

impl Numbering<'_> {
    fn run<const N: usize>(
        self,
        attribute: Attribute<'_, N>,
        bits_decide: bool,
        key: impl Fn([f32; N]) -> Key + Sync,
    ) -> Result<()> {
        match attribute.domain {
            Domain::Indexed => self.run_in::<N, ByIndex>(attribute, bits_decide, key),
            Domain::Corner => self.run_in::<N, ByCorner>(attribute, bits_decide, key),
            Domain::Vertex => self.run_in::<N, ByVertex>(attribute, bits_decide, key),
            Domain::Face => self.run_in::<N, ByFace>(attribute, bits_decide, key),
        }
    }

    fn run_in<const N: usize, P: Place>(
        self,
        attribute: Attribute<'_, N>,
        bits_decide: bool,
        key: impl Fn([f32; N]) -> Key + Sync,
    ) -> Result<()> {
        let items = Keyed { attribute, key, bits_decide, place: PhantomData::<P> };
        self.dedup.run(&items, self.threads, self.cancel, self.out)
    }
}

/// Numbers uvs: those with the same bits are one.
pub(super) fn number_uvs(uvs: Attribute<'_, 2>, numbering: Numbering<'_>) -> Result<()> {
    numbering.run(uvs, true, |[u, v]| {
        if u.is_nan() || v.is_nan() {
            return Key::Alone;
        }
        // Adding 0 makes minus zero zero.
        let [u, v] = [u + 0.0, v + 0.0].map(|part| u64::from(part.to_bits()));
        Key::Value(u << 32 | v)
    })
}

/// Normals, merged where their digits are the same.
pub(super) struct Normals<'a> {
    pub(super) attribute: Attribute<'a, 3>,
    pub(super) frame: Frame,
    pub(super) rounding: Rounding,
}

/// To which multiple normals are rounded before they are compared and written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rounding(Option<f32>);

impl Rounding {
    /// As many digits as are written. With more than six there is no rounding and no merging: three
    /// such numbers do not fit a key.
    pub(super) fn new(digits: Digits) -> Rounding {
        match digits {
            Digits::Fixed(digits @ 0..=6) => Rounding(Some(10.0f32.powi(digits.into()))),
            _ => Rounding(None),
        }
    }
}

impl Normals<'_> {
    /// A normal as it is written.
    #[inline]
    pub(super) fn written(&self, normal: [f32; 3]) -> [f32; 3] {
        let normal = self.frame.normal(normal);
        match self.rounding.0 {
            Some(scale) => steps(normal, scale).map(|step| step / scale),
            None => normal,
        }
    }
}

/// Whole multiples of `1 / scale`, rounded as Blender does it.
#[inline]
fn steps(normal: [f32; 3], scale: f32) -> [f32; 3] {
    normal.map(|part| ceil(scale * part - 0.5))
}

/// The next whole number, of values that fit an `i32` or are NaN, with the sign of `value`. Without
/// SSE 4.1 `f32::ceil` is a call, which took 3.5 % of all time.
#[inline]
fn ceil(value: f32) -> f32 {
    let whole = value as i32 as f32;
    let up = if whole < value { whole + 1.0 } else { whole };
    if value.is_nan() { value } else { up.copysign(value) }
}

/// Numbers normals: those with the same digits are one.
pub(super) fn number_normals(normals: &Normals<'_>, numbering: Numbering<'_>) -> Result<()> {
    let Some(scale) = normals.rounding.0 else {
        return numbering.run(normals.attribute, false, |_| Key::Alone);
    };
    let frame = normals.frame;
    numbering.run(normals.attribute, frame.is_within(MODEST), |normal| {
        let steps = steps(frame.normal(normal), scale);
        if steps.iter().any(|step| step.is_nan()) {
            return Key::Alone;
        }
        // Each is within a million and one: 21 bits with the sign.
        let [x, y, z] = steps.map(|step| (step as i32 as u64) & 0x1f_ffff);
        Key::Value(x << 42 | y << 21 | z)
    })
}
