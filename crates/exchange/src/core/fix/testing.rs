//! Messages for tests.

/// A message of fields with `|` behind each.
pub(super) fn wire(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut fields = text.trim_end_matches('|').split('|');
    let msg_type = fields.next().and_then(|field| field.strip_prefix("35=")).unwrap_or_default();
    tapeline_fix::append(&mut out, msg_type.as_bytes(), |writer| {
        for (tag, value) in fields.filter_map(|field| field.split_once('=')) {
            writer.text(tag.parse().unwrap_or_default(), value.as_bytes());
        }
    });
    out
}
