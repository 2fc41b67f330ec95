//! Messages.

use std::borrow::Cow;

use tapeline_rwf::{
    AckFlags, AckMsg, CloseFlags, CloseMsg, Conflation, DataType, Domain, ElementListHead,
    ElementListWriter, EncodeError, Encoded, Encoder, GenericFlags, GenericMsg, Msg, MsgClass,
    MsgKey, NakCode, PostFlags, PostMsg, PostUserRights, Primitive, Priority, Qos, Rate,
    RefreshFlags, RefreshMsg, RequestFlags, RequestMsg, Slot, StatusFlags, StatusMsg, Timeliness,
    UpdateFlags, UpdateMsg, UpdateType,
};

use super::code::{code, code_member, int, int_member, required_int, switch, wrong_kind};
use super::object::{Member, Object, object};
use super::parts::{ReadState, post_user_info};
use super::spare::Lent;
use super::text::{base64_member, string, string_bytes};
use super::{Outcome, Reader, Refusal, encode};
use crate::error::{Fault, TokenKind};
use crate::names;
use crate::tape::{Kind, Value};

/// What a message carries.
pub(super) enum Payload<'t> {
    /// Nothing.
    None,
    /// One container.
    Container(DataType, Value<'t>),
    /// The element list of a request: names of a batch, fields of a view.
    Request { batch: Option<Value<'t>>, view: Option<View<'t>> },
    /// The element list of a close of several streams.
    Close(Value<'t>),
}

/// Fields or elements that a request asks for.
#[derive(Clone, Copy)]
pub(super) struct View<'t> {
    view_type: u8,
    wanted: Value<'t>,
}

impl Payload<'_> {
    pub(super) fn container_type(&self) -> DataType {
        match self {
            Self::None => DataType::NO_DATA,
            Self::Container(data_type, _) => *data_type,
            Self::Request { .. } | Self::Close(_) => DataType::ELEMENT_LIST,
        }
    }
}

/// The parts that most classes have, as they are borrowed by the message.
struct Common<'t, 'p> {
    domain: Domain,
    stream_id: i32,
    key: Option<ReadKey<'t, 'p>>,
    extended_header: Option<Lent<'p>>,
    perm_data: Option<Lent<'p>>,
}

struct ReadKey<'t, 'p> {
    service_id: Option<u16>,
    name: Option<Cow<'t, [u8]>>,
    name_type: u8,
    filter: Option<u32>,
    identifier: Option<i32>,
    attrib: Option<Lent<'p>>,
    /// The names of a batch.
    batch: Option<Value<'t>>,
}

impl ReadKey<'_, '_> {
    fn as_key(&self) -> MsgKey<'_> {
        MsgKey {
            service_id: self.service_id,
            name: self.name.as_deref(),
            name_type: self.name.is_some().then_some(self.name_type),
            filter: self.filter,
            identifier: self.identifier,
            attrib: self
                .attrib
                .as_deref()
                .map(|attrib| Encoded::new(DataType::ELEMENT_LIST, attrib)),
            ..MsgKey::EMPTY
        }
    }
}

impl Reader<'_> {
    /// Encodes a message that is the outermost data.
    pub(super) fn message(&self, message: &Object<'_>, encoder: &mut Encoder<'_>) -> Outcome {
        self.with_msg(message, &mut |msg, payload| {
            let slot = encoder.begin(msg, payload.container_type())?;
            self.payload(payload, slot)
        })
    }

    /// Writes the payload of a message.
    pub(super) fn payload(&self, payload: &Payload<'_>, slot: Slot<'_, '_>) -> Outcome {
        match *payload {
            Payload::None => Ok(slot.empty()?),
            Payload::Container(_, value) => self.container(value, slot),
            Payload::Close(ids) => {
                let mut list = slot.element_list(&ElementListHead::STANDARD)?;
                let mut items =
                    list.slot(":StreamIdList", DataType::ARRAY)?.array(DataType::INT, 0)?;
                for id in ids.items() {
                    items.put(Primitive::Int(int::<i32>(id, "ID")?.into()))?;
                }
                items.finish()?;
                Ok(list.finish()?)
            }
            Payload::Request { batch, view } => {
                let mut list = slot.element_list(&ElementListHead::STANDARD)?;
                if let Some(names) = batch {
                    write_names(&mut list, ":ItemList", names, "Name")?;
                }
                if let Some(view) = view {
                    self.write_view(&mut list, view)?;
                }
                Ok(list.finish()?)
            }
        }
    }

    fn write_view(&self, list: &mut ElementListWriter<'_, '_>, view: View<'_>) -> Outcome {
        const NAME: &str = ":ViewData";
        list.put(":ViewType", Primitive::Uint(view.view_type.into()))?;
        if view.view_type == 2 {
            return write_names(list, NAME, view.wanted, "View");
        }
        let mut items = list.slot(NAME, DataType::ARRAY)?.array(DataType::INT, 0)?;
        for wanted in view.wanted.items() {
            let field_id = match wanted.kind() {
                // A field that nobody knows is one that no record has.
                Kind::String => self.field_id(&string(wanted, "View")?),
                _ => Some(int(wanted, "View")?),
            };
            if let Some(field_id) = field_id {
                items.put(Primitive::Int(field_id.into()))?;
            }
        }
        Ok(items.finish()?)
    }

    /// Reads a message and gives it to `then`, with what its payload is to be.
    pub(super) fn with_msg(
        &self,
        message: &Object<'_>,
        then: &mut dyn FnMut(&Msg<'_>, &Payload<'_>) -> Outcome,
    ) -> Outcome {
        let class = match message.get(Member::Type) {
            Some(name) => {
                let code = code(name, "Type", names::class::code)?;
                // The wire has spare bits in the class, JSON has none.
                let class = MsgClass::from_code(code).filter(|class| class.code() == code);
                class.ok_or_else(|| Refusal::unexpected(&name, "Type"))?
            }
            None => MsgClass::Request,
        };
        self.check_members(message, Member::is_of_message)?;
        let common = self.common(message, class)?;
        let payload = message
            .content()?
            .map_or(Payload::None, |(data_type, value)| Payload::Container(data_type, value));
        match class {
            MsgClass::Request => self.request(message, &common, payload, then),
            MsgClass::Refresh => self.refresh(message, &common, &payload, then),
            MsgClass::Status => self.status(message, &common, &payload, then),
            MsgClass::Update => update(message, &common, &payload, then),
            MsgClass::Close => close(message, &common, payload, then),
            MsgClass::Ack => ack(message, &common, &payload, then),
            MsgClass::Generic => generic(message, &common, &payload, then),
            MsgClass::Post => post(message, &common, &payload, then),
        }
    }

    fn common<'t>(&self, message: &Object<'t>, class: MsgClass) -> Result<Common<'t, '_>, Refusal> {
        let id = message.required(Member::Id, None)?;
        let stream_id = match class {
            MsgClass::Close if id.kind() == Kind::Array => {
                id.items().next().map_or(Ok(0), |first| int(first, "ID"))?
            }
            _ => int(id, "ID")?,
        };
        let domain = match message.get(Member::Domain) {
            Some(value) => match code(value, "Domain", names::domain::code)? {
                0 => return Err(Refusal::unexpected(&value, "Domain")),
                code => Domain(code),
            },
            None => Domain::MARKET_PRICE,
        };
        let key = match message.get(Member::Key) {
            Some(key) => Some(self.key(key, domain, class)?),
            None => None,
        };
        Ok(Common {
            domain,
            stream_id,
            key,
            extended_header: base64_member(message, Member::ExtHdr, self.spare)?,
            perm_data: base64_member(message, Member::PermData, self.spare)?,
        })
    }

    fn key<'t>(
        &self,
        value: Value<'t>,
        domain: Domain,
        class: MsgClass,
    ) -> Result<ReadKey<'t, '_>, Refusal> {
        use Member::{Elements, Filter, Identifier, Name, NameType, Service};

        let key = Object::new(object(value, "Key")?);
        self.check_members(&key, |member| {
            matches!(member, Service | NameType | Name | Filter | Identifier | Elements)
        })?;
        let by_name = |name: &str| {
            names::login_name_type::code(name).or_else(|| names::item_name_type::code(name))
        };
        let name_type = code_member(&key, NameType, 1, by_name)?;
        let (mut name, mut batch) = (None, None);
        match key.get(Name) {
            None => {}
            Some(value) => match value.kind() {
                Kind::Array if class == MsgClass::Request => batch = Some(value),
                Kind::Null => name = Some(Cow::Borrowed(&b"\0"[..])),
                _ => name = Some(string_bytes(value, "Name")?),
            },
        }
        if name.is_none() && batch.is_none() && matches!(name_type, 4 | 5) {
            // The name type has no place in a key without a name.
            name = Some(Cow::Borrowed(b"\0"));
        }
        Ok(ReadKey {
            service_id: self.service(&key, domain, class)?,
            name,
            name_type,
            filter: int_member(&key, Filter)?,
            identifier: int_member(&key, Identifier)?,
            attrib: key.get(Elements).map(|elements| self.attributes(elements)).transpose()?,
            batch,
        })
    }

    fn attributes(&self, elements: Value<'_>) -> Result<Lent<'_>, Refusal> {
        // Attributes are encoded on their own, and perhaps once more into a
        // larger buffer. A message inside them that had some too would double
        // the work with each level.
        if self.is_in_attributes {
            return Err(EncodeError::Depth.into());
        }
        let reader = Reader { is_in_attributes: true, ..*self };
        let mut bytes = self.spare.lend();
        let len = encode(bytes.vec(), self.options.limits.rwf_bytes, |encoder| {
            reader.element_list(elements, encoder.container(DataType::ELEMENT_LIST))
        })?;
        bytes.vec().truncate(len);
        Ok(bytes)
    }

    fn service(
        &self,
        key: &Object<'_>,
        domain: Domain,
        class: MsgClass,
    ) -> Result<Option<u16>, Refusal> {
        let Some(service) = key.get(Member::Service) else {
            let has_default = !matches!(domain, Domain::LOGIN | Domain::SOURCE)
                && matches!(class, MsgClass::Request | MsgClass::Post);
            let default = self.options.default_service.or_else(|| self.services.default_id());
            return Ok(default.filter(|_| has_default));
        };
        let Some(name) = service.string() else { return int(service, "Service").map(Some) };
        match self.services.id(&name) {
            Some(id) => Ok(Some(id)),
            None => {
                let name = super::shortened(&name);
                Err(Refusal::at(&service, Fault::UnknownService { name }))
            }
        }
    }

    fn request(
        &self,
        message: &Object<'_>,
        common: &Common<'_, '_>,
        payload: Payload<'_>,
        then: &mut dyn FnMut(&Msg<'_>, &Payload<'_>) -> Outcome,
    ) -> Outcome {
        let key = common.key.as_ref().ok_or_else(|| Refusal::missing("Key", None))?;
        let mut msg = RequestMsg::new(common.domain, common.stream_id);
        msg.key = key.as_key();
        msg.extended_header = common.extended_header.as_deref();
        for (member, default, flag, set_if) in [
            (Member::Streaming, true, RequestFlags::STREAMING, true),
            (Member::KeyInUpdates, true, RequestFlags::MSG_KEY_IN_UPDATES, true),
            (Member::ConfInfoInUpdates, false, RequestFlags::CONF_INFO_IN_UPDATES, true),
            (Member::Refresh, true, RequestFlags::NO_REFRESH, false),
            (Member::Private, false, RequestFlags::PRIVATE_STREAM, true),
            (Member::Pause, false, RequestFlags::PAUSE, true),
            (Member::Qualified, false, RequestFlags::QUALIFIED_STREAM, true),
        ] {
            msg.flags.set(flag, switch(message, member, default)? == set_if);
        }
        if let Some(priority) = message.get(Member::Priority) {
            let priority = Object::new(object(priority, "Priority")?);
            self.check_members(&priority, |member| {
                matches!(member, Member::Class | Member::Count)
            })?;
            msg.priority = Some(Priority {
                class: required_int(&priority, Member::Class, "Priority")?,
                count: required_int(&priority, Member::Count, "Priority")?,
            });
        }
        (msg.qos, msg.worst_qos) = (self.qos_member(message)?, None);
        if let Some(worst) = message.get(Member::WorstQos) {
            msg.worst_qos = Some(self.qos(worst, "WorstQos")?);
        }
        if self.options.default_dynamic_qos && msg.qos.is_none() {
            msg.qos = Some(Qos { dynamic: true, ..Qos::REALTIME_TICK_BY_TICK });
            msg.worst_qos = Some(WORST_QOS);
        }
        let view = view(message)?;
        msg.flags.set(RequestFlags::HAS_VIEW, view.is_some());
        msg.flags.set(RequestFlags::HAS_BATCH, key.batch.is_some());
        let payload = match (key.batch, view) {
            (None, None) => payload,
            (batch, view) => Payload::Request { batch, view },
        };
        then(&msg.into(), &payload)
    }

    /// The key is `Qos`; some pages of the vendor's document spell it `QOS`.
    fn qos_member(&self, message: &Object<'_>) -> Result<Option<Qos>, Refusal> {
        let qos = message.get(Member::Qos).or_else(|| message.get(Member::QosInCapitals));
        qos.map(|qos| self.qos(qos, "Qos")).transpose()
    }

    fn refresh(
        &self,
        message: &Object<'_>,
        common: &Common<'_, '_>,
        payload: &Payload<'_>,
        then: &mut dyn FnMut(&Msg<'_>, &Payload<'_>) -> Outcome,
    ) -> Outcome {
        let state = match message.get(Member::State) {
            Some(state) => self.state(state, "State")?,
            None => ReadState::OPEN_OK,
        };
        let mut msg = RefreshMsg::new(common.domain, common.stream_id);
        for (member, default, flag) in [
            (Member::Solicited, true, RefreshFlags::SOLICITED),
            (Member::Complete, true, RefreshFlags::REFRESH_COMPLETE),
            (Member::ClearCache, true, RefreshFlags::CLEAR_CACHE),
            (Member::DoNotCache, false, RefreshFlags::DO_NOT_CACHE),
            (Member::Private, false, RefreshFlags::PRIVATE_STREAM),
            (Member::Qualified, false, RefreshFlags::QUALIFIED_STREAM),
        ] {
            msg.flags.set(flag, switch(message, member, default)?);
        }
        msg.state = state.as_state();
        msg.qos = self.qos_member(message)?;
        msg.key = common.key.as_ref().map(ReadKey::as_key);
        msg.extended_header = common.extended_header.as_deref();
        msg.perm_data = common.perm_data.as_deref();
        msg.seq_num = int_member(message, Member::SeqNumber)?;
        msg.part_num = int_member(message, Member::PartNumber)?;
        msg.post_user_info = post_user_info(message)?;
        then(&msg.into(), payload)
    }

    fn status(
        &self,
        message: &Object<'_>,
        common: &Common<'_, '_>,
        payload: &Payload<'_>,
        then: &mut dyn FnMut(&Msg<'_>, &Payload<'_>) -> Outcome,
    ) -> Outcome {
        let state =
            message.get(Member::State).map(|state| self.state(state, "State")).transpose()?;
        let mut msg = StatusMsg::new(common.domain, common.stream_id);
        for (member, flag) in [
            (Member::ClearCache, StatusFlags::CLEAR_CACHE),
            (Member::Private, StatusFlags::PRIVATE_STREAM),
            (Member::Qualified, StatusFlags::QUALIFIED_STREAM),
        ] {
            msg.flags.set(flag, switch(message, member, false)?);
        }
        msg.state = state.as_ref().map(ReadState::as_state);
        msg.key = common.key.as_ref().map(ReadKey::as_key);
        msg.extended_header = common.extended_header.as_deref();
        msg.perm_data = common.perm_data.as_deref();
        msg.post_user_info = post_user_info(message)?;
        then(&msg.into(), payload)
    }
}

/// The worst quality that a request without one takes, where that is wanted.
const WORST_QOS: Qos = Qos {
    timeliness: Timeliness::DELAYED_UNKNOWN,
    rate: Rate::TIME_CONFLATED,
    dynamic: false,
    time_info_s: 0,
    rate_info_ms: u16::MAX,
};

fn view<'t>(message: &Object<'t>) -> Result<Option<View<'t>>, Refusal> {
    let Some(wanted) = message.get(Member::View) else { return Ok(None) };
    if wanted.kind() != Kind::Array {
        return Err(wrong_kind(&wanted, "View", TokenKind::Array));
    }
    // A view without a type is one of fields.
    let view_type = code_member(message, Member::ViewType, 1, names::view_type::code)?;
    if !matches!(view_type, 1 | 2) {
        return Err(Refusal::unexpected(
            &message.get(Member::ViewType).unwrap_or(wanted),
            "ViewType",
        ));
    }
    Ok(Some(View { view_type, wanted }))
}

/// Names in an array are UTF-8, as the names that are alone in a key and those
/// of elements: whoever asks for an item in a batch means the same item.
fn write_names(
    list: &mut ElementListWriter<'_, '_>,
    element: &str,
    names: Value<'_>,
    key: &str,
) -> Outcome {
    let mut items = list.slot(element, DataType::ARRAY)?.array(DataType::ASCII_STRING, 0)?;
    for name in names.items() {
        items.put(Primitive::Ascii(&string_bytes(name, key)?))?;
    }
    Ok(items.finish()?)
}

fn update(
    message: &Object<'_>,
    common: &Common<'_, '_>,
    payload: &Payload<'_>,
    then: &mut dyn FnMut(&Msg<'_>, &Payload<'_>) -> Outcome,
) -> Outcome {
    const INFO: &str = "ConflationInfo";
    let mut msg = UpdateMsg::new(common.domain, common.stream_id);
    for (member, flag) in [
        (Member::DoNotCache, UpdateFlags::DO_NOT_CACHE),
        (Member::DoNotConflate, UpdateFlags::DO_NOT_CONFLATE),
        (Member::DoNotRipple, UpdateFlags::DO_NOT_RIPPLE),
        (Member::Discardable, UpdateFlags::DISCARDABLE),
    ] {
        msg.flags.set(flag, switch(message, member, false)?);
    }
    msg.update_type =
        UpdateType(code_member(message, Member::UpdateType, 0, names::update_type::code)?);
    if let Some(info) = message.get(Member::ConflationInfo) {
        let info = Object::new(object(info, INFO)?);
        msg.conflation = Some(Conflation {
            count: required_int(&info, Member::Count, INFO)?,
            time_ms: required_int(&info, Member::Time, INFO)?,
        });
    }
    msg.key = common.key.as_ref().map(ReadKey::as_key);
    msg.extended_header = common.extended_header.as_deref();
    msg.perm_data = common.perm_data.as_deref();
    msg.seq_num = int_member(message, Member::SeqNumber)?;
    msg.post_user_info = post_user_info(message)?;
    then(&msg.into(), payload)
}

fn close(
    message: &Object<'_>,
    common: &Common<'_, '_>,
    payload: Payload<'_>,
    then: &mut dyn FnMut(&Msg<'_>, &Payload<'_>) -> Outcome,
) -> Outcome {
    let mut msg = CloseMsg::new(common.domain, common.stream_id);
    msg.flags.set(CloseFlags::ACK, switch(message, Member::Ack, false)?);
    msg.extended_header = common.extended_header.as_deref();
    let payload = match message.get(Member::Id).filter(|id| id.kind() == Kind::Array) {
        Some(ids) => Payload::Close(ids),
        None => payload,
    };
    then(&msg.into(), &payload)
}

fn ack(
    message: &Object<'_>,
    common: &Common<'_, '_>,
    payload: &Payload<'_>,
    then: &mut dyn FnMut(&Msg<'_>, &Payload<'_>) -> Outcome,
) -> Outcome {
    let text = message.get(Member::Text).map(|text| string(text, "Text")).transpose()?;
    let mut msg = AckMsg::new(common.domain, common.stream_id);
    for (member, flag) in [
        (Member::Private, AckFlags::PRIVATE_STREAM),
        (Member::Qualified, AckFlags::QUALIFIED_STREAM),
    ] {
        msg.flags.set(flag, switch(message, member, false)?);
    }
    msg.ack_id = int_member(message, Member::AckId)?.unwrap_or(0);
    let nak_code = NakCode(code_member(message, Member::NakCode, 0, names::nak_code::code)?);
    // Some clients take any code for a refusal, also the one that says none.
    msg.nak_code = (nak_code != NakCode::NONE).then_some(nak_code);
    msg.text = text.as_deref().map(str::as_bytes);
    msg.key = common.key.as_ref().map(ReadKey::as_key);
    msg.extended_header = common.extended_header.as_deref();
    msg.seq_num = int_member(message, Member::SeqNumber)?;
    then(&msg.into(), payload)
}

fn generic(
    message: &Object<'_>,
    common: &Common<'_, '_>,
    payload: &Payload<'_>,
    then: &mut dyn FnMut(&Msg<'_>, &Payload<'_>) -> Outcome,
) -> Outcome {
    let mut msg = GenericMsg::new(common.domain, common.stream_id);
    msg.flags.set(GenericFlags::MESSAGE_COMPLETE, switch(message, Member::Complete, true)?);
    msg.flags.set(GenericFlags::PROVIDER_DRIVEN, switch(message, Member::ProviderDriven, false)?);
    msg.key = common.key.as_ref().map(ReadKey::as_key);
    msg.extended_header = common.extended_header.as_deref();
    msg.perm_data = common.perm_data.as_deref();
    msg.seq_num = int_member(message, Member::SeqNumber)?;
    msg.secondary_seq_num = int_member(message, Member::SecSeqNumber)?;
    msg.part_num = int_member(message, Member::PartNumber)?;
    then(&msg.into(), payload)
}

fn post(
    message: &Object<'_>,
    common: &Common<'_, '_>,
    payload: &Payload<'_>,
    then: &mut dyn FnMut(&Msg<'_>, &Payload<'_>) -> Outcome,
) -> Outcome {
    let mut msg = PostMsg::new(common.domain, common.stream_id);
    msg.flags.set(PostFlags::POST_COMPLETE, switch(message, Member::Complete, true)?);
    msg.flags.set(PostFlags::ACK, switch(message, Member::Ack, false)?);
    msg.post_user_info = post_user_info(message)?.unwrap_or_default();
    msg.post_id = int_member(message, Member::PostId)?;
    msg.key = common.key.as_ref().map(ReadKey::as_key);
    msg.extended_header = common.extended_header.as_deref();
    msg.perm_data = common.perm_data.as_deref();
    msg.seq_num = int_member(message, Member::SeqNumber)?;
    msg.part_num = int_member(message, Member::PartNumber)?;
    msg.user_rights =
        int_member(message, Member::PostUserRights)?.map(PostUserRights::from_bits_retain);
    then(&msg.into(), payload)
}
