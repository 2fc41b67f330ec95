//! Messages for the targets of `tapeline-omm`.

use tapeline_omm::batch::Batch;
use tapeline_omm::dictionary::{DictionaryBuilder, DictionaryType, SetDefDictionary};
use tapeline_omm::directory::{ConsumerStatus, Directory, DirectoryMsg};
use tapeline_omm::login::{ConsumerConnectionStatus, LoginMsg, LoginRtt};
use tapeline_omm::market::{
    Book, ItemRequest, Redirect, SymbolList, SymbolListBehaviors, market_price,
};
use tapeline_omm::post::{Post, PostStream};
use tapeline_omm::stream::{ConsumerStream, StreamOptions};
use tapeline_omm::view::{View, ViewChange};
use tapeline_omm::{DictionaryMsg, DictionaryRefresh};
use tapeline_rwf::{DataType, EncodeError, Encoded, Encoder, GlobalSetDefs, Msg};

/// Room for what a model writes: its message can be larger than the input, by
/// defaults that it spells out.
const ROOM: usize = 1 << 17;

/// What a model of a message writes is read as the same model.
fn same_again<M: PartialEq + std::fmt::Debug, E: std::fmt::Debug>(
    model: &M,
    write: impl Fn(&M, &mut Encoder<'_>) -> Result<(), EncodeError>,
    read: impl Fn(&Msg<'_>) -> Result<M, E>,
) {
    let mut buffer = vec![0; ROOM];
    let mut encoder = Encoder::new(&mut buffer);
    // A model may hold more than a length can say; then it says so.
    if write(model, &mut encoder).is_err() {
        return;
    }
    let bytes = encoder.finish_bytes().expect("the room is ample");
    let msg = Msg::decode(bytes).expect("a written message is a message");
    assert_eq!(read(&msg).expect("a written model can be read"), *model);
}

/// Reads a message as every model there is.
pub fn models(msg: &Msg<'_>, directory: &mut Directory) {
    if let Ok(login) = LoginMsg::decode(msg) {
        same_again(&login, LoginMsg::encode, LoginMsg::decode);
    }
    if let Ok(read) = DirectoryMsg::decode(msg) {
        same_again(&read, DirectoryMsg::encode, DirectoryMsg::decode);
        match &read {
            DirectoryMsg::Refresh(refresh) => drop(directory.apply_refresh(refresh)),
            DirectoryMsg::Update(update) => drop(directory.apply_update(update)),
            DirectoryMsg::Status(status) => drop(directory.apply_status(status)),
            _ => {}
        }
    }
    if let Ok(DictionaryMsg::Refresh(part)) = DictionaryMsg::decode(msg) {
        dictionary(&part);
    }
    match msg {
        Msg::Request(request) => {
            let _ = ItemRequest::decode(request);
            let _ = SymbolListBehaviors::of(request);
            if let Ok(ViewChange::Replace(view)) = ViewChange::of(request, false) {
                project(&view, msg);
            }
            if let Ok(Some(Batch::Items(names))) = Batch::of_request(request) {
                let _ = names.streams(request.stream_id, |_| false).map(Iterator::count);
            }
        }
        Msg::Close(close) => drop(Batch::of_close(close)),
        Msg::Post(post) => {
            let _ = Post::check(post, PostStream::Item);
            let _ = Post::check(post, PostStream::Login);
        }
        Msg::Status(status) => drop(Redirect::of(status)),
        Msg::Generic(generic) => {
            let _ = ConsumerConnectionStatus::decode(generic);
            let _ = LoginRtt::decode(generic);
            let _ = ConsumerStatus::decode(generic);
        }
        _ => {}
    }
    content(&msg.payload());
    project(&View::of_fields([22, 25, 3427]), msg);
}

fn content(payload: &Encoded<'_>) {
    let _ = market_price(payload);
    if let Ok(book) = Book::decode(payload) {
        let _ = book.rows().filter(|row| row.is_ok()).count();
    }
    if let Ok(symbols) = SymbolList::decode(payload) {
        let _ = symbols.entries().filter(Result::is_ok).count();
    }
}

/// What a view leaves of a message is a message.
fn project(view: &View, msg: &Msg<'_>) {
    let mut buffer = vec![0; ROOM];
    if let Ok(Some(len)) = view.project_msg(msg, &mut buffer) {
        let cut = Msg::decode(&buffer[..len]).expect("a cut message is a message");
        assert_eq!((cut.class(), cut.stream_id()), (msg.class(), msg.stream_id()));
    }
}

fn dictionary(part: &DictionaryRefresh<'_>) {
    let _ = part.summary();
    dictionary_parts(&part.payload);
}

/// Reads a payload as a part of every dictionary.
pub fn dictionary_parts(payload: &Encoded<'_>) {
    let payload = payload.typed(DataType::SERIES);
    let _ = DictionaryType::of_part(&payload);
    let mut builder = DictionaryBuilder::default();
    let fields = builder.add_fields_part(&payload).is_ok();
    let enums = builder.add_enums_part(&payload).is_ok();
    if fields || enums {
        let built = builder.build();
        let _ = (built.print_fields(), built.print_enums());
    }
    if let Ok(sets) = SetDefDictionary::read(&payload.typed(DataType::VECTOR)) {
        let _ = sets.define(&mut GlobalSetDefs::new());
    }
}

/// One stream's life: every message of the input, with time between them.
pub fn stream(messages: &[Msg<'_>]) {
    let mut stream = ConsumerStream::new(StreamOptions::default());
    for (at, msg) in messages.iter().enumerate() {
        let now_ms = at as u64 * 4000;
        if stream.wants_request() {
            let _ = stream.request(now_ms);
        }
        let _ = stream.message(now_ms, msg);
        let _ = stream.timeout(now_ms + 3999);
    }
}
