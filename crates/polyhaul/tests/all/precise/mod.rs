//! Coordinates that 32-bit floats cannot store: reading, transforming, writing and reporting.

mod moved;
mod passes;
mod render;
mod samples;
mod targets;
