//! Coordinates that 32-bit floats cannot hold: what is read, moved, written and reported of them.

mod moved;
mod passes;
mod render;
mod samples;
mod targets;
