package tapeline.ema;

import com.refinitiv.ema.access.ElementList;
import com.refinitiv.ema.access.EmaFactory;
import com.refinitiv.ema.access.OmmArray;
import com.refinitiv.ema.access.OmmConsumer;
import com.refinitiv.ema.access.OmmConsumerClient;
import com.refinitiv.ema.access.OmmConsumerConfig;
import com.refinitiv.ema.access.ReqMsg;
import com.refinitiv.ema.domain.login.Login;
import com.refinitiv.ema.rdm.EmaRdm;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/** An EMA consumer. Most download their dictionary from the server they connect to. */
final class Consumer implements AutoCloseable {
    static final String USER = "interop";
    static final String POSITION = "127.0.0.1/net";

    private static final int REQUEST_TIMEOUT_MS = 15_000;
    private static final int LOGIN_TIMEOUT_MS = 15_000;

    /** Who logs in, with what and from where. */
    record User(String name, String application, String position) {
        User(String name) {
            this(name, "256", POSITION);
        }
    }

    /** How it connects, and for WebSocket what it speaks. */
    enum Way {
        SOCKET("RSSL_SOCKET", null),
        RWF("RSSL_WEBSOCKET", "rssl.rwf"),
        JSON("RSSL_WEBSOCKET", "tr_json2");

        private final String type;
        private final String protocol;

        Way(String type, String protocol) {
            this.type = type;
            this.protocol = protocol;
        }
    }

    /** Which server of a warm standby group a consumer takes its data from. */
    enum Standby {
        BY_LOGIN(1),
        BY_SERVICE(2);

        private final int mode;

        Standby(int mode) {
            this.mode = mode;
        }
    }

    final OmmConsumer ema;

    /** With several ports EMA takes them in turns when a connection fails. */
    Consumer(Settings.Compression compression, int... ports) {
        this(Way.SOCKET, compression, REQUEST_TIMEOUT_MS, ports);
    }

    /** Without a time-out of requests: EMA's cost of the timers of very many grows with their square. */
    static Consumer ofManyItems(int... ports) {
        return new Consumer(Way.SOCKET, Settings.Compression.NONE, 0, ports);
    }

    /** RWF in WebSocket frames. */
    static Consumer overWebSocket(Settings.Compression compression, int port) {
        return new Consumer(Way.RWF, compression, REQUEST_TIMEOUT_MS, port);
    }

    /** JSON in WebSocket frames; EMA turns it into RWF for the application. */
    static Consumer overJson(int... ports) {
        return new Consumer(Way.JSON, Settings.Compression.NONE, REQUEST_TIMEOUT_MS, ports);
    }

    /** The same with its dictionary from files. */
    static Consumer overJsonWithFiles(int port) {
        return new Consumer(
                Way.JSON, Settings.Compression.NONE, REQUEST_TIMEOUT_MS, Dictionary.settings(), port);
    }

    /** One that answers when it is asked how long that takes. */
    static Consumer answeringRoundTrips(int port) {
        ElementList dictionary = Settings.elements("DictionaryType", "DictionaryType::ChannelDictionary");
        ElementList consumer = consumer("ChannelSet", "Channel" + port);
        Settings.add(consumer, "EnableRtt", new Value.UInt(1));
        return new Consumer(
                new User(USER), settings(consumer, channels(Way.SOCKET, Settings.Compression.NONE, port), dictionary));
    }

    /** Somebody else. */
    Consumer(User user, int port) {
        this(
                user, Way.SOCKET, Settings.Compression.NONE, REQUEST_TIMEOUT_MS,
                Settings.elements("DictionaryType", "DictionaryType::ChannelDictionary"), port);
    }

    /** Somebody whose login is heard of by a client of its own, also when the constructor fails for it. */
    Consumer(User user, OmmConsumerClient login, int port) {
        ema = EmaFactory.createOmmConsumer(
                config(user, settings(
                        channels(Way.SOCKET, Settings.Compression.NONE, port), REQUEST_TIMEOUT_MS,
                        Settings.elements("DictionaryType", "DictionaryType::ChannelDictionary"))),
                login);
    }

    /** A login of this application's own making, with the name of its instance. */
    static Consumer ofInstance(User user, String instance, int port) {
        return ofInstance(user, instance, true, port);
    }

    /** The same without single open: the application recovers its items itself. */
    static Consumer recoveringItself(User user, int port) {
        return ofInstance(user, "own-recovery", false, port);
    }

    private static Consumer ofInstance(User user, String instance, boolean singleOpen, int port) {
        ElementList attributes = Settings.elements(
                "ApplicationId", user.application(),
                "ApplicationName", "interop",
                "Position", user.position(),
                "InstanceId", instance,
                "SingleOpen", new Value.UInt(singleOpen ? 1 : 0));
        ReqMsg login = EmaFactory.createReqMsg().domainType(EmaRdm.MMT_LOGIN).name(user.name()).attrib(attributes);
        ElementList dictionary = Settings.elements("DictionaryType", "DictionaryType::ChannelDictionary");
        return new Consumer(EmaFactory.createOmmConsumerConfig()
                .addAdminMsg(login)
                .consumerName("Consumer")
                .config(settings(
                        channels(Way.SOCKET, Settings.Compression.NONE, port), REQUEST_TIMEOUT_MS, dictionary)));
    }

    /**
     * A warm standby group: the first server is the active one, or with services the one that has
     * {@code owner} as its place in {@code ports} has the service of {@link Source}.
     */
    static Consumer ofGroup(Standby standby, int owner, int... ports) {
        return ofGroup(standby, owned(owner, ports.length), consumer("WarmStandbyChannelSet", "Group"), ports);
    }

    /** The same, where the active one at the start is preferred: told so, the consumer goes back to it. */
    static Consumer ofGroupWithPreference(Standby standby, int owner, int... ports) {
        return ofGroup(standby, owned(owner, ports.length), preferring(), ports);
    }

    /** The same by services, where each server has the services of its place at the start. */
    static Consumer ofServicesWithPreference(List<String> services, int... ports) {
        return ofGroup(Standby.BY_SERVICE, services, preferring(), ports);
    }

    private static ElementList preferring() {
        ElementList consumer = consumer("WarmStandbyChannelSet", "Group");
        Settings.add(consumer, "EnablePreferredHostOptions", new Value.UInt(1));
        Settings.add(consumer, "PHFallBackWithInWSBGroup", new Value.UInt(1));
        Settings.add(consumer, "PreferredWSBChannelName", "Group");
        return consumer;
    }

    /** One of the servers has the service of {@link Source}. */
    private static List<String> owned(int owner, int servers) {
        return IntStream.range(0, servers).mapToObj(i -> i == owner ? Source.SERVICE : "").toList();
    }

    private static Consumer ofGroup(Standby standby, List<String> services, ElementList consumer, int... ports) {
        Map<String, ElementList> channels = new LinkedHashMap<>();
        Map<String, ElementList> servers = new LinkedHashMap<>();
        for (int i = 0; i < ports.length; i++) {
            channels.put("Channel" + ports[i], channel(Way.SOCKET, Settings.Compression.NONE, ports[i]));
            ElementList server = Settings.elements("Channel", "Channel" + ports[i]);
            if (standby == Standby.BY_SERVICE && !services.get(i).isEmpty()) {
                Settings.add(server, "PerServiceNameSet", services.get(i));
            }
            servers.put("Server" + ports[i], server);
        }
        List<String> names = List.copyOf(servers.keySet());
        ElementList group = Settings.elements(
                "StartingActiveServer", names.get(0),
                "StandbyServerSet", String.join(",", names.subList(1, names.size())),
                "WarmStandbyMode", new Value.Enum(standby.mode));
        Settings settings = new Settings()
                .one("Consumer", "Consumer", consumer)
                .group("Channel", channels.keySet().iterator().next(), channels)
                .group("WarmStandbyServerInfo", names.get(0), servers)
                .one("WarmStandby", "Group", group)
                .one("Dictionary", "Dictionary",
                        Settings.elements("DictionaryType", "DictionaryType::ChannelDictionary"));
        return new Consumer(new User(USER), settings.map());
    }

    /** Request routing: it is connected to each of these servers, and asks where the service is. */
    static Consumer routing(int... ports) {
        Map<String, ElementList> sessions = new LinkedHashMap<>();
        for (int port : ports) {
            ElementList session = Settings.elements(
                    "ChannelSet", "Channel" + port,
                    "ReconnectAttemptLimit", -1,
                    "ReconnectMinDelay", 100,
                    "ReconnectMaxDelay", 300);
            sessions.put("Session" + port, session);
        }
        String names = String.join(",", sessions.keySet());
        Map<String, ElementList> channels = channels(Way.SOCKET, Settings.Compression.NONE, ports);
        Settings settings = new Settings()
                .one("Consumer", "Consumer", consumer("SessionChannelSet", names))
                .group("Channel", channels.keySet().iterator().next(), channels)
                .group("SessionChannel", sessions.keySet().iterator().next(), sessions)
                .one("Dictionary", "Dictionary",
                        Settings.elements("DictionaryType", "DictionaryType::ChannelDictionary"));
        return new Consumer(new User(USER), settings.map());
    }

    /** Who logs in with an authentication token in place of a name. */
    static Consumer withToken(String token, int port) {
        return withLogin(tokenLogin(token).message(), new Stream("login"), port);
    }

    /** The same, where the end of the login is heard of by a client of its own. */
    static Consumer withToken(String token, OmmConsumerClient login, int port) {
        return withLogin(tokenLogin(token).message(), login, port);
    }

    /** The same with what the token's issuer has to say beside it. */
    static Consumer withExtendedToken(String token, String extended, int port) {
        ByteBuffer bytes = ByteBuffer.wrap(extended.getBytes(StandardCharsets.US_ASCII));
        return withLogin(tokenLogin(token).authenticationExtended(bytes).message(), new Stream("login"), port);
    }

    private static Consumer withLogin(ReqMsg login, OmmConsumerClient client, int port) {
        com.refinitiv.ema.access.Map settings = settings(
                channels(Way.SOCKET, Settings.Compression.NONE, port), REQUEST_TIMEOUT_MS,
                Settings.elements("DictionaryType", "DictionaryType::ChannelDictionary"));
        OmmConsumerConfig config = EmaFactory.createOmmConsumerConfig()
                .consumerName("Consumer")
                .config(settings)
                .addAdminMsg(login);
        return new Consumer(EmaFactory.createOmmConsumer(config, client));
    }

    private static Login.LoginReq tokenLogin(String token) {
        return EmaFactory.Domain.createLoginReq().nameType(EmaRdm.USER_AUTH_TOKEN).name(token).applicationId("256")
                .position(POSITION);
    }

    /** Logs in again with another token, on a handle of {@link #login()}. */
    void renew(Stream login, String token) {
        ema.reissue(tokenLogin(token).message(), login.handle);
    }

    /** Over TLS, to a server of an authority in this key store whose certificate is for this host. */
    static Consumer encrypted(Way way, Path trust, String host, int port) {
        return encrypted(way, trust, host, port, LOGIN_TIMEOUT_MS);
    }

    /** The same with another patience: a connection that cannot be made is tried again until then. */
    static Consumer encrypted(Way way, Path trust, String host, int port, int loginTimeoutMs) {
        ElementList channel = Settings.elements(
                "ChannelType", "ChannelType::RSSL_ENCRYPTED",
                "EncryptedProtocolType", "EncryptedProtocolType::" + way.type,
                "CompressionType", Settings.Compression.NONE.ema(),
                "Host", host,
                "Port", String.valueOf(port),
                "ConnectionPingTimeout", 30_000,
                "GuaranteedOutputBuffers", Settings.OUTPUT_BUFFERS,
                "TcpNodelay", 1);
        if (way.protocol != null) {
            Settings.add(channel, "WsProtocols", way.protocol);
        }
        com.refinitiv.ema.access.Map settings = settings(
                Map.of("Channel", channel), REQUEST_TIMEOUT_MS, loginTimeoutMs,
                Settings.elements("DictionaryType", "DictionaryType::ChannelDictionary"));
        return new Consumer(config(new User(USER), settings)
                .tunnelingKeyStoreFile(trust.toString())
                .tunnelingKeyStorePasswd(Certificates.PASSWORD)
                .tunnelingKeyStoreType("PKCS12"));
    }

    /** In clear, where that is not to get through. */
    static Consumer inVain(int port, int loginTimeoutMs) {
        return new Consumer(new User(USER), settings(
                channels(Way.SOCKET, Settings.Compression.NONE, port), REQUEST_TIMEOUT_MS, loginTimeoutMs,
                Settings.elements("DictionaryType", "DictionaryType::ChannelDictionary")));
    }

    private Consumer(User user, com.refinitiv.ema.access.Map settings) {
        this(config(user, settings));
    }

    private Consumer(OmmConsumerConfig config) {
        this(EmaFactory.createOmmConsumer(config));
    }

    private Consumer(OmmConsumer ema) {
        this.ema = ema;
    }

    private static OmmConsumerConfig config(User user, com.refinitiv.ema.access.Map settings) {
        return EmaFactory.createOmmConsumerConfig()
                .username(user.name())
                .applicationId(user.application())
                .applicationName("interop")
                .position(user.position())
                .consumerName("Consumer")
                .config(settings);
    }

    private Consumer(Way way, Settings.Compression compression, int requestTimeoutMs, int... ports) {
        this(
                way, compression, requestTimeoutMs,
                Settings.elements("DictionaryType", "DictionaryType::ChannelDictionary"), ports);
    }

    private Consumer(
            Way way, Settings.Compression compression, int requestTimeoutMs, ElementList dictionary, int... ports) {
        this(new User(USER), way, compression, requestTimeoutMs, dictionary, ports);
    }

    private Consumer(
            User user, Way way, Settings.Compression compression, int requestTimeoutMs, ElementList dictionary,
            int... ports) {
        this(user, settings(channels(way, compression, ports), requestTimeoutMs, dictionary));
    }

    private static Map<String, ElementList> channels(Way way, Settings.Compression compression, int... ports) {
        Map<String, ElementList> channels = new LinkedHashMap<>();
        for (int port : ports) {
            channels.put("Channel" + port, channel(way, compression, port));
        }
        return channels;
    }

    private static ElementList channel(Way way, Settings.Compression compression, int port) {
        ElementList channel = Settings.elements(
                "ChannelType", "ChannelType::" + way.type,
                "CompressionType", compression.ema(),
                "CompressionThreshold", 300,
                "Host", "127.0.0.1",
                "Port", String.valueOf(port),
                "ConnectionPingTimeout", 30_000,
                "GuaranteedOutputBuffers", Settings.OUTPUT_BUFFERS,
                "TcpNodelay", 1);
        if (way.protocol != null) {
            Settings.add(channel, "WsProtocols", way.protocol);
        }
        return channel;
    }

    private static com.refinitiv.ema.access.Map settings(
            Map<String, ElementList> channels, int requestTimeoutMs, ElementList dictionary) {
        return settings(channels, requestTimeoutMs, LOGIN_TIMEOUT_MS, dictionary);
    }

    private static com.refinitiv.ema.access.Map settings(
            Map<String, ElementList> channels, int requestTimeoutMs, int loginTimeoutMs, ElementList dictionary) {
        String names = String.join(",", channels.keySet());
        return settings(consumer(requestTimeoutMs, loginTimeoutMs, "ChannelSet", names), channels, dictionary);
    }

    /** A consumer whose connections are named in this set. */
    private static ElementList consumer(String set, String names) {
        return consumer(REQUEST_TIMEOUT_MS, LOGIN_TIMEOUT_MS, set, names);
    }

    private static ElementList consumer(int requestTimeoutMs, int loginTimeoutMs, String set, String names) {
        ElementList consumer = Settings.elements(
                set, names,
                "Dictionary", "Dictionary",
                "ReconnectAttemptLimit", -1,
                "ReconnectMinDelay", 100,
                "ReconnectMaxDelay", 300,
                "LoginRequestTimeOut", loginTimeoutMs,
                "DirectoryRequestTimeOut", 15_000,
                "DictionaryRequestTimeOut", 15_000,
                "RequestTimeout", requestTimeoutMs);
        Settings.common(consumer);
        return consumer;
    }

    private static com.refinitiv.ema.access.Map settings(
            ElementList consumer, Map<String, ElementList> channels, ElementList dictionary) {
        return new Settings()
                .one("Consumer", "Consumer", consumer)
                .group("Channel", channels.keySet().iterator().next(), channels)
                .one("Dictionary", "Dictionary", dictionary)
                .map();
    }

    Stream open(ReqMsg request, String name) {
        Stream stream = new Stream(name);
        stream.handle = open(request, stream);
        return stream;
    }

    long open(ReqMsg request, OmmConsumerClient client) {
        return ema.registerClient(request, client);
    }

    Stream open(String service, String item) {
        return open(request(service, item), item);
    }

    Stream login() {
        return open(EmaFactory.createReqMsg().domainType(EmaRdm.MMT_LOGIN), "login");
    }

    Stream directory(long filter) {
        return open(EmaFactory.createReqMsg().domainType(EmaRdm.MMT_DIRECTORY).filter(filter), "directory");
    }

    static ReqMsg request(String service, String item) {
        return EmaFactory.createReqMsg().domainType(EmaRdm.MMT_MARKET_PRICE).serviceName(service).name(item);
    }

    /** The payload that asks for these fields only. */
    static ElementList view(int... fields) {
        OmmArray ids = EmaFactory.createOmmArray().fixedWidth(2);
        for (int field : fields) {
            ids.add(EmaFactory.createOmmArrayEntry().intValue(field));
        }
        ElementList view = EmaFactory.createElementList();
        view.add(EmaFactory.createElementEntry().uintValue(EmaRdm.ENAME_VIEW_TYPE, 1));
        view.add(EmaFactory.createElementEntry().array(EmaRdm.ENAME_VIEW_DATA, ids));
        return view;
    }

    /** The payload that asks for many items in one request. */
    static ElementList batch(List<String> items) {
        OmmArray names = EmaFactory.createOmmArray();
        items.forEach(item -> names.add(EmaFactory.createOmmArrayEntry().ascii(item)));
        ElementList batch = EmaFactory.createElementList();
        batch.add(EmaFactory.createElementEntry().array(EmaRdm.ENAME_BATCH_ITEM_LIST, names));
        return batch;
    }

    @Override
    public void close() {
        ema.uninitialize();
    }
}
