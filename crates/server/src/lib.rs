//! Point-to-Point Server: mounts, watchlists, fan-out, conflation.
