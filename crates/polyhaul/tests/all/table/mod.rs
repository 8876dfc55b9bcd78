//! Tables of numbers: parsing for any threads and chunks, hostile text, numpy arrays, writing, points.

mod by_hand;
mod differential;
mod files;
mod habits;
mod hostile;
mod matrix;
mod npy;
mod points;
mod support;
mod writing;
