package tapeline.ema;

import com.refinitiv.eta.codec.Array;
import com.refinitiv.eta.codec.ArrayEntry;
import com.refinitiv.eta.codec.Buffer;
import com.refinitiv.eta.codec.CloseMsg;
import com.refinitiv.eta.codec.Codec;
import com.refinitiv.eta.codec.CodecFactory;
import com.refinitiv.eta.codec.CodecReturnCodes;
import com.refinitiv.eta.codec.DataTypes;
import com.refinitiv.eta.codec.DecodeIterator;
import com.refinitiv.eta.codec.ElementEntry;
import com.refinitiv.eta.codec.ElementList;
import com.refinitiv.eta.codec.EncodeIterator;
import com.refinitiv.eta.codec.FieldEntry;
import com.refinitiv.eta.codec.FieldList;
import com.refinitiv.eta.codec.MapEntryActions;
import com.refinitiv.eta.codec.Msg;
import com.refinitiv.eta.codec.MsgClasses;
import com.refinitiv.eta.codec.MsgKey;
import com.refinitiv.eta.codec.MsgKeyFlags;
import com.refinitiv.eta.codec.RefreshMsg;
import com.refinitiv.eta.codec.RequestMsg;
import com.refinitiv.eta.codec.State;
import com.refinitiv.eta.codec.StatusMsg;
import com.refinitiv.eta.transport.Channel;
import com.refinitiv.eta.transport.ChannelInfo;
import com.refinitiv.eta.transport.ChannelState;
import com.refinitiv.eta.transport.ConnectOptions;
import com.refinitiv.eta.transport.ConnectionTypes;
import com.refinitiv.eta.transport.Error;
import com.refinitiv.eta.transport.InProgInfo;
import com.refinitiv.eta.transport.InitArgs;
import com.refinitiv.eta.transport.ReadArgs;
import com.refinitiv.eta.transport.Transport;
import com.refinitiv.eta.transport.TransportBuffer;
import com.refinitiv.eta.transport.TransportFactory;
import com.refinitiv.eta.transport.TransportReturnCodes;
import com.refinitiv.eta.transport.WriteArgs;
import com.refinitiv.eta.transport.WritePriorities;
import com.refinitiv.eta.valueadd.domainrep.rdm.directory.DirectoryMsgFactory;
import com.refinitiv.eta.valueadd.domainrep.rdm.directory.DirectoryMsgType;
import com.refinitiv.eta.valueadd.domainrep.rdm.directory.DirectoryRefresh;
import com.refinitiv.eta.valueadd.domainrep.rdm.directory.DirectoryRequest;
import com.refinitiv.eta.valueadd.domainrep.rdm.directory.Service;
import com.refinitiv.eta.valueadd.domainrep.rdm.login.LoginConsumerConnectionStatus;
import com.refinitiv.eta.valueadd.domainrep.rdm.login.LoginMsgFactory;
import com.refinitiv.eta.valueadd.domainrep.rdm.login.LoginMsgType;
import com.refinitiv.eta.valueadd.domainrep.rdm.login.LoginRefresh;
import com.refinitiv.eta.valueadd.domainrep.rdm.login.LoginRequest;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.function.ToIntFunction;

/** A consumer on ETA: the raw transport and codec, without the watchlist that tidies up for EMA. */
final class EtaConsumer implements AutoCloseable {
    /** A message from the server. {@code fields} are the numbers of the fields of its field list. */
    record Received(
            int msgClass, int stream, int domain, Value.State state, String name, Integer serviceId, boolean complete,
            List<Integer> fields, byte[] bytes) {
        boolean isRefresh() {
            return msgClass == MsgClasses.REFRESH;
        }

        boolean isUpdate() {
            return msgClass == MsgClasses.UPDATE;
        }
    }

    static final int LOGIN = 1;
    private static final int DIRECTORY = 2;

    private final Error error = TransportFactory.createError();
    private final Selector selector;
    private final Channel channel;
    private final List<Received> received = new ArrayList<>();

    EtaConsumer(int port, int compression) {
        InitArgs init = TransportFactory.createInitArgs();
        // As EMA has it in the same process.
        init.globalLocking(true);
        if (Transport.initialize(init, error) != TransportReturnCodes.SUCCESS) {
            throw new AssertionError("initialize: " + error.text());
        }
        ConnectOptions options = TransportFactory.createConnectOptions();
        options.connectionType(ConnectionTypes.SOCKET);
        options.unifiedNetworkInfo().address("127.0.0.1");
        options.unifiedNetworkInfo().serviceName(String.valueOf(port));
        options.compressionType(compression);
        options.majorVersion(Codec.majorVersion());
        options.minorVersion(Codec.minorVersion());
        options.guaranteedOutputBuffers(500);
        channel = Transport.connect(options, error);
        if (channel == null) {
            throw new AssertionError("connect: " + error.text());
        }
        try {
            selector = Selector.open();
            register();
            becomeActive();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void register() throws IOException {
        channel.selectableChannel().register(
                selector, SelectionKey.OP_READ | SelectionKey.OP_CONNECT, channel);
    }

    private void becomeActive() throws IOException {
        long end = System.nanoTime() + Inbox.PATIENCE.toNanos();
        InProgInfo progress = TransportFactory.createInProgInfo();
        while (channel.state() != ChannelState.ACTIVE) {
            int code = channel.init(progress, error);
            if (code < TransportReturnCodes.SUCCESS) {
                throw new AssertionError("connect: " + error.text());
            }
            if (progress.flags() == com.refinitiv.eta.transport.InProgFlags.SCKT_CHNL_CHANGE) {
                register();
            }
            if (System.nanoTime() > end) {
                throw new AssertionError("not connected in time");
            }
            if (channel.state() != ChannelState.ACTIVE) {
                selector.select(50);
                selector.selectedKeys().clear();
            }
        }
        for (SelectionKey key : selector.keys()) {
            if (key.isValid()) {
                key.interestOps(SelectionKey.OP_READ);
            }
        }
    }

    ChannelInfo info() {
        ChannelInfo info = TransportFactory.createChannelInfo();
        channel.info(info, error);
        return info;
    }

    /** Logs in and waits for the answer. */
    void login(int singleOpen, int allowSuspectData) {
        LoginRequest request = (LoginRequest) LoginMsgFactory.createMsg();
        request.rdmMsgType(LoginMsgType.REQUEST);
        request.initDefaultRequest(LOGIN);
        request.userName().data(Consumer.USER);
        request.applyHasAttrib();
        request.attrib().applyHasSingleOpen();
        request.attrib().singleOpen(singleOpen);
        request.attrib().applyHasAllowSuspectData();
        request.attrib().allowSuspectData(allowSuspectData);
        send(1024, request::encode);
        loginRefresh();
    }

    LoginRefresh loginRefresh() {
        Received got = await("the login refresh", each -> each.stream() == LOGIN);
        LoginRefresh refresh = (LoginRefresh) LoginMsgFactory.createMsg();
        refresh.rdmMsgType(LoginMsgType.REFRESH);
        Msg msg = CodecFactory.createMsg();
        check("the login refresh", refresh.decode(decode(got, msg), msg));
        return refresh;
    }

    /** The number that this connection has for a service, which must be up. */
    int service(String name) {
        DirectoryRequest request = (DirectoryRequest) DirectoryMsgFactory.createMsg();
        request.rdmMsgType(DirectoryMsgType.REQUEST);
        request.streamId(DIRECTORY);
        request.filter(0x3f);
        request.applyStreaming();
        send(256, request::encode);
        Received got = await("the directory", each -> each.stream() == DIRECTORY);
        if (!got.isRefresh() || !got.complete()) {
            throw new AssertionError("a directory must come in one part: " + got);
        }
        DirectoryRefresh refresh = (DirectoryRefresh) DirectoryMsgFactory.createMsg();
        refresh.rdmMsgType(DirectoryMsgType.REFRESH);
        Msg msg = CodecFactory.createMsg();
        check("the directory", refresh.decode(decode(got, msg), msg));
        for (Service service : refresh.serviceList()) {
            if (service.info().serviceName().toString().equals(name) && service.state().serviceState() == 1) {
                return service.serviceId();
            }
        }
        throw new AssertionError("no service " + name + " that is up: " + refresh);
    }

    private static DecodeIterator decode(Received from, Msg into) {
        Buffer buffer = CodecFactory.createBuffer();
        buffer.data(ByteBuffer.wrap(from.bytes()));
        DecodeIterator iterator = CodecFactory.createDecodeIterator();
        iterator.setBufferAndRWFVersion(buffer, Codec.majorVersion(), Codec.minorVersion());
        check("a message", into.decode(iterator));
        return iterator;
    }

    /** Asks for a streaming item. */
    void open(int stream, int domain, int service, String name) {
        send(512, iterator -> {
            RequestMsg request = (RequestMsg) CodecFactory.createMsg();
            request.msgClass(MsgClasses.REQUEST);
            request.streamId(stream);
            request.domainType(domain);
            request.applyStreaming();
            request.containerType(DataTypes.NO_DATA);
            request.msgKey().flags(MsgKeyFlags.HAS_NAME | MsgKeyFlags.HAS_SERVICE_ID);
            request.msgKey().serviceId(service);
            request.msgKey().name().data(name);
            return request.encode(iterator);
        });
    }

    /** Gives the server a role, as the vendor's library does: 0 active, 1 standby. */
    void role(int mode) {
        role(MapEntryActions.ADD, mode);
    }

    /** Takes the role back. */
    void noRole() {
        role(MapEntryActions.DELETE, 0);
    }

    private void role(int action, int mode) {
        send(256, iterator -> {
            LoginConsumerConnectionStatus status = (LoginConsumerConnectionStatus) LoginMsgFactory.createMsg();
            status.rdmMsgType(LoginMsgType.CONSUMER_CONNECTION_STATUS);
            status.streamId(LOGIN);
            status.applyHasWarmStandbyInfo();
            status.warmStandbyInfo().action(action);
            status.warmStandbyInfo().warmStandbyMode(mode);
            return status.encode(iterator);
        });
    }

    /** Says that an item is wanted no more. */
    void closeStream(int stream, int domain) {
        send(64, iterator -> {
            CloseMsg close = (CloseMsg) CodecFactory.createMsg();
            close.msgClass(MsgClasses.CLOSE);
            close.streamId(stream);
            close.domainType(domain);
            close.containerType(DataTypes.NO_DATA);
            return close.encode(iterator);
        });
    }

    /** Encodes a message into a buffer of this size (larger than a fragment is legal) and sends it. */
    void send(int bytes, ToIntFunction<EncodeIterator> encode) {
        TransportBuffer buffer = channel.getBuffer(bytes, false, error);
        if (buffer == null) {
            throw new AssertionError("no buffer: " + error.text());
        }
        EncodeIterator iterator = CodecFactory.createEncodeIterator();
        iterator.setBufferAndRWFVersion(buffer, channel.majorVersion(), channel.minorVersion());
        int encoded = encode.applyAsInt(iterator);
        if (encoded < CodecReturnCodes.SUCCESS) {
            throw new AssertionError("encoding: " + CodecReturnCodes.toString(encoded));
        }
        WriteArgs args = TransportFactory.createWriteArgs();
        args.priority(WritePriorities.HIGH);
        int code = channel.write(buffer, args, error);
        while (code == TransportReturnCodes.WRITE_CALL_AGAIN) {
            flush();
            code = channel.write(buffer, args, error);
        }
        if (code < TransportReturnCodes.SUCCESS) {
            throw new AssertionError("write: " + error.text());
        }
        flush();
    }

    private void flush() {
        while (channel.flush(error) > 0) {
            Thread.onSpinWait();
        }
    }

    /** The first message that fits, of those that came since the connection. */
    Received await(String what, Predicate<Received> which) {
        return await(1, what, which).get(0);
    }

    List<Received> await(int count, String what, Predicate<Received> which) {
        long end = System.nanoTime() + Inbox.PATIENCE.toNanos();
        try {
            while (true) {
                List<Received> found = received.stream().filter(which).limit(count).toList();
                if (found.size() == count) {
                    return found;
                }
                if (System.nanoTime() > end) {
                    throw new AssertionError(
                            what + ": " + found.size() + " of " + count + "; came: " + received.stream()
                                    .map(each -> each.msgClass() + " on " + each.stream() + " " + each.state())
                                    .limit(50).toList());
                }
                selector.select(20);
                selector.selectedKeys().clear();
                readAll();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    List<Received> received() {
        return List.copyOf(received);
    }

    private void readAll() {
        ReadArgs args = TransportFactory.createReadArgs();
        while (true) {
            TransportBuffer buffer = channel.read(args, error);
            if (buffer != null) {
                received.add(decode(buffer));
                continue;
            }
            int code = args.readRetVal();
            if (code == TransportReturnCodes.READ_WOULD_BLOCK) {
                return;
            }
            // Above 0 a part of a message was read, and there is more.
            if (code < 0 && code != TransportReturnCodes.READ_PING && code != TransportReturnCodes.READ_IN_PROGRESS) {
                throw new AssertionError("read: " + code + " " + error.text());
            }
        }
    }

    private Received decode(TransportBuffer buffer) {
        ByteBuffer data = buffer.data().duplicate();
        data.position(buffer.dataStartPosition());
        data.limit(buffer.dataStartPosition() + buffer.length());
        byte[] bytes = new byte[data.remaining()];
        data.get(bytes);
        DecodeIterator iterator = CodecFactory.createDecodeIterator();
        iterator.setBufferAndRWFVersion(buffer, channel.majorVersion(), channel.minorVersion());
        Msg msg = CodecFactory.createMsg();
        check("a message", msg.decode(iterator));
        State state = null;
        boolean complete = true;
        if (msg.msgClass() == MsgClasses.REFRESH) {
            state = ((RefreshMsg) msg).state();
            complete = ((RefreshMsg) msg).checkRefreshComplete();
        } else if (msg.msgClass() == MsgClasses.STATUS && ((StatusMsg) msg).checkHasState()) {
            state = ((StatusMsg) msg).state();
        }
        MsgKey key = msg.msgKey();
        return new Received(
                msg.msgClass(), msg.streamId(), msg.domainType(),
                state == null
                        ? null
                        : new Value.State(state.streamState(), state.dataState(), state.code(), state.text().toString()),
                key != null && key.checkHasName() ? key.name().toString() : null,
                key != null && key.checkHasServiceId() ? key.serviceId() : null,
                complete,
                msg.containerType() == DataTypes.FIELD_LIST ? fields(iterator) : List.of(),
                bytes);
    }

    private static List<Integer> fields(DecodeIterator iterator) {
        List<Integer> ids = new ArrayList<>();
        FieldList list = CodecFactory.createFieldList();
        check("a field list", list.decode(iterator, null));
        FieldEntry entry = CodecFactory.createFieldEntry();
        int code;
        while ((code = entry.decode(iterator)) != CodecReturnCodes.END_OF_CONTAINER) {
            check("a field", code);
            ids.add(entry.fieldId());
        }
        return ids;
    }

    private static void check(String what, int code) {
        if (code < CodecReturnCodes.SUCCESS) {
            throw new AssertionError(what + ": " + CodecReturnCodes.toString(code));
        }
    }

    /** One request for many items, each restricted to a view when there are fields in it. */
    static int encodeBatch(EncodeIterator iterator, int stream, int serviceId, List<String> names, int... view) {
        RequestMsg request = (RequestMsg) CodecFactory.createMsg();
        request.msgClass(MsgClasses.REQUEST);
        request.streamId(stream);
        request.domainType(6);
        request.applyStreaming();
        request.applyHasBatch();
        if (view.length > 0) {
            request.applyHasView();
        }
        request.msgKey().applyHasServiceId();
        request.msgKey().serviceId(serviceId);
        request.containerType(DataTypes.ELEMENT_LIST);
        check("the request", request.encodeInit(iterator, 0));
        ElementList list = CodecFactory.createElementList();
        list.applyHasStandardData();
        check("the elements", list.encodeInit(iterator, null, 0));
        encodeNames(iterator, names);
        if (view.length > 0) {
            encodeView(iterator, view);
        }
        check("the elements", list.encodeComplete(iterator, true));
        return request.encodeComplete(iterator, true);
    }

    private static void encodeNames(EncodeIterator iterator, List<String> names) {
        ElementEntry element = element(":ItemList", DataTypes.ARRAY);
        check("the names", element.encodeInit(iterator, 0));
        Array array = CodecFactory.createArray();
        array.primitiveType(DataTypes.ASCII_STRING);
        check("the names", array.encodeInit(iterator));
        ArrayEntry entry = CodecFactory.createArrayEntry();
        Buffer text = CodecFactory.createBuffer();
        for (String name : names) {
            text.data(name);
            check(name, entry.encode(iterator, text));
        }
        check("the names", array.encodeComplete(iterator, true));
        check("the names", element.encodeComplete(iterator, true));
    }

    private static void encodeView(EncodeIterator iterator, int... fields) {
        com.refinitiv.eta.codec.UInt type = CodecFactory.createUInt();
        type.value(1);
        check("the view type", element(":ViewType", DataTypes.UINT).encode(iterator, type));
        ElementEntry element = element(":ViewData", DataTypes.ARRAY);
        check("the view", element.encodeInit(iterator, 0));
        Array array = CodecFactory.createArray();
        array.primitiveType(DataTypes.INT);
        array.itemLength(2);
        check("the view", array.encodeInit(iterator));
        ArrayEntry entry = CodecFactory.createArrayEntry();
        com.refinitiv.eta.codec.Int id = CodecFactory.createInt();
        for (int field : fields) {
            id.value(field);
            check("a field of the view", entry.encode(iterator, id));
        }
        check("the view", array.encodeComplete(iterator, true));
        check("the view", element.encodeComplete(iterator, true));
    }

    private static ElementEntry element(String name, int type) {
        ElementEntry element = CodecFactory.createElementEntry();
        Buffer text = CodecFactory.createBuffer();
        text.data(name);
        element.name(text);
        element.dataType(type);
        return element;
    }

    @Override
    public void close() {
        channel.close(error);
        try {
            selector.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        Transport.uninitialize();
    }
}
