//! Messages: the parts of each class in the order of the vendor's converters.

use tapeline_rwf::{
    AckFlags, AckMsg, CloseFlags, CloseMsg, DataType, Domain, Encoded, GenericFlags, GenericMsg,
    Msg, MsgKey, NakCode, PostFlags, PostMsg, PostUserInfo, Qos, RefreshFlags, RefreshMsg,
    RequestFlags, RequestMsg, SetDefs, State, StatusFlags, StatusMsg, UpdateFlags, UpdateMsg,
};

use super::Writer;
use super::number::{push_int, push_uint};
use super::text::{push_header, push_str};
use crate::error::WriteError;
use crate::names;

/// Elements of a request or close that have keys of their own in JSON.
const ITEM_LIST: &str = ":ItemList";
const VIEW_TYPE: &str = ":ViewType";
const VIEW_DATA: &str = ":ViewData";
const STREAM_ID_LIST: &str = ":StreamIdList";

impl Writer<'_> {
    /// A message.
    pub(super) fn msg(&mut self, msg: &Msg<'_>) -> Result<(), WriteError> {
        self.raw(b"{\"ID\":");
        match stream_ids(msg)? {
            Some(list) => self.primitive_items(&list)?,
            None => {
                push_int(self.out, msg.stream_id().into());
                self.comma();
            }
        }
        self.msg_body(msg)
    }

    /// A message from behind its `ID` to its closing brace.
    pub(super) fn msg_body(&mut self, msg: &Msg<'_>) -> Result<(), WriteError> {
        let code = msg.class().code();
        self.named(b"\"Type\":", names::class::quoted(code), code);
        if msg.domain() != Domain::MARKET_PRICE {
            let domain = msg.domain().0;
            self.named(b"\"Domain\":", names::domain::quoted(domain), domain);
        }
        match msg {
            Msg::Request(msg) => self.request(msg)?,
            Msg::Refresh(msg) => self.refresh(msg)?,
            Msg::Status(msg) => self.status(msg)?,
            Msg::Update(msg) => self.update(msg)?,
            Msg::Close(msg) => self.close_msg(msg)?,
            Msg::Ack(msg) => self.ack(msg)?,
            Msg::Generic(msg) => self.generic(msg)?,
            Msg::Post(msg) => self.post(msg)?,
        }
        self.close(b'}');
        // The comma that closing an object leaves.
        self.out.pop();
        Ok(())
    }

    fn request(&mut self, msg: &RequestMsg<'_>) -> Result<(), WriteError> {
        let has = |flag| msg.flags.contains(flag);
        self.flag(!has(RequestFlags::STREAMING), b"\"Streaming\":false");
        if let Some(priority) = msg.priority {
            self.uint(b"\"Priority\":{\"Class\":", priority.class);
            self.uint(b"\"Count\":", priority.count);
            self.close(b'}');
        }
        // Without updates there is nothing that the key could be in.
        let no_key = RequestFlags::MSG_KEY_IN_UPDATES | RequestFlags::STREAMING;
        let no_key = msg.flags & no_key == RequestFlags::STREAMING;
        self.flag(no_key, b"\"KeyInUpdates\":false");
        self.flag(has(RequestFlags::CONF_INFO_IN_UPDATES), b"\"ConfInfoInUpdates\":true");
        self.flag(has(RequestFlags::NO_REFRESH), b"\"Refresh\":false");
        self.qos_member(b"\"Qos\":", msg.qos.as_ref());
        self.qos_member(b"\"WorstQos\":", msg.worst_qos.as_ref());
        self.flag(has(RequestFlags::PRIVATE_STREAM), b"\"Private\":true");
        self.flag(has(RequestFlags::QUALIFIED_STREAM), b"\"Qualified\":true");
        self.flag(has(RequestFlags::PAUSE), b"\"Pause\":true");
        self.ext_hdr(msg.extended_header);
        let batch = match has(RequestFlags::HAS_BATCH) {
            true => element(&msg.payload, ITEM_LIST)?,
            false => None,
        };
        self.key(msg.domain, &msg.key, batch.as_ref())?;
        if has(RequestFlags::HAS_VIEW) {
            return self.view(&msg.payload);
        }
        match batch {
            Some(_) => Ok(()),
            None => self.payload(&msg.payload),
        }
    }

    fn view(&mut self, payload: &Encoded<'_>) -> Result<(), WriteError> {
        if payload.data_type() != DataType::ELEMENT_LIST {
            return Ok(());
        }
        let elements = payload.element_list()?;
        if let Some(view_type) = elements.element(VIEW_TYPE)?
            && let Some(code) = view_type.value.uint()?
        {
            let code = u8::try_from(code).unwrap_or(u8::MAX);
            self.named(b"\"ViewType\":", names::view_type::quoted(code), code);
        }
        if let Some(view) = elements.element(VIEW_DATA)? {
            self.raw(b"\"View\":");
            self.names(&view.value)?;
        }
        Ok(())
    }

    fn refresh(&mut self, msg: &RefreshMsg<'_>) -> Result<(), WriteError> {
        let has = |flag| msg.flags.contains(flag);
        self.key_member(msg.domain, msg.key.as_ref())?;
        self.state_member(Some(&msg.state));
        self.ext_hdr(msg.extended_header);
        self.flag(!has(RefreshFlags::REFRESH_COMPLETE), b"\"Complete\":false");
        self.qos_member(b"\"Qos\":", msg.qos.as_ref());
        self.flag(!has(RefreshFlags::CLEAR_CACHE), b"\"ClearCache\":false");
        self.flag(has(RefreshFlags::DO_NOT_CACHE), b"\"DoNotCache\":true");
        self.flag(has(RefreshFlags::PRIVATE_STREAM), b"\"Private\":true");
        self.flag(has(RefreshFlags::QUALIFIED_STREAM), b"\"Qualified\":true");
        self.post_user_info(msg.post_user_info);
        self.part_number(msg.part_num);
        self.perm_data(msg.perm_data);
        self.seq_number(msg.seq_num);
        self.flag(!has(RefreshFlags::SOLICITED), b"\"Solicited\":false");
        self.payload(&msg.payload)
    }

    fn update(&mut self, msg: &UpdateMsg<'_>) -> Result<(), WriteError> {
        let has = |flag| msg.flags.contains(flag);
        let code = msg.update_type.0;
        self.named(b"\"UpdateType\":", names::update_type::quoted(code), code);
        self.flag(has(UpdateFlags::DO_NOT_CONFLATE), b"\"DoNotConflate\":true");
        self.flag(has(UpdateFlags::DO_NOT_RIPPLE), b"\"DoNotRipple\":true");
        self.flag(has(UpdateFlags::DISCARDABLE), b"\"Discardable\":true");
        self.flag(has(UpdateFlags::DO_NOT_CACHE), b"\"DoNotCache\":true");
        self.key_member(msg.domain, msg.key.as_ref())?;
        self.post_user_info(msg.post_user_info);
        self.perm_data(msg.perm_data);
        self.seq_number(msg.seq_num);
        if let Some(conflation) = msg.conflation {
            self.uint(b"\"ConflationInfo\":{\"Count\":", conflation.count);
            self.uint(b"\"Time\":", conflation.time_ms);
            self.close(b'}');
        }
        self.ext_hdr(msg.extended_header);
        self.payload(&msg.payload)
    }

    fn status(&mut self, msg: &StatusMsg<'_>) -> Result<(), WriteError> {
        let has = |flag| msg.flags.contains(flag);
        self.key_member(msg.domain, msg.key.as_ref())?;
        self.state_member(msg.state.as_ref());
        self.flag(has(StatusFlags::CLEAR_CACHE), b"\"ClearCache\":true");
        self.flag(has(StatusFlags::PRIVATE_STREAM), b"\"Private\":true");
        self.flag(has(StatusFlags::QUALIFIED_STREAM), b"\"Qualified\":true");
        self.post_user_info(msg.post_user_info);
        self.ext_hdr(msg.extended_header);
        self.perm_data(msg.perm_data);
        self.payload(&msg.payload)
    }

    fn generic(&mut self, msg: &GenericMsg<'_>) -> Result<(), WriteError> {
        let has = |flag| msg.flags.contains(flag);
        self.key_member(msg.domain, msg.key.as_ref())?;
        self.seq_number(msg.seq_num);
        if let Some(number) = msg.secondary_seq_num {
            self.uint(b"\"SecSeqNumber\":", number);
        }
        self.part_number(msg.part_num);
        self.perm_data(msg.perm_data);
        self.ext_hdr(msg.extended_header);
        self.flag(!has(GenericFlags::MESSAGE_COMPLETE), b"\"Complete\":false");
        self.flag(has(GenericFlags::PROVIDER_DRIVEN), b"\"ProviderDriven\":true");
        self.payload(&msg.payload)
    }

    fn post(&mut self, msg: &PostMsg<'_>) -> Result<(), WriteError> {
        let has = |flag| msg.flags.contains(flag);
        self.post_user_info(Some(msg.post_user_info));
        if let Some(id) = msg.post_id {
            self.uint(b"\"PostID\":", id);
        }
        self.key_member(msg.domain, msg.key.as_ref())?;
        self.seq_number(msg.seq_num);
        self.flag(!has(PostFlags::POST_COMPLETE), b"\"Complete\":false");
        self.flag(has(PostFlags::ACK), b"\"Ack\":true");
        self.perm_data(msg.perm_data);
        self.part_number(msg.part_num);
        if let Some(rights) = msg.user_rights {
            self.uint(b"\"PostUserRights\":", rights.bits());
        }
        self.ext_hdr(msg.extended_header);
        self.payload(&msg.payload)
    }

    fn ack(&mut self, msg: &AckMsg<'_>) -> Result<(), WriteError> {
        let has = |flag| msg.flags.contains(flag);
        self.uint(b"\"AckID\":", msg.ack_id);
        // Some clients take any code for a refusal, also the one that says none.
        if let Some(code) = msg.nak_code.filter(|code| *code != NakCode::NONE) {
            self.named(b"\"NakCode\":", names::nak_code::quoted(code.0), code.0);
        }
        if let Some(text) = msg.text {
            self.raw(b"\"Text\":");
            self.string(|out| push_header(out, text));
        }
        self.flag(has(AckFlags::PRIVATE_STREAM), b"\"Private\":true");
        self.seq_number(msg.seq_num);
        self.key_member(msg.domain, msg.key.as_ref())?;
        self.ext_hdr(msg.extended_header);
        self.flag(has(AckFlags::QUALIFIED_STREAM), b"\"Qualified\":true");
        self.payload(&msg.payload)
    }

    fn close_msg(&mut self, msg: &CloseMsg<'_>) -> Result<(), WriteError> {
        self.flag(msg.flags.contains(CloseFlags::ACK), b"\"Ack\":true");
        self.ext_hdr(msg.extended_header);
        match element(&msg.payload, STREAM_ID_LIST)? {
            Some(_) => Ok(()),
            None => self.payload(&msg.payload),
        }
    }

    fn key_member(&mut self, domain: Domain, key: Option<&MsgKey<'_>>) -> Result<(), WriteError> {
        key.map_or(Ok(()), |key| self.key(domain, key, None))
    }

    /// `"Key":{..}` and the comma; the names of a batch stand in for the name.
    fn key(
        &mut self,
        domain: Domain,
        key: &MsgKey<'_>,
        batch: Option<&Encoded<'_>>,
    ) -> Result<(), WriteError> {
        self.raw(b"\"Key\":{");
        if let Some(id) = key.service_id {
            self.raw(b"\"Service\":");
            match self.services.name(id) {
                Some(name) => self.string(|out| push_str(out, name)),
                None => {
                    push_uint(self.out, id.into());
                    self.comma();
                }
            }
        }
        let name_type = key.name_type.unwrap_or(1);
        if name_type != 1 {
            let name = match domain {
                Domain::LOGIN => names::login_name_type::quoted(name_type),
                _ => names::item_name_type::quoted(name_type),
            };
            self.named(b"\"NameType\":", name, name_type);
        }
        match (batch, key.name) {
            (Some(names), _) => {
                self.raw(b"\"Name\":");
                self.names(names)?;
            }
            // A cookie or a token is in the attributes.
            (None, Some(_)) if matches!(name_type, 4 | 5) => {}
            (None, Some([] | [0])) => self.raw(b"\"Name\":null,"),
            (None, Some(name)) => {
                self.raw(b"\"Name\":");
                self.string(|out| push_header(out, name));
            }
            (None, None) => {}
        }
        if let Some(filter) = key.filter {
            self.uint(b"\"Filter\":", filter);
        }
        if let Some(identifier) = key.identifier {
            self.raw(b"\"Identifier\":");
            push_int(self.out, identifier.into());
            self.comma();
        }
        match &key.attrib {
            Some(attrib) if attrib.data_type() == DataType::ELEMENT_LIST => self.payload(attrib)?,
            // JSON has a place for elements only.
            Some(_) => *self.left_out += 1,
            None => {}
        }
        self.close(b'}');
        Ok(())
    }

    /// Names in an array and the comma: texts as a name that is alone in a key.
    fn names(&mut self, array: &Encoded<'_>) -> Result<(), WriteError> {
        let Some(array) = array.array()? else {
            self.raw(b"[],");
            return Ok(());
        };
        self.out.push(b'[');
        for item in &array {
            let item = item?;
            match item.data_type() {
                DataType::ASCII_STRING if !item.is_empty() => {
                    self.string(|out| push_header(out, item.bytes()));
                }
                _ => self.primitive(&item)?,
            }
        }
        self.close(b']');
        Ok(())
    }

    /// The items of an array and the comma; `[]` for a blank array.
    fn primitive_items(&mut self, array: &Encoded<'_>) -> Result<(), WriteError> {
        match array.array()? {
            Some(array) => self.array_items(&array)?,
            None => self.raw(b"[],"),
        }
        Ok(())
    }

    #[inline]
    fn payload(&mut self, payload: &Encoded<'_>) -> Result<(), WriteError> {
        self.keyed_container(payload, &SetDefs::NONE)
    }

    #[inline]
    fn qos_member<const N: usize>(&mut self, key: &[u8; N], qos: Option<&Qos>) {
        if let Some(qos) = qos {
            self.raw(key);
            self.qos(qos);
        }
    }

    fn state_member(&mut self, state: Option<&State<'_>>) {
        if let Some(state) = state {
            self.raw(b"\"State\":");
            self.state(state);
        }
    }

    fn ext_hdr(&mut self, bytes: Option<&[u8]>) {
        self.base64(b"\"ExtHdr\":", bytes);
    }

    fn perm_data(&mut self, bytes: Option<&[u8]>) {
        self.base64(b"\"PermData\":", bytes);
    }

    fn seq_number(&mut self, number: Option<u32>) {
        if let Some(number) = number {
            self.uint(b"\"SeqNumber\":", number);
        }
    }

    fn part_number(&mut self, number: Option<u16>) {
        if let Some(number) = number {
            self.uint(b"\"PartNumber\":", number);
        }
    }

    fn post_user_info(&mut self, info: Option<PostUserInfo>) {
        if let Some(info) = info {
            self.raw(b"\"PostUserInfo\":{\"Address\":\"");
            for (at, part) in info.address.to_be_bytes().into_iter().enumerate() {
                if at > 0 {
                    self.out.push(b'.');
                }
                push_uint(self.out, part.into());
            }
            self.raw(b"\",");
            self.uint(b"\"UserID\":", info.user_id);
            self.close(b'}');
        }
    }
}

/// The value of an element of a payload, if that is an element list with it.
fn element<'a>(payload: &Encoded<'a>, name: &str) -> Result<Option<Encoded<'a>>, WriteError> {
    if payload.data_type() != DataType::ELEMENT_LIST {
        return Ok(None);
    }
    Ok(payload.element_list()?.element(name)?.map(|entry| entry.value))
}

/// The streams that a close is for, if it is for several.
fn stream_ids<'a>(msg: &Msg<'a>) -> Result<Option<Encoded<'a>>, WriteError> {
    match msg {
        Msg::Close(close) => element(&close.payload, STREAM_ID_LIST),
        _ => Ok(None),
    }
}
