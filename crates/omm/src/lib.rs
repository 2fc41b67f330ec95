//! The Open Message Model: what messages of each domain say, and how a stream
//! of them lives.
//!
//! The model is on top of [`tapeline_rwf`], which knows bytes and no meaning.
//! Here are, from the bottom up:
//!
//! * identities: [`ItemKey`], [`GroupId`], [`qos`], [`state`];
//! * the messages of the administrative domains, strict where the vendor's
//!   library is strict: [`login`], [`directory`], [`DictionaryMsg`], and the
//!   [`dictionary`] itself;
//! * item domains and what requests and posts to them may carry: [`market`],
//!   [`view`], [`batch`], [`post`];
//! * one stream of one requester as a state machine at either end: [`stream`].
//!
//! Nothing here does I/O or looks at a clock; nothing panics on input. Models
//! that are kept (logins, services) own their texts; what passes by at speed
//! (items, books, posts) is borrowed from the message.
//!
//! A login, and the first item behind it:
//!
//! ```
//! use tapeline_omm::login::{LoginMsg, LoginRefresh, LoginRequest};
//! use tapeline_omm::market::{ItemRequest, Part, RequestPayload, image, market_price};
//! use tapeline_omm::stream::{ConsumerStream, Deliver, StreamOptions, ToProvider};
//! use tapeline_omm::view::View;
//! use tapeline_rwf::{DataType, Domain, Encoder, FieldListHead, Msg, MsgKey, Real};
//!
//! // The consumer logs in, and the provider accepts.
//! let mut buffer = [0; 256];
//! let mut encoder = Encoder::new(&mut buffer);
//! let mut login = LoginRequest::new(1, "user");
//! login.attributes.position = Some("127.0.0.1/net".into());
//! login.encode(&mut encoder)?;
//! let LoginMsg::Request(request) = LoginMsg::decode(&Msg::decode(encoder.finish_bytes()?)?)?
//! else {
//!     panic!("a request was written");
//! };
//! let mut refresh = LoginRefresh::accept(&request, "Login accepted by host example.");
//! refresh.features.support_view_requests = Some(true);
//! assert_eq!(
//!     refresh.state.to_string(),
//!     "Open / Ok / None / 'Login accepted by host example.'"
//! );
//!
//! // The consumer asks for two fields of an item.
//! let mut stream = ConsumerStream::new(StreamOptions::default());
//! assert_eq!(stream.request(0).send, Some(ToProvider::Request { pause: false }));
//! let view = View::of_fields([22, 25]);
//! let key = MsgKey::item(1, "TRI.N");
//! let item = ItemRequest::new(Domain::MARKET_PRICE, 5, key);
//! let mut encoder = Encoder::new(&mut buffer);
//! item.encode(&mut encoder, &RequestPayload { view: Some(&view), ..RequestPayload::NONE })?;
//! let request_len = encoder.finish()?;
//! assert!(request_len < 64);
//!
//! // The provider has three; the view takes one of them out.
//! let mut encoder = Encoder::new(&mut buffer);
//! let head = image(Domain::MARKET_PRICE, 5, Some(key), true, Part::ONLY);
//! let payload = encoder.begin(&head.into(), DataType::FIELD_LIST)?;
//! let mut fields = payload.field_list(&FieldListHead::STANDARD)?;
//! for (field_id, price) in [(6, 4513), (22, 4512), (25, 4515)] {
//!     fields.put(field_id, Real::decimal(price, 2))?;
//! }
//! fields.finish()?;
//! let full = Msg::decode(encoder.finish_bytes()?)?;
//! let mut buffer = [0; 256];
//! let len = view.project_msg(&full, &mut buffer)?.expect("an image is always sent");
//!
//! let msg = Msg::decode(&buffer[..len])?;
//! assert_eq!(stream.message(10, &msg).deliver, Deliver::Message);
//! assert_eq!(market_price(&msg.payload())?.len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod batch;
pub mod dictionary;
mod dictionary_msg;
pub mod directory;
mod element;
pub mod entries;
mod error;
mod generic;
mod group;
mod hash;
mod key;
mod key_index;
pub mod login;
pub mod market;
mod name;
pub mod pages;
pub mod post;
pub mod qos;
mod scratch;
pub mod state;
pub mod stream;
mod text;
pub mod view;

pub use dictionary_msg::{
    DictionaryMsg, DictionaryRefresh, DictionaryRequest, DictionaryStatus, DictionarySummary,
};
pub use element::{Credential, OpenData, Secret};
pub use error::{ModelError, ModelErrorKind};
pub use generic::OtherGeneric;
pub use group::{GroupId, GroupIdTooLong, ServiceGroup};
pub use hash::{HashSeed, SeededHash};
pub use key::{AsItemKey, ItemKey, ItemKeyRef, is_administrative, name_type};
pub use key_index::{KeyHash, KeyIndex};
pub use scratch::{Scratch, encode_into};
pub use state::StateBuf;
pub use text::Text;
