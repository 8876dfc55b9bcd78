//! The order in which the statements of a triangle must come.

use super::facets::Facet;
use super::statement::Word;

/// How far a triangle is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum State {
    /// There is none.
    #[default]
    Outside,
    /// It has its normal.
    Begun,
    /// It has so many positions.
    Loop(usize),
    /// It has all of them.
    Closed,
    /// It is broken, and what is left of it does not count.
    Broken,
}

/// A triangle that is being read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Machine {
    state: State,
    facet: Facet,
}

/// What became of a statement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    Fine,
    /// The triangle is whole.
    Whole(Facet),
    /// It may not stand here: this may.
    Wrong(&'static str),
}

impl Machine {
    /// Whether a triangle is begun.
    pub(super) fn is_inside(&self) -> bool {
        matches!(self.state, State::Begun | State::Loop(_) | State::Closed)
    }

    /// Takes a statement. A broken triangle is wrong once.
    #[inline]
    pub(super) fn step(&mut self, word: &Word) -> Step {
        match (self.state, word) {
            (State::Loop(count @ 0..3), &Word::Vertex(vertex)) => {
                self.facet[1 + count] = vertex;
                self.state = State::Loop(count + 1);
            }
            (State::Outside | State::Broken, &Word::Facet(normal)) => self.begin(normal),
            (State::Begun, Word::Loop) => self.state = State::Loop(0),
            (State::Loop(3), Word::EndLoop) => self.state = State::Closed,
            (State::Closed, Word::EndFacet) => {
                self.state = State::Outside;
                return Step::Whole(self.facet);
            }
            (State::Outside | State::Broken, Word::Solid(_) | Word::EndSolid) | (State::Broken, Word::EndFacet) => {
                self.state = State::Outside;
            }
            (State::Broken, Word::Broken(_) | Word::Loop | Word::Vertex(_) | Word::EndLoop) => {}
            (_, word) => return Step::Wrong(self.wrong(word)),
        }
        Step::Fine
    }

    fn begin(&mut self, normal: [f32; 3]) {
        self.facet[0] = normal;
        self.state = State::Begun;
    }

    /// Goes on behind a statement that may not stand here; says what may.
    fn wrong(&mut self, word: &Word) -> &'static str {
        let expected = match (self.state, word) {
            (_, Word::Broken(expected)) => expected,
            (State::Begun, _) => "`outer loop`",
            (State::Loop(0..3), _) => "`vertex`: a triangle has three",
            (State::Loop(_), _) => "`endloop`: a triangle has three vertices",
            (State::Closed, _) => "`endfacet`",
            (State::Outside | State::Broken, _) => "`facet`",
        };
        match word {
            Word::Facet(normal) => self.begin(*normal),
            Word::Solid(_) | Word::EndSolid => self.state = State::Outside,
            // What is no statement and stands between triangles breaks none.
            Word::Broken(_) if self.state == State::Outside => {}
            _ => self.state = State::Broken,
        }
        expected
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(words: &[Word]) -> Vec<Step> {
        let mut machine = Machine::default();
        words.iter().map(|word| machine.step(word)).filter(|step| *step != Step::Fine).collect()
    }

    const V: Word = Word::Vertex([1.0; 3]);
    const N: Word = Word::Facet([2.0; 3]);
    const WHOLE: Step = Step::Whole([[2.0; 3], [1.0; 3], [1.0; 3], [1.0; 3]]);

    #[test]
    fn a_triangle_is_whole_at_its_end() {
        let good = [Word::Solid(0..0), N, Word::Loop, V, V, V, Word::EndLoop, Word::EndFacet, Word::EndSolid];
        assert_eq!(run(&good), [WHOLE]);
    }

    #[test]
    fn a_broken_triangle_is_wrong_once_and_the_next_one_counts() {
        let four = [N, Word::Loop, V, V, V, V, Word::EndLoop, Word::EndFacet];
        let next = [N, Word::Loop, V, V, V, Word::EndLoop, Word::EndFacet];
        let wrong = Step::Wrong("`endloop`: a triangle has three vertices");
        assert_eq!(run(&[four.as_slice(), &next].concat()), [wrong, WHOLE]);
        assert_eq!(
            run(&[&four[..3], next.as_slice()].concat()),
            [Step::Wrong("`vertex`: a triangle has three"), WHOLE]
        );
        let odd = [Word::Broken("x"), V, V, Word::EndFacet];
        assert_eq!(run(&[odd.as_slice(), &next].concat()), [Step::Wrong("x"), Step::Wrong("`facet`"), WHOLE]);
    }
}
