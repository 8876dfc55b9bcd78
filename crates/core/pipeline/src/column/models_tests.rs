//! Models of arrays that several threads fill.

use super::*;
use crate::options::Cancel;
use crate::run::{Crew, Job, run};
use crate::sync::scope;
use polyhaul_models::Model;
use polyhaul_models::shuttle::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// One thread fills a range while another one grows the array.
#[test]
fn an_array_stays_in_place_while_it_is_filled() {
    let test = || {
        let column = Column::<u64>::new("values");
        let point = AtomicUsize::new(0);
        column.reserve(2).unwrap();
        let fill = |slots: &mut [MaybeUninit<u64>]| {
            point.load(SeqCst);
            assert!(column.items.try_write().is_err(), "the array may move");
            slots.fill(MaybeUninit::new(1));
        };
        scope(|scope| {
            // SAFETY: one thread writes each range.
            scope.spawn(|| unsafe { column.write(0..2, fill) }.unwrap());
            column.reserve(1 << 10).unwrap();
            // SAFETY: as above.
            unsafe { column.fill(2..4, 2) }.unwrap();
        });
        // SAFETY: both ranges were filled.
        assert_eq!(unsafe { column.finish(4) }, [1, 1, 2, 2]);
    };
    Model::new("arrays: growth", test).detects(&["column-unlocked"]);
}

/// Chunks of different lengths; the ordered part assigns their positions in the array.
struct Filling(Column<u64>);

impl Job for Filling {
    type Slot = (u64, usize);
    type State = usize;

    fn stages(&self) -> usize {
        2
    }
    fn takes_in_order(&self) -> bool {
        false
    }
    fn ends_in_order(&self) -> bool {
        false
    }
    fn slot(&self) -> Result<(u64, usize)> {
        Ok((0, 0))
    }
    fn take(&self, number: u64, slot: &mut (u64, usize)) -> Result<bool> {
        slot.0 = number;
        Ok(number < 3)
    }
    fn work(&self, stage: usize, slot: &mut (u64, usize)) -> Result<()> {
        let range = slot.1..slot.1 + slot.0 as usize + 1;
        // SAFETY: the ordered part assigned this range only to this chunk.
        if stage == 1 { unsafe { self.0.fill(range, slot.0) } } else { Ok(()) }
    }
    fn commit(&self, _: usize, end: &mut usize, slot: &mut (u64, usize)) -> Result<()> {
        slot.1 = *end;
        *end += slot.0 as usize + 1;
        self.0.reserve(*end)
    }
}

#[test]
fn threads_fill_an_array_with_the_same_values_in_every_order() {
    let test = || {
        let job = Filling(Column::new("values"));
        let mut end = 0;
        run(&job, &mut end, Crew::new(2, 3, 1), &Cancel::default()).unwrap();
        // SAFETY: the job filled the array.
        assert_eq!(unsafe { job.0.finish(end) }, [0, 1, 1, 2, 2, 2]);
    };
    Model::new("arrays: ranges", test).detects(&["column-overlap", "commit-order"]);
}
