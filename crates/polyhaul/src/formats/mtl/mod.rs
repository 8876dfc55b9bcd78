//! MTL: material libraries.
