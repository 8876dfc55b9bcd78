//! Habits and damage in files that people reported: each test represents such a report.

mod archives;
mod compared;
mod obj;
mod off;
mod ply;
mod stl;
