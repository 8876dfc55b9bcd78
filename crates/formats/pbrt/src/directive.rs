//! The directives and their operands.

use super::intern::same;

/// The operands of a directive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PbrtForm {
    /// None.
    Bare,
    /// This many numbers.
    Numbers(usize),
    /// 16 numbers in brackets.
    Matrix,
    /// `All`, `StartTime` or `EndTime`.
    Time,
    /// A string.
    Name,
    /// One string or two.
    Names,
    /// A string, and a value that is a string or a word.
    Setting,
    /// A string, and parameters.
    Parameters,
    /// Three strings, and parameters.
    Texture,
}

macro_rules! directives {
    ($($name:ident $form:expr;)*) => {
        /// A directive.
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

/// The number of directives.
pub(super) const COUNT: usize = Directive::ALL.len();
/// Slots of the hash table: enough that each directive has a separate one.
const SLOTS: usize = 256;

/// The slot of a word: a hash of its first two letters, its last one and its length.
const fn slot(word: &[u8]) -> usize {
    let size = word.len();
    let second = if size > 1 { word[1] } else { 0 };
    (word[0] as usize * 66 + second as usize * 31 + word[size - 1] as usize * 127 + size * 195) % SLOTS
}

/// The index of the directive in each slot, plus one. A collision does not compile.
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
    /// The directive of this name.
    #[inline]
    pub(super) fn named(word: &[u8]) -> Option<(Directive, PbrtForm)> {
        if word.is_empty() {
            return None;
        }
        let at = usize::from(TABLE[slot(word)]).checked_sub(1)?;
        let (directive, name, form) = Directive::ALL[at];
        same(name.as_bytes(), word).then_some((directive, form))
    }

    /// Its name.
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
