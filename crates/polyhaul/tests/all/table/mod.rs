//! Tables of numbers: what text means, whatever the threads and chunks; hostile text; arrays of numpy; writing; points.

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
