//! Habits and damages of files that people reported: each test is the kind of one such report.

mod archives;
mod compared;
mod obj;
mod off;
mod ply;
mod stl;
