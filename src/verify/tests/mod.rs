//! The proof is itself put to the test: what is merged and what is not agree, real runs stay within the abstract
//! graph, and an engine with a mistake in it is found out.

mod graphs;
mod guards;
mod mutants;
