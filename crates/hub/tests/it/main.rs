//! The scenarios of the hub, one module a behaviour, in one program: they link once.

mod choice;
mod credentials;
mod groups;
mod hostile;
mod joiners;
mod locks;
mod loss;
mod mirrors;
mod no_allocation;
mod one_item;
mod posts;
mod pressure;
mod published;
mod publishers;
mod repair;
mod routes;
mod service_groups;
mod shell;
mod slices;
mod slow_source;
mod standby;
mod standby_images;
mod storm;
mod support;
mod too_long;
mod unfinished;
