//! The parallel loop for all rendering work; traces record it as [`Phase::Draw`].

use polyhaul_model::error::Result;
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::try_for_each_item;
use polyhaul_pipeline::run::{Phase, span};

/// [`try_for_each_item`] with the threads and cancellation of a run, each item in a draw span.
pub(crate) fn draw_each<I, S>(
    run: &RunOptions,
    items: I,
    scratch: impl Fn() -> S + Sync,
    draw: impl Fn(&mut S, I::Item) -> Result<()> + Sync,
) -> Result<()>
where
    I: Iterator<Item: Send> + Send,
{
    try_for_each_item(run.worker_threads(), &run.cancel, items, scratch, |scratch, item| {
        let _span = span(Phase::Draw);
        draw(scratch, item)
    })
}
