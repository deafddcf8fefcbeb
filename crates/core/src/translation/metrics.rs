//! Metrics as exporters write them: `name{label="value"} 12`, with comments that say the type of a metric.
//!
//! Each sample is a record with the name of its metric, the type, its labels and its value.

use std::collections::BTreeMap;

use super::MAX_JSON_BYTES;
use super::typed::is_number;
use crate::json::string;
use crate::pattern::OtherLines;
use crate::sample::Sample;

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

pub(super) fn translate(text: &str) -> Option<(String, OtherLines)> {
    let mut types: BTreeMap<&str, &str> = BTreeMap::new();
    let mut others = OtherLines::default();
    let mut out = String::from("[");
    for (number, line) in (1u64..).zip(text.lines()) {
        if let Some(declared) = line.strip_prefix("# TYPE ") {
            types.extend(declared.trim().split_once(' '));
            continue;
        }
        let Some(metric) = metric(line) else {
            if !line.starts_with('#') {
                others.push(number, line);
            }
            continue;
        };
        out.push_str(if out.len() > 1 { ",{\"metric\":" } else { "{\"metric\":" });
        string::write(metric.name, &mut out);
        // The parts of a histogram are declared under its name.
        let declared = ["", "_bucket", "_sum", "_count", "_total", "_created"]
            .into_iter()
            .find_map(|part| types.get(metric.name.strip_suffix(part)?));
        if let Some(declared) = declared {
            out.push_str(",\"type\":");
            string::write(declared, &mut out);
        }
        for (name, value) in &metric.labels {
            out.push(',');
            // A label may have the name of a member.
            let taken = matches!(*name, "metric" | "type" | "value" | "time");
            string::write(&if taken { format!("{name}_label") } else { (*name).to_owned() }, &mut out);
            out.push(':');
            string::write(value, &mut out);
        }
        for (name, value) in [("value", Some(metric.value)), ("time", metric.time)] {
            let Some(value) = value else { continue };
            out.push_str(&format!(",\"{name}\":"));
            if is_number(value) { out.push_str(value) } else { string::write(value, &mut out) }
        }
        out.push('}');
        if out.len() > MAX_JSON_BYTES {
            return None;
        }
    }
    out.push(']');
    (out.len() > 2).then_some((out, others))
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

    #[test]
    fn samples_with_labels_types_and_times() {
        let text = "# HELP up Whether it is up.\n# TYPE up gauge\nup{job=\"a\",path=\"/x \\\"y\\\"\"} 1\nup{job=\"b\"} 0 1700000000\n# TYPE took histogram\ntook_bucket{le=\"+Inf\"} 7\ntook_sum 2.5e+01\nodd NaN\n";
        assert!(recognise(&Sample::of(text)));
        assert_eq!(
            translate(text).unwrap().0,
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
