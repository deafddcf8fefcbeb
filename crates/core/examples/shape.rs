//! Shapes recorded tool results to several budgets, for a scorer that reads the shaped texts from a folder.
//!
//! `cargo run -p tidegate-core --example shape -- 500,1000 OUT RESULT.json... [--fill]` writes OUT/BUDGET/RESULT.json,
//! and for each answer its budget, name, step, kind, strategy and tokens to standard output. With `--fill` overviews use
//! the whole budget.

#![expect(clippy::disallowed_methods, clippy::print_stdout, reason = "only the library is free of files")]

use std::error::Error;
use std::fs;
use std::path::Path;

use tidegate_core::Tokens;
use tidegate_core::budget::Budget;
use tidegate_core::envelope::Handle;
use tidegate_core::measure::Meter;
use tidegate_core::payload::Payload;
use tidegate_core::shape::{Fill, Request, shape};

fn main() -> Result<(), Box<dyn Error>> {
    let (flags, arguments): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|a| a == "--fill");
    let fill = if flags.is_empty() { Fill::Useful } else { Fill::Whole };
    let [budgets, out, files @ ..] = arguments.as_slice() else {
        return Err("usage: shape BUDGETS OUT RESULT.json... [--fill]".into());
    };
    for budget in budgets.split(',') {
        let tokens: u64 = budget.parse()?;
        let folder = Path::new(out).join(budget);
        fs::create_dir_all(&folder)?;
        for file in files {
            let raw = fs::read(file)?;
            let source = raw.as_slice();
            let payload = Payload::read(&source)?;
            let request = Request {
                tool: "tool",
                arguments: None,
                handle: Handle::kept("tool-3f9c2kq7m0xw", "kept 24 h"),
                budget: Budget::of_tokens(Tokens(tokens)),
                meter: Meter::default(),
                fill,
            };
            let shaped = shape(&payload, &request)?;
            let name = Path::new(file).file_name().ok_or("a file name")?;
            fs::write(folder.join(name), shaped.result.as_deref().unwrap_or(&raw))?;
            fs::write(folder.join(name).with_extension("text"), &shaped.text)?;
            println!(
                "{budget}\t{}\t{:?}\t{}\t{}\t{}",
                name.to_string_lossy(),
                shaped.step,
                shaped.kind,
                shaped.strategy,
                shaped.shaped.tokens.0
            );
        }
    }
    Ok(())
}
