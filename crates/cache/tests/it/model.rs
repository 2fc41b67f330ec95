//! Images and merged updates against the naive model, with random content.

use crate::support::{Model, Payload, story};
use proptest::prelude::*;
use tapeline_cache::{Applied, Conflation, Image, Limits, Merged};
use tapeline_rwf::{DataType, Domain, Encoded, Msg, RefreshFlags, RefreshMsg, UpdateMsg, check};

fn apply(image: &mut Image, bytes: &[u8]) {
    let applied = match Msg::decode(bytes).expect("well-formed") {
        Msg::Refresh(refresh) => image.refresh(&refresh),
        Msg::Update(update) => image.update(&update, None),
        other => panic!("not for images: {other:?}"),
    };
    assert_eq!(applied, Ok(Applied::Content));
}

fn update(bytes: &[u8]) -> UpdateMsg<'_> {
    match Msg::decode(bytes).expect("well-formed") {
        Msg::Update(update) => update,
        other => panic!("not an update: {other:?}"),
    }
}

fn image_of(first: &Payload) -> (Image, Model) {
    let bytes = first.refresh(RefreshFlags::CLEAR_CACHE);
    let mut image = Image::new(Limits::default());
    apply(&mut image, &bytes);
    let mut model = Model::default();
    model.apply(&Msg::decode(&bytes).expect("well-formed").payload());
    (image, model)
}

fn payload_of(image: &Image) -> Vec<u8> {
    let mut payload = Vec::new();
    image.payload(&mut payload).expect("one part");
    payload
}

fn content_of(image: &Image) -> Model {
    Model::of(image.container_type(), &payload_of(image))
}

/// An image made from the parts of another.
fn copy_in_parts(image: &Image, max_bytes: usize) -> (Image, usize) {
    let mut copy = Image::new(Limits::default());
    let mut parts = image.parts(max_bytes);
    let mut payload = Vec::new();
    let mut count = 0;
    while let Some(part) = parts.next_part(&mut payload) {
        assert!(!copy.is_complete());
        let mut refresh = RefreshMsg::new(Domain::MARKET_PRICE, 5);
        refresh.flags.set(RefreshFlags::CLEAR_CACHE, part.number == 0);
        refresh.flags.set(RefreshFlags::REFRESH_COMPLETE, part.is_last);
        refresh.part_num = Some(part.number);
        refresh.payload = Encoded::new(image.container_type(), &payload);
        copy.refresh(&refresh).expect("well-formed");
        payload.clear();
        count += 1;
    }
    (copy, count)
}

proptest! {
    #[test]
    fn an_image_is_what_its_messages_say((first, updates) in story()) {
        let (mut image, mut model) = image_of(&first);
        for payload in &updates {
            let bytes = payload.update();
            apply(&mut image, &bytes);
            model.apply(&update(&bytes).payload);
            prop_assert_eq!(content_of(&image), model.clone());
        }
        let written = payload_of(&image);
        let data = Encoded::new(image.container_type(), &written);
        check(&data, |_| DataType::UNKNOWN).expect("well-formed");
        prop_assert!(image.is_complete());
    }

    #[test]
    fn a_copy_in_parts_goes_on_like_the_original(
        (first, updates) in story(),
        max_bytes in 1_usize..2000,
    ) {
        let (mut image, _) = image_of(&first);
        let (before, after) = updates.split_at(updates.len() / 2);
        for payload in before {
            apply(&mut image, &payload.update());
        }
        let (mut copy, count) = copy_in_parts(&image, max_bytes);
        prop_assert!(copy.is_complete());
        prop_assert!(count <= image.entry_count().max(1));
        for payload in after {
            apply(&mut image, &payload.update());
            apply(&mut copy, &payload.update());
        }
        prop_assert_eq!(content_of(&copy), content_of(&image));
        if !matches!(first, Payload::Map { .. }) {
            // Maps of no entry that is left have no key type in a copy.
            prop_assert_eq!(copy.entry_count(), image.entry_count());
        }
    }

    #[test]
    fn merged_updates_do_what_each_would((first, updates) in story()) {
        let (mut image, mut model) = image_of(&first);
        let mut conflation = Conflation::new(Limits::CONFLATION);
        for (at, payload) in updates.iter().enumerate() {
            let bytes = payload.update();
            let update = update(&bytes);
            model.apply(&update.payload);
            prop_assert_eq!(conflation.merge(at as u64, &update), Merged::Yes);
        }
        let mut merged = Vec::new();
        prop_assert_eq!(conflation.take(7, None, true, &mut merged), !updates.is_empty());
        if !merged.is_empty() {
            let merged = update(&merged);
            check(&merged.payload, |_| DataType::UNKNOWN).expect("well-formed");
            let info = merged.conflation.expect("asked for");
            prop_assert_eq!(usize::from(info.count), updates.len());
            prop_assert_eq!(usize::from(info.time_ms), updates.len() - 1);
            image.update(&merged, None).expect("well-formed");
        }
        prop_assert_eq!(content_of(&image), model);
    }

    #[test]
    fn damaged_messages_do_not_damage_the_image(
        (first, updates) in story(),
        damage in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..4),
        cut in any::<usize>(),
    ) {
        let (mut image, _) = image_of(&first);
        let mut conflation = Conflation::new(Limits::CONFLATION);
        for payload in &updates {
            let mut bytes = payload.update();
            for (at, byte) in &damage {
                let len = bytes.len();
                bytes[at % len] = *byte;
            }
            bytes.truncate(cut % (2 * bytes.len()));
            let Ok(Msg::Update(update)) = Msg::decode(&bytes) else { continue };
            let failed = image.update(&update, None).is_err();
            let _ = conflation.merge(0, &update);
            prop_assert!(!failed || !image.is_complete());
            let written = payload_of(&image);
            let data = Encoded::new(image.container_type(), &written);
            walk(&data).expect("the image is well-formed");
        }
        let mut merged = Vec::new();
        conflation.take(7, None, false, &mut merged);
        if !merged.is_empty() {
            walk(&update(&merged).payload).expect("the merged update is well-formed");
        }
    }
}

proptest! {
    #[test]
    fn damaged_images_are_errors_or_images(
        (first, updates) in story(),
        damage in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = first.refresh(RefreshFlags::CLEAR_CACHE);
        for (at, byte) in &damage {
            let len = bytes.len();
            bytes[at % len] = *byte;
        }
        let mut image = Image::new(Limits::default());
        let Ok(Msg::Refresh(refresh)) = Msg::decode(&bytes) else { return Ok(()) };
        let failed = image.refresh(&refresh).is_err();
        prop_assert!(!failed || !image.is_complete());
        for payload in &updates {
            let _ = image.update(&update(&payload.update()), None);
        }
        let (copy, _) = copy_in_parts(&image, 100);
        prop_assert_eq!(copy.entry_count(), image.entry_count());
    }
}

/// Decodes containers, not values: damaged values of a known length pass
/// through.
fn walk(data: &Encoded<'_>) -> Result<(), tapeline_rwf::DecodeError> {
    match data.data_type() {
        _ if data.is_empty() => Ok(()),
        DataType::FIELD_LIST => data.field_list()?.iter().try_for_each(|e| e.map(drop)),
        DataType::ELEMENT_LIST => data.element_list()?.iter().try_for_each(|e| e.map(drop)),
        DataType::MAP => data.map()?.iter().try_for_each(|e| e.map(drop)),
        DataType::VECTOR => data.vector()?.iter().try_for_each(|e| e.map(drop)),
        DataType::SERIES => data.series()?.iter().try_for_each(|e| e.map(drop)),
        DataType::FILTER_LIST => data.filter_list()?.iter().try_for_each(|e| e.map(drop)),
        _ => Ok(()),
    }
}
