//! Checks the order of the statements of a triangle.

use super::facets::StlReadFacet;
use super::statement::StlWord;
use polyhaul_text::parse::facets::ExactCorners;
use polyhaul_text::parse::positions::DigitLoss;

/// Progress in a triangle.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum StlState {
    /// Between triangles.
    #[default]
    Outside,
    /// After the start of the triangle, with or without a normal.
    Begun,
    /// In the loop, after this many positions.
    Loop(usize),
    /// After the loop.
    Closed,
    /// After an error. The rest of the triangle is ignored.
    Broken,
}

/// A triangle, with its corners in double precision as well.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct StlTriangle {
    pub(super) facet: StlReadFacet,
    pub(super) corners: ExactCorners,
    /// Precision that the corners lose as 32-bit floats.
    pub(super) loss: DigitLoss,
}

/// State machine for the triangle being read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Machine {
    state: StlState,
    triangle: StlTriangle,
}

/// Outcome of a statement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum StlStep {
    Fine,
    /// The triangle is complete.
    Whole(StlTriangle),
    /// The statement is misplaced or invalid. Contains what was expected.
    Wrong(&'static str),
}

impl Machine {
    /// Whether a triangle is open.
    pub(super) fn is_inside(&self) -> bool {
        matches!(self.state, StlState::Begun | StlState::Loop(_) | StlState::Closed)
    }

    /// Processes a statement. Reports only the first error in a triangle.
    #[inline]
    pub(super) fn step(&mut self, word: &StlWord) -> StlStep {
        match (self.state, word) {
            (_, StlWord::Comment) => {}
            (StlState::Loop(count @ 0..3), &StlWord::Vertex(vertex)) => {
                self.triangle.facet[1 + count] = vertex.single;
                self.triangle.corners[count] = vertex.exact;
                self.triangle.loss.extend(vertex.loss);
                self.state = StlState::Loop(count + 1);
            }
            (StlState::Outside | StlState::Broken, &StlWord::Facet(normal)) => self.start_facet(normal),
            (StlState::Begun, StlWord::Loop) => self.state = StlState::Loop(0),
            (StlState::Loop(3), StlWord::EndLoop) => self.state = StlState::Closed,
            (StlState::Closed, StlWord::EndFacet) => {
                self.state = StlState::Outside;
                return StlStep::Whole(self.triangle);
            }
            (StlState::Outside | StlState::Broken, StlWord::Solid(_) | StlWord::EndSolid)
            | (StlState::Broken, StlWord::EndFacet) => {
                self.state = StlState::Outside;
            }
            (StlState::Broken, StlWord::Broken(_) | StlWord::Loop | StlWord::Vertex(_) | StlWord::EndLoop) => {}
            (_, word) => return StlStep::Wrong(self.wrong(word)),
        }
        StlStep::Fine
    }

    fn start_facet(&mut self, normal: [f32; 3]) {
        self.triangle = StlTriangle { facet: [normal, [0.0; 3], [0.0; 3], [0.0; 3]], ..StlTriangle::default() };
        self.state = StlState::Begun;
    }

    /// Sets the state after a misplaced or invalid statement. Returns what was expected.
    fn wrong(&mut self, word: &StlWord) -> &'static str {
        let expected = match (self.state, word) {
            (_, StlWord::Broken(expected)) => expected,
            (StlState::Begun, _) => "`outer loop`",
            (StlState::Loop(0..3), _) => "`vertex`: a triangle has three vertices",
            (StlState::Loop(_), _) => "`endloop`: a triangle has three vertices",
            (StlState::Closed, _) => "`endfacet`",
            (StlState::Outside | StlState::Broken, _) => "`facet`",
        };
        match word {
            StlWord::Facet(normal) => self.start_facet(*normal),
            StlWord::Solid(_) | StlWord::EndSolid => self.state = StlState::Outside,
            // Between triangles, text that is not a statement does not invalidate any triangle.
            StlWord::Broken(_) if self.state == StlState::Outside => {}
            _ => self.state = StlState::Broken,
        }
        expected
    }
}

#[cfg(test)]
mod tests {
    use super::super::statement::StlVertex;
    use super::*;

    fn run(words: &[StlWord]) -> Vec<StlStep> {
        let mut machine = Machine::default();
        words.iter().map(|word| machine.step(word)).filter(|step| *step != StlStep::Fine).collect()
    }

    const LOSS: DigitLoss = DigitLoss { counts_all: false, short: 0, long: 0, largest: 0.0 };
    const V: StlWord = StlWord::Vertex(StlVertex { single: [1.0; 3], exact: [1.0; 3], loss: LOSS });
    const N: StlWord = StlWord::Facet([2.0; 3]);
    const WHOLE: StlStep = StlStep::Whole(StlTriangle {
        facet: [[2.0; 3], [1.0; 3], [1.0; 3], [1.0; 3]],
        corners: [[1.0; 3]; 3],
        loss: LOSS,
    });

    #[test]
    fn a_triangle_is_whole_at_its_end() {
        let good =
            [StlWord::Solid(0..0), N, StlWord::Loop, V, V, V, StlWord::EndLoop, StlWord::EndFacet, StlWord::EndSolid];
        assert_eq!(run(&good), [WHOLE]);
    }

    #[test]
    fn a_broken_triangle_is_wrong_once_and_the_next_one_counts() {
        let four = [N, StlWord::Loop, V, V, V, V, StlWord::EndLoop, StlWord::EndFacet];
        let next = [N, StlWord::Loop, V, V, V, StlWord::EndLoop, StlWord::EndFacet];
        let wrong = StlStep::Wrong("`endloop`: a triangle has three vertices");
        assert_eq!(run(&[four.as_slice(), &next].concat()), [wrong, WHOLE]);
        assert_eq!(
            run(&[&four[..3], next.as_slice()].concat()),
            [StlStep::Wrong("`vertex`: a triangle has three vertices"), WHOLE]
        );
        let odd = [StlWord::Broken("x"), V, V, StlWord::EndFacet];
        assert_eq!(run(&[odd.as_slice(), &next].concat()), [StlStep::Wrong("x"), StlStep::Wrong("`facet`"), WHOLE]);
    }
}
