//! Values of fields, elements, arrays and map keys.

use tapeline_rwf::{Array, DataType, Encoded, Primitive, Qos, State};

use super::Writer;
use super::number::{
    push_date, push_date_time, push_float, push_int, push_real, push_time, push_uint,
};
use super::text::{push_base64, push_header, push_latin1, push_rmtes, push_utf8};
use crate::error::WriteError;
use crate::names;

impl Writer<'_> {
    /// A primitive and the comma behind it.
    ///
    /// The usual types without the way over [`Primitive`]: a value that goes
    /// through memory costs as much as all its digits.
    #[inline]
    pub(super) fn primitive(&mut self, value: &Encoded<'_>) -> Result<(), WriteError> {
        match value.data_type() {
            _ if value.is_empty() => self.raw(b"null"),
            DataType::REAL => self.or_null(value.real()?, push_real),
            DataType::UINT => self.or_null(value.uint()?, push_uint),
            DataType::INT => self.or_null(value.int()?, push_int),
            DataType::ENUM => {
                self.or_null(value.enumeration()?.map(u64::from), push_uint);
            }
            DataType::RMTES_STRING => self.quoted(|out| push_rmtes(out, value.bytes())),
            DataType::ASCII_STRING => self.quoted(|out| push_latin1(out, value.bytes())),
            _ => return self.rare_primitive(value),
        }
        self.comma();
        Ok(())
    }

    #[inline]
    fn or_null<T>(&mut self, value: Option<T>, push: impl FnOnce(&mut Vec<u8>, T)) {
        match value {
            Some(value) => push(self.out, value),
            None => self.raw(b"null"),
        }
    }

    fn rare_primitive(&mut self, value: &Encoded<'_>) -> Result<(), WriteError> {
        match value.primitive()? {
            // Of a set definition, with a length of its own.
            Primitive::Real(real) => push_real(self.out, real),
            Primitive::Uint(number) => push_uint(self.out, number),
            Primitive::Int(number) => push_int(self.out, number),
            Primitive::Float(number) => push_float(self.out, number),
            Primitive::Double(number) => push_float(self.out, number),
            Primitive::Date(date) => self.quoted(|out| push_date(out, date)),
            Primitive::Time(time) => self.quoted(|out| push_time(out, time)),
            Primitive::DateTime(at) => self.quoted(|out| push_date_time(out, at)),
            Primitive::Ascii(text) => self.quoted(|out| push_latin1(out, text)),
            Primitive::Utf8(text) => self.quoted(|out| push_utf8(out, text)),
            Primitive::Buffer(bytes) | Primitive::Other(_, bytes) => push_base64(self.out, bytes),
            Primitive::Qos(qos) => {
                self.qos(&qos);
                return Ok(());
            }
            Primitive::State(state) => {
                self.state(&state);
                return Ok(());
            }
            Primitive::Array(array) => return self.array(&array),
            // The blanks; the other variants are never rare.
            _ => self.raw(b"null"),
        }
        self.comma();
        Ok(())
    }

    /// The value of a field that is no container.
    #[inline]
    pub(super) fn field_primitive(
        &mut self,
        field_id: i16,
        value: &Encoded<'_>,
    ) -> Result<(), WriteError> {
        if value.data_type() == DataType::ENUM
            && self.options.expand_enums
            && let Some(number) = value.enumeration()?
            && let Some(display) = self.vocabulary.display(field_id, number)
        {
            display.push_to(self.out);
            self.comma();
            return Ok(());
        }
        self.primitive(value)
    }

    /// `{"Timeliness":..,"Rate":..}` and the comma.
    pub(super) fn qos(&mut self, qos: &Qos) {
        self.out.push(b'{');
        let (timeliness, rate) = (qos.timeliness.0, qos.rate.0);
        self.named(b"\"Timeliness\":", names::timeliness::quoted(timeliness), timeliness);
        self.named(b"\"Rate\":", names::rate::quoted(rate), rate);
        self.flag(qos.dynamic, b"\"Dynamic\":true");
        if timeliness > 2 {
            self.uint(b"\"TimeInfo\":", qos.time_info_s);
        }
        if rate > 2 {
            self.uint(b"\"RateInfo\":", qos.rate_info_ms);
        }
        self.close(b'}');
    }

    /// `{"Stream":..,"Data":..}` and the comma.
    pub(super) fn state(&mut self, state: &State<'_>) {
        self.out.push(b'{');
        let (stream, data, code) = (state.stream.0, state.data.0, state.code.0);
        self.named(b"\"Stream\":", names::stream_state::quoted(stream), stream);
        self.named(b"\"Data\":", names::data_state::quoted(data), data);
        if code != 0 {
            self.named(b"\"Code\":", names::state_code::quoted(code), code);
        }
        if !state.text.is_empty() {
            self.raw(b"\"Text\":");
            self.string(|out| push_header(out, state.text));
        }
        self.close(b'}');
    }

    /// `{"Type":..,"Data":[..]}` and the comma.
    fn array(&mut self, array: &Array<'_>) -> Result<(), WriteError> {
        self.out.push(b'{');
        self.type_name(array.item_type());
        self.raw(b"\"Data\":");
        self.array_items(array)?;
        self.close(b'}');
        Ok(())
    }

    /// `[..]` and the comma.
    pub(super) fn array_items(&mut self, array: &Array<'_>) -> Result<(), WriteError> {
        self.out.push(b'[');
        for item in array {
            self.primitive(&item?)?;
        }
        self.close(b']');
        Ok(())
    }

    /// `"Type":..` and the comma.
    pub(super) fn type_name(&mut self, data_type: DataType) {
        let code = data_type.base().0;
        self.named(b"\"Type\":", names::data_type::quoted(code), code);
    }
}
