//! A scan: every source file of a place is read once, every rule of the kinds asked for is checked, and everything that
//! happens is taken down.

use std::path::Path;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::finding::{Counts, Finding, Kind, arrange};
use crate::rules::check;
use crate::trace::Recorder;
use crate::tree::{Tree, read};

/// The most findings of one scan; a tree that has more is not worth listing.
pub(crate) const MAX_FINDINGS: usize = 50_000;

/// What a scan has found; kept as an artifact.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Scan {
    /// What was looked for.
    pub(crate) kind: Kind,
    /// Where, below the root.
    pub(crate) path: String,
    /// How many findings of each severity.
    pub(crate) counts: Counts,
    /// All of them, the gravest first.
    pub(crate) findings: Vec<Finding>,
}

/// Scans a place for findings of some kinds.
pub(crate) fn scan(tree: &Tree, place: &Path, kinds: &[Kind], recorder: &mut Recorder) -> Vec<Finding> {
    let walk = tree.files(place);
    for (path, why) in &walk.errors {
        recorder.error(path, why);
    }
    let mut findings = Vec::new();
    for file in &walk.files {
        let began = Instant::now();
        let (text, warning) = match read(file) {
            Ok(read) => read,
            Err(why) => {
                recorder.error(&file.path, &why);
                continue;
            }
        };
        let found: Vec<Finding> =
            kinds.iter().flat_map(|kind| check(*kind, &file.path, &text, file.language)).collect();
        recorder.file(&file.path, text.len(), began);
        if let Some(warning) = warning {
            recorder.error(&file.path, warning);
        }
        for finding in found {
            recorder.hit(finding.rule, &file.path, finding.line);
            findings.push(finding);
        }
        if findings.len() >= MAX_FINDINGS {
            findings.truncate(MAX_FINDINGS);
            recorder.error(&file.path, &format!("stopped at {MAX_FINDINGS} findings; scan a folder of it"));
            break;
        }
    }
    arrange(&mut findings);
    findings
}
