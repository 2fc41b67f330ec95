//! Summary data of maps, vectors and series.

use tapeline_rwf::{Encoded, SetDefs};

use crate::CacheError;
use crate::data::{self, Change};
use crate::lengths::MAX_U15;

/// Summary data: absent until it is given, which is not the same as empty.
#[derive(Clone, Debug, Default)]
pub(crate) struct Summary {
    data: Vec<u8>,
    is_given: bool,
}

impl Summary {
    /// Merges summary data into what is there.
    pub(crate) fn merge(
        &mut self,
        data: &Encoded<'_>,
        defs: &SetDefs<'_>,
        change: &Change<'_>,
    ) -> Result<(), CacheError> {
        self.is_given = true;
        data::merge(&mut self.data, 0, data, defs, change)?;
        let len = self.data.len();
        if len > MAX_U15 {
            return Err(CacheError::TooLong { what: "summary data", len, max: MAX_U15 });
        }
        Ok(())
    }

    /// The container, if it was given.
    pub(crate) fn data(&self) -> Option<&[u8]> {
        self.is_given.then_some(&self.data)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.data.len()
    }

    pub(crate) fn clear(&mut self) {
        self.data.clear();
        self.is_given = false;
    }
}
