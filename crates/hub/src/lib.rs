//! Source Distributor: sources, services, routing, failover, one stream per item.
