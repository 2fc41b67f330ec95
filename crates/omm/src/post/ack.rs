//! Acks: one for each part of a post that asked for it.

use tapeline_rwf::{AckFlags, AckMsg, PostFlags, PostMsg};

use super::PostRefusal;

/// What the stream of a post asks of its acks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct AckForm {
    /// The stream is the requester's alone: its acks say so.
    pub private: bool,
    /// The request asked for the key in every response: the ack repeats that of
    /// the post.
    pub with_key: bool,
}

/// The ack that accepts a part of a post, on the stream of the post; `None`
/// when the post asked for none, or has no id that an ack could answer.
pub fn ack<'a>(post: &PostMsg<'a>, form: AckForm) -> Option<AckMsg<'a>> {
    if !post.flags.contains(PostFlags::ACK) {
        return None;
    }
    let mut flags = AckFlags::empty();
    flags.set(AckFlags::PRIVATE_STREAM, form.private);
    Some(AckMsg {
        flags,
        ack_id: post.post_id?,
        seq_num: post.seq_num,
        key: post.key.filter(|_| form.with_key),
        ..AckMsg::new(post.domain, post.stream_id)
    })
}

/// The ack that refuses a part of a post; `text` is the refusal in words. `None`
/// as for [`ack`].
pub fn nak<'a>(
    post: &PostMsg<'a>,
    form: AckForm,
    refusal: &PostRefusal,
    text: &'a str,
) -> Option<AckMsg<'a>> {
    let code = refusal.nak_code();
    ack(post, form).map(|ack| AckMsg { nak_code: Some(code), text: Some(text.as_bytes()), ..ack })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tapeline_rwf::{Domain, MsgKey, NakCode};

    const PLAIN: AckForm = AckForm { private: false, with_key: false };

    #[test]
    fn acks_repeat_id_sequence_and_stream_and_only_come_when_asked_for() {
        let mut post = PostMsg {
            flags: PostFlags::ACK | PostFlags::POST_COMPLETE,
            post_id: Some(42),
            seq_num: Some(3),
            ..PostMsg::new(Domain::MARKET_PRICE, 5)
        };
        let accepted = ack(&post, PLAIN).expect("asked for");
        assert_eq!((accepted.ack_id, accepted.seq_num, accepted.stream_id), (42, Some(3), 5));
        assert_eq!(accepted.nak_code, None);
        let refusal = PostRefusal::NotEntitled;
        let text = refusal.to_string();
        let refused = nak(&post, PLAIN, &refusal, &text).expect("asked for");
        assert_eq!(refused.nak_code, Some(NakCode::ACCESS_DENIED));
        assert_eq!(refused.text, Some(&b"not entitled to post"[..]));
        post.flags = PostFlags::POST_COMPLETE;
        assert_eq!(ack(&post, PLAIN), None);
    }

    #[test]
    fn a_post_without_an_id_has_no_ack_that_could_be_told_from_others() {
        let post = PostMsg { flags: PostFlags::ACK, ..PostMsg::new(Domain::MARKET_PRICE, 5) };
        assert_eq!(nak(&post, PLAIN, &PostRefusal::NoPostId, "no id"), None);
    }

    #[test]
    fn acks_have_the_private_flag_and_the_key_where_the_stream_asks_for_them() {
        let key = Some(MsgKey::item(1, "TRI.N"));
        let post = PostMsg {
            flags: PostFlags::ACK,
            post_id: Some(1),
            key,
            ..PostMsg::new(Domain::MARKET_PRICE, 5)
        };
        let plain = ack(&post, PLAIN).expect("asked for");
        assert_eq!((plain.flags, plain.key), (AckFlags::empty(), None));
        let form = AckForm { private: true, with_key: true };
        let full = ack(&post, form).expect("asked for");
        assert_eq!((full.flags, full.key), (AckFlags::PRIVATE_STREAM, key));
    }
}
