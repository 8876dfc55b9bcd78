//! Random scopes of all kinds: nothing leaks from one to another, and scenes survive a round trip.

use crate::support::try_written;
use polyhaul::model::render::Render;
use polyhaul::{Format, Input, ReadOptions, Reader, WriteOptions};
use polyhaul_testkit::random::Random;

/// A scene of a few scopes and definitions whose elements identify their state.
fn text(random: &mut Random) -> String {
    let mut text = String::from("WorldBegin\n");
    let mut open = Vec::new();
    let mut objects = 0;
    for _ in 0..3 + random.below(12) {
        let value = 1 + random.below(3);
        match random.below(12) {
            0 | 1 => {
                text.push_str("AttributeBegin\n");
                open.push("AttributeEnd\n");
            }
            2 => text.push_str(open.pop().unwrap_or_default()),
            3 | 4 if !open.contains(&"ObjectEnd\n") => {
                objects += 1;
                text.push_str(&format!("ObjectBegin \"{objects}\"\n"));
                open.push("ObjectEnd\n");
            }
            5 | 6 => text.push_str(&format!("Attribute \"shape\" \"float alpha\" {value}\n")),
            7 => text.push_str(&format!("Material \"diffuse\" \"float x\" {value}\n")),
            8 => text.push_str(&format!("AreaLightSource \"diffuse\" \"float scale\" {value}\n")),
            9 => text.push_str("ReverseOrientation\n"),
            _ => text.push_str("Shape \"disk\"\n"),
        }
    }
    open.iter().rev().for_each(|end| text.push_str(end));
    text
}

fn read(text: &str) -> Box<Render> {
    let options = ReadOptions::default().with_format(Some(Format::Pbrt));
    Reader::new(Input::Memory(text.into(), "x".into())).options(&options).scene().unwrap().value.render.unwrap()
}

fn written(render: &Render) -> String {
    let scene = polyhaul::model::Scene { render: Some(Box::new(render.clone())), ..Default::default() };
    let options = WriteOptions::default().with_format(Some(Format::Pbrt));
    String::from_utf8(try_written(&scene, &options).unwrap().0).unwrap()
}

/// State of each shape, by content.
fn said(render: &Render) -> Vec<String> {
    let shapes = render.shapes().map(|shape| {
        let state = shape.state().unwrap();
        let material = match state.material {
            polyhaul::model::render::MaterialUse::Index(index) => {
                format!("{:?}", render.parameters(&render.materials[index as usize].entity))
            }
            _ => String::new(),
        };
        let light = state.area_light.map(|light| render.parameters(&render.area_lights[light as usize]));
        let mut attributes = String::new();
        let mut at = state.attributes;
        while let Some(attribute) = at.map(|at| &render.attributes[at as usize]) {
            attributes.push_str(&format!("{:?}", render.parameters(&attribute.entity)));
            at = attribute.before;
        }
        format!("{material} {light:?} {attributes} {}", state.reverse_orientation)
    });
    shapes.collect()
}

#[test]
fn what_holds_in_one_scope_does_not_hold_in_another() {
    let mut random = Random::new(7);
    for _ in 0..3000 {
        let text = text(&mut random);
        let first = read(&text);
        let once = written(&first);
        let second = read(&once);
        assert_eq!(said(&first), said(&second), "{text}\nbecame\n{once}");
        assert_eq!(once, written(&second), "{text}\nis no fixed point");
    }
}
