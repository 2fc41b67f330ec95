package tapeline.ema;

import com.refinitiv.ema.access.ElementList;
import com.refinitiv.ema.access.EmaFactory;
import com.refinitiv.ema.access.GenericMsg;
import com.refinitiv.ema.access.Msg;
import com.refinitiv.ema.access.OmmNiProviderConfig;
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
import com.refinitiv.ema.rdm.EmaRdm;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** An EMA non-interactive provider with one service: it connects to the hub and publishes unasked. */
final class Broadcaster implements OmmProviderClient, AutoCloseable {
    static final String SERVICE = "EMA_BROADCAST";
    static final int SERVICE_ID = 9;

    private static final String USER = "broadcaster";

    /** What the hub says of its login and of what it publishes. */
    final Inbox<Value.State> told = new Inbox<>("broadcaster, states");

    private final String service;
    private final OmmProvider ema;
    private final Map<String, Long> handles = new LinkedHashMap<>();

    Broadcaster(int port, Settings.Compression compression) {
        this(SERVICE, config(USER, SERVICE, clear(port, compression)));
    }

    /** Another user, with another service. */
    Broadcaster(String user, String service, int port) {
        this(service, config(user, service, clear(port, Settings.Compression.NONE)));
    }

    private static ElementList clear(int port, Settings.Compression compression) {
        return Settings.elements(
                "ChannelType", "ChannelType::RSSL_SOCKET",
                "CompressionType", compression.ema(),
                "CompressionThreshold", 300,
                "Host", "127.0.0.1",
                "Port", String.valueOf(port),
                "TcpNodelay", 1);
    }

    private Broadcaster(String service, OmmNiProviderConfig config) {
        this.service = service;
        ema = EmaFactory.createOmmProvider(config, this);
    }

    /** Over TLS, to a hub of an authority in this key store whose certificate is for this host. */
    static Broadcaster encrypted(Path trust, String host, int port) {
        return new Broadcaster(SERVICE, config(USER, SERVICE, Settings.elements(
                        "ChannelType", "ChannelType::RSSL_ENCRYPTED",
                        "EncryptedProtocolType", "EncryptedProtocolType::RSSL_SOCKET",
                        "CompressionType", Settings.Compression.NONE.ema(),
                        "Host", host,
                        "Port", String.valueOf(port),
                        "TcpNodelay", 1))
                .tunnelingKeyStoreFile(trust.toString())
                .tunnelingKeyStorePasswd(Certificates.PASSWORD)
                .tunnelingKeyStoreType("PKCS12"));
    }

    private static OmmNiProviderConfig config(String user, String service, ElementList channel) {
        return EmaFactory.createOmmNiProviderConfig()
                .username(user)
                .providerName("Broadcaster")
                .config(settings(service, channel));
    }

    private static com.refinitiv.ema.access.Map settings(String service, ElementList channel) {
        ElementList provider = Settings.elements(
                "Channel", "Channel", "Directory", "Directory", "ReconnectAttemptLimit", -1, "ReconnectMinDelay", 100,
                "ReconnectMaxDelay", 300, "LoginRequestTimeOut", 15_000);
        Settings.common(provider);
        ElementList info = Settings.elements(
                "ServiceId", SERVICE_ID,
                "Vendor", Source.VENDOR,
                "IsSource", 1,
                "Capabilities", List.of("MMT_MARKET_PRICE", "MMT_MARKET_BY_ORDER"),
                "DictionariesUsed", List.of("Dictionary"));
        ElementList state = Settings.elements("ServiceState", 1, "AcceptingRequests", 1);
        return new Settings()
                .one("NiProvider", "Broadcaster", provider)
                .one("Channel", "Channel", channel)
                .one("Dictionary", "Dictionary", Dictionary.settings())
                .service("Directory", service, Settings.elements("InfoFilter", info, "StateFilter", state))
                .map();
    }

    /** An image, the first or another one. */
    void publish(String name, int domain, Value payload) {
        long handle = handles.computeIfAbsent(name, key -> (long) handles.size() + 1);
        Submit.patiently(() -> ema.submit(
                EmaFactory.createRefreshMsg().domainType(domain).serviceName(service).name(name).complete(true)
                        .state(StreamState.OPEN, DataState.OK, StatusCode.NONE, "All is well")
                        .payload(Encode.payload(payload)),
                handle));
    }

    void publish(String name, Value payload) {
        publish(name, EmaRdm.MMT_MARKET_PRICE, payload);
    }

    void update(String name, int domain, long seq, Value payload) {
        Submit.patiently(() -> ema.submit(
                EmaFactory.createUpdateMsg().domainType(domain).serviceName(service).name(name).seqNum(seq)
                        .payload(Encode.payload(payload)),
                handles.get(name)));
    }

    void status(String name, int stream, int data, int code, String text) {
        ema.submit(
                EmaFactory.createStatusMsg().domainType(EmaRdm.MMT_MARKET_PRICE).serviceName(service).name(name)
                        .state(stream, data, code, text),
                handles.get(name));
    }

    @Override
    public void onRefreshMsg(RefreshMsg msg, OmmProviderEvent event) {
        told.add(Decode.state(msg.state()));
    }

    @Override
    public void onStatusMsg(StatusMsg msg, OmmProviderEvent event) {
        if (msg.hasState()) {
            told.add(Decode.state(msg.state()));
        }
    }

    @Override
    public void onReqMsg(ReqMsg msg, OmmProviderEvent event) {}

    @Override
    public void onReissue(ReqMsg msg, OmmProviderEvent event) {}

    @Override
    public void onClose(ReqMsg msg, OmmProviderEvent event) {}

    @Override
    public void onPostMsg(PostMsg msg, OmmProviderEvent event) {}

    @Override
    public void onGenericMsg(GenericMsg msg, OmmProviderEvent event) {}

    @Override
    public void onAllMsg(Msg msg, OmmProviderEvent event) {}

    @Override
    public void close() {
        ema.uninitialize();
    }
}
