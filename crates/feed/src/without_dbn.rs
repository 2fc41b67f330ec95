//! What a file of Databento's format is in a program that is built without its
//! decoder: nothing that can be had.

use std::convert::Infallible;
use std::io::Read;

use crate::FeedError;
use crate::recording::Record;

/// A file that cannot be read.
pub(crate) struct DbnFile(Infallible);

impl DbnFile {
    pub(crate) fn open(name: String, _: Box<dyn Read + Send>) -> Result<Self, FeedError> {
        let error = "this program is built without recordings; build it with the feature \
                     `recordings`, as cargo does unless told --no-default-features";
        Err(FeedError::Recording { file: name, error: error.to_owned() })
    }

    pub(crate) const fn name(&self) -> &str {
        match self.0 {}
    }

    pub(crate) const fn instruments(&self) -> Vec<(u32, String)> {
        match self.0 {}
    }

    pub(crate) const fn next_record(&mut self) -> Result<Option<Record>, FeedError> {
        match self.0 {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_said_how_to_have_it() {
        let error = DbnFile::open("market.dbn".to_owned(), Box::new(std::io::empty()));
        let text = error.map(|_| ()).unwrap_err().to_string();
        assert!(text.contains("market.dbn") && text.contains("feature `recordings`"), "{text}");
    }
}
