//! Verifies Assay evidence bundles with the published verifier.
//!
//! The paths are arguments or, if there are none, lines of standard input. For each path, the
//! program prints one line: `accepted <events> <run_root>` or `refused <Class> <Code> <message>`.
//! It prints the line before it reads the next path. The exit status is 0 if every bundle was
//! accepted, and 2 otherwise.

use assay_evidence::bundle::writer::VerifyError;
use std::fs::File;
use std::io::{BufRead, Write};
use std::process::ExitCode;

fn judge(path: &str) -> Result<String, String> {
    let verdict = File::open(path)
        .map_err(anyhow::Error::from)
        .and_then(assay_evidence::verify_bundle);
    match verdict {
        Ok(v) => Ok(format!("accepted {} {}", v.event_count, v.computed_run_root)),
        Err(e) => Err(match e.downcast_ref::<VerifyError>() {
            Some(v) => format!("refused {} {} {}", v.class, v.code, v.message.escape_debug()),
            None => format!("refused - - {}", format!("{e:#}").escape_debug()),
        }),
    }
}

fn main() -> std::io::Result<ExitCode> {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    let mut out = std::io::stdout().lock();
    let mut all = true;
    let mut one = |path: &str| -> std::io::Result<()> {
        let verdict = judge(path);
        all &= verdict.is_ok();
        let (Ok(line) | Err(line)) = verdict;
        writeln!(out, "{line}")?;
        out.flush()
    };
    if paths.is_empty() {
        for path in std::io::stdin().lock().lines() {
            one(&path?)?;
        }
    } else {
        for path in &paths {
            one(path)?;
        }
    }
    Ok(ExitCode::from(if all { 0 } else { 2 }))
}
