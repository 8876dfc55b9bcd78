//! Dumps a resolved scene as text, line by line: everything that a renderer would receive.

use polyhaul::model::render::{Entity, MaterialUse, Motion, Name, ParameterValues, Parameters, Render, ShapeState};
use polyhaul::ops::{Places64, places64};

struct Dump<'a> {
    render: &'a Render,
    places: Places64,
    lines: Vec<String>,
}

/// Dumps a complete scene.
pub fn dump(render: &Render) -> Vec<String> {
    let mut dump = Dump { render, places: places64(render).unwrap(), lines: Vec::new() };
    dump.settings();
    dump.things();
    dump.shapes();
    dump.lines
}

fn parameters(parameters: Parameters<'_>) -> String {
    let mut line = String::new();
    for parameter in parameters.iter() {
        let values = match parameter.values {
            ParameterValues::Floats(values) => values.iter().map(|value| format!(" {value}")).collect::<String>(),
            ParameterValues::Integers(values) => values.iter().map(|value| format!(" {value}")).collect(),
            ParameterValues::Bools(values) => values.iter().map(|value| format!(" {value}")).collect(),
            ParameterValues::Strings(values) => values.iter().map(|value| format!(" {value:?}")).collect(),
        };
        line += &format!(", {} {}:{values}", parameter.kind.name(), parameter.name);
    }
    line
}

impl Dump<'_> {
    fn text(&self, name: Name) -> String {
        format!("{:?}", self.render.text(name))
    }

    fn line(&mut self, line: String) {
        self.lines.push(line);
    }

    /// The first three rows of each matrix other than the identity, or all four if the last row is unusual, rounded to
    /// six decimals.
    fn place(&self, motion: Motion) -> String {
        let rows = |transform| {
            let matrix = self.places.matrix(self.render, transform);
            let last = if matrix[3] == [0.0, 0.0, 0.0, 1.0] { 3 } else { 4 };
            let round = |value: f64| (value * 1e6).round() / 1e6 + 0.0;
            let rows = matrix[..last].iter().map(|row| row.map(|value| round(value).to_string()).join(" "));
            rows.collect::<Vec<_>>().join(", ")
        };
        let start = rows(motion.start);
        let end = rows(motion.end);
        match (start == "1 0 0 0, 0 1 0 0, 0 0 1 0", start == end) {
            (true, true) => String::new(),
            (_, true) => format!(" @ {start}"),
            _ => format!(" @ {start} to {end}"),
        }
    }

    /// Values of `Attribute` directives, from the first to the last.
    fn attributes(&self, last: Option<u32>) -> String {
        let Some(attribute) = last.and_then(|at| self.render.attributes.get(at as usize)) else { return String::new() };
        let parameters_of_last = parameters(self.render.parameters(&attribute.entity)).replace(", ", " +");
        self.attributes(attribute.before) + &parameters_of_last
    }

    fn entity(&self, what: &str, entity: &Entity) -> String {
        let space = entity.color_space.map_or(String::new(), |space| format!(" in {}", self.text(space)));
        let medium = entity.medium.map_or(String::new(), |medium| format!(" medium {}", self.text(medium)));
        let values = parameters(self.render.parameters(entity));
        let attributes = self.attributes(entity.attributes);
        let place = self.place(entity.motion);
        format!("{what} {}{values}{attributes}{space}{medium}{place}", self.text(entity.name))
    }

    fn settings(&mut self) {
        for option in &self.render.options {
            let value = self.render.text(option.value);
            let value = if option.quoted { format!("{value:?}") } else { value.to_owned() };
            self.line(format!("option {} {value}", self.text(option.name)));
        }
        let scene = self.render;
        for (what, entity) in [
            ("camera", &scene.camera),
            ("film", &scene.film),
            ("filter", &scene.filter),
            ("sampler", &scene.sampler),
            ("integrator", &scene.integrator),
            ("accelerator", &scene.accelerator),
        ] {
            if let Some(entity) = entity {
                self.line(self.entity(what, entity));
            }
        }
        if let Some([start, end]) = scene.transform_times {
            self.line(format!("times {start} {end}"));
        }
    }

    fn things(&mut self) {
        let scene = self.render;
        scene.media.iter().for_each(|medium| self.line(self.entity("medium", medium)));
        for texture in &scene.textures {
            let kind = if texture.is_spectrum { "spectrum" } else { "float" };
            self.line(self.entity(&format!("texture {kind} {}", self.text(texture.class)), &texture.entity));
        }
        for material in &scene.materials {
            let what = if material.is_named { "named" } else { "material" };
            self.line(self.entity(what, &material.entity));
        }
        scene.lights.iter().for_each(|light| self.line(self.entity("light", light)));
    }

    fn state(&self, state: &ShapeState) -> String {
        let mut line = match state.material {
            MaterialUse::Default => String::new(),
            MaterialUse::Index(at) => format!(" of {at}"),
            MaterialUse::Named(name) => format!(" of {}", self.text(name)),
        };
        if let Some(light) = state.area_light.and_then(|at| self.render.area_lights.get(at as usize)) {
            line += &self.entity(" shining", light);
        }
        line += if state.reverse_orientation { " reversed" } else { "" };
        for (what, name) in [("inside", state.inside), ("outside", state.outside), ("in", state.color_space)] {
            line += &name.map_or(String::new(), |name| format!(" {what} {}", self.text(name)));
        }
        line + &self.attributes(state.attributes)
    }

    fn shapes(&mut self) {
        let scene = self.render;
        for shape in scene.shapes() {
            let owner = scene.objects.iter().find(|object| object.shapes.contains(&shape.index));
            let owner = owner.map_or(String::new(), |object| format!("{} has ", self.text(object.name)));
            let values = parameters(shape.parameters());
            let state = self.state(shape.state().unwrap());
            let place = self.place(shape.motion());
            self.line(format!("{owner}shape {:?}{values}{state}{place}", shape.class()));
        }
        for instance in scene.instances() {
            let name = self.text(scene.objects[instance.object].name);
            let place = match &instance.step {
                None => self.place(instance.motion),
                Some(_) => {
                    let m = self.places.of_instance(scene, &instance);
                    format!(
                        " @ {}",
                        m[..3].iter().map(|row| row.map(|x| x.to_string()).join(" ")).collect::<Vec<_>>().join(", ")
                    )
                }
            };
            self.line(format!("instance {name}{place}"));
        }
    }
}
