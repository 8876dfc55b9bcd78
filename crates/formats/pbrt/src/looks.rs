//! Converts materials of scenes for a renderer to MTL, including the images that MTL can reference.
//!
//! - `reflectance` becomes `Kd`, or `map_Kd` if it is an `imagemap`; `roughness` becomes `Pr` or `map_Pr`,
//!   `displacement` becomes `disp`, `normalmap` becomes `norm`, and the `alpha` of a shape becomes `d` or `map_d`, in a
//!   separate material if needed.
//! - An `imagemap` keeps `scale` and `invert` as `-mm` (`scale` as `-bm` for `disp`), `uscale` and similar parameters
//!   as `-s` and `-o`, a `wrap` of `clamp`, and an `encoding` of `sRGB` or `linear`. Constant factors of `scale`
//!   textures are multiplied into its scale; a `constant` becomes its value.
//! - All other textures are counted by class, other parameters by name, and so are classes without an equivalent,
//!   parameters of `Attribute` directives, and color spaces other than sRGB.
//!
//! Images are not opened. `flatten` creates meshes and objects.

use polyhaul_model::error::{Error, Result, try_push, try_string};
use polyhaul_model::render::{MaterialUse, ParameterType, ParameterValues, Parameters, Render, Shape};
use polyhaul_model::{Color, MapKind, Material, TextureMap};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Maximum depth of nested textures.
/// Textures may refer to each other in a cycle.
const MAX_DEPTH: u32 = 16;

/// Renames image files. Takes the folder of the file that refers to the image, and the name of the image.
pub(super) type NameFile<'a> = &'a mut dyn FnMut(&str, &str) -> Result<Option<String>>;

/// Opacity of a shape from its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum PbrtAlpha<'a> {
    Opaque,
    /// Bits of the opacity as a number.
    Number(u32),
    Texture(&'a str),
}

/// Converts materials when shapes first use them.
pub(super) struct PbrtLooks<'a> {
    render: &'a Render,
    name_of: NameFile<'a>,
    /// Index of each converted material.
    numbers: HashMap<(MaterialUse, PbrtAlpha<'a>), Option<usize>>,
    /// Index of the first definition of each texture, by name and by whether its values are spectra.
    textures: HashMap<(&'a str, bool), usize>,
    /// Indices of named materials.
    named: HashMap<&'a str, usize>,
    /// Converted materials, without the alpha of shapes.
    bases: HashMap<MaterialUse, Option<Material>>,
    /// Alpha that all shapes with a material share; `None` if their alphas differ.
    alphas: HashMap<MaterialUse, Option<PbrtAlpha<'a>>>,
    /// Names already generated.
    generated: HashSet<String>,
    left_out: LeftOutLooks,
}

/// Counts of textures and properties that MTL cannot represent, by description.
#[derive(Default)]
pub(super) struct LeftOutLooks {
    pub(super) textures: BTreeMap<String, u64>,
    pub(super) properties: BTreeMap<String, u64>,
}

/// Evaluated texture.
enum PbrtValue<'a> {
    Image(PbrtImage<'a>),
    Constant([f32; 3]),
    /// A texture of another class, which MTL cannot represent.
    Other(&'a str),
}

/// An image and a factor for its values.
struct PbrtImage<'a> {
    parameters: Parameters<'a>,
    factor: f32,
}

impl<'a> PbrtLooks<'a> {
    pub(super) fn new(render: &'a Render, name_of: NameFile<'a>) -> PbrtLooks<'a> {
        let mut textures = HashMap::new();
        let mut named = HashMap::new();
        // A redefinition is an error, so the first definition counts.
        for (index, texture) in render.textures.iter().enumerate() {
            textures.entry((render.text(texture.entity.name), texture.is_spectrum)).or_insert(index);
        }
        for (index, material) in render.materials.iter().enumerate().filter(|(_, material)| material.is_named) {
            named.entry(render.text(material.entity.name)).or_insert(index);
        }
        let mut alphas = HashMap::new();
        for shape in render.shapes() {
            let Some(state) = shape.state() else { continue };
            let alpha = alpha_of(shape.parameters());
            let only = alphas.entry(state.material).or_insert(Some(alpha));
            *only = only.filter(|only| *only == alpha);
        }
        PbrtLooks {
            bases: HashMap::new(),
            alphas,
            render,
            name_of,
            numbers: HashMap::new(),
            textures,
            named,
            generated: HashSet::new(),
            left_out: left_out_attributes(render),
        }
    }

    /// Returns the counts of dropped textures and properties.
    pub(super) fn into_left_out(self) -> LeftOutLooks {
        self.left_out
    }

    /// Returns the material of a shape, which is added to `materials` if it is new.
    pub(super) fn material(&mut self, shape: &Shape<'a>, materials: &mut Vec<Material>) -> Result<Option<usize>> {
        let Some(state) = shape.state() else { return Ok(None) };
        let alpha = alpha_of(shape.parameters());
        let key = (state.material, alpha);
        if let Some(&number) = self.numbers.get(&key) {
            return Ok(number);
        }
        let base = match self.bases.get(&state.material) {
            Some(base) => base.clone(),
            None => {
                let base = self.base(state.material)?;
                self.bases.insert(state.material, base.clone());
                base
            }
        };
        let is_only = self.alphas.get(&state.material).is_some_and(Option::is_some);
        let made = match alpha {
            PbrtAlpha::Opaque => base,
            alpha => Some(self.with_alpha(base, alpha, is_only)?),
        };
        let number = match made {
            Some(made) => {
                try_push(materials, made, "materials")?;
                Some(materials.len() - 1)
            }
            None => None,
        };
        self.numbers.try_reserve(1).map_err(|_| Error::memory("materials"))?;
        self.numbers.insert(key, number);
        Ok(number)
    }

    /// Converts a material without the alpha of shapes. Returns `None` for the default material.
    fn base(&mut self, named: MaterialUse) -> Result<Option<Material>> {
        let render = self.render;
        let index = match named {
            MaterialUse::Default => return Ok(None),
            MaterialUse::Index(index) => Some(index as usize),
            MaterialUse::Named(name) => self.named.get(render.text(name)).copied(),
        };
        match (index.and_then(|index| Some((render.materials.get(index)?, index))), named) {
            (Some((material, index)), _) => self.mapped(material, index).map(Some),
            (None, MaterialUse::Named(name)) => {
                Ok(Some(Material { name: try_string(render.text(name))?, missing: true, ..Material::default() }))
            }
            (None, _) => Ok(None),
        }
    }

    /// Adds alpha to a material. Uses a new name if other shapes use the material with another alpha.
    fn with_alpha(&mut self, base: Option<Material>, alpha: PbrtAlpha<'a>, is_only: bool) -> Result<Material> {
        let is_default = base.is_none();
        let mut material = base.unwrap_or_else(|| Material {
            name: "default".into(),
            diffuse: Some(Color::Rgb([0.5; 3])),
            ..Material::default()
        });
        material.missing = false;
        if !is_only {
            let suffix = match alpha {
                PbrtAlpha::Opaque => String::new(),
                PbrtAlpha::Number(bits) => f32::from_bits(bits).to_string(),
                PbrtAlpha::Texture(name) => name.to_owned(),
            };
            material.name += &format!("-alpha-{suffix}");
        }
        if !is_only || is_default {
            material.name = self.generated_name(material.name);
        }
        match alpha {
            PbrtAlpha::Opaque => {}
            PbrtAlpha::Number(bits) => material.opacity = Some(f32::from_bits(bits)),
            PbrtAlpha::Texture(name) => match self.value(name, false) {
                PbrtValue::Constant([alpha, ..]) => material.opacity = Some(alpha),
                PbrtValue::Image(image) => self.add_image(&mut material, MapKind::Opacity, &image, "alpha")?,
                PbrtValue::Other(class) => self.leave_out(class, "alpha"),
            },
        }
        Ok(material)
    }

    /// Returns a name that no other material has, because MTL refers to materials by name.
    fn generated_name(&mut self, mut name: String) -> String {
        while self.named.contains_key(&*name) || !self.generated.insert(name.clone()) {
            name.push('_');
        }
        name
    }

    /// Converts a pbrt material to MTL.
    fn mapped(&mut self, material: &polyhaul_model::render::Material, index: usize) -> Result<Material> {
        let render = self.render;
        let parameters = render.parameters(&material.entity);
        let entity_name = render.text(material.entity.name);
        let class = if material.is_named { parameters.string("type").unwrap_or_default() } else { entity_name };
        let name = if material.is_named {
            entity_name.to_owned()
        } else {
            self.generated_name(format!("{entity_name}-{}", index + 1))
        };
        let mut made = Material { name, ..Material::default() };
        match class {
            "conductor" | "coatedconductor" => made.metallic = Some(1.0),
            "dielectric" | "thindielectric" => {
                made.refraction_index = Some(number(parameters, "eta").unwrap_or(1.5));
                // Model 7: refraction with Fresnel reflection.
                made.illumination = Some(7);
            }
            "coateddiffuse" => made.specular = Some(Color::Rgb([0.5; 3])),
            "mix" | "hair" | "measured" | "subsurface" | "diffusetransmission" => {
                self.leave_out_property(format!("a `{class}` material"));
            }
            "interface" | "none" => self.leave_out_property(format!("the invisible material `{class}`")),
            _ => {}
        }
        for parameter in parameters.iter() {
            match (parameter.name, parameter.values) {
                ("reflectance", ParameterValues::Floats([r, g, b])) => made.diffuse = Some(Color::Rgb([*r, *g, *b])),
                ("roughness", ParameterValues::Floats([roughness])) => made.roughness = Some(*roughness),
                ("normalmap", ParameterValues::Strings(names)) => {
                    if let Some(name) = names.get(0) {
                        let map = TextureMap { kind: MapKind::Normal, ..TextureMap::default() };
                        self.add_map(&mut made, map, parameters.folder(), name)?;
                    }
                }
                (name, ParameterValues::Strings(names)) if parameter.kind == ParameterType::Texture => {
                    self.textured(&mut made, name, names.get(0).unwrap_or_default())?;
                }
                ("eta", ParameterValues::Floats([_])) if made.refraction_index.is_some() => {}
                (name, _) if is_look(name) => {
                    self.leave_out_property(format!("`{} {name}`", parameter.kind.name()));
                }
                _ => {}
            }
        }
        let has_rgb = parameters.iter().any(|parameter| parameter.kind == ParameterType::Rgb);
        if let Some(space) = material.entity.color_space.filter(|_| has_rgb) {
            self.leave_out_property(format!("color space `{}`", render.text(space)));
        }
        Ok(made)
    }

    /// Sets a property from a texture.
    fn textured(&mut self, made: &mut Material, parameter: &'a str, texture: &str) -> Result<()> {
        let kind = match parameter {
            "reflectance" => MapKind::Diffuse,
            "roughness" => MapKind::Roughness,
            "displacement" => MapKind::Displacement,
            _ => {
                let class = self.class_of(texture);
                self.leave_out(class, parameter);
                return Ok(());
            }
        };
        match (self.value(texture, kind == MapKind::Diffuse), kind) {
            (PbrtValue::Image(image), kind) => {
                if kind == MapKind::Diffuse {
                    // The image replaces the color.
                    made.diffuse = Some(Color::Rgb([1.0; 3]));
                }
                self.add_image(made, kind, &image, parameter)?;
            }
            (PbrtValue::Constant(color), MapKind::Diffuse) => made.diffuse = Some(Color::Rgb(color)),
            (PbrtValue::Constant([roughness, ..]), MapKind::Roughness) => made.roughness = Some(roughness),
            // A constant displacement does not affect shading.
            (PbrtValue::Constant(_), _) => {}
            (PbrtValue::Other(class), _) => self.leave_out(class, parameter),
        }
        Ok(())
    }

    fn leave_out_property(&mut self, description: String) {
        *self.left_out.properties.entry(description).or_default() += 1;
    }

    fn leave_out(&mut self, class: &str, parameter: &str) {
        *self.left_out.textures.entry(format!("`{class}` as `{parameter}`")).or_default() += 1;
    }

    fn texture(&self, name: &str, is_spectrum: bool) -> Option<&'a polyhaul_model::render::Texture> {
        let render = self.render;
        let find = |is_spectrum| render.textures.get(*self.textures.get(&(name, is_spectrum))?);
        find(is_spectrum).or_else(|| find(!is_spectrum))
    }

    fn class_of(&self, name: &str) -> &'a str {
        self.texture(name, true).map_or("missing texture", |texture| self.render.text(texture.class))
    }

    /// Evaluates a texture by name, following `scale` textures up to [`MAX_DEPTH`].
    fn value(&self, name: &str, is_spectrum: bool) -> PbrtValue<'a> {
        let mut name = name;
        let mut factor = 1.0;
        for _ in 0..MAX_DEPTH {
            let Some(texture) = self.texture(name, is_spectrum) else { return PbrtValue::Other("missing texture") };
            let class = self.render.text(texture.class);
            let parameters = self.render.parameters(&texture.entity);
            match class {
                "imagemap" if parameters.string("mapping").is_none_or(|mapping| mapping == "uv") => {
                    return PbrtValue::Image(PbrtImage { parameters, factor });
                }
                "imagemap" => return PbrtValue::Other("imagemap without uv mapping"),
                "constant" => {
                    return constant(parameters, "value", [1.0; 3])
                        .map_or(PbrtValue::Other(class), |value| PbrtValue::Constant(value.map(|part| part * factor)));
                }
                "scale" => {
                    let Some((inner, by)) = scaled(parameters) else { return PbrtValue::Other(class) };
                    match inner {
                        LooksInner::Texture(inner) => name = inner,
                        LooksInner::Constant(value) => {
                            return PbrtValue::Constant(value.map(|part| part * by * factor));
                        }
                    }
                    factor *= by;
                }
                _ => return PbrtValue::Other(class),
            }
        }
        PbrtValue::Other("scale")
    }

    /// Adds an image map with options equivalent to the image's parameters.
    fn add_image(&mut self, made: &mut Material, kind: MapKind, image: &PbrtImage<'a>, parameter: &str) -> Result<()> {
        let PbrtImage { parameters, factor } = *image;
        let number_or = |name: &str, default: f32| number(parameters, name).unwrap_or(default);
        let Some(file) = parameters.string("filename") else {
            self.leave_out("imagemap without a file", parameter);
            return Ok(());
        };
        let mut map = TextureMap { kind, ..TextureMap::default() };
        let scale = [number_or("uscale", 1.0), number_or("vscale", 1.0)];
        let offset = [number_or("udelta", 0.0), number_or("vdelta", 0.0)];
        map.scale = (scale != [1.0; 2]).then_some([scale[0], scale[1], 1.0]);
        map.offset = (offset != [0.0; 2]).then_some([offset[0], offset[1], 0.0]);
        let gain = number_or("scale", 1.0) * factor;
        match parameters.get("invert").map(|invert| invert.values) {
            // `invert` is 1 minus the scaled value; the outer factor then scales both terms.
            Some(ParameterValues::Bools([true])) => map.base_gain = Some([factor, -gain]),
            _ if gain == 1.0 => {}
            _ if kind == MapKind::Displacement => map.bump_multiplier = Some(gain),
            _ => map.base_gain = Some([0.0, gain]),
        }
        match parameters.string("wrap") {
            Some("clamp") => map.clamp = Some(true),
            Some("repeat") | None => {}
            Some(_) => self.leave_out("wrap mode of an imagemap", parameter),
        }
        map.color_space = match parameters.string("encoding") {
            Some(encoding @ ("linear" | "sRGB")) => Some(encoding.to_owned()),
            _ => None,
        };
        self.add_map(made, map, parameters.folder(), file)
    }

    fn add_map(&mut self, made: &mut Material, map: TextureMap, folder: &str, file: &str) -> Result<()> {
        let file = match (self.name_of)(folder, file)? {
            Some(new) => new,
            None => try_string(file)?,
        };
        try_push(&mut made.maps, TextureMap { file, ..map }, "texture maps")
    }
}

/// Counts the parameters of `Attribute` directives for shapes, materials and textures. They are not applied.
fn left_out_attributes(render: &Render) -> LeftOutLooks {
    let mut left_out = LeftOutLooks::default();
    for attribute in &render.attributes {
        let target = render.text(attribute.entity.name);
        let parameters = render.parameters(&attribute.entity);
        let affects_looks = matches!(target, "shape" | "material" | "texture");
        for parameter in parameters.iter().filter(|parameter| affects_looks && is_look(parameter.name)) {
            let description = format!("`{} {}` of `Attribute \"{target}\"`", parameter.kind.name(), parameter.name);
            *left_out.properties.entry(description).or_default() += 1;
        }
    }
    left_out
}

/// Returns whether a material parameter affects the appearance and is not covered elsewhere.
fn is_look(name: &str) -> bool {
    // `type` is covered by the class, `materials` and `amount` by the count of mixes; the other parameters control the
    // computation.
    !matches!(name, "type" | "materials" | "amount" | "remaproughness" | "maxdepth" | "nsamples" | "seed")
}

/// Returns the opacity from a shape's parameters.
fn alpha_of(parameters: Parameters<'_>) -> PbrtAlpha<'_> {
    match parameters.get("alpha").map(|alpha| (alpha.kind, alpha.values)) {
        Some((_, ParameterValues::Floats([alpha]))) if *alpha != 1.0 => PbrtAlpha::Number(alpha.to_bits()),
        Some((ParameterType::Texture, ParameterValues::Strings(names))) => {
            names.get(0).map_or(PbrtAlpha::Opaque, PbrtAlpha::Texture)
        }
        _ => PbrtAlpha::Opaque,
    }
}

/// Texture or value inside a `scale`.
enum LooksInner<'a> {
    Texture(&'a str),
    Constant([f32; 3]),
}

/// Returns the inner part of a `scale` texture, and its factor if that is a single number. Either `tex` or `scale` may
/// be a texture.
fn scaled(parameters: Parameters<'_>) -> Option<(LooksInner<'_>, f32)> {
    let texture =
        |name| parameters.get(name).filter(|value| value.kind == ParameterType::Texture).and(parameters.string(name));
    let gray = |name| match constant(parameters, name, [1.0; 3])? {
        [r, g, b] if r == g && g == b => Some(r),
        _ => None,
    };
    match (texture("tex"), texture("scale")) {
        (Some(inner), None) => Some((LooksInner::Texture(inner), gray("scale")?)),
        (None, Some(inner)) => Some((LooksInner::Texture(inner), gray("tex")?)),
        (None, None) => Some((LooksInner::Constant(constant(parameters, "tex", [1.0; 3])?), gray("scale")?)),
        (Some(_), Some(_)) => None,
    }
}

/// Returns a color, or a number as gray. Returns `default` if the parameter is absent, and `None` if it is neither.
fn constant(parameters: Parameters<'_>, name: &str, default: [f32; 3]) -> Option<[f32; 3]> {
    match parameters.get(name).map(|parameter| (parameter.kind, parameter.values)) {
        None => Some(default),
        Some((_, ParameterValues::Floats([value]))) => Some([*value; 3]),
        Some((ParameterType::Rgb, ParameterValues::Floats([r, g, b]))) => Some([*r, *g, *b]),
        _ => None,
    }
}

fn number(parameters: Parameters<'_>, name: &str) -> Option<f32> {
    match parameters.get(name)?.values {
        ParameterValues::Floats([number]) => Some(*number),
        _ => None,
    }
}
