//! The proof is itself put to the test: what is merged and what is not agree, real runs stay within the abstract
//! graph, and an engine with a mistake in it is found out.

mod graphs;
mod guards;
mod mutants;
mod second;

/// Shows a number of a test with `--nocapture`; pure modules print nothing themselves.
fn tell(what: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stdout(), "{what}");
}
