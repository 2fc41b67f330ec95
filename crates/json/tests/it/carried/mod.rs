//! Whatever can be built survives the way through JSON, but for exactly what
//! `model.rs` says.

mod generate;
mod model;
#[allow(dead_code, reason = "of the trees of the codec's own tests not all is needed here")]
#[path = "../../../../rwf/tests/it/tree/mod.rs"]
mod tree;

use std::sync::{Arc, OnceLock};

use crate::common::Converters;
use model::Model;
use proptest::prelude::*;
use tapeline_json::{Options, Vocabulary};
use tapeline_rwf::DataType;
use tree::{Item, Node, Value};

fn converters() -> &'static Converters {
    static CONVERTERS: OnceLock<Converters> = OnceLock::new();
    CONVERTERS.get_or_init(|| {
        let dictionary = generate::dictionary();
        let vocabulary = Arc::new(Vocabulary::new(&dictionary));
        Converters { dictionary, vocabulary }
    })
}

fn options(expand_enums: bool) -> Options {
    Options { expand_enums, catch_unknown_keys: true, ..Options::default() }
}

fn text(options: Options, rwf: &[u8]) -> Result<String, TestCaseError> {
    converters().to_json(options, false, rwf).map_err(TestCaseError::fail)
}

fn rwf(options: Options, text: &str) -> Result<Vec<u8>, TestCaseError> {
    let given = converters().rwf(options, text);
    given.map_err(|error| TestCaseError::fail(format!("{error}\n  of {text}")))
}

/// RMTES as the text that it is, since its bytes may differ.
fn by_text(node: Node) -> Node {
    let value = |value: Value| by_text_value(value);
    let boxed = |node: Option<Box<Node>>| node.map(|node| Box::new(by_text(*node)));
    match node {
        Node::FieldList { info, set, standard } => Node::FieldList {
            info,
            set,
            standard: standard.map(|fields| {
                fields.into_iter().map(|(fid, item)| (fid, by_text_item(item))).collect()
            }),
        },
        Node::ElementList { info, elements } => Node::ElementList {
            info,
            elements: elements.into_iter().map(|(name, i)| (name, by_text_item(i))).collect(),
        },
        Node::FilterList { container_type, hint, entries } => Node::FilterList {
            container_type,
            hint,
            entries: entries
                .into_iter()
                .map(|(a, id, own, perm, node)| (a, id, own, perm, node.map(by_text)))
                .collect(),
        },
        Node::Vector { container_type, sorting, hint, summary, entries } => Node::Vector {
            container_type,
            sorting,
            hint,
            summary: boxed(summary),
            entries: entries.into_iter().map(|(a, i, p, n)| (a, i, p, n.map(by_text))).collect(),
        },
        Node::Series { container_type, hint, entries } => Node::Series {
            container_type,
            hint,
            entries: entries.into_iter().map(|node| node.map(by_text)).collect(),
        },
        Node::Map { key_type, container_type, key_field_id, hint, defs, summary, entries } => {
            Node::Map {
                key_type,
                container_type,
                key_field_id,
                hint,
                defs,
                summary: boxed(summary),
                entries: entries
                    .into_iter()
                    .map(|(a, key, p, n)| (a, value(key), p, n.map(by_text)))
                    .collect(),
            }
        }
        Node::Msg { mut header, payload } => {
            if let Some((data_type, bytes)) = header.key.as_mut().and_then(|k| k.attrib.as_mut()) {
                let read = generate::read(*data_type, bytes).expect("attributes are sound");
                *bytes = generate::encode(&by_text(read));
            }
            Node::Msg { header, payload: Box::new(by_text(*payload)) }
        }
        other => other,
    }
}

fn by_text_item(item: Item) -> Item {
    match item {
        Item::Value(value) => Item::Value(by_text_value(value)),
        Item::Node(node) => Item::Node(by_text(node)),
    }
}

fn by_text_value(value: Value) -> Value {
    match value {
        Value::Bytes(DataType::RMTES_STRING, bytes) => model::rmtes_value(&bytes),
        Value::Array { item_type, item_len, items } => Value::Array {
            item_type,
            item_len,
            items: items.into_iter().map(by_text_value).collect(),
        },
        other => other,
    }
}

/// Strategies of whole messages take more of the stack than a test has.
fn on_a_large_stack(test: fn()) {
    let thread = std::thread::Builder::new().stack_size(64 << 20).spawn(test);
    if let Err(panic) = thread.expect("a thread").join() {
        std::panic::resume_unwind(panic);
    }
}

#[test]
fn every_message_comes_back_but_for_the_losses_that_are_known() {
    on_a_large_stack(comes_back);
}

#[test]
fn what_json_carried_once_it_carries_unchanged() {
    on_a_large_stack(stays);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 600,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    fn comes_back(
        node in generate::message(),
        expand_enums in any::<bool>(),
    ) {
        let options = options(expand_enums);
        let text = text(options, &generate::encode(&node))?;
        let back = rwf(options, &text)?;
        let read = by_text(generate::read(DataType::MSG, &back).expect("its own encoding"));
        prop_assert_eq!(read, Model { expand_enums }.node(node), "{}", text);
    }

    fn stays(
        node in generate::message(),
        expand_enums in any::<bool>(),
    ) {
        let options = options(expand_enums);
        let rwf_1 = rwf(options, &text(options, &generate::encode(&node))?)?;
        let text_1 = text(options, &rwf_1)?;
        let rwf_2 = rwf(options, &text_1)?;
        prop_assert_eq!(&rwf_1, &rwf_2, "{}", text_1);
        prop_assert_eq!(text_1, text(options, &rwf_2)?);
    }
}
