//! Metrics as exporters write them: `name{label="value"} 12`, with comments that say the type of a metric.
//!
//! Each sample is a record with the name of its metric, the type, its labels and its value.

use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;

use super::Begun;
use super::line_writer::{RecordLineWriter, RecordLines};
use super::typed::is_number;
use super::window::scan;
use crate::json::string;
use crate::pattern::OtherLines;
use crate::sample::Sample;
use crate::text::Text;

/// The minimum number of samples.
const MIN_SAMPLES: usize = 4;

/// One sample of a metric.
struct Metric<'m> {
    name: &'m str,
    labels: Vec<(&'m str, String)>,
    value: &'m str,
    time: Option<&'m str>,
}

pub(super) fn recognise(sample: &Sample<'_>) -> bool {
    let described =
        sample.lines.iter().any(|line| line.starts_with("# TYPE ") || line.starts_with("# HELP "));
    let metrics: Vec<Metric<'_>> = sample.lines.iter().filter_map(|line| metric(line)).collect();
    let labelled = metrics.iter().filter(|metric| !metric.labels.is_empty()).count();
    let comments = sample.lines.iter().filter(|line| line.starts_with('#')).count();
    metrics.len() >= MIN_SAMPLES
        && (described || labelled * 2 >= metrics.len())
        && (metrics.len() + comments) * 20 >= sample.lines.len() * 19
}

pub(super) fn begin(text: &Text<'_>, start: u64) -> io::Result<Option<Begun>> {
    let (mut types, mut others) = (BTreeMap::<String, Vec<(u64, String)>>::new(), OtherLines::default());
    let (mut number, mut has_metrics) = (0, false);
    scan(text, start, |window| {
        let lines = window.lines();
        for line in lines.lines() {
            number += 1;
            if let Some(declared) = line.strip_prefix("# TYPE ") {
                if let Some((name, declared)) = declared.trim().split_once(' ') {
                    types.entry(name.to_owned()).or_default().push((number, declared.to_owned()));
                }
            } else if !line.starts_with('#') {
                match metric(line) {
                    Some(_) => has_metrics = true,
                    None => others.push(number, line),
                }
            }
        }
        Some(lines.len())
    })?;
    let metrics = Metrics { types: types.into() };
    Ok(has_metrics.then(|| (Box::new(RecordLineWriter::new(metrics, ",")) as Box<_>, others)))
}

/// Reads the samples of metrics.
#[derive(Clone)]
struct Metrics {
    /// The types of metrics, each with the number of the line that declares it.
    types: Rc<BTreeMap<String, Vec<(u64, String)>>>,
}

impl Metrics {
    /// Returns the type of a metric that was declared last before a line.
    fn declared(&self, name: &str, number: u64) -> Option<&str> {
        let declared = self.types.get(name)?;
        let before = declared.partition_point(|(line, _)| *line < number);
        Some(&declared[before.checked_sub(1)?].1)
    }
}

impl RecordLines for Metrics {
    fn write(&mut self, number: u64, line: &str, json: &mut String) -> bool {
        let Some(metric) = metric(line) else { return false };
        json.push_str("{\"metric\":");
        string::write(metric.name, json);
        // The parts of a histogram are declared under its name.
        let declared = ["", "_bucket", "_sum", "_count", "_total", "_created"]
            .into_iter()
            .find_map(|part| self.declared(metric.name.strip_suffix(part)?, number));
        if let Some(declared) = declared {
            json.push_str(",\"type\":");
            string::write(declared, json);
        }
        for (name, value) in &metric.labels {
            json.push(',');
            // A label may have the name of a member.
            let taken = matches!(*name, "metric" | "type" | "value" | "time");
            string::write(&if taken { format!("{name}_label") } else { (*name).to_owned() }, json);
            json.push(':');
            string::write(value, json);
        }
        for (name, value) in [("value", Some(metric.value)), ("time", metric.time)] {
            let Some(value) = value else { continue };
            json.push_str(&format!(",\"{name}\":"));
            if is_number(value) { json.push_str(value) } else { string::write(value, json) }
        }
        json.push('}');
        true
    }
}

/// Reads a sample; `None` if the line is not one.
fn metric(line: &str) -> Option<Metric<'_>> {
    let line = line.trim();
    let end =
        line.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':')).filter(|end| *end > 0)?;
    let (name, mut rest) = line.split_at(end);
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_').then_some(())?;
    let mut labels = Vec::new();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        loop {
            rest = rest.trim_start_matches([' ', ',']);
            if let Some(after) = rest.strip_prefix('}') {
                rest = after;
                break;
            }
            let (label, after) = rest.split_once("=\"")?;
            let bytes = after.as_bytes();
            let mut at = 0;
            while *bytes.get(at)? != b'"' {
                at += if bytes[at] == b'\\' { 2 } else { 1 };
            }
            let value = after.get(..at)?.replace("\\\"", "\"").replace("\\n", "\n").replace("\\\\", "\\");
            (!label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))
                .then_some(())?;
            labels.push((label, value));
            rest = &after[at + 1..];
        }
    }
    rest.starts_with([' ', '\t']).then_some(())?;
    let mut words = rest.split_whitespace();
    let value = words.next()?;
    let is_value = value.parse::<f64>().is_ok() || matches!(value, "+Inf" | "-Inf" | "NaN");
    let time = words.next();
    let is_time = time.is_none_or(|time| time == "#" || time.parse::<f64>().is_ok());
    (is_value && is_time).then(|| Metric { name, labels, value, time: time.filter(|time| *time != "#") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::translation::Translation;
    use crate::translation::tests::translate;

    #[test]
    fn samples_with_labels_types_and_times() {
        let text = "# HELP up Whether it is up.\n# TYPE up gauge\nup{job=\"a\",path=\"/x \\\"y\\\"\"} 1\nup{job=\"b\"} 0 1700000000\n# TYPE took histogram\ntook_bucket{le=\"+Inf\"} 7\ntook_sum 2.5e+01\nodd NaN\n";
        assert!(recognise(&Sample::of(text)));
        assert_eq!(
            translate(Translation::Metrics, text).unwrap().0,
            r#"[{"metric":"up","type":"gauge","job":"a","path":"/x \"y\"","value":1},{"metric":"up","type":"gauge","job":"b","value":0,"time":1700000000},{"metric":"took_bucket","type":"histogram","le":"+Inf","value":7},{"metric":"took_sum","type":"histogram","value":2.5e+01},{"metric":"odd","value":"NaN"}]"#
        );
        for text in [
            "alpha 1\nbeta 2\ngamma 3\ndelta 4\n",
            "a{x} 1\nb{y} 2\nc{z} 3\nd{w} 4\n",
            "one two\nthree four\n",
        ] {
            assert!(!recognise(&Sample::of(text)), "{text}");
        }
    }
}
