//! What applications link: consumer, interactive and non-interactive provider.
