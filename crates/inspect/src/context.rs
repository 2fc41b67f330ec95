//! What surrounds a piece of data that was cut out of its container.

use serde_json::Value;

use tapeline_rwf::{GlobalSetDefs, LocalSetDefs, LocalSetDefsBuf};

use crate::BuildError;
use crate::build::{Definition, Node, SetDefinitions};

/// Set definitions that a list needs and does not hold itself.
///
/// ```
/// use tapeline_inspect::{Context, Inspector, NoFields};
/// use tapeline_rwf::{DataType, Encoded};
///
/// let context = Context::from_value(&serde_json::json!({
///     "setDefs": {"kind": "FIELD", "defs": [
///         {"id": 0, "entries": [{"fid": 30, "type": "UINT_2"}]},
///     ]},
/// }))?;
/// let list = Encoded::new(DataType::FIELD_LIST, &[0x02, 0x01, 0x00]);
/// let value = Inspector::new(&NoFields).to_value(&list, context.local())?;
/// assert_eq!(value["set"][0]["data"]["v"], "256");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Context {
    local: Option<LocalSetDefsBuf>,
    global: GlobalSetDefs,
}

impl Context {
    /// Reads an object with `setDefs`, the definitions of the container around,
    /// and `globalSetDefs`, those of dictionaries. Both may be missing.
    pub fn from_value(context: &Value) -> Result<Self, BuildError> {
        let node = Node::root(context, "context");
        let mut read = Self::default();
        if let Some(node) = node.optional("setDefs") {
            read.local = Some(SetDefinitions::read(&node)?.to_local(&node)?);
        }
        if let Some(node) = node.optional("globalSetDefs") {
            read.insert_global(&node)?;
        }
        Ok(read)
    }

    fn insert_global(&mut self, node: &Node<'_, '_>) -> Result<(), BuildError> {
        // One kind, or a list of several.
        if node.is_array() {
            return node.items()?.try_for_each(|item| self.insert_global(&item));
        }
        match SetDefinitions::read(node)? {
            SetDefinitions::Field(defs) => {
                for Definition { id, entries } in defs {
                    self.global.insert_field_set(id, &entries);
                }
            }
            SetDefinitions::Element(defs) => {
                for Definition { id, entries } in defs {
                    let entries: Vec<_> =
                        entries.iter().map(|(name, t)| (name.as_slice(), *t)).collect();
                    let inserted = self.global.insert_element_set(id, &entries);
                    inserted.map_err(|error| node.error(error.into()))?;
                }
            }
        }
        Ok(())
    }

    /// The definitions of the container around.
    pub fn local(&self) -> Option<LocalSetDefs<'_>> {
        self.local.as_ref().map(LocalSetDefsBuf::defs)
    }

    /// The definitions of dictionaries.
    pub const fn global(&self) -> &GlobalSetDefs {
        &self.global
    }
}
