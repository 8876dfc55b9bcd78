//! Precision of coordinates: decides whether 32-bit floats suffice.
//!
//! A mesh has 32-bit positions, and also 64-bit positions ([`Mesh::exact_positions`]) if it needs them. Text readers
//! decide by the loss of each number (`polyhaul_text::parse::positions`), and other readers by the rules here.

use crate::{Array, Bounds, Mesh};
use std::borrow::Cow;

crate::choices! {
    /// The precision of positions.
    pub enum Precision = Auto {
        /// Keep 64-bit positions if rounding to 32-bit floats would lose digits. In text, these are the digits of
        /// numbers with up to 12 digits; longer numbers lose digits if the spacing of floats at the largest coordinate
        /// exceeds 1e-5 of the longest side of the bounding box. In binary files, a 64-bit number that is not a 32-bit
        /// float loses digits.
        "auto" => Auto,
        /// Round positions to 32-bit floats.
        "single" => Single,
        /// Always keep 64-bit positions.
        "double" => Double,
    }
}

/// If `value` is exactly a 32-bit float, returns the double nearest to the float's shortest decimal form; otherwise
/// returns `value`.
///
/// ```
/// use polyhaul_model::precision::shortest;
/// assert_eq!((shortest(f64::from(0.1f32)), shortest(5411234.456)), (0.1, 5411234.456));
/// ```
pub fn shortest(value: f64) -> f64 {
    let single = value as f32;
    if f64::from(single) == value { single.to_string().parse().unwrap_or(value) } else { value }
}

/// Maximum distance by which rounding may move a position, relative to the longest side of the bounding box: a pixel in
/// an image 100,000 pixels wide.
pub const MAX_MOVE: f64 = 1e-5;

/// Returns the distance between neighboring 32-bit floats near `value`.
///
/// ```
/// assert_eq!(polyhaul_model::precision::spacing(5_411_234.456), 0.5);
/// ```
pub fn spacing(value: f64) -> f64 {
    let single = (value.abs() as f32).min(f32::MAX.next_down());
    f64::from(single.next_up()) - f64::from(single)
}

impl<T: Copy + Into<f64>> Bounds<T> {
    /// Returns whether 32-bit floats are too coarse for positions in the box: whether their spacing at the largest
    /// coordinate exceeds [`MAX_MOVE`] times the longest side.
    pub fn is_coarse(&self) -> bool {
        self.spacing() > MAX_MOVE * self.longest_side()
    }

    /// Returns the spacing of 32-bit floats at the largest coordinate.
    pub fn spacing(&self) -> f64 {
        let sizes = self.min.iter().chain(&self.max).map(|&value| Into::<f64>::into(value).abs());
        spacing(sizes.fold(0.0, f64::max))
    }

    /// Returns the center.
    pub fn center(&self) -> [f64; 3] {
        std::array::from_fn(|axis| self.min[axis].into() / 2.0 + self.max[axis].into() / 2.0)
    }

    /// Returns the length of the longest side.
    pub fn longest_side(&self) -> f64 {
        let sides = self.max.iter().zip(&self.min).map(|(&max, &min)| Into::<f64>::into(max) - Into::<f64>::into(min));
        sides.fold(0.0, f64::max)
    }
}

impl Mesh {
    /// Returns whether the mesh has double-precision positions.
    pub fn is_exact(&self) -> bool {
        !self.exact_positions.is_empty()
    }

    /// Returns the position at `index` in double precision.
    pub fn exact_position(&self, index: usize) -> Option<[f64; 3]> {
        let exact = self.exact_positions.get(index).copied();
        exact.or_else(|| Some(self.positions.get(index)?.map(f64::from)))
    }

    /// Returns the bounding box of all finite positions in double precision, or `None` if there are none.
    pub fn exact_bounds(&self) -> Option<Bounds<f64>> {
        if self.is_exact() { Bounds::of_exact(&self.exact_positions) } else { self.bounds().map(Bounds::widened) }
    }

    /// Returns positions for computations in 32-bit floats. Double-precision positions become relative to the center of
    /// their bounding box, so that rounding loses nothing that matters.
    ///
    /// # Errors
    /// Fails if memory runs out.
    pub fn local_positions(&self) -> crate::error::Result<Cow<'_, [[f32; 3]]>> {
        let Some(bounds) = self.exact_bounds().filter(|_| self.is_exact()) else {
            return Ok(Cow::Borrowed(&self.positions));
        };
        let center = bounds.center();
        let mut local = Vec::new();
        local.try_reserve_exact(self.exact_positions.len())?;
        local.extend(
            self.exact_positions
                .iter()
                .map(|position| -> [f32; 3] { std::array::from_fn(|axis| (position[axis] - center[axis]) as f32) }),
        );
        Ok(Cow::Owned(local))
    }

    /// Sets the positions to `exact`, rounded to 32-bit floats, and also keeps the exact positions.
    ///
    /// # Errors
    /// Fails if memory runs out.
    pub fn set_exact_positions(&mut self, exact: Vec<[f64; 3]>) -> crate::error::Result<()> {
        let mut singles = Vec::new();
        singles.try_reserve_exact(exact.len())?;
        singles.extend(exact.iter().map(|position| position.map(|value| value as f32)));
        self.positions = singles.into();
        self.exact_positions = exact.into();
        Ok(())
    }

    /// Drops the 64-bit positions if all their coordinates are 32-bit floats or NaN.
    pub fn drop_needless_precision(&mut self) {
        let is_single = |value: &f64| f64::from(*value as f32) == *value || value.is_nan();
        if self.exact_positions.as_flattened().iter().all(is_single) {
            self.exact_positions = Array::default();
        }
    }
}
