//! Where traces go: the collector of the configuration, or that of the environment, with the variables that programs with
//! OpenTelemetry have in common.

use std::sync::Arc;

use hyper::HeaderMap;
use tidegate_access::govern::SpanCounts;
use tidegate_access::otlp::OtlpTraces;
use tidegate_config::Access;
use tidegate_gateway::trace::Trace;
use tidegate_proxy::http::{Remote, header_of};

use crate::error::CommandError;
use crate::ui;

/// Where traces go; the first has the whole address, the second gets the path of the protocol.
const TRACES_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const PATH: &str = "/v1/traces";
/// Headers of the collector, such as its key, as `name=value,name=value`.
const HEADERS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"];
/// The service name of spans.
const SERVICE: &str = "OTEL_SERVICE_NAME";
const DEFAULT_SERVICE: &str = "tidegate-gateway";
/// Disables traces if `true`.
const DISABLED: &str = "OTEL_SDK_DISABLED";

/// Returns what takes spans, if there is a collector.
pub(super) fn read(access: &Access, counts: SpanCounts) -> Result<Option<Arc<dyn Trace>>, CommandError> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let Some(address) = address(access.otlp_endpoint.as_deref(), variable) else { return Ok(None) };
    let of_collector =
        |error: CommandError| error.hint(format!("see otlp_endpoint of [gateway], and {ENDPOINT}"));
    let mut headers = HeaderMap::new();
    for (name, value) in HEADERS.into_iter().find_map(variable).iter().flat_map(|text| pairs(text)) {
        let (name, value) = header_of(name, &value).map_err(CommandError::bad_input).map_err(of_collector)?;
        headers.insert(name, value);
    }
    let collector = Remote::new(&address, headers);
    let collector = collector
        .map_err(|_| {
            CommandError::bad_input(format!("traces cannot be sent to {address:?}: not an HTTP URL"))
        })
        .map_err(of_collector)?;
    let service = variable(SERVICE).unwrap_or_else(|| DEFAULT_SERVICE.to_owned());
    let log = Box::new(|line: &str| ui::warn(&format!("tidegate: {line}")));
    let traces = OtlpTraces::start(collector, service, counts, log).map_err(CommandError::failed)?;
    Ok(Some(Arc::new(traces)))
}

/// Returns the address of the collector. The environment wins over the file.
fn address(configured: Option<&str>, variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    if variable(DISABLED).is_some_and(|text| text.eq_ignore_ascii_case("true")) {
        return None;
    }
    let base = || variable(ENDPOINT).or_else(|| configured.map(str::to_owned));
    let with_path = |base: String| format!("{}{PATH}", base.trim_end_matches('/'));
    variable(TRACES_ENDPOINT).or_else(|| base().map(with_path))
}

/// Returns the pairs of a list, whose values are written as in addresses.
fn pairs(text: &str) -> Vec<(&str, String)> {
    let items = text.split(',').filter_map(|item| item.split_once('='));
    items.map(|(name, value)| (name.trim(), unescaped(value.trim()))).collect()
}

/// Returns a text whose bytes may be written as `%` and two digits.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let digits = after.get(..2).filter(|_| *first == b'%').and_then(|two| std::str::from_utf8(two).ok());
        match digits.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_names_the_collector_as_elsewhere() {
        let of = |configured, variables: &[(&str, &str)]| {
            let find = |name: &str| {
                variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
            };
            address(configured, find)
        };
        assert_eq!(of(None, &[]), None);
        assert_eq!(of(Some("http://c:4318"), &[]).as_deref(), Some("http://c:4318/v1/traces"));
        assert_eq!(of(Some("http://c"), &[(ENDPOINT, "http://d/")]).as_deref(), Some("http://d/v1/traces"));
        assert_eq!(
            of(None, &[(TRACES_ENDPOINT, "http://e/t"), (ENDPOINT, "http://d")]).as_deref(),
            Some("http://e/t")
        );
        assert_eq!(of(Some("http://c"), &[(DISABLED, "True")]), None);
    }

    #[test]
    fn headers_are_a_list() {
        let expected = [("api-key", "a b".to_owned()), ("x", "100%=2".to_owned())];
        assert_eq!(pairs("api-key=a%20b, x=100%=2,none"), expected);
    }
}
