//! Dictionary files: a field file, and after a NUL byte an enumeration file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tapeline_omm::dictionary::FieldDictionary;

fuzz_target!(|data: &[u8]| {
    let (fields, enums) = match data.iter().position(|byte| *byte == 0) {
        Some(at) => (&data[..at], &data[at + 1..]),
        None => (data, &[][..]),
    };
    let Ok(dictionary) = FieldDictionary::parse(fields, enums) else { return };
    let (fields, enums) = (dictionary.print_fields(), dictionary.print_enums());
    let again = FieldDictionary::parse(fields.as_bytes(), enums.as_bytes())
        .expect("a printed dictionary can be read");
    assert_eq!(again.print_fields(), fields);
    assert_eq!(again.print_enums(), enums);
});
