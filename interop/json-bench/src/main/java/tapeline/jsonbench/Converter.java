package tapeline.jsonbench;

import com.refinitiv.eta.codec.Buffer;
import com.refinitiv.eta.codec.Codec;
import com.refinitiv.eta.codec.CodecFactory;
import com.refinitiv.eta.codec.CodecReturnCodes;
import com.refinitiv.eta.codec.DataDictionary;
import com.refinitiv.eta.codec.DecodeIterator;
import com.refinitiv.eta.codec.Msg;
import com.refinitiv.eta.codec.MsgClasses;
import com.refinitiv.eta.json.converter.ConverterFactory;
import com.refinitiv.eta.json.converter.DecodeJsonMsgOptions;
import com.refinitiv.eta.json.converter.GetJsonMsgOptions;
import com.refinitiv.eta.json.converter.JsonConverter;
import com.refinitiv.eta.json.converter.JsonConverterBuilder;
import com.refinitiv.eta.json.converter.JsonConverterError;
import com.refinitiv.eta.json.converter.JsonConverterProperties;
import com.refinitiv.eta.json.converter.JsonMsg;
import com.refinitiv.eta.json.converter.JsonProtocol;
import com.refinitiv.eta.json.converter.ParseJsonOptions;
import com.refinitiv.eta.json.converter.RWFToJsonOptions;
import com.refinitiv.eta.json.converter.ServiceNameIdConverter;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;

/** The vendor's converter with everything that can be used again made once. */
final class Converter {
    private static final int OUTPUT_BYTES = 1 << 20;

    private final JsonConverter converter;
    private final JsonConverterError error = ConverterFactory.createJsonConverterError();

    private final ParseJsonOptions parseOptions = ConverterFactory.createParseJsonOptions();
    private final DecodeJsonMsgOptions decodeOptions = ConverterFactory.createDecodeJsonMsgOptions();
    private final JsonMsg jsonMsg = ConverterFactory.createJsonMsg();
    private final Buffer input = CodecFactory.createBuffer();

    private final RWFToJsonOptions writeOptions = ConverterFactory.createRWFToJsonOptions();
    private final GetJsonMsgOptions getOptions = ConverterFactory.createGetJsonMsgOptions();
    private final DecodeIterator iterator = CodecFactory.createDecodeIterator();
    private final Msg msg = CodecFactory.createMsg();
    private final Buffer rwfBuffer = CodecFactory.createBuffer();
    private final Buffer noData = CodecFactory.createBuffer();
    private final Buffer output = CodecFactory.createBuffer();
    private final ByteBuffer outputBytes = ByteBuffer.allocate(OUTPUT_BYTES);

    /** A converter with the dictionary files of a folder. */
    Converter(Path dictionaries) {
        DataDictionary dictionary = CodecFactory.createDataDictionary();
        com.refinitiv.eta.transport.Error loaded = com.refinitiv.eta.transport.TransportFactory.createError();
        require(dictionary.loadFieldDictionary(dictionaries.resolve("json-fields.dict").toString(), loaded), "fields");
        require(dictionary.loadEnumTypeDictionary(dictionaries.resolve("json-enums.def").toString(), loaded), "enums");
        JsonConverterBuilder builder = ConverterFactory.createJsonConverterBuilder();
        builder.setProperty(JsonConverterProperties.JSON_CPC_PROTOCOL_VERSION, JsonProtocol.JSON_JPT_JSON2)
            .setProperty(JsonConverterProperties.JSON_CPC_EXPAND_ENUM_FIELDS, false)
            .setServiceConverter(new OneService())
            .setDictionary(dictionary);
        converter = builder.build(error);
        if (converter == null) throw new IllegalStateException(error.getText());
        parseOptions.clear();
        parseOptions.setProtocolType(JsonProtocol.JSON_JPT_JSON2);
        decodeOptions.clear();
        decodeOptions.setJsonProtocolType(JsonProtocol.JSON_JPT_JSON2);
        writeOptions.clear();
        writeOptions.setJsonProtocolType(JsonProtocol.JSON_JPT_JSON2);
        noData.data(ByteBuffer.allocate(0));
    }

    private static void require(int code, String what) {
        if (code != CodecReturnCodes.SUCCESS) throw new IllegalStateException(what + ": " + code);
    }

    private static final class OneService implements ServiceNameIdConverter {
        @Override
        public int serviceNameToId(String name, JsonConverterError error) {
            return name.equals("ELEKTRON_DD") ? 1 : -1;
        }

        @Override
        public String serviceIdToName(int id, JsonConverterError error) {
            return null;
        }
    }

    /** The text of a message; what comes back is used again for the next one. */
    Buffer toJson(ByteBuffer rwf) {
        rwfBuffer.data(rwf);
        iterator.clear();
        iterator.setBufferAndRWFVersion(rwfBuffer, Codec.majorVersion(), Codec.minorVersion());
        msg.clear();
        require(msg.decode(iterator), "decode");
        // The converter wants a data body to be there, even an empty one.
        if (msg.encodedDataBody().data() == null) msg.encodedDataBody(noData);
        error.clear();
        if (converter.convertRWFToJson(msg, writeOptions, error) != CodecReturnCodes.SUCCESS || error.isFailed())
            throw new IllegalStateException(error.getText());
        getOptions.clear();
        getOptions.jsonProtocolType(JsonProtocol.JSON_JPT_JSON2);
        getOptions.streamId(msg.streamId());
        getOptions.isCloseMsg(msg.msgClass() == MsgClasses.CLOSE);
        outputBytes.clear();
        output.data(outputBytes);
        if (converter.getJsonBuffer(output, getOptions, error) != CodecReturnCodes.SUCCESS)
            throw new IllegalStateException(error.getText());
        return output;
    }

    /** The RWF of the one message of a frame. */
    Buffer toRwf(ByteBuffer text) {
        input.data(text);
        error.clear();
        if (converter.parseJsonBuffer(input, parseOptions, error) != CodecReturnCodes.SUCCESS)
            throw new IllegalStateException(error.getText());
        jsonMsg.clear();
        if (converter.decodeJsonMsg(jsonMsg, decodeOptions, error) != CodecReturnCodes.SUCCESS)
            throw new IllegalStateException(error.getText());
        return jsonMsg.rwfMsg().encodedMsgBuffer();
    }

    /** The bytes that {@link #toJson} gave. */
    String text(Buffer buffer) {
        ByteBuffer data = buffer.data();
        byte[] bytes = data == outputBytes ? Arrays.copyOf(data.array(), data.position()) : data.array();
        return new String(bytes, StandardCharsets.UTF_8);
    }

    /**
     * The text as a frame for {@link #toRwf}: the converter makes its RWF buffer as long as the frame,
     * so one that is longer in RWF has to have blanks behind it, as few as will do.
     */
    ByteBuffer frame(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        for (int blanks = 0; blanks < 1 << 16; blanks = 2 * blanks + 16) {
            byte[] padded = Arrays.copyOf(bytes, bytes.length + blanks);
            Arrays.fill(padded, bytes.length, padded.length, (byte) ' ');
            ByteBuffer frame = ByteBuffer.wrap(padded);
            try {
                toRwf(frame);
                return frame;
            } catch (RuntimeException tooSmall) {
                // More blanks.
            }
        }
        throw new IllegalStateException("does not convert: " + error.getText() + ": " + text);
    }

    static byte[] bytes(Buffer buffer) {
        byte[] bytes = new byte[buffer.length()];
        for (int i = 0; i < bytes.length; i++) bytes[i] = buffer.data().get(buffer.position() + i);
        return bytes;
    }
}
