//! Lists directives, classes and parameters of pbrt-v1 to pbrt-v3 that pbrt-v4 dropped, and how to upgrade them.
//!
//! Each name listed here proves by itself that a scene is old; names that pbrt-v4 also has are not listed. Nothing is
//! parsed here: [`super::parse`] and [`super::resolve`] use these tables.

use super::directive::Directive;

/// Versions of pbrt that a scene may have been written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PbrtVersion {
    V1,
    V1OrV2,
    V2,
    V3OrOlder,
    V3,
}

use PbrtVersion::{V1, V1OrV2, V2, V3, V3OrOlder};

impl PbrtVersion {
    /// Returns the name for messages such as "is from pbrt-v2".
    pub(super) fn name(self) -> &'static str {
        match self {
            V1 => "pbrt-v1",
            V1OrV2 => "pbrt-v1 or pbrt-v2",
            V2 => "pbrt-v2",
            V3OrOlder => "pbrt-v3 or earlier",
            V3 => "pbrt-v3",
        }
    }

    /// Explains how to convert such a scene to pbrt-v4.
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

/// Directives that pbrt-v4 dropped, except `WorldEnd`, which is in [`Directive`].
const DIRECTIVES: [(&str, PbrtVersion); 5] = [
    ("SearchPath", V1),
    ("Renderer", V2),
    ("SurfaceIntegrator", V1OrV2),
    ("VolumeIntegrator", V1OrV2),
    ("Volume", V1OrV2),
];

/// Classes that pbrt-v4 dropped, by kind.
const CLASSES: [(PbrtKind, &[&str], PbrtVersion); 17] = [
    (PbrtKind::Material, &["bluepaint", "brushedmetal", "clay", "felt", "primer", "skin"], V1),
    (PbrtKind::Material, &["shinymetal"], V1OrV2),
    (
        PbrtKind::Material,
        &["matte", "plastic", "uber", "substrate", "translucent", "glass", "mirror", "metal"],
        V3OrOlder,
    ),
    (PbrtKind::Material, &["kdsubsurface"], V3OrOlder),
    (PbrtKind::Material, &["disney", "fourier"], V3),
    (PbrtKind::Film, &["image"], V3OrOlder),
    (PbrtKind::Camera, &["environment"], V3OrOlder),
    (PbrtKind::Sampler, &["adaptive"], V2),
    (PbrtKind::Sampler, &["bestcandidate"], V1OrV2),
    (PbrtKind::Sampler, &["lowdiscrepancy", "random"], V3OrOlder),
    (PbrtKind::Sampler, &["02sequence", "maxmindist"], V3),
    (PbrtKind::Accelerator, &["grid"], V1OrV2),
    (PbrtKind::Integrator, &["directlighting", "whitted", "ao"], V3),
    (PbrtKind::Shape, &["cone", "heightfield", "hyperboloid", "nurbs", "paraboloid"], V3OrOlder),
    (PbrtKind::AreaLight, &["area"], V3OrOlder),
    (PbrtKind::Texture, &["uv"], V3OrOlder),
    (PbrtKind::Medium, &["heterogeneous"], V3),
];

/// Parameters that pbrt-v4 dropped or renamed.
const PARAMETERS: [(PbrtKind, &[&str], PbrtVersion); 6] = [
    (PbrtKind::Camera, &["halffov"], V3),
    (PbrtKind::Film, &["maxsampleluminance"], V3),
    (PbrtKind::Filter, &["xwidth", "ywidth"], V3OrOlder),
    (PbrtKind::Integrator, &["lightsamplestrategy"], V3),
    (PbrtKind::Light, &["mapname"], V3OrOlder),
    (PbrtKind::Material, &["bumpmap"], V3OrOlder),
];

/// Kinds of entities that have a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PbrtKind {
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

impl PbrtKind {
    /// Returns the kind of entity that a directive creates.
    pub(super) fn of_directive(directive: Directive) -> Option<PbrtKind> {
        Some(match directive {
            Directive::Accelerator => PbrtKind::Accelerator,
            Directive::AreaLightSource => PbrtKind::AreaLight,
            Directive::Camera => PbrtKind::Camera,
            Directive::Film => PbrtKind::Film,
            Directive::PixelFilter => PbrtKind::Filter,
            Directive::Integrator => PbrtKind::Integrator,
            Directive::LightSource => PbrtKind::Light,
            Directive::Material | Directive::MakeNamedMaterial => PbrtKind::Material,
            Directive::MakeNamedMedium => PbrtKind::Medium,
            Directive::Sampler => PbrtKind::Sampler,
            Directive::Shape => PbrtKind::Shape,
            Directive::Texture => PbrtKind::Texture,
            _ => return None,
        })
    }

    /// Returns the name for messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            PbrtKind::Accelerator => "accelerator",
            PbrtKind::AreaLight => "area light",
            PbrtKind::Camera => "camera",
            PbrtKind::Film => "film",
            PbrtKind::Filter => "filter",
            PbrtKind::Integrator => "integrator",
            PbrtKind::Light => "light",
            PbrtKind::Material => "material",
            PbrtKind::Medium => "medium",
            PbrtKind::Sampler => "sampler",
            PbrtKind::Shape => "shape",
            PbrtKind::Texture => "texture",
        }
    }
}

/// Returns the version that a directive dropped in pbrt-v4 is from.
pub(super) fn of_directive(word: &[u8]) -> Option<PbrtVersion> {
    DIRECTIVES.iter().find(|(name, _)| name.as_bytes() == word).map(|&(_, version)| version)
}

/// Returns the version that a class dropped in pbrt-v4 is from.
pub(super) fn of_class(kind: PbrtKind, class: &str) -> Option<PbrtVersion> {
    let row = CLASSES.iter().find(|(of_kind, classes, _)| *of_kind == kind && classes.contains(&class));
    row.map(|&(_, _, version)| version)
}

/// Returns the version that a parameter dropped in pbrt-v4 is from.
pub(super) fn of_parameter(kind: PbrtKind, name: &str) -> Option<PbrtVersion> {
    let row = PARAMETERS.iter().find(|(of_kind, names, _)| *of_kind == kind && names.contains(&name));
    row.map(|&(_, _, version)| version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_pbrt_v4_has_is_old() {
        for (name, _) in DIRECTIVES {
            assert!(Directive::named(name.as_bytes()).is_none(), "{name}");
        }
        // From pbrt-v4's documentation.
        let current: [(PbrtKind, &[&str]); 11] = [
            (PbrtKind::Accelerator, &["bvh", "kdtree"]),
            (PbrtKind::AreaLight, &["diffuse"]),
            (PbrtKind::Camera, &["orthographic", "perspective", "realistic", "spherical"]),
            (PbrtKind::Film, &["rgb", "gbuffer", "spectral"]),
            (PbrtKind::Filter, &["box", "gaussian", "mitchell", "sinc", "triangle"]),
            (
                PbrtKind::Integrator,
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
                PbrtKind::Material,
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
            (PbrtKind::Medium, &["cloud", "homogeneous", "nanovdb", "rgbgrid", "uniformgrid"]),
            (PbrtKind::Sampler, &["halton", "independent", "paddedsobol", "pmj02bn", "sobol", "stratified", "zsobol"]),
            (
                PbrtKind::Shape,
                &["bilinearmesh", "curve", "cylinder", "disk", "loopsubdiv", "plymesh", "sphere", "trianglemesh"],
            ),
            (
                PbrtKind::Texture,
                &["bilerp", "checkerboard", "constant", "directionmix", "dots", "fbm", "imagemap", "marble", "mix"],
            ),
        ];
        for (kind, classes) in current {
            for class in classes {
                assert_eq!(of_class(kind, class), None, "{} {class}", kind.name());
            }
        }
    }
}
