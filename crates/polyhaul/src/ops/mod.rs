//! Model to model: weld, triangulate, transform.
