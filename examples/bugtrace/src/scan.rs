//! A scan: reads every source file below a path once, checks the rules of the requested kinds, and records a trace.

use std::path::Path;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::finding::{Counts, Finding, Kind, assign_ids_and_sort};
use crate::rules::check;
use crate::trace::Recorder;
use crate::tree::{Tree, read};

/// The maximum number of findings of one scan.
pub(crate) const MAX_FINDINGS: usize = 50_000;

/// The result of a scan, stored as an artifact.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Scan {
    /// The kind of scan.
    pub(crate) kind: Kind,
    /// The scanned path, relative to the root.
    pub(crate) path: String,
    /// The number of findings of each severity.
    pub(crate) counts: Counts,
    /// All findings, most severe first.
    pub(crate) findings: Vec<Finding>,
}

/// Scans the files at or below `target` for findings of some kinds.
pub(crate) fn scan(tree: &Tree, target: &Path, kinds: &[Kind], recorder: &mut Recorder) -> Vec<Finding> {
    let walk = tree.files(target);
    for (path, reason) in &walk.errors {
        recorder.error(path, reason);
    }
    let mut findings = Vec::new();
    for file in &walk.files {
        let started = Instant::now();
        let (text, warning) = match read(file) {
            Ok(read) => read,
            Err(reason) => {
                recorder.error(&file.path, &reason);
                continue;
            }
        };
        let found: Vec<Finding> =
            kinds.iter().flat_map(|kind| check(*kind, &file.path, &text, file.language)).collect();
        recorder.file(&file.path, text.len(), started);
        if let Some(warning) = warning {
            recorder.error(&file.path, warning);
        }
        for finding in found {
            recorder.hit(finding.rule, &file.path, finding.line);
            findings.push(finding);
        }
        if findings.len() >= MAX_FINDINGS {
            findings.truncate(MAX_FINDINGS);
            recorder.error(&file.path, &format!("stopped at {MAX_FINDINGS} findings; scan a subfolder"));
            break;
        }
    }
    assign_ids_and_sort(&mut findings);
    findings
}
