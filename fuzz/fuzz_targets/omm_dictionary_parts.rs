//! Payloads of dictionary messages: fields, enumerations, set definitions.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tapeline_fuzz::omm::dictionary_parts;
use tapeline_rwf::{DataType, Encoded};

fuzz_target!(|data: &[u8]| dictionary_parts(&Encoded::new(DataType::SERIES, data)));
