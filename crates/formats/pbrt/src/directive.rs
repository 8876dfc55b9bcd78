//! Defines the directives and the form of their operands.

use super::intern::same;

/// Operands of a directive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PbrtForm {
    /// No operands.
    Bare,
    /// A fixed number of numbers.
    Numbers(usize),
    /// 16 numbers in brackets.
    Matrix,
    /// `All`, `StartTime` or `EndTime`.
    Time,
    /// A string.
    Name,
    /// One string or two strings.
    Names,
    /// A string, then a value that is a string or a word.
    Setting,
    /// A string, then parameters.
    Parameters,
    /// Three strings, then parameters.
    Texture,
}

macro_rules! directives {
    ($($name:ident $form:expr;)*) => {
        /// Directive of the format.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(super) enum Directive { $($name,)* }

        impl Directive {
            pub(super) const ALL: &'static [(Directive, &'static str, PbrtForm)] =
                &[$((Directive::$name, stringify!($name), $form),)*];
        }
    };
}

directives! {
    Accelerator PbrtForm::Parameters;
    ActiveTransform PbrtForm::Time;
    AreaLightSource PbrtForm::Parameters;
    Attribute PbrtForm::Parameters;
    AttributeBegin PbrtForm::Bare;
    AttributeEnd PbrtForm::Bare;
    Camera PbrtForm::Parameters;
    ColorSpace PbrtForm::Name;
    ConcatTransform PbrtForm::Matrix;
    CoordSysTransform PbrtForm::Name;
    CoordinateSystem PbrtForm::Name;
    Film PbrtForm::Parameters;
    Identity PbrtForm::Bare;
    Import PbrtForm::Name;
    Include PbrtForm::Name;
    Integrator PbrtForm::Parameters;
    LightSource PbrtForm::Parameters;
    LookAt PbrtForm::Numbers(9);
    MakeNamedMaterial PbrtForm::Parameters;
    MakeNamedMedium PbrtForm::Parameters;
    Material PbrtForm::Parameters;
    MediumInterface PbrtForm::Names;
    NamedMaterial PbrtForm::Name;
    ObjectBegin PbrtForm::Name;
    ObjectEnd PbrtForm::Bare;
    ObjectInstance PbrtForm::Name;
    Option PbrtForm::Setting;
    PixelFilter PbrtForm::Parameters;
    ReverseOrientation PbrtForm::Bare;
    Rotate PbrtForm::Numbers(4);
    Sampler PbrtForm::Parameters;
    Scale PbrtForm::Numbers(3);
    Shape PbrtForm::Parameters;
    Texture PbrtForm::Texture;
    Transform PbrtForm::Matrix;
    TransformBegin PbrtForm::Bare;
    TransformEnd PbrtForm::Bare;
    TransformTimes PbrtForm::Numbers(2);
    Translate PbrtForm::Numbers(3);
    WorldBegin PbrtForm::Bare;
    WorldEnd PbrtForm::Bare;
}

/// Number of directives.
pub(super) const COUNT: usize = Directive::ALL.len();
/// Slots of the hash table: enough to avoid collisions.
const SLOTS: usize = 256;

/// Hashes a word by its first two letters, its last letter and its length.
const fn slot(word: &[u8]) -> usize {
    // With these multipliers, no two directives collide.
    let size = word.len();
    let second = if size > 1 { word[1] } else { 0 };
    (word[0] as usize * 66 + second as usize * 31 + word[size - 1] as usize * 127 + size * 195) % SLOTS
}

/// The index of the directive in each slot, plus one; 0 in free slots. A collision fails to compile.
const TABLE: [u8; SLOTS] = {
    let mut table = [0; SLOTS];
    let mut at = 0;
    while at < COUNT {
        let slot = slot(Directive::ALL[at].1.as_bytes());
        assert!(table[slot] == 0);
        at += 1;
        table[slot] = at as u8;
    }
    table
};

impl Directive {
    /// Returns the directive named `word`, and the form of its operands.
    #[inline]
    pub(super) fn named(word: &[u8]) -> Option<(Directive, PbrtForm)> {
        if word.is_empty() {
            return None;
        }
        let at = usize::from(TABLE[slot(word)]).checked_sub(1)?;
        let (directive, name, form) = Directive::ALL[at];
        same(name.as_bytes(), word).then_some((directive, form))
    }

    /// Returns the directive's name.
    pub(super) fn name(self) -> &'static str {
        Directive::ALL[self as usize].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found() {
        assert_eq!(COUNT, 41);
        for &(directive, name, form) in Directive::ALL {
            assert_eq!(Directive::named(name.as_bytes()), Some((directive, form)));
            assert_eq!(directive.name(), name);
            assert!(super::super::borders::starts_directive(name.as_bytes()[0], name.as_bytes()[1]));
        }
        for word in ["", "S", "Shpae", "shape", "AttributeBegi", "All"] {
            assert_eq!(Directive::named(word.as_bytes()), None);
        }
    }
}
