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
    #[inline]
    pub(super) fn primitive(&mut self, value: &Primitive<'_>) -> Result<(), WriteError> {
        match *value {
            Primitive::Real(real) => push_real(self.out, real),
            Primitive::Uint(number) => push_uint(self.out, number),
            Primitive::Int(number) => push_int(self.out, number),
            Primitive::Enum(number) => push_uint(self.out, number.into()),
            Primitive::Rmtes(text) => self.quoted(|out| push_rmtes(out, text)),
            ref other => return self.rare_primitive(other),
        }
        self.comma();
        Ok(())
    }

    fn rare_primitive(&mut self, value: &Primitive<'_>) -> Result<(), WriteError> {
        match *value {
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
            // The blanks; the other variants have been written before.
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
        let value = value.primitive()?;
        if let Primitive::Enum(number) = value
            && self.options.expand_enums
            && let Some(display) = self.vocabulary.display(field_id, number)
        {
            self.out.extend_from_slice(display);
            self.comma();
            return Ok(());
        }
        self.primitive(&value)
    }

    /// `{"Timeliness":..,"Rate":..}` and the comma.
    pub(super) fn qos(&mut self, qos: &Qos) {
        self.out.push(b'{');
        let (timeliness, rate) = (qos.timeliness.0, qos.rate.0);
        self.named(b"\"Timeliness\":", names::timeliness::name(timeliness), timeliness);
        self.named(b"\"Rate\":", names::rate::name(rate), rate);
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
        self.named(b"\"Stream\":", names::stream_state::name(stream), stream);
        self.named(b"\"Data\":", names::data_state::name(data), data);
        if code != 0 {
            self.named(b"\"Code\":", names::state_code::name(code), code);
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
            self.primitive(&item?.primitive()?)?;
        }
        self.close(b']');
        Ok(())
    }

    /// `"Type":..` and the comma.
    pub(super) fn type_name(&mut self, data_type: DataType) {
        let code = data_type.base().0;
        self.named(b"\"Type\":", names::data_type::name(code), code);
    }
}
