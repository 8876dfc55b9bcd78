//! Tests of reading many accessors at once.
