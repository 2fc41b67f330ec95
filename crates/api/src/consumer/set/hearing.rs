//! What the cores of a set tell, and what of it the application hears.

use tapeline_omm::state::is_final;
use tapeline_rwf::{DataState, DataType, RefreshFlags, RefreshMsg, State, StatusMsg};

use super::super::event::{ConsumerEvent, ConsumerHandler};
use super::super::requests::Requests;
use super::super::spec::Handle;
use super::requests::Peers;
use super::state::Known;
use super::turn::Turn;

/// Hears one core.
pub(super) struct Hearing<'h> {
    pub(super) peers: Peers<'h>,
    pub(super) handler: &'h mut dyn ConsumerHandler,
}

impl ConsumerHandler for Hearing<'_> {
    fn event(&mut self, event: ConsumerEvent<'_>, requests: &mut Requests<'_>) {
        match event {
            ConsumerEvent::Update { handle, .. } => {
                if self.hears(handle) && !self.awaits_image(handle) {
                    self.pass(event, requests);
                }
            }
            ConsumerEvent::Refresh { handle, msg } => {
                if self.hears(handle) && !(self.awaits_image(handle) && is_blank(msg)) {
                    self.note_state(handle, &msg.state);
                    self.pass(event, requests);
                    self.turn(requests).end_if_over(handle);
                }
            }
            ConsumerEvent::Status { handle, msg } => {
                if self.hears(handle) {
                    self.note_status(handle, msg);
                    self.pass(event, requests);
                    self.turn(requests).end_if_over(handle);
                }
            }
            ConsumerEvent::Generic { handle: Some(handle), .. } => {
                if self.hears(handle) {
                    self.pass(event, requests);
                }
            }
            // The servers that stand by have posts that nobody waits for.
            ConsumerEvent::Ack { .. } => self.pass(event, requests),
            _ => self.turn(requests).connection(event),
        }
    }
}

impl Hearing<'_> {
    /// The set at work on an event of the core.
    fn turn<'t>(&'t mut self, requests: &'t mut Requests<'_>) -> Turn<'t> {
        let Peers { set, place, before, after } = &mut self.peers;
        let (set, before, after) = (&mut **set, &mut **before, &mut **after);
        let peers = Peers { set, place: *place, before, after };
        let Requests { core, now, out, .. } = requests;
        let all = Requests { core, now: *now, out: &mut **out, peers: Some(peers) };
        Turn { all, handler: &mut *self.handler }
    }

    fn pass(&mut self, event: ConsumerEvent<'_>, requests: &mut Requests<'_>) {
        self.turn(requests).tell(event);
    }

    /// Whether the application takes the item from this server.
    fn hears(&self, handle: Handle) -> bool {
        let item = self.peers.set.items.get(handle.0);
        item.is_some_and(|item| item.active == Some(self.peers.place))
    }

    /// Whether the server was told to be active and has not sent its image.
    fn awaits_image(&self, handle: Handle) -> bool {
        self.peers.set.items.get(handle.0).is_some_and(|item| item.is_due)
    }

    fn note_state(&mut self, handle: Handle, state: &State<'_>) {
        let Some(item) = self.peers.set.items.get_mut(handle.0) else { return };
        item.is_due = false;
        item.known = match state.data {
            DataState::SUSPECT => Known::Suspect,
            DataState::NO_CHANGE if item.known == Known::Suspect => Known::Suspect,
            _ => Known::Well,
        };
    }

    fn note_status(&mut self, handle: Handle, status: &StatusMsg<'_>) {
        if let Some(state) = &status.state {
            self.note_state(handle, state);
        }
    }
}

/// How a server answers that stands by. The answer may be on its way when the
/// server is told to be active.
fn is_blank(msg: &RefreshMsg<'_>) -> bool {
    msg.flags.contains(RefreshFlags::SOLICITED)
        && msg.payload.data_type() == DataType::NO_DATA
        && !is_final(msg.state.stream)
}
