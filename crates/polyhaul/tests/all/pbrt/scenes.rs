//! Every directive, parameter type and token form in small scenes, and the resolved result. Expected results are
//! derived from the public description of the format, not from the library's output.

use crate::pbrt::dump::dump;
use crate::pbrt::support::{lenient, options, render, text};

/// A scene, and the lines of its dump.
type Case = (&'static str, &'static [&'static str]);

/// Directives before the world.
const SETTINGS: [Case; 12] = [
    (
        "Camera \"perspective\" \"float fov\" 39 Film \"rgb\" \"integer xresolution\" [400] \"string filename\" \"a.exr\"
         PixelFilter \"gaussian\" \"float xradius\" 1.5 Sampler \"halton\" \"integer pixelsamples\" 16
         Integrator \"volpath\" \"integer maxdepth\" [ 7 ] Accelerator \"bvh\" \"string splitmethod\" [ \"sah\" ] WorldBegin",
        &[
            "camera \"perspective\", float fov: 39",
            "film \"rgb\", integer xresolution: 400, string filename: \"a.exr\"",
            "filter \"gaussian\", float xradius: 1.5",
            "sampler \"halton\", integer pixelsamples: 16",
            "integrator \"volpath\", integer maxdepth: 7",
            "accelerator \"bvh\", string splitmethod: \"sah\"",
        ],
    ),
    // The last one is used.
    ("Sampler \"halton\" Sampler \"sobol\" Film \"a\" Film \"b\" WorldBegin", &["film \"b\"", "sampler \"sobol\""]),
    (
        "Option \"disablepixeljitter\" true Option \"rendercoordsys\" \"world\" Option \"seed\" 42
         Option \"displacement-edge-scale\" 0.5 WorldBegin Option \"pixelstats\" false",
        &[
            "option \"disablepixeljitter\" true",
            "option \"rendercoordsys\" \"world\"",
            "option \"seed\" 42",
            "option \"displacement-edge-scale\" 0.5",
            "option \"pixelstats\" false",
        ],
    ),
    // The camera stores the transform from world to camera.
    ("Translate 1 2 3 Camera \"perspective\" WorldBegin", &["camera \"perspective\" @ 1 0 0 1, 0 1 0 2, 0 0 1 3"]),
    // From the side, with z up: the world's x axis points away from the camera.
    (
        "LookAt 1 0 0  3 0 0  0 0 1 Camera \"orthographic\" WorldBegin",
        &["camera \"orthographic\" @ 0 1 0 0, 0 0 1 0, 1 0 0 -1"],
    ),
    ("Scale 2 3 4 Translate 1 1 1 Camera \"c\" WorldBegin", &["camera \"c\" @ 2 0 0 2, 0 3 0 3, 0 0 4 4"]),
    // A quarter turn about z maps x to y.
    ("Rotate 90 0 0 5 Camera \"c\" WorldBegin", &["camera \"c\" @ 0 -1 0 0, 1 0 0 0, 0 0 1 0"]),
    ("Rotate -90 1 0 0 Camera \"c\" WorldBegin", &["camera \"c\" @ 1 0 0 0, 0 0 1 0, 0 -1 0 0"]),
    // Matrices are written column by column.
    (
        "Transform [ 1 2 3 0  4 5 6 0  7 8 10 0  11 12 13 1 ] Camera \"c\" WorldBegin",
        &["camera \"c\" @ 1 4 7 11, 2 5 8 12, 3 6 10 13"],
    ),
    (
        "Translate 9 9 9 Transform [ 1 0 0 0  0 1 0 0  0 0 1 0  0 0 0 1 ] ConcatTransform [ 1 0 0 0 0 1 0 0 0 0 1 0 4 5 6 1 ]
         Scale 2 2 2 Camera \"c\" Identity Film \"f\" WorldBegin",
        &["camera \"c\" @ 2 0 0 4, 0 2 0 5, 0 0 2 6", "film \"f\""],
    ),
    (
        "TransformTimes .25 1.5 ActiveTransform EndTime Translate 0 0 1 ActiveTransform StartTime Scale 2 2 2
         ActiveTransform All Translate 1 0 0 Camera \"c\" WorldBegin",
        &["camera \"c\" @ 2 0 0 2, 0 2 0 0, 0 0 2 0 to 1 0 0 1, 0 1 0 0, 0 0 1 1", "times 0.25 1.5"],
    ),
    // A camera is in the exterior medium; color spaces apply to subsequent directives.
    (
        "ColorSpace \"rec2020\" MediumInterface \"\" \"fog\" Camera \"c\" ColorSpace \"srgb\" Film \"f\" WorldBegin",
        &["camera \"c\" in \"rec2020\" medium \"fog\"", "film \"f\""],
    ),
];

/// Each parameter type, in each notation.
const PARAMETERS: [Case; 14] = [
    (
        "WorldBegin Shape \"s\" \"bool b\" true \"bool c\" [ true false ] \"integer i\" -7 \"integer j\" [ 1 -2 +3 ]",
        &["shape \"s\", bool b: true, bool c: true false, integer i: -7, integer j: 1 -2 3"],
    ),
    (
        "WorldBegin Shape \"s\" \"float a\" .5 \"float b\" [ 5. -1e2 +3.25 1E-3 -.5e+1 ]",
        &["shape \"s\", float a: 0.5, float b: 5 -100 3.25 0.001 -5"],
    ),
    (
        "WorldBegin Shape \"s\" \"point2 a\" [ 1 2 3 4 ] \"vector2 b\" [ 5 6 ] \"point3 c\" [ 1 2 3 ] \"vector3 d\" [ 4 5 6 ]
         \"normal e\" [ 0 0 1 ]",
        &["shape \"s\", point2 a: 1 2 3 4, vector2 b: 5 6, point3 c: 1 2 3, vector3 d: 4 5 6, normal e: 0 0 1"],
    ),
    (
        "WorldBegin Material \"m\" \"rgb r\" [ .1 .2 .3 ] \"blackbody b\" 6500 \"blackbody c\" [ 2700 ]
         \"spectrum s\" [ 400 .5 700 1 ] \"spectrum n\" \"metal-Cu-eta\" \"spectrum f\" [ \"a.spd\" ] \"texture t\" \"wood\"",
        &["material \"m\", rgb r: 0.1 0.2 0.3, blackbody b: 6500, blackbody c: 2700, spectrum s: 400 0.5 700 1, \
           spectrum n: \"metal-Cu-eta\", spectrum f: \"a.spd\", texture t: \"wood\""],
    ),
    (
        "WorldBegin Shape \"s\" \"string a\" \"one\" \"string b\" [ \"two\" \"\" \"three words here\" ]",
        &["shape \"s\", string a: \"one\", string b: \"two\" \"\" \"three words here\""],
    ),
    // White space in declarations; words that look like directives in strings; brackets and quotes without white space.
    (
        "WorldBegin Shape\"s\"\" float \t a \"[1]\"string b\"\"Shape [ # \"\"string c\"[\"WorldEnd\"\"x\"]\"float d\"[2 3]",
        &["shape \"s\", float a: 1, string b: \"Shape [ # \", string c: \"WorldEnd\" \"x\", float d: 2 3"],
    ),
    (
        "WorldBegin Shape \"s\" \"string a\" \"q\\\"b\\\\c\\nd\\te\\rf\\bg\\fh\\'i\"",
        &["shape \"s\", string a: \"q\\\"b\\\\c\\nd\\te\\rf\\u{8}g\\u{c}h'i\""],
    ),
    // Comments everywhere, also directly after a token.
    (
        "# first\nWorldBegin # world\nShape #\n\"s\"# a shape\n\"float a\"#\n[#none\n 1 #one\n 2 # two ] \n3\n#\n]#\n\"float b\" 4 #",
        &["shape \"s\", float a: 1 2 3, float b: 4"],
    ),
    ("\u{feff}WorldBegin\r\nShape \"s\"\r\n\"float a\" [\r\n1\t2\r\n]\r\n", &["shape \"s\", float a: 1 2"]),
    ("WorldBegin\rShape \"s\" # not the end\r\"float a\" 1\r", &["shape \"s\", float a: 1"]),
    // Numbers between two f32s are rounded to the nearest one; too large ones become infinity.
    (
        "WorldBegin Shape \"s\" \"float a\" [ 16777217 0.1 3.4028235677973367e38 -1e400 1e-50 1.401298464324817e-45 ]",
        &["shape \"s\", float a: 16777216 0.1 inf -inf 0 0.000000000000000000000000000000000000000000001"],
    ),
    // Duplicate names are both kept.
    ("WorldBegin Shape \"s\" \"float a\" 1 \"float a\" 2", &["shape \"s\", float a: 1, float a: 2"]),
    ("WorldBegin Shape \"s\" \"integer a\" [ 2147483647 -2147483648 ]", &["shape \"s\", integer a: 2147483647 -2147483648"]),
    // Parameters of different types may share a name.
    ("WorldBegin Shape \"s\" \"float a\" 1 \"texture a\" \"t\"", &["shape \"s\", float a: 1, texture a: \"t\""]),
];

/// Directives in the world.
const WORLDS: [Case; 21] = [
    // The world starts with the identity, and the inverse undoes the camera's transform.
    (
        "Translate 1 2 3 Camera \"c\" WorldBegin Shape \"a\" CoordSysTransform \"camera\" Shape \"b\"
         CoordSysTransform \"world\" Shape \"c\"",
        &[
            "camera \"c\" @ 1 0 0 1, 0 1 0 2, 0 0 1 3",
            "shape \"a\"",
            "shape \"b\" @ 1 0 0 -1, 0 1 0 -2, 0 0 1 -3",
            "shape \"c\"",
        ],
    ),
    (
        "WorldBegin Translate 1 0 0 CoordinateSystem \"here\" AttributeBegin Translate 5 5 5 CoordSysTransform \"here\"
         Scale 2 2 2 Shape \"a\" AttributeEnd Shape \"b\"",
        &["shape \"a\" @ 2 0 0 1, 0 2 0 0, 0 0 2 0", "shape \"b\" @ 1 0 0 1, 0 1 0 0, 0 0 1 0"],
    ),
    // All state is restored.
    (
        "WorldBegin Material \"m0\" AttributeBegin Material \"m1\" ReverseOrientation MediumInterface \"in\" \"out\"
         AreaLightSource \"diffuse\" \"float scale\" 2 Attribute \"shape\" \"float alpha\" .5 ColorSpace \"aces2065-1\"
         Translate 1 0 0 Shape \"a\" AttributeEnd Shape \"b\"",
        &[
            "material \"m0\"",
            "material \"m1\"",
            "shape \"a\" of 1 shining \"diffuse\", float scale: 2 reversed inside \"in\" outside \"out\" in \"aces2065-1\" \
             +float alpha: 0.5 @ 1 0 0 1, 0 1 0 0, 0 0 1 0",
            "shape \"b\" of 0",
        ],
    ),
    (
        "WorldBegin ReverseOrientation Shape \"a\" ReverseOrientation Shape \"b\"",
        &["shape \"a\" reversed", "shape \"b\""],
    ),
    // A medium for both sides, and none.
    (
        "WorldBegin MediumInterface \"fog\" Shape \"a\" LightSource \"point\" MediumInterface \"\" \"\" Shape \"b\"",
        &["light \"point\" medium \"fog\"", "shape \"a\" inside \"fog\" outside \"fog\"", "shape \"b\""],
    ),
    (
        "MakeNamedMedium \"fog\" \"string type\" \"homogeneous\" WorldBegin Translate 0 0 1 Attribute \"medium\" \"float scale\" 3
         MakeNamedMedium \"smoke\" \"rgb sigma_a\" [ 1 1 1 ]",
        &[
            "medium \"fog\", string type: \"homogeneous\"",
            "medium \"smoke\", rgb sigma_a: 1 1 1 +float scale: 3 @ 1 0 0 0, 0 1 0 0, 0 0 1 1",
        ],
    ),
    // Attributes accumulate, later ones last; each kind has its own.
    (
        "WorldBegin Attribute \"shape\" \"float a\" 1 \"float b\" 2 Attribute \"light\" \"float l\" 3
         Attribute \"material\" \"float m\" 4 Attribute \"texture\" \"float t\" 5 AttributeBegin Attribute \"shape\" \"float a\" 6
         Shape \"s\" LightSource \"distant\" Material \"x\" Texture \"tex\" \"float\" \"constant\" AttributeEnd Shape \"u\"",
        &[
            "texture float \"constant\" \"tex\" +float t: 5",
            "material \"x\" +float m: 4",
            "light \"distant\" +float l: 3",
            "shape \"s\" +float a: 1 +float b: 2 +float a: 6",
            "shape \"u\" +float a: 1 +float b: 2",
        ],
    ),
    (
        "WorldBegin Scale 2 2 2 Texture \"a\" \"spectrum\" \"imagemap\" \"string filename\" \"a.png\" Identity
         Texture \"a\" \"float\" \"scale\" \"texture tex\" \"b\" \"float scale\" 2",
        &[
            "texture spectrum \"imagemap\" \"a\", string filename: \"a.png\" @ 2 0 0 0, 0 2 0 0, 0 0 2 0",
            "texture float \"scale\" \"a\", texture tex: \"b\", float scale: 2",
        ],
    ),
    // Named materials may be used before they are defined.
    (
        "WorldBegin NamedMaterial \"later\" Shape \"a\" MakeNamedMaterial \"later\" \"string type\" \"diffuse\" Shape \"b\"
         Material \"own\" Shape \"c\" NamedMaterial \"later\" Shape \"d\"",
        &[
            "named \"later\", string type: \"diffuse\"",
            "material \"own\"",
            "shape \"a\" of \"later\"",
            "shape \"b\" of \"later\"",
            "shape \"c\" of 1",
            "shape \"d\" of \"later\"",
        ],
    ),
    // Objects: shapes where they are defined, instances where they are used.
    (
        "WorldBegin Translate 1 0 0 ObjectBegin \"o\" Translate 0 1 0 Shape \"a\" Shape \"b\" ObjectEnd Shape \"c\"
         AttributeBegin Translate 0 0 5 ObjectInstance \"o\" AttributeEnd ObjectInstance \"o\"",
        &[
            "\"o\" has shape \"a\" @ 1 0 0 1, 0 1 0 1, 0 0 1 0",
            "\"o\" has shape \"b\" @ 1 0 0 1, 0 1 0 1, 0 0 1 0",
            "shape \"c\" @ 1 0 0 1, 0 1 0 0, 0 0 1 0",
            "instance \"o\" @ 1 0 0 1, 0 1 0 0, 0 0 1 5",
            "instance \"o\" @ 1 0 0 1, 0 1 0 0, 0 0 1 0",
        ],
    ),
    (
        "WorldBegin ObjectBegin \"o\" AttributeBegin Material \"m\" Shape \"a\" AttributeEnd Shape \"b\" ObjectEnd
         AttributeBegin ConcatTransform [ 1 0 0 0 0 2 0 0 0 0 3 0 4 5 6 1 ] ObjectInstance \"o\" AttributeEnd
         AttributeBegin Transform [ 0 1 0 0 1 0 0 0 0 0 1 0 0 0 0 1 ] ObjectInstance \"o\" AttributeEnd",
        &[
            "material \"m\"",
            "\"o\" has shape \"a\" of 0",
            "\"o\" has shape \"b\"",
            "instance \"o\" @ 1 0 0 4, 0 2 0 5, 0 0 3 6",
            "instance \"o\" @ 0 1 0 0, 1 0 0 0, 0 0 1 0",
        ],
    ),
    // Another element with a matrix between two instances.
    (
        "WorldBegin ObjectBegin \"o\" ObjectEnd AttributeBegin ConcatTransform [ 1 0 0 0 0 1 0 0 0 0 1 0 1 0 0 1 ]
         ObjectInstance \"o\" AttributeEnd AttributeBegin ConcatTransform [ 1 0 0 0 0 1 0 0 0 0 1 0 2 0 0 1 ] Shape \"a\"
         AttributeEnd AttributeBegin ConcatTransform [ 1 0 0 0 0 1 0 0 0 0 1 0 3 0 0 1 ] ObjectInstance \"o\" AttributeEnd",
        &[
            "shape \"a\" @ 1 0 0 2, 0 1 0 0, 0 0 1 0",
            "instance \"o\" @ 1 0 0 1, 0 1 0 0, 0 0 1 0",
            "instance \"o\" @ 1 0 0 3, 0 1 0 0, 0 0 1 0",
        ],
    ),
    (
        "WorldBegin ObjectBegin \"empty\" ObjectEnd ObjectInstance \"empty\" ObjectInstance \"later\"
         ObjectBegin \"later\" Shape \"a\" ObjectEnd",
        &["\"later\" has shape \"a\"", "instance \"empty\"", "instance \"later\""],
    ),
    // Animated transforms.
    (
        "WorldBegin AttributeBegin ActiveTransform StartTime Translate 1 0 0 Shape \"a\" ObjectInstance \"o\" AttributeEnd
         Shape \"b\" ObjectBegin \"o\" Shape \"c\" ObjectEnd",
        &[
            "shape \"a\" @ 1 0 0 1, 0 1 0 0, 0 0 1 0 to 1 0 0 0, 0 1 0 0, 0 0 1 0",
            "shape \"b\"",
            "\"o\" has shape \"c\"",
            "instance \"o\" @ 1 0 0 1, 0 1 0 0, 0 0 1 0 to 1 0 0 0, 0 1 0 0, 0 0 1 0",
        ],
    ),
    // The active transform is part of the state.
    (
        "WorldBegin AttributeBegin ActiveTransform EndTime AttributeEnd Translate 1 0 0 Shape \"a\" ActiveTransform EndTime
         Identity Shape \"b\" ActiveTransform All Translate 0 0 1 Shape \"c\"",
        &[
            "shape \"a\" @ 1 0 0 1, 0 1 0 0, 0 0 1 0",
            "shape \"b\" @ 1 0 0 1, 0 1 0 0, 0 0 1 0 to 1 0 0 0, 0 1 0 0, 0 0 1 0",
            "shape \"c\" @ 1 0 0 1, 0 1 0 0, 0 0 1 1 to 1 0 0 0, 0 1 0 0, 0 0 1 1",
        ],
    ),
    (
        "WorldBegin ActiveTransform StartTime Transform [ 2 0 0 0 0 2 0 0 0 0 2 0 0 0 0 1 ] CoordinateSystem \"both\"
         ActiveTransform All Identity CoordSysTransform \"both\" Shape \"a\"",
        &["shape \"a\" @ 2 0 0 0, 0 2 0 0, 0 0 2 0 to 1 0 0 0, 0 1 0 0, 0 0 1 0"],
    ),
    // A matrix with an unusual last row.
    (
        "WorldBegin ConcatTransform [ 1 0 0 .5 0 1 0 0 0 0 1 0 0 0 0 2 ] Shape \"a\"",
        &["shape \"a\" @ 1 0 0 0, 0 1 0 0, 0 0 1 0, 0.5 0 0 2"],
    ),
    (
        "WorldBegin AreaLightSource \"diffuse\" \"rgb L\" [ 1 2 3 ] \"bool twosided\" true Shape \"a\" AttributeBegin
         AreaLightSource \"diffuse\" \"spectrum L\" \"stdillum-D65\" Shape \"b\" AttributeEnd Shape \"c\"",
        &[
            "shape \"a\" shining \"diffuse\", rgb L: 1 2 3, bool twosided: true",
            "shape \"b\" shining \"diffuse\", spectrum L: \"stdillum-D65\"",
            "shape \"c\" shining \"diffuse\", rgb L: 1 2 3, bool twosided: true",
        ],
    ),
    (
        "WorldBegin TransformBegin Scale 3 3 3 LightSource \"infinite\" \"string filename\" \"sky.exr\" TransformEnd
         LightSource \"spot\" \"point3 from\" [ 0 0 9 ]",
        &[
            "light \"infinite\", string filename: \"sky.exr\" @ 3 0 0 0, 0 3 0 0, 0 0 3 0",
            "light \"spot\", point3 from: 0 0 9",
        ],
    ),
    // Everything on one line, and one token per line.
    ("WorldBegin Translate 1 2 3 Scale 1 1 2 Shape \"a\" \"float r\" 1 Shape \"b\"", ONE_LINE),
    ("WorldBegin\nTranslate\n1\n2\n3\nScale\n1\n1\n2\nShape\n\"a\"\n\"float r\"\n1\nShape\n\"b\"", ONE_LINE),
];

const ONE_LINE: &[&str] =
    &["shape \"a\", float r: 1 @ 1 0 0 1, 0 1 0 2, 0 0 2 3", "shape \"b\" @ 1 0 0 1, 0 1 0 2, 0 0 2 3"];

#[test]
fn scenes_are_what_their_text_says() {
    let mut wrong = String::new();
    for (scene, expected) in SETTINGS.iter().chain(&PARAMETERS).chain(&WORLDS) {
        for (threads, chunk_bytes) in [(1, None), (2, Some(1)), (2, Some(60))] {
            let dumped = match text(scene, &options(threads, chunk_bytes)) {
                Ok(loaded) => dump(render(&loaded)),
                Err(error) => vec![error.to_string()],
            };
            if dumped != *expected {
                wrong += &format!("{scene}\n  found  {dumped:#?}\n  wanted {expected:#?}\n");
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Faults with their location and message, and the remaining scene if the fault is skipped.
const BROKEN: [(&str, &str, &[&str]); 34] = [
    ("WorldBegin Shape", "1:12: `Shape` is incomplete", &[]),
    ("WorldBegin Shape sphere", "1:18: unexpected `sphere` in `Shape`", &[]),
    ("WorldBegin Shape \"a\" \"float\" 1 Shape \"b\"", "1:22: incomplete parameter declaration", &["shape \"b\""]),
    ("WorldBegin Shape \"a\" \"double r\" 1 Shape \"b\"", "1:22: `double` is not a parameter type", &["shape \"b\""]),
    ("WorldBegin Shape \"a\" \"float r\" Shape \"b\"", "1:22: this parameter has no values", &["shape \"b\""]),
    ("WorldBegin Shape \"a\" \"float r\" [ ] Shape \"b\"", "1:22: this parameter has no values", &["shape \"b\""]),
    ("WorldBegin Shape \"a\" \"float r\" [ 1 x ]", "1:36: `x` is not a number", &[]),
    ("WorldBegin Shape \"a\" \"float r\" [ 1 \"x\" ]", "1:36: expected numbers, found a string", &[]),
    ("WorldBegin Shape \"a\" \"string r\" [ \"x\" 1 ]", "1:39: expected strings, found `1`", &[]),
    ("WorldBegin Shape \"a\" \"integer r\" 1.5", "1:34: `1.5` is not an integer", &[]),
    ("WorldBegin Shape \"a\" \"integer r\" [ 2147483648 ]", "1:36: `2147483648` does not fit in a 32-bit integer", &[]),
    ("WorldBegin Shape \"a\" \"bool r\" 1", "1:31: `1` is not a boolean", &[]),
    ("WorldBegin Shape \"a\" \"point3 r\" [ 1 2 ]", "1:22: this `point3` has 2 numbers; expected a multiple of 3", &[]),
    ("WorldBegin Shape \"a\" \"rgb r\" 1", "1:22: this `rgb` has 1 number; expected a multiple of 3", &[]),
    (
        "WorldBegin Shape \"a\" \"spectrum r\" [ 1 2 3 ]",
        "1:22: this `spectrum` has 3 numbers; expected a multiple of 2",
        &[],
    ),
    ("WorldBegin Shape \"a\" \"float r\" [ [ 1 ] ]", "1:34: expected numbers, found a bracket", &[]),
    ("WorldBegin Shape \"a\" 1", "1:22: `1` is not a pbrt directive", &["shape \"a\""]),
    ("WorldBegin Translate 1 2 x Shape \"b\"", "1:26: `x` is not a number", &["shape \"b\""]),
    ("WorldBegin Translate 1 2 Shape \"b\"", "1:12: `Translate` has 2 numbers; expected 3", &["shape \"b\""]),
    ("WorldBegin Translate [ 1 2 3 ] Shape \"b\"", "1:12: `Translate` has 0 numbers; expected 3", &["shape \"b\""]),
    ("WorldBegin Transform [ 1 2 3 ] Shape \"b\"", "1:12: `Transform` has 3 numbers", &["shape \"b\""]),
    ("WorldBegin Transform 1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1", "1:22: unexpected `1` in `Transform`", &[]),
    ("WorldBegin ActiveTransform middle", "1:28: unexpected `middle` in `ActiveTransform`", &[]),
    ("WorldBegin Attribute \"camera\" \"float a\" 1", "1:12: `Attribute` cannot be used for `camera`", &[]),
    ("ColorSpace \"adobe\" WorldBegin", "1:1: `adobe` is not a pbrt color space", &[]),
    ("Option \"nothing\" 1 WorldBegin", "1:1: `nothing` is not a pbrt option", &[]),
    ("Shape \"a\" WorldBegin", "1:1: `Shape` is allowed only after `WorldBegin`", &[]),
    ("WorldBegin Camera \"c\"", "1:12: `Camera` is allowed only before `WorldBegin`", &[]),
    ("WorldBegin WorldBegin", "1:12: repeated `WorldBegin`: a scene has only one", &[]),
    (
        "WorldBegin Shape \"a\" WorldEnd",
        "1:22: `WorldEnd` is a directive of pbrt-v3 or earlier, not of pbrt-v4",
        &["shape \"a\""],
    ),
    ("WorldBegin ObjectBegin \"o\" AttributeEnd ObjectEnd", "1:28: found `AttributeEnd`, expected `ObjectEnd`", &[]),
    (
        "WorldBegin Texture \"a\" \"color\" \"imagemap\" Texture \"b\" \"spectrum\" \"constant\"",
        "1:12: the texture type `color` is from pbrt-v3 or earlier; pbrt-v4 calls it `spectrum`",
        &["texture spectrum \"imagemap\" \"a\"", "texture spectrum \"constant\" \"b\""],
    ),
    (
        "WorldBegin Material \"m\" \"xyz Kd\" [ 1 2 3 ] Shape \"s\"",
        "1:25: the type `xyz` is from pbrt-v3 or earlier",
        &["shape \"s\""],
    ),
    (
        "WorldBegin Shape \"s\" \"point P\" [ 1 2 3 ] \"vector v\" [ 1 2 3 ] \"color c\" [ 1 2 3 ] \"normal3 n\" [ 1 2 3 ]",
        "1:22: the type `point` is from pbrt-v3 or earlier; pbrt-v4 calls it `point3`",
        &["shape \"s\", point3 P: 1 2 3, vector3 v: 1 2 3, rgb c: 1 2 3, normal n: 1 2 3"],
    ),
];

#[test]
fn what_is_broken_is_told_and_may_be_left_out() {
    let mut wrong = String::new();
    for (scene, message, left) in BROKEN {
        for chunk_bytes in [None, Some(1), Some(30)] {
            let error = text(scene, &options(2, chunk_bytes)).map_or_else(|error| error.to_string(), |_| "fine".into());
            let dumped = text(scene, &lenient(options(2, chunk_bytes))).map(|loaded| dump(render(&loaded)));
            if !error.starts_with(&format!("x.pbrt:{message}")) || dumped.as_ref().is_ok_and(|dumped| dumped != left) {
                wrong += &format!("{scene}\n  said {error}\n  left {dumped:#?}\n");
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
