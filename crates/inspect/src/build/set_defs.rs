//! Set definitions.

use tapeline_rwf::{DataType, LocalSetDefsBuf};

use super::Node;
use crate::{BuildError, BuildErrorKind};

/// One definition: its id and what it defines.
pub(crate) struct Definition<E> {
    pub(crate) id: u16,
    pub(crate) entries: Vec<E>,
}

/// Definitions of one kind, as a `setDefs` lists them.
pub(crate) enum SetDefinitions {
    Field(Vec<Definition<(i16, DataType)>>),
    Element(Vec<Definition<(Vec<u8>, DataType)>>),
}

impl SetDefinitions {
    pub(crate) fn read(node: &Node<'_, '_>) -> Result<Self, BuildError> {
        let kind = node.required("kind")?;
        let defs = node.required("defs")?;
        match kind.text()? {
            "FIELD" => Ok(Self::Field(definitions(&defs, |entry| {
                Ok((entry.required("fid")?.integer()?, entry.required("type")?.data_type()?))
            })?)),
            "ELEMENT" => Ok(Self::Element(definitions(&defs, |entry| {
                Ok((entry.required("name")?.latin1()?, entry.required("type")?.data_type()?))
            })?)),
            other => {
                let (expected, found) = ("\"FIELD\" or \"ELEMENT\"", format!("{other:?}"));
                Err(kind.error(BuildErrorKind::Kind { expected, found }))
            }
        }
    }

    /// The definitions in wire form.
    pub(crate) fn to_local(&self, node: &Node<'_, '_>) -> Result<LocalSetDefsBuf, BuildError> {
        let built = match self {
            Self::Field(defs) => {
                let defs: Vec<_> = defs.iter().map(|def| (def.id, &*def.entries)).collect();
                LocalSetDefsBuf::fields(&defs)
            }
            Self::Element(defs) => {
                let defs: Vec<_> = defs.iter().map(|def| (def.id, &*def.entries)).collect();
                LocalSetDefsBuf::elements(&defs)
            }
        };
        node.checked(built)
    }
}

fn definitions<'v, E>(
    defs: &Node<'v, '_>,
    read: impl Fn(&Node<'v, '_>) -> Result<E, BuildError>,
) -> Result<Vec<Definition<E>>, BuildError> {
    let definition = |def: Node<'v, '_>| {
        let entries = def.required("entries")?;
        let entries: Result<_, _> = entries.items()?.map(|entry| read(&entry)).collect();
        Ok(Definition { id: def.required("id")?.integer()?, entries: entries? })
    };
    defs.items()?.map(definition).collect()
}
