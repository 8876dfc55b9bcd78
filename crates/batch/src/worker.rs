//! Worker side of the protocol: tasks in, rows out, one JSON object per line.

use crate::row::{Row, Task};
use std::io::{self, BufRead, Write};

/// Reads tasks from `input`, runs them sequentially, and writes their rows to `output`, until the input ends.
///
/// # Errors
/// I/O errors; `InvalidData` or `UnexpectedEof` for a line that is not a task.
///
/// ```
/// use polyhaul_batch::{Row, Task, serve};
///
/// let (task, mut rows) = (Task { asset: "chair.obj".into(), ..Task::default() }, Vec::new());
/// let line = serde_json::to_string(&task)? + "\n";
/// serve(line.as_bytes(), &mut rows, |task| Row::failed(task, "unsupported", "no chairs"))?;
/// assert!(String::from_utf8(rows)?.contains("no chairs"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn serve(input: impl BufRead, mut output: impl Write, mut work: impl FnMut(&Task) -> Row) -> io::Result<()> {
    for line in input.lines() {
        let task: Task = serde_json::from_str(&line?)?;
        let mut row = serde_json::to_vec(&work(&task))?;
        row.push(b'\n');
        output.write_all(&row)?;
        output.flush()?;
    }
    Ok(())
}
