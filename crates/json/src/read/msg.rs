//! Messages.

use std::borrow::Cow;

use tapeline_rwf::{
    AckFlags, AckMsg, CloseFlags, CloseMsg, Conflation, DataType, Domain, ElementListHead,
    ElementListWriter, EncodeError, Encoded, Encoder, GenericFlags, GenericMsg, Msg, MsgClass,
    MsgKey, NakCode, PostFlags, PostMsg, PostUserRights, Primitive, Priority, Qos, Rate,
    RefreshFlags, RefreshMsg, RequestFlags, RequestMsg, Slot, StatusFlags, StatusMsg, Timeliness,
    UpdateFlags, UpdateMsg, UpdateType,
};

use super::code::{code, code_member, int, int_member, object, required_int, switch, wrong_kind};
use super::container::content;
use super::parts::{ReadState, post_user_info};
use super::text::{ascii_bytes, base64_member, string};
use super::{Outcome, Reader, Refusal, encode};
use crate::error::{Fault, TokenKind};
use crate::names;
use crate::tape::{Kind, Value};

/// The keys of all classes, for when unknown ones are caught.
const MESSAGE_KEYS: [&str; 54] = [
    "ID",
    "Type",
    "Domain",
    "Key",
    "ReqKey",
    "Streaming",
    "Priority",
    "KeyInUpdates",
    "ConfInfoInUpdates",
    "Refresh",
    "Qos",
    "QOS",
    "WorstQos",
    "Private",
    "Qualified",
    "Pause",
    "ExtHdr",
    "ViewType",
    "View",
    "State",
    "Complete",
    "ClearCache",
    "DoNotCache",
    "PostUserInfo",
    "PartNumber",
    "PermData",
    "SeqNumber",
    "Solicited",
    "UpdateType",
    "DoNotConflate",
    "DoNotRipple",
    "Discardable",
    "ConflationInfo",
    "SecSeqNumber",
    "ProviderDriven",
    "PostID",
    "Ack",
    "PostUserRights",
    "AckID",
    "NakCode",
    "Text",
    "Fields",
    "FieldList",
    "Elements",
    "ElementList",
    "FilterList",
    "Map",
    "Vector",
    "Series",
    "Message",
    "Opaque",
    "Xml",
    "Json",
    "AnsiPage",
];

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
struct Common<'t> {
    domain: Domain,
    stream_id: i32,
    key: Option<ReadKey<'t>>,
    extended_header: Option<Vec<u8>>,
    perm_data: Option<Vec<u8>>,
}

struct ReadKey<'t> {
    service_id: Option<u16>,
    name: Option<Cow<'t, [u8]>>,
    name_type: u8,
    filter: Option<u32>,
    identifier: Option<i32>,
    attrib: Option<Vec<u8>>,
    /// The names of a batch.
    batch: Option<Value<'t>>,
}

impl ReadKey<'_> {
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
    pub(super) fn message(&self, message: Value<'_>, encoder: &mut Encoder<'_>) -> Outcome {
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
            let field_id = match wanted.string() {
                // A field that nobody knows is one that no record has.
                Some(name) => self.field_id(&name),
                None => Some(int(wanted, "View")?),
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
        message: Value<'_>,
        then: &mut dyn FnMut(&Msg<'_>, &Payload<'_>) -> Outcome,
    ) -> Outcome {
        let class = match message.get("Type") {
            Some(name) => {
                let code = code(name, "Type", names::class::code)?;
                // The wire has spare bits in the class, JSON has none.
                let class = MsgClass::from_code(code).filter(|class| class.code() == code);
                class.ok_or_else(|| Refusal::unexpected(&name, "Type"))?
            }
            None => MsgClass::Request,
        };
        self.check_keys(message, &MESSAGE_KEYS)?;
        let common = self.common(message, class)?;
        let content = content(message)?;
        let payload = content
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

    fn common<'t>(&self, message: Value<'t>, class: MsgClass) -> Result<Common<'t>, Refusal> {
        let id = message.get("ID").ok_or(Refusal::missing("ID", None))?;
        let stream_id = match class {
            MsgClass::Close if id.kind() == Kind::Array => {
                id.items().next().map_or(Ok(0), |first| int(first, "ID"))?
            }
            _ => int(id, "ID")?,
        };
        let domain = match message.get("Domain") {
            Some(value) => match code(value, "Domain", names::domain::code)? {
                0 => return Err(Refusal::unexpected(&value, "Domain")),
                code => Domain(code),
            },
            None => Domain::MARKET_PRICE,
        };
        let key = match message.get("Key") {
            Some(key) => Some(self.key(key, domain, class)?),
            None => None,
        };
        Ok(Common {
            domain,
            stream_id,
            key,
            extended_header: base64_member(message, "ExtHdr")?,
            perm_data: base64_member(message, "PermData")?,
        })
    }

    fn key<'t>(
        &self,
        value: Value<'t>,
        domain: Domain,
        class: MsgClass,
    ) -> Result<ReadKey<'t>, Refusal> {
        let key = object(value, "Key")?;
        let known = ["Service", "NameType", "Name", "Filter", "Identifier", "Elements"];
        self.check_keys(key, &known)?;
        let by_name = |name: &str| {
            names::login_name_type::code(name).or_else(|| names::item_name_type::code(name))
        };
        let name_type = code_member(key, "NameType", 1, by_name)?;
        let (mut name, mut batch) = (None, None);
        match key.get("Name") {
            None => {}
            Some(value) => match value.kind() {
                Kind::Array if class == MsgClass::Request => batch = Some(value),
                Kind::Null => name = Some(Cow::Borrowed(&b"\0"[..])),
                _ => {
                    name = Some(match string(value, "Name")? {
                        Cow::Borrowed(name) => Cow::Borrowed(name.as_bytes()),
                        Cow::Owned(name) => Cow::Owned(name.into_bytes()),
                    });
                }
            },
        }
        if name.is_none() && batch.is_none() && matches!(name_type, 4 | 5) {
            // The name type has no place in a key without a name.
            name = Some(Cow::Borrowed(b"\0"));
        }
        Ok(ReadKey {
            service_id: self.service(key, domain, class)?,
            name,
            name_type,
            filter: int_member(key, "Filter")?,
            identifier: int_member(key, "Identifier")?,
            attrib: key.get("Elements").map(|elements| self.attributes(elements)).transpose()?,
            batch,
        })
    }

    fn attributes(&self, elements: Value<'_>) -> Result<Vec<u8>, Refusal> {
        // Attributes are encoded on their own, and perhaps once more into a
        // larger buffer. A message inside them that had some too would double
        // the work with each level.
        if self.is_in_attributes {
            return Err(EncodeError::Depth.into());
        }
        let reader = Reader { is_in_attributes: true, ..*self };
        let mut bytes = Vec::new();
        let len = encode(&mut bytes, self.options.limits.rwf_bytes, |encoder| {
            reader.element_list(elements, encoder.container(DataType::ELEMENT_LIST))
        })?;
        bytes.truncate(len);
        Ok(bytes)
    }

    fn service(
        &self,
        key: Value<'_>,
        domain: Domain,
        class: MsgClass,
    ) -> Result<Option<u16>, Refusal> {
        let Some(service) = key.get("Service") else {
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
        message: Value<'_>,
        common: &Common<'_>,
        payload: Payload<'_>,
        then: &mut dyn FnMut(&Msg<'_>, &Payload<'_>) -> Outcome,
    ) -> Outcome {
        let key = common.key.as_ref().ok_or(Refusal::missing("Key", None))?;
        let mut msg = RequestMsg::new(common.domain, common.stream_id);
        msg.key = key.as_key();
        msg.extended_header = common.extended_header.as_deref();
        for (name, default, flag, set_if) in [
            ("Streaming", true, RequestFlags::STREAMING, true),
            ("KeyInUpdates", true, RequestFlags::MSG_KEY_IN_UPDATES, true),
            ("ConfInfoInUpdates", false, RequestFlags::CONF_INFO_IN_UPDATES, true),
            ("Refresh", true, RequestFlags::NO_REFRESH, false),
            ("Private", false, RequestFlags::PRIVATE_STREAM, true),
            ("Pause", false, RequestFlags::PAUSE, true),
            ("Qualified", false, RequestFlags::QUALIFIED_STREAM, true),
        ] {
            msg.flags.set(flag, switch(message, name, default)? == set_if);
        }
        if let Some(priority) = message.get("Priority") {
            let priority = object(priority, "Priority")?;
            self.check_keys(priority, &["Class", "Count"])?;
            msg.priority = Some(Priority {
                class: required_int(priority, "Class", "Priority")?,
                count: required_int(priority, "Count", "Priority")?,
            });
        }
        (msg.qos, msg.worst_qos) = (self.qos_member(message)?, None);
        if let Some(worst) = message.get("WorstQos") {
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
    fn qos_member(&self, message: Value<'_>) -> Result<Option<Qos>, Refusal> {
        let qos = message.get("Qos").or_else(|| message.get("QOS"));
        qos.map(|qos| self.qos(qos, "Qos")).transpose()
    }

    fn refresh(
        &self,
        message: Value<'_>,
        common: &Common<'_>,
        payload: &Payload<'_>,
        then: &mut dyn FnMut(&Msg<'_>, &Payload<'_>) -> Outcome,
    ) -> Outcome {
        let state = match message.get("State") {
            Some(state) => self.state(state, "State")?,
            None => ReadState::OPEN_OK,
        };
        let mut msg = RefreshMsg::new(common.domain, common.stream_id);
        for (name, default, flag) in [
            ("Solicited", true, RefreshFlags::SOLICITED),
            ("Complete", true, RefreshFlags::REFRESH_COMPLETE),
            ("ClearCache", true, RefreshFlags::CLEAR_CACHE),
            ("DoNotCache", false, RefreshFlags::DO_NOT_CACHE),
            ("Private", false, RefreshFlags::PRIVATE_STREAM),
            ("Qualified", false, RefreshFlags::QUALIFIED_STREAM),
        ] {
            msg.flags.set(flag, switch(message, name, default)?);
        }
        msg.state = state.as_state();
        msg.qos = self.qos_member(message)?;
        msg.key = common.key.as_ref().map(ReadKey::as_key);
        msg.extended_header = common.extended_header.as_deref();
        msg.perm_data = common.perm_data.as_deref();
        msg.seq_num = int_member(message, "SeqNumber")?;
        msg.part_num = int_member(message, "PartNumber")?;
        msg.post_user_info = post_user_info(message)?;
        then(&msg.into(), payload)
    }

    fn status(
        &self,
        message: Value<'_>,
        common: &Common<'_>,
        payload: &Payload<'_>,
        then: &mut dyn FnMut(&Msg<'_>, &Payload<'_>) -> Outcome,
    ) -> Outcome {
        let state = message.get("State").map(|state| self.state(state, "State")).transpose()?;
        let mut msg = StatusMsg::new(common.domain, common.stream_id);
        for (name, flag) in [
            ("ClearCache", StatusFlags::CLEAR_CACHE),
            ("Private", StatusFlags::PRIVATE_STREAM),
            ("Qualified", StatusFlags::QUALIFIED_STREAM),
        ] {
            msg.flags.set(flag, switch(message, name, false)?);
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

fn view(message: Value<'_>) -> Result<Option<View<'_>>, Refusal> {
    let Some(wanted) = message.get("View") else { return Ok(None) };
    if wanted.kind() != Kind::Array {
        return Err(wrong_kind(&wanted, "View", TokenKind::Array));
    }
    // A view without a type is one of fields.
    let view_type = code_member(message, "ViewType", 1, names::view_type::code)?;
    if !matches!(view_type, 1 | 2) {
        return Err(Refusal::unexpected(&message.get("ViewType").unwrap_or(wanted), "ViewType"));
    }
    Ok(Some(View { view_type, wanted }))
}

fn write_names(
    list: &mut ElementListWriter<'_, '_>,
    element: &str,
    names: Value<'_>,
    key: &str,
) -> Outcome {
    let mut items = list.slot(element, DataType::ARRAY)?.array(DataType::ASCII_STRING, 0)?;
    for name in names.items() {
        items.put(Primitive::Ascii(&ascii_bytes(&string(name, key)?)))?;
    }
    Ok(items.finish()?)
}

fn update(
    message: Value<'_>,
    common: &Common<'_>,
    payload: &Payload<'_>,
    then: &mut dyn FnMut(&Msg<'_>, &Payload<'_>) -> Outcome,
) -> Outcome {
    const INFO: &str = "ConflationInfo";
    let mut msg = UpdateMsg::new(common.domain, common.stream_id);
    for (name, flag) in [
        ("DoNotCache", UpdateFlags::DO_NOT_CACHE),
        ("DoNotConflate", UpdateFlags::DO_NOT_CONFLATE),
        ("DoNotRipple", UpdateFlags::DO_NOT_RIPPLE),
        ("Discardable", UpdateFlags::DISCARDABLE),
    ] {
        msg.flags.set(flag, switch(message, name, false)?);
    }
    msg.update_type = UpdateType(code_member(message, "UpdateType", 0, names::update_type::code)?);
    if let Some(info) = message.get(INFO) {
        let info = object(info, INFO)?;
        msg.conflation = Some(Conflation {
            count: required_int(info, "Count", INFO)?,
            time_ms: required_int(info, "Time", INFO)?,
        });
    }
    msg.key = common.key.as_ref().map(ReadKey::as_key);
    msg.extended_header = common.extended_header.as_deref();
    msg.perm_data = common.perm_data.as_deref();
    msg.seq_num = int_member(message, "SeqNumber")?;
    msg.post_user_info = post_user_info(message)?;
    then(&msg.into(), payload)
}

fn close(
    message: Value<'_>,
    common: &Common<'_>,
    payload: Payload<'_>,
    then: &mut dyn FnMut(&Msg<'_>, &Payload<'_>) -> Outcome,
) -> Outcome {
    let mut msg = CloseMsg::new(common.domain, common.stream_id);
    msg.flags.set(CloseFlags::ACK, switch(message, "Ack", false)?);
    msg.extended_header = common.extended_header.as_deref();
    let payload = match message.get("ID").filter(|id| id.kind() == Kind::Array) {
        Some(ids) => Payload::Close(ids),
        None => payload,
    };
    then(&msg.into(), &payload)
}

fn ack(
    message: Value<'_>,
    common: &Common<'_>,
    payload: &Payload<'_>,
    then: &mut dyn FnMut(&Msg<'_>, &Payload<'_>) -> Outcome,
) -> Outcome {
    let text = message.get("Text").map(|text| string(text, "Text")).transpose()?;
    let mut msg = AckMsg::new(common.domain, common.stream_id);
    for (name, flag) in
        [("Private", AckFlags::PRIVATE_STREAM), ("Qualified", AckFlags::QUALIFIED_STREAM)]
    {
        msg.flags.set(flag, switch(message, name, false)?);
    }
    msg.ack_id = int_member(message, "AckID")?.unwrap_or(0);
    let nak_code = NakCode(code_member(message, "NakCode", 0, names::nak_code::code)?);
    // Some clients take any code for a refusal, also the one that says none.
    msg.nak_code = (nak_code != NakCode::NONE).then_some(nak_code);
    msg.text = text.as_deref().map(str::as_bytes);
    msg.key = common.key.as_ref().map(ReadKey::as_key);
    msg.extended_header = common.extended_header.as_deref();
    msg.seq_num = int_member(message, "SeqNumber")?;
    then(&msg.into(), payload)
}

fn generic(
    message: Value<'_>,
    common: &Common<'_>,
    payload: &Payload<'_>,
    then: &mut dyn FnMut(&Msg<'_>, &Payload<'_>) -> Outcome,
) -> Outcome {
    let mut msg = GenericMsg::new(common.domain, common.stream_id);
    msg.flags.set(GenericFlags::MESSAGE_COMPLETE, switch(message, "Complete", true)?);
    msg.flags.set(GenericFlags::PROVIDER_DRIVEN, switch(message, "ProviderDriven", false)?);
    msg.key = common.key.as_ref().map(ReadKey::as_key);
    msg.extended_header = common.extended_header.as_deref();
    msg.perm_data = common.perm_data.as_deref();
    msg.seq_num = int_member(message, "SeqNumber")?;
    msg.secondary_seq_num = int_member(message, "SecSeqNumber")?;
    msg.part_num = int_member(message, "PartNumber")?;
    then(&msg.into(), payload)
}

fn post(
    message: Value<'_>,
    common: &Common<'_>,
    payload: &Payload<'_>,
    then: &mut dyn FnMut(&Msg<'_>, &Payload<'_>) -> Outcome,
) -> Outcome {
    let mut msg = PostMsg::new(common.domain, common.stream_id);
    msg.flags.set(PostFlags::POST_COMPLETE, switch(message, "Complete", true)?);
    msg.flags.set(PostFlags::ACK, switch(message, "Ack", false)?);
    msg.post_user_info = post_user_info(message)?.unwrap_or_default();
    msg.post_id = int_member(message, "PostID")?;
    msg.key = common.key.as_ref().map(ReadKey::as_key);
    msg.extended_header = common.extended_header.as_deref();
    msg.perm_data = common.perm_data.as_deref();
    msg.seq_num = int_member(message, "SeqNumber")?;
    msg.part_num = int_member(message, "PartNumber")?;
    msg.user_rights = int_member(message, "PostUserRights")?.map(PostUserRights::from_bits_retain);
    then(&msg.into(), payload)
}
