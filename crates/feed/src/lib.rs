//! Market data to publish: recordings, data files, and the items they become.
