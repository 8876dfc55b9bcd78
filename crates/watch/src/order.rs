//! Sorts lists of a report.
//!
//! The sort of the standard library is compiled anew for each type. Here, all lists share one that sorts indices,
//! because lists of reports are short, and the command must be small.

use std::cmp::Ordering;

/// Sorts a list; equal items stay in order.
pub(crate) fn sort<T>(items: &mut Vec<T>, compare: impl Fn(&T, &T) -> Ordering) {
    let order = sorted(items.len(), &|left, right| compare(&items[left], &items[right]));
    let mut unsorted: Vec<Option<T>> = items.drain(..).map(Some).collect();
    items.extend(order.into_iter().filter_map(|index| unsorted[index].take()));
}

/// The indices of a list of this length, in order.
fn sorted(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|left, right| compare(*left, *right));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_items_stay_in_order() {
        let mut items = vec![(2, "a"), (1, "b"), (2, "c"), (0, "d"), (1, "e")];
        sort(&mut items, |left, right| left.0.cmp(&right.0));
        assert_eq!(items, [(0, "d"), (1, "b"), (1, "e"), (2, "a"), (2, "c")]);
        let mut none: Vec<u8> = Vec::new();
        sort(&mut none, Ord::cmp);
        assert!(none.is_empty());
    }
}
