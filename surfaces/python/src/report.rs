//! Converts reports and inventories to dicts, for the classes in `surfaces/python/polyhaul/_report.py` and
//! `_inspect.py`.

use crate::errors;
use crate::options::scalar_name;
use crate::profile;
use polyhaul::Report;
use polyhaul::inspect::{Declared, DeclaredElement, DeclaredProperty, FileSummary, Inventory, RenderInventory};
use polyhaul::report::Moved;
use polyhaul::severity::Severity;
use polyhaul::warnings::Warnings;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use std::collections::BTreeMap;

/// Converts the report of a job, and adds it to the context's profile, if any.
pub(crate) fn report<'py>(py: Python<'py>, report: &Report) -> PyResult<Bound<'py, PyDict>> {
    profile::note(py, report)?;
    let phases = PyDict::new(py);
    for phase in &report.phases {
        let before = phases.get_item(phase.name)?.map_or(Ok(0.0), |seconds| seconds.extract::<f64>())?;
        phases.set_item(phase.name, before + phase.elapsed.as_secs_f64())?;
    }
    let fields = PyDict::new(py);
    fields.set_item("bytes_in", report.bytes_in)?;
    fields.set_item("plain_bytes_in", report.plain_bytes_in)?;
    fields.set_item("codec", report.codec.map(|codec| codec.to_string()))?;
    fields.set_item("bytes_out", report.bytes_out)?;
    fields.set_item("copied_files", report.copied_files)?;
    fields.set_item("copied_bytes", report.copied_bytes)?;
    for (name, list) in [("reads", &report.reads), ("writes", &report.writes)] {
        let plain =
            |moved: &Moved| (moved.format, moved.codec.map(|codec| codec.to_string()), moved.bytes, moved.plain_bytes);
        fields.set_item(name, list.iter().map(plain).collect::<Vec<_>>())?;
    }
    fields.set_item("spilled_bytes", report.spilled_bytes)?;
    fields.set_item("threads", report.threads)?;
    fields.set_item("first_pixel", report.first_pixel.map(|time| time.as_secs_f64()))?;
    fields.set_item("phases", phases)?;
    fields.set_item("counts", report.warnings.counts())?;
    let severities = Severity::ALL.map(|severity| (severity.name(), report.warnings.total_of(severity)));
    fields.set_item("severities", BTreeMap::from(severities))?;
    fields.set_item("warnings", warnings(py, &report.warnings)?)?;
    Ok(fields)
}

/// Converts the inventory of a file.
pub(crate) fn inventory<'py>(py: Python<'py>, inventory: &Inventory) -> PyResult<Bound<'py, PyDict>> {
    let fields = PyDict::new(py);
    for (name, count) in inventory.contents.by_name() {
        fields.set_item(name, count)?;
    }
    let bounds = inventory.bounds.map(|bounds| (bounds.min, bounds.max));
    fields.set_item("bounds", bounds)?;
    fields.set_item("object_names", &inventory.object_names)?;
    fields.set_item("material_names", &inventory.material_names)?;
    fields.set_item("material_libraries", &inventory.material_libraries)?;
    fields.set_item("texture_files", &inventory.texture_files)?;
    fields.set_item("declared", inventory.declared.as_ref().map(DeclaredOut::from))?;
    fields.set_item(
        "render",
        inventory.render.as_ref().map(|render_inventory| render(py, render_inventory)).transpose()?,
    )?;
    Ok(fields)
}

/// Converts the inventory of a renderer scene.
fn render<'py>(py: Python<'py>, inventory: &RenderInventory) -> PyResult<Bound<'py, PyDict>> {
    let fields = PyDict::new(py);
    for (name, count) in inventory.contents.by_name() {
        fields.set_item(name, count)?;
    }
    for (name, counts) in [("classes", &inventory.classes), ("directives", &inventory.directives)] {
        let by_name = PyDict::new(py);
        for (name, count) in counts {
            by_name.set_item(name, count)?;
        }
        fields.set_item(name, by_name)?;
    }
    let summary = |files: &FileSummary| (files.kind, files.count, files.missing, files.bytes, files.plain_bytes);
    fields.set_item("files", inventory.files.iter().map(summary).collect::<Vec<_>>())?;
    fields.set_item("texture_files", &inventory.texture_files)?;
    fields.set_item("missing_textures", &inventory.missing_textures)?;
    fields.set_item("outside_textures", &inventory.outside_textures)?;
    Ok(fields)
}

/// The declarations of a header: format, elements, comments, and `obj_info` lines.
#[derive(IntoPyObject)]
struct DeclaredOut<'a>(&'static str, Vec<ElementOut<'a>>, &'a [String], &'a [String]);

/// An element: its name, its row count, and its properties.
#[derive(IntoPyObject)]
struct ElementOut<'a>(&'a str, u64, Vec<PropertyOut<'a>>);

/// A property: its name, its type, and whether it is a list.
#[derive(IntoPyObject)]
struct PropertyOut<'a>(&'a str, &'static str, bool);

impl<'a> From<&'a Declared> for DeclaredOut<'a> {
    fn from(declared: &'a Declared) -> DeclaredOut<'a> {
        let property = |property: &'a DeclaredProperty| {
            PropertyOut(&property.name, scalar_name(property.scalar), property.count.is_some())
        };
        let element = |element: &'a DeclaredElement| {
            let properties = element.properties.iter().map(property).collect();
            ElementOut(&element.name, element.count, properties)
        };
        let elements = declared.elements.iter().map(element).collect();
        DeclaredOut(declared.format, elements, &declared.comments, &declared.infos)
    }
}

/// Lists the warnings that were kept.
fn warnings<'py>(py: Python<'py>, log: &Warnings) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for warning in log.kept() {
        let fields = errors::describe(py, &warning.diagnostic)?;
        fields.set_item("code", warning.code)?;
        fields.set_item("severity", warning.severity.name())?;
        fields.set_item("subject", warning.subject())?;
        fields.set_item("names", PyTuple::new(py, &warning.diagnostic.names)?)?;
        list.append(fields)?;
    }
    Ok(list)
}
