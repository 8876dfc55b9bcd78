//! Lists the classes and parameters of pbrt-v4, for validation.
//!
//! Source: the names that pbrt queries (src/pbrt of mmp/pbrt-v4 at 5f7a606); pbrt stops at any other name. Parameters
//! are listed by kind of entity, not by class. Names of older versions are in [`super::versions`].

use super::versions::PbrtKind;

/// Names for one kind of entity.
struct KnownNames {
    kind: PbrtKind,
    classes: &'static [&'static str],
    parameters: &'static [&'static str],
}

/// Returns whether pbrt-v4 has a class of this kind.
pub(super) fn is_class(kind: PbrtKind, class: &str) -> bool {
    NAMES.iter().any(|names| names.kind == kind && names.classes.contains(&class))
}

/// Returns whether a class of this kind in pbrt-v4 has a parameter.
pub(super) fn is_parameter(kind: PbrtKind, name: &str) -> bool {
    NAMES.iter().any(|names| names.kind == kind && names.parameters.contains(&name))
}

#[rustfmt::skip]
static NAMES: [KnownNames; 12] = [
    KnownNames {
        kind: PbrtKind::Accelerator,
        classes: &["bvh", "kdtree"],
        parameters: &["emptybonus", "intersectcost", "maxdepth", "maxnodeprims", "maxprims", "splitmethod", "traversalcost"],
    },
    KnownNames {
        kind: PbrtKind::AreaLight,
        classes: &["diffuse"],
        parameters: &["L", "filename", "power", "scale", "twosided"],
    },
    KnownNames {
        kind: PbrtKind::Camera,
        classes: &["orthographic", "perspective", "realistic", "spherical"],
        parameters: &[
            "aperture", "aperturediameter", "focaldistance", "focusdistance", "fov", "frameaspectratio", "lensfile",
            "lensradius", "mapping", "screenwindow", "shutterclose", "shutteropen",
        ],
    },
    KnownNames {
        kind: PbrtKind::Film,
        classes: &["gbuffer", "rgb", "spectral"],
        parameters: &[
            "coordinatesystem", "cropwindow", "diagonal", "filename", "iso", "lambdamax", "lambdamin",
            "maxcomponentvalue", "nbuckets", "pixelbounds", "savefp16", "sensor", "whitebalance", "xresolution",
            "yresolution",
        ],
    },
    KnownNames {
        kind: PbrtKind::Filter,
        classes: &["box", "gaussian", "mitchell", "sinc", "triangle"],
        parameters: &["B", "C", "sigma", "tau", "xradius", "yradius"],
    },
    KnownNames {
        kind: PbrtKind::Integrator,
        classes: &[
            "ambientocclusion", "bdpt", "function", "lightpath", "mlt", "path", "randomwalk", "simplepath",
            "simplevolpath", "sppm", "volpath",
        ],
        parameters: &[
            "bootstrapsamples", "chains", "cossample", "filename", "function", "imagefilename",
            "largestepprobability", "lightsampler", "maxdepth", "maxdistance", "mutationsperpixel",
            "photonsperiteration", "radius", "regularize", "samplebsdf", "samplelights", "seed", "sigma", "skipbad",
            "visualizestrategies", "visualizeweights",
        ],
    },
    KnownNames {
        kind: PbrtKind::Light,
        classes: &["distant", "goniometric", "infinite", "point", "projection", "spot"],
        parameters: &[
            "I", "L", "coneangle", "conedeltaangle", "filename", "fov", "from", "illuminance", "portal", "power",
            "scale", "to",
        ],
    },
    KnownNames {
        kind: PbrtKind::Material,
        classes: &[
            "", "coatedconductor", "coateddiffuse", "conductor", "dielectric", "diffuse", "diffusetransmission",
            "hair", "interface", "measured", "mix", "none", "subsurface", "thindielectric",
        ],
        parameters: &[
            "albedo", "amount", "beta_m", "beta_n", "color", "conductor.eta", "conductor.k", "conductor.roughness",
            "conductor.uroughness", "conductor.vroughness", "displacement", "eta", "eumelanin", "filename", "g",
            "interface.eta", "interface.roughness", "interface.uroughness", "interface.vroughness", "k",
            "materials", "maxdepth", "mfp", "name", "normalmap", "nsamples", "pheomelanin", "reflectance",
            "remaproughness", "roughness", "scale", "sigma_a", "sigma_s", "thickness", "transmittance", "type",
            "alpha", "uroughness", "vroughness",
        ],
    },
    KnownNames {
        kind: PbrtKind::Medium,
        classes: &["cloud", "homogeneous", "nanovdb", "rgbgrid", "uniformgrid"],
        parameters: &[
            "Le", "Lescale", "density", "filename", "frequency", "g", "gridname", "nx", "ny", "nz", "p0", "p1",
            "preset", "scale", "sigma_a", "sigma_s", "temperature", "temperaturecutoff", "temperaturename",
            "temperatureoffset", "temperaturescale", "type", "wispiness",
        ],
    },
    KnownNames {
        kind: PbrtKind::Sampler,
        classes: &["halton", "independent", "paddedsobol", "pmj02bn", "sobol", "stratified", "zsobol"],
        parameters: &["jitter", "pixelsamples", "randomization", "seed", "xsamples", "ysamples"],
    },
    KnownNames {
        kind: PbrtKind::Shape,
        classes: &["bilinearmesh", "curve", "cylinder", "disk", "loopsubdiv", "plymesh", "sphere", "trianglemesh"],
        parameters: &[
            "N", "P", "S", "alpha", "basis", "degree", "displacement", "edgelength", "emissionfilename",
            "faceIndices", "filename", "height", "indices", "innerradius", "levels", "phimax", "radius", "scheme",
            "splitdepth", "type", "uv", "width", "width0", "width1", "zmax", "zmin",
        ],
    },
    KnownNames {
        kind: PbrtKind::Texture,
        classes: &[
            "bilerp", "checkerboard", "constant", "directionmix", "dots", "fbm", "imagemap", "marble", "mix", "ptex",
            "scale", "windy", "wrinkled",
        ],
        parameters: &[
            "amount", "dimension", "dir", "encoding", "filename", "filter", "inside", "invert", "mapping",
            "maxanisotropy", "octaves", "outside", "roughness", "scale", "tex", "tex1", "tex2", "udelta", "uscale",
            "v00", "v01", "v1", "v10", "v11", "v2", "value", "variation", "vdelta", "vscale", "wrap",
        ],
    },
];
