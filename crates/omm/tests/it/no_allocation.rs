//! What is done for every message, or for every request that finds its item,
//! does not allocate.

use std::collections::HashMap;

use allocation_counter::measure;
use tapeline_golden::{unhex, vectors};
use tapeline_omm::market::{Book, ItemRequest, Part};
use tapeline_omm::stream::{ConsumerStream, ProviderStream, StreamOptions};
use tapeline_omm::view::View;
use tapeline_omm::{AsItemKey, ItemKey};
use tapeline_rwf::{Msg, RefreshFlags, RefreshMsg, State};

fn message(name: &str) -> Vec<u8> {
    let all = vectors("rdm_messages");
    let vector = all.iter().find(|vector| vector["name"] == name).expect("a vector of this name");
    unhex(vector["hex"].as_str().expect("bytes"))
}

#[track_caller]
fn allocates_nothing(work: impl FnOnce()) {
    assert_eq!(measure(work).count_total, 0);
}

#[test]
fn the_counter_sees_an_allocation() {
    assert_eq!(measure(|| drop(std::hint::black_box(Box::new(1)))).count_total, 1);
}

#[test]
fn a_view_is_cut_out_without_allocating() {
    let view = View::of_fields([22, 25, 3427]);
    let mut buffer = [0; 1024];
    for name in ["rdm/marketprice/update-quote/pre", "rdm/mbo/refresh-setdefs/pre"] {
        let bytes = message(name);
        allocates_nothing(|| {
            let msg = Msg::decode(&bytes).expect("well-formed");
            let len = view.project_msg(&msg, &mut buffer).expect("room");
            assert!(len.is_some_and(|len| len < bytes.len()), "{name}");
        });
    }
}

#[test]
fn an_item_is_found_without_allocating() {
    let bytes = message("rdm/marketprice/request/pre");
    let Ok(Msg::Request(request)) = Msg::decode(&bytes) else { panic!("a request") };
    let request = ItemRequest::decode(&request).expect("an item request");
    let key = request.item_key(None).expect("not private");
    let table: HashMap<ItemKey, u32> = HashMap::from([(key.to_owned(), 7)]);
    allocates_nothing(|| {
        let key = request.item_key(None).expect("not private");
        assert_eq!(table.get(&key as &dyn AsItemKey), Some(&7));
    });
}

#[test]
fn streams_and_books_are_followed_without_allocating() {
    let update = message("rdm/marketprice/update-quote/pre");
    let book = message("rdm/mbo/update/pre");
    let mut consumer = ConsumerStream::new(StreamOptions::default());
    let _ = consumer.request(0);
    let msg = Msg::decode(&update).expect("well-formed");
    let flags = RefreshFlags::SOLICITED | RefreshFlags::REFRESH_COMPLETE;
    let image = RefreshMsg { flags, ..RefreshMsg::new(msg.domain(), 5) };
    let request = message("rdm/marketprice/request/pre");
    let Ok(Msg::Request(request)) = Msg::decode(&request) else { panic!("a request") };
    let request = ItemRequest::decode(&request).expect("an item request");
    allocates_nothing(|| {
        let mut provider = ProviderStream::new(&request, None);
        assert!(provider.image(Part::ONLY, &State::open_ok("")).is_ok());
        assert!(provider.update().is_ok());
        let _ = consumer.message(1, &image.into());
        let _ = consumer.message(2, &msg);
        let payload = Msg::decode(&book).expect("well-formed").payload();
        let book = Book::decode(&payload).expect("a book");
        assert_eq!(book.rows().flatten().filter_map(|row| row.fields().ok()).count(), 3);
    });
}
