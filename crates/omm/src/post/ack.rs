//! Acks: one for each part of a post that asked for it.

use tapeline_rwf::{AckFlags, AckMsg, PostFlags, PostMsg};

use super::PostRefusal;

/// The ack that accepts a part of a post, on the stream of the post; `None`
/// when the post asked for none.
pub fn ack<'a>(post: &PostMsg<'a>) -> Option<AckMsg<'a>> {
    let wants_ack = post.flags.contains(PostFlags::ACK);
    wants_ack.then(|| AckMsg {
        flags: AckFlags::empty(),
        ack_id: post.post_id.unwrap_or_default(),
        seq_num: post.seq_num,
        ..AckMsg::new(post.domain, post.stream_id)
    })
}

/// The ack that refuses a part of a post; `text` is the refusal in words.
pub fn nak<'a>(post: &PostMsg<'a>, refusal: &PostRefusal, text: &'a str) -> Option<AckMsg<'a>> {
    let code = refusal.nak_code();
    ack(post).map(|ack| AckMsg { nak_code: Some(code), text: Some(text.as_bytes()), ..ack })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tapeline_rwf::{Domain, NakCode};

    #[test]
    fn acks_repeat_id_sequence_and_stream_and_only_come_when_asked_for() {
        let mut post = PostMsg {
            flags: PostFlags::ACK | PostFlags::POST_COMPLETE,
            post_id: Some(42),
            seq_num: Some(3),
            ..PostMsg::new(Domain::MARKET_PRICE, 5)
        };
        let accepted = ack(&post).expect("asked for");
        assert_eq!((accepted.ack_id, accepted.seq_num, accepted.stream_id), (42, Some(3), 5));
        assert_eq!(accepted.nak_code, None);
        let refusal = PostRefusal::NotEntitled;
        let text = refusal.to_string();
        let refused = nak(&post, &refusal, &text).expect("asked for");
        assert_eq!(refused.nak_code, Some(NakCode::ACCESS_DENIED));
        assert_eq!(refused.text, Some(&b"not entitled to post"[..]));
        post.flags = PostFlags::POST_COMPLETE;
        assert_eq!(ack(&post), None);
    }
}
