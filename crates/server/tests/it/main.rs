//! What consumers and hubs see of a server, scenario by scenario, in one
//! program: it links once.

#![allow(unreachable_pub, reason = "shared by the modules of one test")]

mod bare;
mod batches;
mod crowds;
mod denials;
mod dictionaries;
mod directories;
mod entitled;
mod entitled_crowds;
mod entitled_model;
mod every_order;
mod first_item;
mod hubs;
mod identified;
mod items;
mod json_errors;
mod json_held;
mod json_items;
mod json_mounts;
mod limits;
mod lists;
mod logins;
mod logouts;
mod long_messages;
mod lossy;
mod masked;
mod memory;
mod model;
mod no_allocation;
mod paced;
mod posts;
mod preempted;
mod private_streams;
mod quality;
mod recovery;
mod reissues;
mod relocked;
mod round_trips;
mod shells;
mod slices;
mod slices_of_mounts;
mod slow_events;
mod slow_mounts;
mod standby;
mod standby_groups;
mod support;
mod take_over;
mod through_a_hub;
mod turns;
mod usage;
mod views;
mod windows;
