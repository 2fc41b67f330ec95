package tapeline.ema;

import com.refinitiv.ema.access.AckMsg;
import com.refinitiv.ema.access.ComplexType;
import com.refinitiv.ema.access.DataType.DataTypes;
import com.refinitiv.ema.access.ElementEntry;
import com.refinitiv.ema.access.ElementList;
import com.refinitiv.ema.access.EmaFactory;
import com.refinitiv.ema.access.GenericMsg;
import com.refinitiv.ema.access.Msg;
import com.refinitiv.ema.access.OmmArrayEntry;
import com.refinitiv.ema.access.OmmIProviderConfig;
import com.refinitiv.ema.access.OmmProvider;
import com.refinitiv.ema.access.OmmProviderClient;
import com.refinitiv.ema.access.OmmProviderEvent;
import com.refinitiv.ema.access.OmmState.DataState;
import com.refinitiv.ema.access.OmmState.StatusCode;
import com.refinitiv.ema.access.OmmState.StreamState;
import com.refinitiv.ema.access.PostMsg;
import com.refinitiv.ema.access.RefreshMsg;
import com.refinitiv.ema.access.ReqMsg;
import com.refinitiv.ema.access.StatusMsg;
import com.refinitiv.ema.access.UpdateMsg;
import com.refinitiv.ema.rdm.EmaRdm;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

/**
 * An EMA interactive provider with one service.
 *
 * <p>Names steer it: {@code MISSING...} is not found, {@code EVERY...} has a field of every type,
 * {@code SILENT...} is never answered, {@code HELD...} when the test says so; every other name is a quote, in the order book domain a book.
 */
final class Source implements OmmProviderClient, AutoCloseable {
    static final int SERVICE_ID = 7;
    static final String SERVICE = "EMA_FEED";
    static final String VENDOR = "Interop";
    static final int BOOK_ORDERS = 3_000;
    static final int UNANSWERED = 800;
    static final String NOT_FOUND = "The record could not be found";

    /** A request as the provider saw it, on a new stream or again on an open one. */
    record Request(String name, int domain, boolean streaming, boolean pause, boolean image, List<Integer> view) {}

    record Post(String name, int domain, boolean onStream, Long id, Long seq, String service, Value payload) {}

    record Generic(String name, Long seq, Value payload) {}

    /** One stream that a client of this provider holds open. */
    private static final class Open {
        final long client;
        final long handle;
        final int domain;
        volatile List<Integer> view;
        volatile boolean paused;

        Open(OmmProviderEvent event, int domain) {
            client = event.clientHandle();
            handle = event.handle();
            this.domain = domain;
        }
    }

    private static final ByteBuffer GROUP = Value.bytes("0007000a");

    final Inbox<Request> logins = new Inbox<>("source, logins");
    final Inbox<Request> requests = new Inbox<>("source, requests");
    final Inbox<Request> reissues = new Inbox<>("source, reissues");
    final Inbox<String> closes = new Inbox<>("source, closes");
    final Inbox<Post> posts = new Inbox<>("source, posts");
    final Inbox<Generic> generics = new Inbox<>("source, generic messages");

    private final Map<String, List<Open>> open = new ConcurrentHashMap<>();
    private final Map<String, ByteBuffer> locks = new ConcurrentHashMap<>();
    private final Map<String, Supplier<ComplexType>> contents = new ConcurrentHashMap<>();
    private final Map<String, Runnable> held = new ConcurrentHashMap<>();
    private final OmmProvider ema;

    Source(int port) {
        this(port, Settings.Compression.NONE, 6144);
    }

    Source(int port, Settings.Compression compression, int fragmentBytes) {
        this(server(port, compression, fragmentBytes), new Offer(SERVICE, true, null));
    }

    /** One whose directory has this of its load, as EMA's settings name it. */
    Source(int port, ElementList load) {
        this(server(port), new Offer(SERVICE, true, load));
    }

    /** One that has another service. */
    static Source of(String service, int port) {
        return new Source(server(port), new Offer(service, true, null));
    }

    /** One that says that it does not want to know what its consumers are to each other. */
    static Source withoutConsumerStatus(int port) {
        return new Source(server(port), new Offer(SERVICE, false, null));
    }

    private Source(ElementList server, Offer offer) {
        this(EmaFactory.createOmmIProviderConfig()
                .providerName("Provider")
                .config(settings(server, offer)));
    }

    /** What its directory says: the load only if there is one to say. */
    private record Offer(String service, boolean takesConsumerStatus, ElementList load) {}

    private static ElementList server(int port) {
        return server(port, Settings.Compression.NONE, 6144);
    }

    private static ElementList server(int port, Settings.Compression compression, int fragmentBytes) {
        return Settings.elements(
                "ServerType", "ServerType::RSSL_SOCKET",
                "CompressionType", compression.ema(),
                "CompressionThreshold", 300,
                "Port", String.valueOf(port),
                "MaxFragmentSize", fragmentBytes,
                "GuaranteedOutputBuffers", Settings.OUTPUT_BUFFERS,
                "TcpNodelay", 1);
    }

    /** One that is reached over TLS, and shows this certificate. */
    Source(int port, Certificates.Pair pair) {
        this(encrypted(port)
                .providerName("Provider")
                .config(settings(null, new Offer(SERVICE, true, null)))
                .keystoreFile(pair.store().toString())
                .keystorePasswd(Certificates.PASSWORD)
                .keystoreType("PKCS12"));
    }

    /** With a server of settings in code, EMA forgets the key store: they are in a file. */
    private static OmmIProviderConfig encrypted(int port) {
        try {
            Path file = Files.createTempFile("tapeline-ema", ".xml");
            file.toFile().deleteOnExit();
            Files.writeString(file, """
                    <?xml version="1.0" encoding="UTF-8"?>
                    <EmaConfig>
                    <IProviderGroup><IProviderList><IProvider>
                    <Name value="Provider"/><Server value="Server"/>
                    </IProvider></IProviderList></IProviderGroup>
                    <ServerGroup><ServerList><Server>
                    <Name value="Server"/><ServerType value="ServerType::RSSL_ENCRYPTED"/>
                    <CompressionType value="CompressionType::None"/><Port value="%d"/>
                    <GuaranteedOutputBuffers value="%d"/><TcpNodelay value="1"/>
                    </Server></ServerList></ServerGroup>
                    </EmaConfig>
                    """.formatted(port, Settings.OUTPUT_BUFFERS));
            return EmaFactory.createOmmIProviderConfig(file.toString());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Source(OmmIProviderConfig config) {
        ema = EmaFactory.createOmmProvider(config, this);
    }

    /** All settings; those of its server unless they are elsewhere. */
    private static com.refinitiv.ema.access.Map settings(ElementList server, Offer offer) {
        // A private stream has the key of another stream; EMA refuses it unless it is told to accept it.
        ElementList provider = Settings.elements(
                "Directory", "Directory", "AcceptMessageSameKeyButDiffStream", 1);
        if (server != null) {
            Settings.add(provider, "Server", "Server");
        }
        Settings.common(provider);
        Settings settings = new Settings().one("IProvider", "Provider", provider);
        if (server != null) {
            settings.one("Server", "Server", server);
        }
        ElementList state = Settings.elements("ServiceState", 1, "AcceptingRequests", 1);
        ElementList filters =
                Settings.elements("InfoFilter", info(offer.takesConsumerStatus()), "StateFilter", state);
        if (offer.load() != null) {
            Settings.add(filters, "LoadFilter", offer.load());
        }
        return settings
                .service("Directory", offer.service(), filters)
                .one("Dictionary", "Dictionary", Dictionary.settings())
                .map();
    }

    private static ElementList info(boolean takesConsumerStatus) {
        ElementList info = Settings.elements(
                "ServiceId", SERVICE_ID,
                "Vendor", VENDOR,
                "IsSource", 1,
                "ItemList", "_ITEMS",
                "SupportsOutOfBandSnapshots", 1,
                "Capabilities", List.of(
                        "MMT_DICTIONARY", "MMT_MARKET_PRICE", "MMT_MARKET_BY_ORDER", "MMT_MARKET_BY_PRICE",
                        "MMT_SYMBOL_LIST"),
                "DictionariesProvided", List.of("Dictionary"),
                "DictionariesUsed", List.of("Dictionary"));
        if (!takesConsumerStatus) {
            Settings.add(info, "AcceptingConsumerStatus", 0);
        }
        return info;
    }

    // ---- what a test lets it say

    /** An item with this lock, as hexadecimal digits, and this content. */
    void lock(String name, String lock, Supplier<ComplexType> content) {
        locks.put(name, Value.bytes(lock));
        contents.put(name, content);
    }

    /** An item without a lock, and with this content. */
    void put(String name, Supplier<ComplexType> content) {
        contents.put(name, content);
    }

    /** The image of an item that was asked for and not answered. */
    void release(String name) {
        requests.await("a request", request -> request.name().equals(name));
        held.remove(name).run();
    }

    /** A status with permission data. EMA's provider submits none without a state. */
    void relock(String name, String lock) {
        for (Open each : streams(name)) {
            Submit.patiently(() -> ema.submit(
                    EmaFactory.createStatusMsg().domainType(each.domain).permissionData(Value.bytes(lock))
                            .state(StreamState.OPEN, DataState.OK, StatusCode.NONE, "another lock"),
                    each.handle));
        }
    }

    /** An image nobody asked for, with another lock. */
    void relockByRefresh(String name, String lock, Value payload) {
        locks.put(name, Value.bytes(lock));
        for (Open each : streams(name)) {
            Submit.patiently(() -> ema.submit(
                    image(name, each.domain, payload).permissionData(Value.bytes(lock)).solicited(false)
                            .clearCache(true).state(StreamState.OPEN, DataState.OK, StatusCode.NONE, "another lock"),
                    each.handle));
        }
    }

    /** An update with permission data of its own. */
    void lockedUpdate(String name, String lock, Value payload) {
        for (Open each : streams(name)) {
            Submit.patiently(() -> ema.submit(
                    EmaFactory.createUpdateMsg().domainType(each.domain).permissionData(Value.bytes(lock))
                            .payload(Encode.payload(payload)),
                    each.handle));
        }
    }

    void update(String name, long seq, Value payload) {
        for (Open stream : streams(name)) {
            Value seen = visible(stream, payload);
            if (!stream.paused) {
                UpdateMsg update = EmaFactory.createUpdateMsg().domainType(stream.domain).updateTypeNum(1).seqNum(seq)
                        .payload(Encode.payload(seen));
                Submit.patiently(() -> ema.submit(update, stream.handle));
            }
        }
    }

    /** An image nobody asked for. */
    void refresh(String name, Value payload) {
        for (Open stream : streams(name)) {
            ema.submit(
                    image(name, stream.domain, payload).solicited(false).clearCache(true)
                            .state(StreamState.OPEN, DataState.OK, StatusCode.NONE, "corrected"),
                    stream.handle);
        }
    }

    void status(String name, int stream, int data, int code, String text) {
        List<Open> streams = streams(name);
        if (stream != StreamState.OPEN) {
            // Before it is told: the next request may come at once.
            open.remove(name);
        }
        for (Open each : streams) {
            ema.submit(EmaFactory.createStatusMsg().domainType(each.domain).state(stream, data, code, text), each.handle);
        }
    }

    void generic(String name, long seq, Value payload) {
        for (Open stream : streams(name)) {
            ema.submit(
                    EmaFactory.createGenericMsg().domainType(stream.domain).name("reply").seqNum(seq).complete(true)
                            .payload(Encode.payload(payload)),
                    stream.handle);
        }
    }

    /** One status for all items, through the group that every image names. */
    void groupStatus(Value.State state) {
        Value.Elements group = new Value.Elements(List.of(
                new Value.Element("Group", new Value.Buffer(Value.hex(GROUP))), new Value.Element("Status", state)));
        directoryUpdate(EmaRdm.SERVICE_GROUP_ID, group);
    }

    /** The service up or down, with a status for all items of it. */
    void serviceState(boolean up, Value.State state) {
        Value.Elements elements = new Value.Elements(List.of(
                new Value.Element("ServiceState", new Value.UInt(up ? 1 : 0)),
                new Value.Element("AcceptingRequests", new Value.UInt(1)),
                new Value.Element("Status", state)));
        directoryUpdate(EmaRdm.SERVICE_STATE_ID, elements);
    }

    private void directoryUpdate(int filter, Value.Elements elements) {
        Value.Rows filters = new Value.Rows(
                DataTypes.FILTER_LIST, new Value.None(),
                List.of(new Value.Row(
                        new Value.UInt(filter), com.refinitiv.ema.access.FilterEntry.FilterAction.UPDATE, elements)));
        Value.Rows services = new Value.Rows(
                DataTypes.MAP, new Value.None(),
                List.of(new Value.Row(
                        new Value.UInt(SERVICE_ID), com.refinitiv.ema.access.MapEntry.MapAction.UPDATE, filters)));
        ema.submit(
                EmaFactory.createUpdateMsg().domainType(EmaRdm.MMT_DIRECTORY).payload(Encode.map(services)), 0);
    }

    /** How many streams are open for a name: one for each client of this provider, never more. */
    int openStreams(String name) {
        return streams(name).size();
    }

    private List<Open> streams(String name) {
        return List.copyOf(open.getOrDefault(name, List.of()));
    }

    // ---- what it answers by itself

    @Override
    public void onReqMsg(ReqMsg msg, OmmProviderEvent event) {
        Request request = request(msg);
        if (msg.domainType() == EmaRdm.MMT_LOGIN) {
            logins.add(request);
            acceptLogin(msg, event.handle());
        } else {
            answer(msg, request, event);
            requests.add(request);
        }
    }

    private void acceptLogin(ReqMsg msg, long handle) {
        ElementList features = EmaFactory.createElementList();
        for (String feature : List.of(
                "SingleOpen", "AllowSuspectData", "SupportOMMPost", "SupportOptimizedPauseResume",
                "SupportViewRequests")) {
            features.add(EmaFactory.createElementEntry().uintValue(feature, 1));
        }
        ema.submit(
                EmaFactory.createRefreshMsg().domainType(EmaRdm.MMT_LOGIN).name(msg.name())
                        .nameType(EmaRdm.USER_NAME).complete(true).solicited(true)
                        .state(StreamState.OPEN, DataState.OK, StatusCode.NONE, "Login accepted").attrib(features),
                handle);
    }

    private void answer(ReqMsg msg, Request request, OmmProviderEvent event) {
        String name = request.name();
        if (name.startsWith("SILENT")) {
            return;
        }
        if (name.startsWith("MISSING")) {
            ema.submit(
                    EmaFactory.createStatusMsg().domainType(msg.domainType()).name(name).serviceId(msg.serviceId())
                            .state(StreamState.CLOSED, DataState.SUSPECT, StatusCode.NOT_FOUND, NOT_FOUND),
                    event.handle());
            return;
        }
        Open stream = new Open(event, msg.domainType());
        stream.view = request.view();
        stream.paused = request.pause();
        if (request.streaming()) {
            open.computeIfAbsent(name, key -> new java.util.concurrent.CopyOnWriteArrayList<>()).add(stream);
        }
        boolean isPrivate = msg.privateStream();
        Runnable image = () -> sendImage(name, stream, request.streaming(), isPrivate);
        if (name.startsWith("HELD")) {
            held.put(name, image);
        } else {
            image.run();
        }
    }

    private void sendImage(String name, Open stream, boolean streaming, boolean isPrivate) {
        RefreshMsg image = image(name, stream).solicited(true).privateStream(isPrivate)
                .state(streaming ? StreamState.OPEN : StreamState.NON_STREAMING, DataState.OK, StatusCode.NONE,
                        "All is well");
        Submit.patiently(() -> ema.submit(image, stream.handle));
    }

    private RefreshMsg image(String name, Open stream) {
        Supplier<ComplexType> given = contents.get(name);
        RefreshMsg image = given == null
                ? image(name, stream.domain, visible(stream, content(name, stream.domain)))
                : image(name, stream.domain, given.get());
        ByteBuffer lock = locks.get(name);
        return lock == null ? image : image.permissionData(lock);
    }

    /** What the items of this source are worth when they are asked for. */
    static Value content(String name, int domain) {
        if (domain == EmaRdm.MMT_MARKET_BY_ORDER) {
            return Samples.book(BOOK_ORDERS);
        }
        if (domain == EmaRdm.MMT_SYMBOL_LIST) {
            return Samples.symbols(200);
        }
        return name.startsWith("EVERY") ? Samples.everyType() : Samples.quote(name);
    }

    private static Value visible(Open stream, Value content) {
        if (stream.view.isEmpty() || !(content instanceof Value.Fields fields)) {
            return content;
        }
        return Samples.only(fields, stream.view.stream().mapToInt(Integer::intValue).toArray());
    }

    private static RefreshMsg image(String name, int domain, Value payload) {
        return image(name, domain, Encode.payload(payload));
    }

    private static RefreshMsg image(String name, int domain, ComplexType content) {
        return EmaFactory.createRefreshMsg().domainType(domain).name(name).serviceId(SERVICE_ID).itemGroup(GROUP)
                .payload(content).complete(true);
    }

    @Override
    public void onReissue(ReqMsg msg, OmmProviderEvent event) {
        Request request = request(msg);
        if (msg.domainType() == EmaRdm.MMT_LOGIN) {
            acceptLogin(msg, event.handle());
        } else {
            for (Open stream : streams(request.name())) {
                if (stream.handle == event.handle()) {
                    stream.view = request.view();
                    stream.paused = request.pause();
                    if (request.image() && !request.pause()) {
                        sendImage(request.name(), stream, true, msg.privateStream());
                    }
                }
            }
        }
        reissues.add(request);
    }

    @Override
    public void onClose(ReqMsg msg, OmmProviderEvent event) {
        if (msg.domainType() == EmaRdm.MMT_LOGIN) {
            // The end of a connection is told by its login stream alone.
            open.values().forEach(streams -> streams.removeIf(stream -> stream.client == event.clientHandle()));
            return;
        }
        if (!msg.hasName()) {
            return;
        }
        List<Open> streams = open.get(msg.name());
        if (streams != null) {
            streams.removeIf(stream -> stream.handle == event.handle());
        }
        closes.add(msg.name());
    }

    @Override
    public void onPostMsg(PostMsg msg, OmmProviderEvent event) {
        String name = msg.hasName() ? msg.name() : null;
        boolean onStream = open.values().stream()
                .anyMatch(streams -> streams.stream().anyMatch(stream -> stream.handle == event.handle()));
        Value payload = Decode.value(msg.payload().data());
        if (msg.solicitAck()) {
            acknowledge(msg, payload, event.handle());
        }
        if (onStream && payload instanceof Value.Message update) {
            ema.submit(
                    EmaFactory.createUpdateMsg().domainType(msg.domainType())
                            .publisherId(msg.publisherIdUserId(), msg.publisherIdUserAddress())
                            .payload(Encode.payload(update.payload())),
                    event.handle());
        }
        posts.add(new Post(
                name, msg.domainType(), onStream, msg.hasPostId() ? msg.postId() : null,
                msg.hasSeqNum() ? msg.seqNum() : null, msg.hasServiceName() ? msg.serviceName() : null, payload));
    }

    /** Posts with a sequence number from 900 on are refused, those from 800 on are not answered. */
    private void acknowledge(PostMsg msg, Value payload, long handle) {
        if (msg.hasSeqNum() && msg.seqNum() >= UNANSWERED && msg.seqNum() < 900) {
            return;
        }
        AckMsg ack = EmaFactory.createAckMsg().domainType(msg.domainType()).ackId(msg.postId());
        if (msg.hasSeqNum()) {
            ack.seqNum(msg.seqNum());
            if (msg.seqNum() >= 900) {
                ack.nackCode(1).text("not yours");
            }
        }
        Submit.patiently(() -> ema.submit(ack, handle));
    }

    @Override
    public void onGenericMsg(GenericMsg msg, OmmProviderEvent event) {
        Value payload = Decode.value(msg.payload().data());
        generics.add(new Generic(
                msg.hasName() ? msg.name() : null, msg.hasSeqNum() ? msg.seqNum() : null, payload));
    }

    private static Request request(ReqMsg msg) {
        return new Request(
                msg.hasName() ? msg.name() : null, msg.domainType(), msg.interestAfterRefresh(), msg.pause(),
                msg.initialImage(), view(msg));
    }

    private static List<Integer> view(ReqMsg msg) {
        List<Integer> fields = new ArrayList<>();
        if (msg.hasView() && msg.payload().dataType() == DataTypes.ELEMENT_LIST) {
            for (ElementEntry element : msg.payload().elementList()) {
                if (element.name().equals(EmaRdm.ENAME_VIEW_DATA)) {
                    for (OmmArrayEntry entry : element.array()) {
                        fields.add((int) entry.intValue());
                    }
                }
            }
        }
        return fields;
    }

    @Override
    public void onRefreshMsg(RefreshMsg msg, OmmProviderEvent event) {}

    @Override
    public void onStatusMsg(StatusMsg msg, OmmProviderEvent event) {}

    @Override
    public void onAllMsg(Msg msg, OmmProviderEvent event) {}

    /** Ends it with all its connections, as the end of its process would. */
    @Override
    public void close() {
        ema.uninitialize();
    }
}
