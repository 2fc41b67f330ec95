//! Posts: content from consumers, and the acks that answer it.
//!
//! A post on an item stream is for that item. A post on the login stream says
//! in its key which item it is for, and is of that item's domain. Content is a
//! container, or a whole refresh, update or status of the item.

mod ack;
mod refusal;
mod tracker;

pub use ack::{AckForm, ack, nak};
pub use refusal::PostRefusal;
pub use tracker::{PostTracker, TooManyPosts};

use tapeline_rwf::{DataType, Encoded, Msg, PostFlags, PostMsg, PostUserRights, StreamState};

use crate::{ItemKeyRef, is_administrative};

/// Which stream a post came on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PostStream {
    /// The login stream: the post is *off-stream*, for any item.
    Login,
    /// The open stream of an item.
    Item,
}

/// A post that follows the rules.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Post<'a> {
    /// The item of an off-stream post; `None` for the item of the stream.
    pub item: Option<ItemKeyRef<'a>>,
    /// What is posted.
    pub content: PostContent<'a>,
    /// Whether this is the last part of the post.
    pub is_complete: bool,
    /// Whether an ack is wanted.
    pub wants_ack: bool,
}

/// What is posted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PostContent<'a> {
    /// A container, to be taken as an update of the item.
    Container(Encoded<'a>),
    /// A refresh, an update or a status of the item.
    Msg(Msg<'a>),
}

impl<'a> Post<'a> {
    /// Checks a post that came on a stream.
    ///
    /// Rules: an ack needs a post id; every part of a post of several needs a
    /// sequence number; off-stream, the key needs service and name and the
    /// domain must not be administrative; a posted message is a refresh, an
    /// update or a status.
    pub fn check(msg: &PostMsg<'a>, stream: PostStream) -> Result<Self, PostRefusal> {
        let wants_ack = msg.flags.contains(PostFlags::ACK);
        if wants_ack && msg.post_id.is_none() {
            return Err(PostRefusal::NoPostId);
        }
        let is_complete = msg.flags.contains(PostFlags::POST_COMPLETE);
        let is_one_of_several = !is_complete || msg.part_num.is_some_and(|part| part > 0);
        if is_one_of_several && msg.seq_num.is_none() {
            return Err(PostRefusal::NoSeqNum);
        }
        if is_administrative(msg.domain) {
            return Err(PostRefusal::Administrative(msg.domain));
        }
        let item = match stream {
            PostStream::Item => None,
            PostStream::Login => {
                let key = msg.key.ok_or(PostRefusal::NoService)?;
                key.service_id.ok_or(PostRefusal::NoService)?;
                if key.name.is_none_or(<[u8]>::is_empty) {
                    return Err(PostRefusal::NoName);
                }
                Some(ItemKeyRef::of(msg.domain, &key, None))
            }
        };
        let content = match msg.payload.data_type() {
            DataType::MSG => match msg.payload.msg().map_err(PostRefusal::Malformed)? {
                posted @ (Msg::Refresh(_) | Msg::Update(_) | Msg::Status(_)) => {
                    PostContent::Msg(posted)
                }
                other => return Err(PostRefusal::Class(other.class())),
            },
            _ => PostContent::Container(msg.payload),
        };
        Ok(Self { item, content, is_complete, wants_ack })
    }

    /// The rights that the post takes: to create the item when there is none
    /// yet, to delete it with a refresh or status that closes it, to change its
    /// permission data.
    ///
    /// Permission data in a posted update takes no right: it is for the content
    /// of that update, and the item keeps its own.
    pub fn needed_rights(&self, msg: &PostMsg<'_>, item_exists: bool) -> PostUserRights {
        let mut needed = PostUserRights::empty();
        needed.set(PostUserRights::CREATE, !item_exists);
        let (state, has_perm_data) = match self.content {
            PostContent::Msg(Msg::Status(status)) => (status.state, status.perm_data.is_some()),
            PostContent::Msg(Msg::Refresh(refresh)) => {
                (Some(refresh.state), refresh.perm_data.is_some())
            }
            _ => (None, false),
        };
        let is_close = |stream| matches!(stream, StreamState::CLOSED | StreamState::CLOSED_RECOVER);
        needed.set(PostUserRights::DELETE, state.is_some_and(|state| is_close(state.stream)));
        needed.set(PostUserRights::MODIFY_PERM, has_perm_data || msg.perm_data.is_some());
        needed
    }

    /// Whether the rights suffice that the poster has.
    pub fn check_rights(
        needed: PostUserRights,
        granted: PostUserRights,
    ) -> Result<(), PostRefusal> {
        match needed.difference(granted) {
            missing if missing.is_empty() => Ok(()),
            missing => Err(PostRefusal::Right(missing)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tapeline_rwf::{Domain, MsgKey, NakCode, RefreshMsg, State, StatusMsg, UpdateMsg};

    fn post() -> PostMsg<'static> {
        PostMsg {
            flags: PostFlags::ACK | PostFlags::POST_COMPLETE,
            post_id: Some(1),
            payload: Encoded::new(DataType::FIELD_LIST, &[]),
            key: Some(MsgKey::item(1, "TRI.N")),
            ..PostMsg::new(Domain::MARKET_PRICE, 5)
        }
    }

    fn refusal(msg: &PostMsg<'_>, stream: PostStream) -> (NakCode, String) {
        let refusal = Post::check(msg, stream).expect_err("against a rule");
        (refusal.nak_code(), refusal.to_string())
    }

    #[test]
    fn posts_that_follow_the_rules_are_told_apart_by_stream() {
        let msg = post();
        let on_stream = Post::check(&msg, PostStream::Item).expect("by the rules");
        assert_eq!(on_stream.item, None);
        let off_stream = Post::check(&msg, PostStream::Login).expect("by the rules");
        let item = off_stream.item.expect("off-stream posts name their item");
        assert_eq!((item.domain, item.name), (Domain::MARKET_PRICE, &b"TRI.N"[..]));
        assert!(off_stream.wants_ack && off_stream.is_complete);
    }

    #[test]
    fn each_broken_rule_has_its_nak() {
        use PostStream::{Item, Login};
        let invalid = NakCode::INVALID_CONTENT;
        for (stream, change, text) in [
            (
                Item,
                (|msg| msg.post_id = None) as fn(&mut PostMsg<'_>),
                "post that wants an ack has no post id",
            ),
            (
                Item,
                |msg| msg.flags -= PostFlags::POST_COMPLETE,
                "part of a post has no sequence number",
            ),
            (Item, |msg| msg.part_num = Some(1), "part of a post has no sequence number"),
            (Login, |msg| msg.domain = Domain::SOURCE, "posts to domain SOURCE are not accepted"),
            (Login, |msg| msg.key = None, "Message submitted with unspecified service Name and Id"),
            (
                Login,
                |msg| msg.key = Some(MsgKey { service_id: None, ..MsgKey::item(1, "A") }),
                "Message submitted with unspecified service Name and Id",
            ),
            (Login, |msg| msg.key = Some(MsgKey::item(1, "")), "post names no item"),
        ] {
            let mut msg = post();
            change(&mut msg);
            assert_eq!(refusal(&msg, stream), (invalid, text.to_owned()));
        }
    }

    #[test]
    fn only_data_messages_can_be_posted() {
        // A close: header of 7 bytes, class 5.
        let close = [0, 8, 5, 6, 0, 0, 0, 0, 0, 0];
        let payload = Encoded::new(DataType::MSG, &close);
        let msg = PostMsg { payload, ..post() };
        assert_eq!(refusal(&msg, PostStream::Item).1, "a CLOSE cannot be posted");
        let payload = Encoded::new(DataType::MSG, &close[..3]);
        let msg = PostMsg { payload, ..post() };
        assert!(refusal(&msg, PostStream::Item).1.starts_with("post cannot be read: "));
    }

    #[test]
    fn rights_are_needed_to_create_delete_and_change_permission() {
        let msg = post();
        let checked = Post::check(&msg, PostStream::Item).expect("by the rules");
        assert_eq!(checked.needed_rights(&msg, true), PostUserRights::empty());
        assert_eq!(checked.needed_rights(&msg, false), PostUserRights::CREATE);
        let state = Some(State { stream: StreamState::CLOSED, ..State::open_ok("") });
        let status =
            StatusMsg { state, perm_data: Some(&[3]), ..StatusMsg::new(Domain::MARKET_PRICE, 0) };
        let delete = Post { content: PostContent::Msg(status.into()), ..checked };
        let needed = delete.needed_rights(&msg, true);
        assert_eq!(needed, PostUserRights::DELETE | PostUserRights::MODIFY_PERM);
        let refresh = RefreshMsg {
            state: State { stream: StreamState::CLOSED_RECOVER, ..State::open_ok("") },
            ..RefreshMsg::new(Domain::MARKET_PRICE, 0)
        };
        let delete = Post { content: PostContent::Msg(refresh.into()), ..checked };
        assert_eq!(delete.needed_rights(&msg, true), PostUserRights::DELETE);
        let update = UpdateMsg { perm_data: Some(&[3]), ..UpdateMsg::new(Domain::MARKET_PRICE, 0) };
        let update = Post { content: PostContent::Msg(update.into()), ..checked };
        assert_eq!(update.needed_rights(&msg, true), PostUserRights::empty());
        assert_eq!(Post::check_rights(needed, PostUserRights::all()), Ok(()));
        assert_eq!(
            Post::check_rights(needed, PostUserRights::DELETE),
            Err(PostRefusal::Right(PostUserRights::MODIFY_PERM))
        );
    }
}
