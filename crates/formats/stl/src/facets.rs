//! Destination of triangles: the arrays of a model, or a consumer.

use polyhaul_geometry::dedup::{number_joined, number_rows};
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Result, elements_hint, try_push};
use polyhaul_model::options::StlReadOptions;
use polyhaul_model::{
    Axes, Bounds, Column as ModelColumn, Domain, Elements, Mesh, NONE, Object, ObjectKind, Scene, Values,
};
use polyhaul_pipeline::arrays::multiples;
use polyhaul_pipeline::column::Column;
use polyhaul_pipeline::consumer::{MeshConsumer, MeshPiece, PieceFaces};
use polyhaul_pipeline::options::{ParseOptions, RunOptions};
use polyhaul_spill::paced;
use polyhaul_text::parse::facets::ExactCorners;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// A triangle: its normal, then its positions.
pub(super) type StlReadFacet = [[f32; 3]; 4];

/// Destination of a file's triangles.
pub(super) struct Facets<'a> {
    /// If present, receives the triangles instead of the arrays.
    consumer: Option<&'a dyn MeshConsumer>,
    positions: Column<[[f32; 3]; 3]>,
    /// Positions in double precision, if the file has them.
    exact: Column<ExactCorners>,
    normals: Column<[f32; 3]>,
    attributes: Column<u16>,
    /// Whether any attribute so far is not 0. It changes only in the ordered step.
    has_attributes: AtomicBool,
}

/// Slots reserved for the triangles of a chunk.
#[derive(Clone, Debug, Default)]
pub(super) struct StlPlaces {
    pub(super) facets: Range<usize>,
    /// If this chunk is the first with a nonzero attribute, the attribute slots of all earlier triangles, to be filled
    /// with 0; otherwise empty.
    gap: Range<usize>,
    has_attributes: bool,
}

/// Reusable buffers for the triangles of a piece.
#[derive(Default)]
pub(super) struct StlRoom {
    positions: Vec<[[f32; 3]; 3]>,
    normals: Vec<[f32; 3]>,
    attributes: Vec<u16>,
}

/// A solid in the file: its name, and the number of triangles before it.
pub(super) struct Solid {
    pub(super) name: String,
    pub(super) first: usize,
}

impl<'a> Facets<'a> {
    pub(super) fn new(consumer: Option<&'a dyn MeshConsumer>) -> Facets<'a> {
        Facets {
            consumer,
            positions: Column::new("positions"),
            exact: Column::new("exact positions"),
            normals: Column::new("normals"),
            attributes: Column::new("attributes"),
            has_attributes: AtomicBool::new(false),
        }
    }

    /// Whether attributes are kept in arrays. A consumer receives them in any case.
    pub(super) fn keeps_attributes(&self) -> bool {
        self.consumer.is_none()
    }

    /// Reserves slots for the triangles `facets`. Must be called in file order. `needs_attributes` is whether any of
    /// them has a nonzero attribute.
    pub(super) fn place(&self, facets: Range<usize>, needs_attributes: bool) -> Result<StlPlaces> {
        if self.consumer.is_some() {
            return Ok(StlPlaces { facets, ..StlPlaces::default() });
        }
        self.reserve(facets.end)?;
        let had = self.has_attributes.load(Ordering::Relaxed);
        let mut places = StlPlaces { gap: 0..0, has_attributes: had || needs_attributes, facets };
        if places.has_attributes {
            self.attributes.reserve(places.facets.end)?;
            self.has_attributes.store(true, Ordering::Relaxed);
        }
        if needs_attributes && !had {
            places.gap = 0..places.facets.start;
        }
        Ok(places)
    }

    /// Reserves slots for the first `count` triangles, except for attributes.
    pub(super) fn reserve(&self, count: usize) -> Result<()> {
        if self.consumer.is_some() {
            return Ok(());
        }
        self.positions.reserve(count)?;
        self.normals.reserve(count)
    }

    /// Fills reserved slots, or sends the triangles to the consumer, using `room` as buffers.
    ///
    /// # Safety
    /// `places` must come from [`Facets::place`] of this value, and no other thread may use it at the same time.
    pub(super) unsafe fn publish(
        &self,
        places: &StlPlaces,
        facets: impl Iterator<Item = (StlReadFacet, u16)> + Clone,
        room: &mut StlRoom,
    ) -> Result<()> {
        if let Some(consumer) = self.consumer {
            room.fill(places.facets.len(), facets)?;
            return consumer.take(&room.piece(places.facets.start as u64));
        }
        let range = || places.facets.clone();
        // SAFETY: `place` reserves each range once and in order, so no other thread uses these slots, by this
        // function's contract. The gap is empty, or it covers all slots before the first chunk with attributes; the
        // chunks before it write no attributes.
        unsafe {
            self.positions.write(range(), |slots| fill(slots, facets.clone().map(|([_, a, b, c], _)| [a, b, c])))?;
            self.normals.write(range(), |slots| fill(slots, facets.clone().map(|([normal, ..], _)| normal)))?;
            if places.has_attributes {
                self.attributes.fill(places.gap.clone(), 0)?;
                self.attributes.write(range(), |slots| fill(slots, facets.map(|(_, attribute)| attribute)))?;
            }
        }
        Ok(())
    }

    /// Fills reserved slots with positions in double precision.
    ///
    /// # Safety
    /// As for [`Facets::publish`].
    pub(super) unsafe fn publish_exact(
        &self,
        places: &StlPlaces,
        corners: impl Iterator<Item = ExactCorners>,
    ) -> Result<()> {
        self.exact.reserve(places.facets.end)?;
        // SAFETY: by this function's contract.
        unsafe { self.exact.write(places.facets.clone(), |slots| fill(slots, corners)) }
    }

    /// Returns the bounds of all positions, and the positions in double precision if `has_exact`.
    ///
    /// # Safety
    /// The slots `0..count` must all have been reserved and published, and if `has_exact`, also in double precision.
    pub(super) unsafe fn take_exact(&mut self, count: usize, has_exact: bool) -> (Option<Bounds>, Vec<[f64; 3]>) {
        let exact = std::mem::replace(&mut self.exact, Column::new("exact positions"));
        // SAFETY: by this function's contract.
        unsafe {
            let bounds = Bounds::of(self.positions.written(count).as_flattened());
            (bounds, if has_exact { exact.finish(count).into_flattened() } else { Vec::new() })
        }
    }

    /// Returns the scene. It is empty if a consumer received the triangles.
    ///
    /// # Safety
    /// The slots `0..count` must all have been reserved and published.
    pub(super) unsafe fn finish(
        self,
        count: usize,
        exact: Vec<[f64; 3]>,
        solids: Vec<Solid>,
        options: &ParseOptions<StlReadOptions>,
    ) -> Result<Scene> {
        let mut scene = Scene { axes: Axes::OBJ, ..Scene::default() };
        if self.consumer.is_some() {
            return Ok(scene);
        }
        let has_attributes = self.has_attributes.into_inner();
        let has_exact = !exact.is_empty();
        // SAFETY: positions and normals of `0..count` were published, by this function's contract. Starting with the
        // first chunk that has attributes, every chunk writes its own attributes, and the gap of that chunk covers all
        // earlier slots.
        let mut rest = unsafe {
            FacetArrays {
                exact,
                positions: flat(self.positions.finish(count))?,
                normals: self.normals.finish(count),
                attributes: if has_attributes { self.attributes.finish(count) } else { Vec::new() },
            }
        };
        // Backward, so that each triangle is moved once. Most files have only one solid.
        for solid in solids.iter().rev() {
            let facets = match solid.first {
                0 => std::mem::take(&mut rest),
                first => FacetArrays {
                    exact: if has_exact { cut(&mut rest.exact, 3 * first)? } else { Vec::new() },
                    positions: cut(&mut rest.positions, 3 * first)?,
                    normals: cut(&mut rest.normals, first)?,
                    attributes: if has_attributes { cut(&mut rest.attributes, first)? } else { Vec::new() },
                },
            };
            let mesh = mesh(facets, options)?;
            let name = solid.name.clone();
            let end = mesh.counts();
            let kind = if name.is_empty() { ObjectKind::Unnamed } else { ObjectKind::Object };
            try_push(&mut scene.meshes, mesh, "the scene")?;
            try_push(&mut scene.objects, Object { name, kind, end, ..Object::default() }, "the scene")?;
        }
        scene.meshes.reverse();
        scene.objects.reverse();
        paced(&mut scene.objects).enumerate().for_each(|(mesh, object)| object.mesh = mesh);
        Ok(scene)
    }
}

/// The triangles of a solid. `attributes` is empty if all attributes of the file are 0.
#[derive(Default)]
struct FacetArrays {
    /// Empty if positions have single precision.
    exact: Vec<[f64; 3]>,
    positions: Vec<[f32; 3]>,
    normals: Vec<[f32; 3]>,
    attributes: Vec<u16>,
}

impl StlRoom {
    fn fill(&mut self, count: usize, facets: impl Iterator<Item = (StlReadFacet, u16)> + Clone) -> Result<()> {
        let StlRoom { positions, normals, attributes } = self;
        positions.clear();
        normals.clear();
        attributes.clear();
        let room = positions.try_reserve(count).and_then(|()| normals.try_reserve(count));
        room.and_then(|()| attributes.try_reserve(count)).map_err(|_| Error::memory("triangles"))?;
        positions.extend(facets.clone().map(|([_, a, b, c], _)| [a, b, c]));
        normals.extend(facets.clone().map(|([normal, ..], _)| normal));
        attributes.extend(facets.map(|(_, attribute)| attribute));
        Ok(())
    }

    fn piece(&self, first_face: u64) -> MeshPiece<'_> {
        MeshPiece {
            first_face,
            positions: self.positions.as_flattened(),
            faces: PieceFaces::Triangles,
            face_normals: &self.normals,
            face_attributes: &self.attributes,
            ..MeshPiece::default()
        }
    }
}

/// Fills all slots. `values` must have a value for each slot; a missing value would become 0.
fn fill<T: Copy + Default>(slots: &mut [MaybeUninit<T>], mut values: impl Iterator<Item = T>) {
    slots.iter_mut().for_each(|slot| _ = slot.write(values.next().unwrap_or_default()));
}

/// Flattens the positions of triangles in place. Fails if 32-bit indices cannot address them.
fn flat(positions: Vec<[[f32; 3]; 3]>) -> Result<Vec<[f32; 3]>> {
    let fits = positions.len() < (NONE as usize) / 3;
    fits.then(|| positions.into_flattened()).ok_or_else(too_many)
}

pub(super) fn too_many() -> Error {
    Error::new(ErrorKind::Limit, "more than 2^32 - 2 corners")
}

/// Splits off the values starting at `at`.
fn cut<T: Copy>(values: &mut Vec<T>, at: usize) -> Result<Vec<T>> {
    let mut end = Vec::new();
    let tail = values.get(at..).unwrap_or_default();
    end.try_reserve_exact(tail.len())?;
    end.extend_from_slice(tail);
    values.truncate(at);
    Ok(end)
}

/// Creates a mesh. Triangles share no positions unless they are welded.
fn mesh(facets: FacetArrays, options: &ParseOptions<StlReadOptions>) -> Result<Mesh> {
    let FacetArrays { exact, positions, normals, attributes } = facets;
    let threads = options.run.worker_threads();
    let offsets = if normals.is_empty() { Vec::new() } else { multiples(normals.len() + 1, 3, threads)? };
    let StlWelded { exact, positions, corners } = if options.own.weld {
        weld(&positions, &exact, &options.run)?
    } else {
        let corners = multiples(positions.len(), 1, threads)?;
        StlWelded { exact, positions, corners }
    };
    let mut mesh = Mesh {
        positions: positions.into(),
        exact_positions: exact.into(),
        normals: normals.into(),
        normal_domain: Domain::Face,
        faces: Elements { offsets: offsets.into(), corner_positions: corners.into(), ..Elements::default() },
        ..Mesh::default()
    };
    if attributes.iter().any(|&attribute| attribute != 0) {
        let values = Values::U16(attributes.into());
        let column = ModelColumn { name: "attribute".into(), values, offsets: None };
        try_push(&mut mesh.face_columns, column, "columns")?;
    }
    Ok(mesh)
}

/// Welded positions, and the index of each corner's position.
struct StlWelded {
    exact: Vec<[f64; 3]>,
    positions: Vec<[f32; 3]>,
    corners: Vec<u32>,
}

/// Welds equal positions. The indices of the welded positions follow the order of first appearance.
fn weld(positions: &[[f32; 3]], exact: &[[f64; 3]], run: &RunOptions) -> Result<StlWelded> {
    let threads = run.worker_threads();
    let mut numbers = number_rows(positions, None, threads, &run.cancel)?;
    for axis in 0..3 {
        // Different doubles with the same nearest float differ in their lower 32 bits, unless the float is 0,
        // subnormal, infinite or NaN.
        let bits =
            |shift: u32| move |item: usize| exact.get(item).map(|position| (position[axis].to_bits() >> shift) as u32);
        let is_coarse = |position: &[f64; 3]| position[axis] != 0.0 && !(position[axis] as f32).is_normal();
        let shifts: &[u32] = match exact {
            [] => &[],
            _ if exact.iter().any(is_coarse) => &[0, 32],
            _ => &[0],
        };
        for &shift in shifts {
            numbers = number_joined(&numbers.of_item, numbers.first.len(), bits(shift), threads, &run.cancel)?;
        }
    }
    Ok(StlWelded {
        exact: picked(exact, &numbers.first)?,
        positions: picked(positions, &numbers.first)?,
        corners: numbers.of_item,
    })
}

/// Gathers values by index. The result is empty if there are no values.
fn picked<T: Copy>(values: &[T], places: &[u32]) -> Result<Vec<T>> {
    let mut picked = Vec::new();
    if !values.is_empty() {
        picked.try_reserve_exact(places.len())?;
        picked.extend(places.iter().map(|&place| values[place as usize]));
    }
    Ok(picked)
}

/// Fails if the triangles have more positions than the caller's limit or than 32-bit indices can address.
pub(super) fn check_count(count: u64, options: &ParseOptions<StlReadOptions>) -> Result<()> {
    let limit = options.limits.elements.min(u64::from(NONE) - 1);
    if count.saturating_mul(3) <= limit {
        return Ok(());
    }
    let message = format!("more positions than the limit `elements` ({limit})");
    Err(Diagnostic { hint: elements_hint(limit), ..Diagnostic::new(message) }.into_error(ErrorKind::Limit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_doubles_are_welded_only_if_they_are_equal() {
        let tiny = 2f64.powi(-200);
        for (a, b) in [(tiny, 2.0 * tiny), (1e300, 1e301), (1e-310, -1e-310), (0.1, 0.1 + f64::EPSILON)] {
            let exact = [[a, 1.0, 0.0], [b, 1.0, 0.0], [a, 1.0, 0.0]];
            let positions = exact.map(|position| position.map(|value| value as f32));
            let welded = weld(&positions, &exact, &RunOptions::default()).unwrap();
            assert_eq!(welded.corners, [0, 1, 0], "{a} {b}");
            assert_eq!(welded.exact, exact[..2]);
        }
    }
}
