//! Scenes of pbrt-v1 to pbrt-v3: the detected version, its evidence, and the tool to run.

use crate::pbrt::support::{lenient, options, text};
use polyhaul::options::OnError;

const UPGRADE: &str = "upgrade the scene with pbrt-v4: `pbrt --upgrade old.pbrt > new.pbrt`";

#[test]
fn directives_of_old_versions_say_which_version_it_is_and_what_to_run() {
    let cases = [
        ("SearchPath \"textures\"\nWorldBegin", "pbrt-v1"),
        (
            "LookAt 0 0 0 0 0 1 0 1 0\nSurfaceIntegrator \"path\" \"integer maxdepth\" [5]\nWorldBegin",
            "pbrt-v1 or pbrt-v2",
        ),
        ("VolumeIntegrator \"emission\"\nWorldBegin", "pbrt-v1 or pbrt-v2"),
        ("Renderer \"metropolis\"\nWorldBegin", "pbrt-v2"),
        ("WorldBegin\nVolume \"homogeneous\" \"color sigma_a\" [1 1 1]", "pbrt-v1 or pbrt-v2"),
    ];
    for (scene, version) in cases {
        for chunk_bytes in [None, Some(1), Some(20)] {
            let error = text(scene, &options(2, chunk_bytes)).unwrap_err();
            let expected = format!("is a directive of {version}, not of pbrt-v4");
            assert!(error.to_string().contains(&expected), "{error}");
            let hint = error.diagnostic().hint.clone().unwrap();
            assert!(hint.contains("port the scene to pbrt-v3 by hand") && hint.contains("pbrt --upgrade"), "{hint}");
            assert!(error.diagnostic().place.line.is_some(), "{error}");
            let loaded = text(scene, &lenient(options(2, chunk_bytes))).unwrap();
            assert_eq!(loaded.report.warnings.counts()["old-syntax"], 1, "{scene}");
        }
    }
}

#[test]
fn syntax_of_pbrt_v3_says_how_to_upgrade() {
    for scene in [
        "WorldBegin WorldEnd",
        "WorldBegin Shape \"s\" \"point P\" [ 1 2 3 ]",
        "WorldBegin Shape \"s\" \"bool b\" \"true\"",
        "WorldBegin Texture \"a\" \"color\" \"imagemap\"",
        "WorldBegin Material \"m\" \"xyz Kd\" [ 1 2 3 ]",
    ] {
        let error = text(scene, &options(2, None)).unwrap_err();
        assert!(error.to_string().contains("pbrt-v3 or earlier"), "{error}");
        assert!(error.diagnostic().hint.as_ref().unwrap().starts_with(UPGRADE), "{error}");
    }
}

#[test]
fn names_that_pbrt_v4_does_not_have_are_noted_once() {
    let cases = [
        (
            "WorldBegin\nMaterial \"matte\"\nMaterial \"plastic\"\nShape \"sphere\"",
            "2:1: the material `matte` is from pbrt-v3 or earlier",
        ),
        (
            "WorldBegin\nMakeNamedMaterial \"a\" \"string type\" \"disney\"",
            "2:1: the material `disney` is from pbrt-v3",
        ),
        ("WorldBegin\nMaterial \"shinymetal\"", "2:1: the material `shinymetal` is from pbrt-v1 or pbrt-v2 and"),
        ("Film \"image\"\nWorldBegin\nMaterial \"uber\"", "1:1: the film `image` is from pbrt-v3 or earlier"),
        ("Camera \"environment\"\nWorldBegin", "1:1: the camera `environment` is from pbrt-v3 or earlier"),
        ("Sampler \"02sequence\"\nWorldBegin", "1:1: the sampler `02sequence` is from pbrt-v3"),
        ("Accelerator \"grid\"\nWorldBegin", "1:1: the accelerator `grid` is from pbrt-v1 or pbrt-v2 and"),
        ("Integrator \"whitted\"\nWorldBegin", "1:1: the integrator `whitted` is from pbrt-v3"),
        ("PixelFilter \"box\" \"float xwidth\" 1\nWorldBegin", "1:1: the filter parameter `xwidth` is from pbrt-v3"),
        ("WorldBegin\nShape \"sphere\"\nShape \"cone\"\nShape \"nurbs\"", "3:1: the shape `cone` is from pbrt-v3"),
        ("WorldBegin\nAreaLightSource \"area\"", "2:1: the area light `area` is from pbrt-v3 or earlier"),
        ("WorldBegin\nTexture \"a\" \"spectrum\" \"uv\"", "2:1: the texture `uv` is from pbrt-v3 or earlier"),
        (
            "WorldBegin\nLightSource \"infinite\" \"string mapname\" \"a.exr\"",
            "2:1: the light parameter `mapname` is from",
        ),
        (
            "WorldBegin\nMakeNamedMedium \"m\" \"string type\" \"heterogeneous\"",
            "2:1: the medium `heterogeneous` is from",
        ),
    ];
    for (scene, message) in cases {
        for chunk_bytes in [None, Some(1)] {
            let loaded = text(scene, &options(2, chunk_bytes)).unwrap();
            let noted: Vec<_> =
                loaded.report.warnings.kept().iter().filter(|warning| warning.code == "old-version").collect();
            let [warning] = noted[..] else { panic!("{scene}: {noted:?}") };
            let shown = warning.diagnostic.to_string();
            assert!(shown.contains(message) && shown.contains("not supported by pbrt-v4"), "{shown}");
            assert!(
                warning.diagnostic.hint.as_ref().unwrap().contains("pbrt --upgrade old.pbrt > new.pbrt"),
                "{shown}"
            );
            let strict = options(2, chunk_bytes).with_strict(true).with_on_error(OnError::Raise);
            assert!(text(scene, &strict).unwrap_err().to_string().contains(message));
        }
    }
}

/// Names that pbrt-v4 also has are not evidence.
#[test]
fn scenes_of_pbrt_v4_have_no_such_warning() {
    let scene = "Accelerator \"kdtree\"\nSampler \"halton\"\nIntegrator \"path\"\nFilm \"rgb\"\nCamera \"perspective\"\n\
                 PixelFilter \"gaussian\" \"float xradius\" 2\nWorldBegin\nMaterial \"measured\"\nMaterial \"subsurface\"\n\
                 MakeNamedMaterial \"a\" \"string type\" \"mix\"\nShape \"sphere\"\nAreaLightSource \"diffuse\"\n\
                 Texture \"t\" \"spectrum\" \"imagemap\" \"string filename\" \"a.png\"\n";
    assert!(text(scene, &options(2, None)).unwrap().report.warnings.is_empty());
}
