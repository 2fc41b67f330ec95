package tapeline.peers;

import com.refinitiv.eta.codec.Codec;
import com.refinitiv.eta.codec.CodecFactory;
import com.refinitiv.eta.codec.DataStates;
import com.refinitiv.eta.codec.DataTypes;
import com.refinitiv.eta.codec.DecodeIterator;
import com.refinitiv.eta.codec.EncodeIterator;
import com.refinitiv.eta.codec.Msg;
import com.refinitiv.eta.codec.MsgClasses;
import com.refinitiv.eta.codec.Qos;
import com.refinitiv.eta.codec.QosRates;
import com.refinitiv.eta.codec.QosTimeliness;
import com.refinitiv.eta.codec.RefreshMsg;
import com.refinitiv.eta.codec.State;
import com.refinitiv.eta.codec.StreamStates;
import com.refinitiv.eta.rdm.Directory;
import com.refinitiv.eta.rdm.DomainTypes;
import com.refinitiv.eta.transport.Channel;
import com.refinitiv.eta.transport.Error;
import com.refinitiv.eta.transport.TransportBuffer;
import com.refinitiv.eta.valueadd.domainrep.rdm.directory.DirectoryMsgFactory;
import com.refinitiv.eta.valueadd.domainrep.rdm.directory.DirectoryMsgType;
import com.refinitiv.eta.valueadd.domainrep.rdm.directory.DirectoryRefresh;
import com.refinitiv.eta.valueadd.domainrep.rdm.directory.Service;
import com.refinitiv.eta.valueadd.domainrep.rdm.login.LoginMsgFactory;
import com.refinitiv.eta.valueadd.domainrep.rdm.login.LoginMsgType;
import com.refinitiv.eta.valueadd.domainrep.rdm.login.LoginRefresh;
import java.util.function.ToIntFunction;

/** What consumers are answered: login, directory, and an image for each item. */
final class Answers {
    private static final int SERVICE_ID = 1;
    private static final int BYTES = 4_096;

    private final String service;
    private final Watchers watchers;
    private final Error error;
    private final Update image = new Update(Codec.majorVersion(), Codec.minorVersion());
    private final DecodeIterator decoder = CodecFactory.createDecodeIterator();
    private final EncodeIterator encoder = CodecFactory.createEncodeIterator();
    private final Msg request = CodecFactory.createMsg();

    Answers(String service, Watchers watchers, Error error) {
        this.service = service;
        this.watchers = watchers;
        this.error = error;
    }

    /** Answers one message. */
    void answer(Client client, TransportBuffer received) {
        decoder.clear();
        decoder.setBufferAndRWFVersion(received, client.channel.majorVersion(), client.channel.minorVersion());
        request.clear();
        Update.check(request.decode(decoder));
        if (request.msgClass() != MsgClasses.REQUEST) {
            return;
        }
        int stream = request.streamId();
        switch (request.domainType()) {
            case DomainTypes.LOGIN -> send(client, login(stream, request.msgKey().name().toString())::encode);
            case DomainTypes.SOURCE -> send(client, directory(stream)::encode);
            case DomainTypes.MARKET_PRICE -> {
                String name = request.msgKey().name().toString();
                send(client, into -> item(into, stream, name));
                watchers.add(client, name, stream);
            }
            default -> throw new IllegalStateException("asked for domain " + request.domainType());
        }
    }

    private void send(Client client, ToIntFunction<EncodeIterator> message) {
        Channel channel = client.channel;
        TransportBuffer buffer;
        while ((buffer = channel.getBuffer(BYTES, false, error)) == null) {
            client.flush();
        }
        encoder.clear();
        Update.check(encoder.setBufferAndRWFVersion(buffer, channel.majorVersion(), channel.minorVersion()));
        Update.check(message.applyAsInt(encoder));
        client.send(buffer);
    }

    private static LoginRefresh login(int stream, String user) {
        LoginRefresh refresh = (LoginRefresh) LoginMsgFactory.createMsg();
        refresh.rdmMsgType(LoginMsgType.REFRESH);
        refresh.streamId(stream);
        refresh.applySolicited();
        refresh.applyHasUserName();
        refresh.userName().data(user);
        good(refresh.state());
        return refresh;
    }

    private DirectoryRefresh directory(int stream) {
        DirectoryRefresh refresh = (DirectoryRefresh) DirectoryMsgFactory.createMsg();
        refresh.rdmMsgType(DirectoryMsgType.REFRESH);
        refresh.streamId(stream);
        refresh.applySolicited();
        refresh.filter(Directory.ServiceFilterFlags.INFO | Directory.ServiceFilterFlags.STATE);
        good(refresh.state());
        Service offered = DirectoryMsgFactory.createService();
        offered.serviceId(SERVICE_ID);
        offered.action(com.refinitiv.eta.codec.MapEntryActions.ADD);
        offered.applyHasInfo();
        offered.info().serviceName().data(service);
        offered.info().capabilitiesList().add((long) DomainTypes.MARKET_PRICE);
        Qos qos = CodecFactory.createQos();
        qos.timeliness(QosTimeliness.REALTIME);
        qos.rate(QosRates.TICK_BY_TICK);
        offered.info().applyHasQos();
        offered.info().qosList().add(qos);
        offered.applyHasState();
        offered.state().serviceState(1);
        offered.state().applyHasAcceptingRequests();
        offered.state().acceptingRequests(1);
        refresh.serviceList().add(offered);
        return refresh;
    }

    private int item(EncodeIterator into, int stream, String name) {
        RefreshMsg refresh = (RefreshMsg) CodecFactory.createMsg();
        refresh.msgClass(MsgClasses.REFRESH);
        refresh.domainType(DomainTypes.MARKET_PRICE);
        refresh.streamId(stream);
        refresh.containerType(DataTypes.FIELD_LIST);
        refresh.applySolicited();
        refresh.applyRefreshComplete();
        refresh.applyHasMsgKey();
        refresh.msgKey().applyHasName();
        refresh.msgKey().name().data(name);
        refresh.msgKey().applyHasServiceId();
        refresh.msgKey().serviceId(SERVICE_ID);
        refresh.applyHasQos();
        refresh.qos().timeliness(QosTimeliness.REALTIME);
        refresh.qos().rate(QosRates.TICK_BY_TICK);
        good(refresh.state());
        Update.check(refresh.encodeInit(into, 0));
        image.fields(into, 0, 0);
        return refresh.encodeComplete(into, true);
    }

    private static void good(State state) {
        state.streamState(StreamStates.OPEN);
        state.dataState(DataStates.OK);
    }
}
