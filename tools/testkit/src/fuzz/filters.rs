//! Properties of any text parsed as a filter.

use super::trial::Effort;
use polyhaul::options::{Expression, RowOptions};
use polyhaul::{ErrorKind, Input, Reader};

/// Table with the columns that filters may name.
const TABLE: &[u8] = b"x,y,z,a b\n0,0.5,1e300,7\n-1,nan,inf,8\n2,3,-0,9\n1e-40,5,6,255\n";

/// Parses a filter and applies it to a table; the result must not depend on the number of threads. Errors must be usage
/// errors with a position in the text.
pub fn filter(data: &[u8], _: Effort) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let filter = match text.parse::<Expression>() {
        Ok(filter) => filter,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Usage, "{text:?}");
            let column = error.place().column.unwrap_or(1);
            assert!(column >= 1 && column <= text.len() as u64 + 1, "{text:?}: {error}");
            return;
        }
    };
    assert_eq!(filter.to_string().parse::<Expression>().unwrap(), filter);
    let filtered = |filter: &Expression, threads| {
        let rows = RowOptions::default().with_filter(Some(filter.clone()));
        let reader = Reader::new(Input::Memory(TABLE.to_vec(), "a.csv".into())).rows(rows).threads(threads);
        reader.tables().map(|loaded| loaded.value.tables[0].row_count)
    };
    let Ok(count) = filtered(&filter, 1) else { return };
    assert_eq!(filtered(&filter, 3).unwrap(), count, "{text:?}");
    match filter.and(&filter) {
        Ok(both) => assert_eq!(filtered(&both, 1).unwrap(), count, "{text:?}"),
        // `and` wraps both filters in parentheses, which adds a level.
        Err(error) => assert!(error.to_string().contains("nested more than 100 levels"), "{text:?}: {error}"),
    }
}
