//! What looks at clocks and at what the process used: apart from tests that would use it meanwhile.

mod causes;
mod throttle;
mod verdict;
