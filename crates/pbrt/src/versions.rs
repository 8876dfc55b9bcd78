//! What scenes of pbrt-v1 to pbrt-v3 have that pbrt-v4 does not, and what to do with them: one table.
//!
//! It decides by one piece of evidence: a directive, a type or a class. What both an old version and pbrt-v4 have is
//! none. Nothing here reads; [`super::parse`] and [`super::resolve`] ask.

use super::directive::Directive;

/// Versions of pbrt that a scene may have been written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    V1,
    V1OrV2,
    V2,
    V3OrOlder,
    V3,
}

use Version::{V1, V1OrV2, V2, V3, V3OrOlder};

impl Version {
    /// Its name, for "is from".
    pub(super) fn name(self) -> &'static str {
        match self {
            V1 => "pbrt-v1",
            V1OrV2 => "pbrt-v1 and pbrt-v2",
            V2 => "pbrt-v2",
            V3OrOlder => "pbrt-v3 and older",
            V3 => "pbrt-v3",
        }
    }

    /// What makes such a scene one of pbrt-v4.
    pub(super) fn remedy(self) -> &'static str {
        match self {
            V3 | V3OrOlder => "upgrade the scene with pbrt-v4: `pbrt --upgrade old.pbrt > new.pbrt`",
            V1 | V1OrV2 | V2 => {
                "port the scene to pbrt-v3 by hand (see \"Differences from pbrt-v2\" at https://pbrt.org/fileformat-v3), \
                 then upgrade it with pbrt-v4: `pbrt --upgrade old.pbrt > new.pbrt`"
            }
        }
    }
}

/// Directives that pbrt-v4 does not have, except `WorldEnd`, which is read.
const DIRECTIVES: [(&str, Version); 5] = [
    ("SearchPath", V1),
    ("Renderer", V2),
    ("SurfaceIntegrator", V1OrV2),
    ("VolumeIntegrator", V1OrV2),
    ("Volume", V1OrV2),
];

/// Classes that pbrt-v4 does not have, by what they are of.
const CLASSES: [(Kind, &[&str], Version); 17] = [
    (Kind::Material, &["bluepaint", "brushedmetal", "clay", "felt", "primer", "skin"], V1),
    (Kind::Material, &["shinymetal"], V1OrV2),
    (Kind::Material, &["matte", "plastic", "uber", "substrate", "translucent", "glass", "mirror", "metal"], V3OrOlder),
    (Kind::Material, &["kdsubsurface"], V3OrOlder),
    (Kind::Material, &["disney", "fourier"], V3),
    (Kind::Film, &["image"], V3OrOlder),
    (Kind::Camera, &["environment"], V3OrOlder),
    (Kind::Sampler, &["adaptive"], V2),
    (Kind::Sampler, &["bestcandidate"], V1OrV2),
    (Kind::Sampler, &["lowdiscrepancy", "random"], V3OrOlder),
    (Kind::Sampler, &["02sequence", "maxmindist"], V3),
    (Kind::Accelerator, &["grid"], V1OrV2),
    (Kind::Integrator, &["directlighting", "whitted", "ao"], V3),
    (Kind::Shape, &["cone", "heightfield", "hyperboloid", "nurbs", "paraboloid"], V3OrOlder),
    (Kind::AreaLight, &["area"], V3OrOlder),
    (Kind::Texture, &["uv"], V3OrOlder),
    (Kind::Medium, &["heterogeneous"], V3),
];

/// Parameters that pbrt-v4 does not have, or calls otherwise.
const PARAMETERS: [(Kind, &[&str], Version); 6] = [
    (Kind::Camera, &["halffov"], V3),
    (Kind::Film, &["maxsampleluminance"], V3),
    (Kind::Filter, &["xwidth", "ywidth"], V3OrOlder),
    (Kind::Integrator, &["lightsamplestrategy"], V3),
    (Kind::Light, &["mapname"], V3OrOlder),
    (Kind::Material, &["bumpmap"], V3OrOlder),
];

/// What has a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Accelerator,
    AreaLight,
    Camera,
    Film,
    Filter,
    Integrator,
    Light,
    Material,
    Medium,
    Sampler,
    Shape,
    Texture,
}

impl Kind {
    /// What a directive makes.
    pub(super) fn of_directive(directive: Directive) -> Option<Kind> {
        Some(match directive {
            Directive::Accelerator => Kind::Accelerator,
            Directive::AreaLightSource => Kind::AreaLight,
            Directive::Camera => Kind::Camera,
            Directive::Film => Kind::Film,
            Directive::PixelFilter => Kind::Filter,
            Directive::Integrator => Kind::Integrator,
            Directive::LightSource => Kind::Light,
            Directive::Material | Directive::MakeNamedMaterial => Kind::Material,
            Directive::MakeNamedMedium => Kind::Medium,
            Directive::Sampler => Kind::Sampler,
            Directive::Shape => Kind::Shape,
            Directive::Texture => Kind::Texture,
            _ => return None,
        })
    }

    /// What messages call it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Accelerator => "accelerator",
            Kind::AreaLight => "area light",
            Kind::Camera => "camera",
            Kind::Film => "film",
            Kind::Filter => "filter",
            Kind::Integrator => "integrator",
            Kind::Light => "light",
            Kind::Material => "material",
            Kind::Medium => "medium",
            Kind::Sampler => "sampler",
            Kind::Shape => "shape",
            Kind::Texture => "texture",
        }
    }
}

/// The version that has a directive which pbrt-v4 does not have.
pub(super) fn of_directive(word: &[u8]) -> Option<Version> {
    DIRECTIVES.iter().find(|(name, _)| name.as_bytes() == word).map(|&(_, version)| version)
}

/// The version that has a class which pbrt-v4 does not have.
pub(super) fn of_class(kind: Kind, class: &str) -> Option<Version> {
    let found = CLASSES.iter().find(|(of, classes, _)| *of == kind && classes.contains(&class));
    found.map(|&(_, _, version)| version)
}

/// The version that has a parameter which pbrt-v4 does not have.
pub(super) fn of_parameter(kind: Kind, name: &str) -> Option<Version> {
    let found = PARAMETERS.iter().find(|(of, names, _)| *of == kind && names.contains(&name));
    found.map(|&(_, _, version)| version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_pbrt_v4_has_is_old() {
        for (name, _) in DIRECTIVES {
            assert!(Directive::named(name.as_bytes()).is_none(), "{name}");
        }
        // As pbrt-v4's documentation lists them.
        let today: [(Kind, &[&str]); 11] = [
            (Kind::Accelerator, &["bvh", "kdtree"]),
            (Kind::AreaLight, &["diffuse"]),
            (Kind::Camera, &["orthographic", "perspective", "realistic", "spherical"]),
            (Kind::Film, &["rgb", "gbuffer", "spectral"]),
            (Kind::Filter, &["box", "gaussian", "mitchell", "sinc", "triangle"]),
            (
                Kind::Integrator,
                &[
                    "ambientocclusion",
                    "bdpt",
                    "function",
                    "lightpath",
                    "mlt",
                    "path",
                    "randomwalk",
                    "simplepath",
                    "simplevolpath",
                    "sppm",
                    "volpath",
                ],
            ),
            (
                Kind::Material,
                &[
                    "coateddiffuse",
                    "coatedconductor",
                    "conductor",
                    "dielectric",
                    "diffuse",
                    "diffusetransmission",
                    "hair",
                    "interface",
                    "measured",
                    "mix",
                    "subsurface",
                    "thindielectric",
                    "",
                ],
            ),
            (Kind::Medium, &["cloud", "homogeneous", "nanovdb", "rgbgrid", "uniformgrid"]),
            (Kind::Sampler, &["halton", "independent", "paddedsobol", "pmj02bn", "sobol", "stratified", "zsobol"]),
            (
                Kind::Shape,
                &["bilinearmesh", "curve", "cylinder", "disk", "loopsubdiv", "plymesh", "sphere", "trianglemesh"],
            ),
            (
                Kind::Texture,
                &["bilerp", "checkerboard", "constant", "directionmix", "dots", "fbm", "imagemap", "marble", "mix"],
            ),
        ];
        for (kind, classes) in today {
            for class in classes {
                assert_eq!(of_class(kind, class), None, "{} {class}", kind.name());
            }
        }
    }
}
