//! What the engine is in a program that is built without Aeron: nothing that can
//! be had.

use std::convert::Infallible;
use std::fmt;
use std::os::fd::RawFd;
use std::path::Path;
use std::time::Duration;

use tapeline_time::Time;

use crate::error::BackboneError;
use crate::frame::Role;
use crate::outbound::{FrameSink, Offer};
use crate::paths::PathId;
use crate::port::FrameSource;
use crate::settings::EngineSettings;

/// Why there is none.
fn absent(channel: &str) -> BackboneError {
    BackboneError::Channel {
        channel: channel.to_owned(),
        problem: "this program is built without Aeron; build it with the feature `aeron`, as \
                  cargo does unless told --no-default-features, or have hub and server in one \
                  process over `local` (tapeline run)"
            .to_owned(),
    }
}

/// Channels of Aeron: none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Channels(Infallible);

impl Channels {
    pub(crate) fn parse(text: &str) -> Result<Self, BackboneError> {
        Err(absent(text))
    }

    pub(crate) const fn is_network(&self) -> bool {
        match self.0 {}
    }

    pub(crate) const fn are_several(&self) -> bool {
        match self.0 {}
    }
}

impl fmt::Display for Channels {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {}
    }
}

/// An engine that there is not.
pub(crate) struct Engine(Infallible);

impl Engine {
    pub(crate) fn new(_: EngineSettings) -> Result<Self, BackboneError> {
        Err(absent("aeron"))
    }

    pub(crate) const fn ends(
        &mut self,
        _: Role,
        _: &Channels,
    ) -> Result<Vec<(PathId, AeronSink, AeronSource)>, BackboneError> {
        match self.0 {}
    }

    pub(crate) const fn work(&mut self, _: Time) -> usize {
        match self.0 {}
    }

    pub(crate) const fn longest_wait(&self) -> Duration {
        match self.0 {}
    }

    pub(crate) const fn has_network(&self) -> bool {
        match self.0 {}
    }

    pub(crate) const fn sockets(&self) -> Vec<RawFd> {
        match self.0 {}
    }

    pub(crate) const fn directory(&self) -> &Path {
        match self.0 {}
    }

    pub(crate) const fn failure(&self) -> Option<&str> {
        match self.0 {}
    }

    pub(crate) const fn take_report(&self) -> Option<String> {
        match self.0 {}
    }

    pub(crate) const fn shortfall(&self) -> Option<String> {
        match self.0 {}
    }
}

/// Sends nowhere.
pub enum AeronSink {}

impl FrameSink for AeronSink {
    fn offer(&mut self, _: &[u8], _: &[&[u8]]) -> Offer {
        match *self {}
    }

    fn max_frame_bytes(&self) -> usize {
        match *self {}
    }

    fn work(&mut self, _: Time) {
        match *self {}
    }

    fn is_ready(&self) -> bool {
        match *self {}
    }

    fn failure(&self) -> Option<&str> {
        match *self {}
    }
}

/// Receives from nowhere.
pub enum AeronSource {}

impl FrameSource for AeronSource {
    fn poll(&mut self, _: Time, _: usize, _: impl FnMut(&[u8])) -> usize {
        match *self {}
    }

    fn work(&mut self, _: Time) {
        match *self {}
    }

    fn is_ready(&self) -> bool {
        match *self {}
    }

    fn failure(&self) -> Option<&str> {
        match *self {}
    }
}
