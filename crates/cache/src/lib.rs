//! Last-value images of items, and updates merged for slow consumers.
