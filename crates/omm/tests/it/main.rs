//! Streams, directories and dictionaries, in one program: it links once.

mod consumer_stream;
mod dictionary;
mod dictionary_messages;
mod directory;
mod golden_messages;
mod no_allocation;
mod properties;
mod provider_stream;
mod stream_pair;
mod support;
mod view_projection;
