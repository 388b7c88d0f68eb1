//! Askers without a terminal.

use super::model::{Answer, Asker, Question};
use std::future::ready;

/// Nobody can be asked.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Asker for Nobody {
    fn approve<'a>(&'a mut self, _: &'a Question) -> Answer<'a, Option<bool>> {
        Box::pin(ready(None))
    }

    fn user<'a>(&'a mut self, _: &'a str) -> Answer<'a, Option<String>> {
        Box::pin(ready(None))
    }
}

/// Every question gets the same answer (`--yes`, `--no`); there is no user to talk to.
#[derive(Clone, Copy, Debug)]
pub struct Always(pub bool);

impl Asker for Always {
    fn approve<'a>(&'a mut self, _: &'a Question) -> Answer<'a, Option<bool>> {
        Box::pin(ready(Some(self.0)))
    }

    fn user<'a>(&'a mut self, _: &'a str) -> Answer<'a, Option<String>> {
        Box::pin(ready(None))
    }
}
