package tapeline.ema;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.refinitiv.ema.access.EmaFactory;
import com.refinitiv.ema.access.Msg;
import com.refinitiv.ema.access.OmmConsumerClient;
import com.refinitiv.ema.access.OmmConsumerEvent;
import com.refinitiv.ema.access.OmmException;
import com.refinitiv.ema.access.OmmQos;
import com.refinitiv.ema.access.OmmState.DataState;
import com.refinitiv.ema.access.OmmState.StreamState;
import com.refinitiv.ema.access.RefreshMsg;
import com.refinitiv.ema.rdm.DataDictionary;
import com.refinitiv.ema.rdm.DictionaryEntry;
import com.refinitiv.ema.rdm.EmaRdm;
import com.refinitiv.ema.rdm.EnumTypeTable;
import java.util.List;
import java.util.Set;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What comes before the first item: login, directory, dictionary. */
class SessionTest {
    @RegisterExtension
    static final Market market = new Market();

    @Test
    void theLoginRefreshSaysWhatTheServerOffers() {
        Stream login = market.consumer().login();
        Event image = login.image();
        assertTrue(image.says(StreamState.OPEN, DataState.OK), image.toString());
        assertEquals(Consumer.USER, image.name());
        assertEquals(EmaRdm.MMT_LOGIN, image.domain());
        Value.Elements features = (Value.Elements) image.attrib();
        for (String feature : List.of(
                "SingleOpen", "AllowSuspectData", "SupportOMMPost", "SupportOptimizedPauseResume",
                "SupportViewRequests")) {
            assertEquals(new Value.UInt(1), features.get(feature), feature);
        }
        if (!Market.DIRECT) {
            Value.UInt batch = (Value.UInt) features.get("SupportBatchRequests");
            assertEquals(1, batch.value() & 1, "batch requests");
        }
    }

    @Test
    void theDirectoryNamesTheServiceOfTheSource() {
        Stream directory = market.consumer().directory(0x3f);
        Value.Rows filters = awaitService(directory);
        Value.Elements info = (Value.Elements) filters.get(new Value.UInt(EmaRdm.SERVICE_INFO_ID));
        assertEquals(new Value.Ascii(Source.SERVICE), info.get("Name"));
        assertEquals(new Value.Ascii(Source.VENDOR), info.get("Vendor"));
        Set<Value> capabilities = Set.copyOf(((Value.Array) info.get("Capabilities")).items());
        assertEquals(
                Set.of(new Value.UInt(5), new Value.UInt(6), new Value.UInt(7), new Value.UInt(8), new Value.UInt(10)),
                capabilities);
        Value.Qos live = new Value.Qos(OmmQos.Timeliness.REALTIME, OmmQos.Rate.TICK_BY_TICK);
        assertEquals(new Value.Array(List.of(live)), info.get("QoS"));
        Value.Array dictionaries = new Value.Array(List.of(new Value.Ascii("RWFFld"), new Value.Ascii("RWFEnum")));
        assertEquals(dictionaries, info.get("DictionariesProvided"));
        assertEquals(dictionaries, info.get("DictionariesUsed"));
        Value.Elements state = (Value.Elements) filters.get(new Value.UInt(EmaRdm.SERVICE_STATE_ID));
        assertEquals(new Value.UInt(1), state.get("ServiceState"));
        assertEquals(new Value.UInt(1), state.get("AcceptingRequests"));
    }

    @Test
    void theDirectoryHasOnlyTheFiltersAskedFor() {
        Stream directory = market.consumer().directory(EmaRdm.SERVICE_STATE_FILTER);
        Value.Rows filters = awaitService(directory);
        List<Value> ids = filters.rows().stream().map(Value.Row::key).toList();
        assertEquals(List.of(new Value.UInt(EmaRdm.SERVICE_STATE_ID)), ids);
    }

    /** The filter list of the source's service; its id is the server's to choose. */
    private static Value.Rows awaitService(Stream directory) {
        Event image = directory.events.await(
                "a service", e -> e.payload() instanceof Value.Rows rows && !rows.rows().isEmpty());
        assertEquals(EmaRdm.MMT_DIRECTORY, image.domain());
        List<Value.Row> services = ((Value.Rows) image.payload()).rows();
        assertEquals(1, services.size(), services.toString());
        assertTrue(services.get(0).key() instanceof Value.UInt, services.toString());
        return (Value.Rows) services.get(0).load();
    }

    @Test
    void theDictionariesArriveWhole() {
        DataDictionary downloaded = inParts(market.consumer());
        assertSame(Dictionary.load(), downloaded);
    }

    /** Both dictionaries with all there is to know, of which the fields take several parts. */
    static DataDictionary inParts(Consumer consumer) {
        Download download = download(consumer);
        assertTrue(download.parts.size() > 2, "not in parts: " + download.parts.all());
        return download.dictionary;
    }

    /** Both dictionaries, each in one message: there are clients over JSON that take them in no other way. */
    static DataDictionary whole(Consumer consumer) {
        Download download = download(consumer);
        assertEquals(2, download.parts.size(), download.parts.all().toString());
        return download.dictionary;
    }

    private static Download download(Consumer consumer) {
        Download download = new Download();
        for (String name : List.of("RWFFld", "RWFEnum")) {
            consumer.open(
                    EmaFactory.createReqMsg().domainType(EmaRdm.MMT_DICTIONARY).serviceName(Source.SERVICE).name(name)
                            .filter(EmaRdm.DICTIONARY_VERBOSE),
                    download);
        }
        download.complete.await(2, "complete dictionaries", name -> true);
        return download;
    }

    /** Puts the parts of both dictionaries together. */
    private static final class Download implements OmmConsumerClient {
        final DataDictionary dictionary = EmaFactory.createDataDictionary();
        final Inbox<String> parts = new Inbox<>("dictionary parts");
        final Inbox<String> complete = new Inbox<>("dictionaries");

        @Override
        public void onRefreshMsg(RefreshMsg msg, OmmConsumerEvent event) {
            if (msg.name().equals("RWFFld")) {
                dictionary.decodeFieldDictionary(msg.payload().series(), EmaRdm.DICTIONARY_VERBOSE);
            } else {
                dictionary.decodeEnumTypeDictionary(msg.payload().series(), EmaRdm.DICTIONARY_VERBOSE);
            }
            parts.add(msg.name());
            if (msg.complete()) {
                complete.add(msg.name());
            }
        }

        @Override
        public void onUpdateMsg(com.refinitiv.ema.access.UpdateMsg msg, OmmConsumerEvent event) {}

        @Override
        public void onStatusMsg(com.refinitiv.ema.access.StatusMsg msg, OmmConsumerEvent event) {}

        @Override
        public void onGenericMsg(com.refinitiv.ema.access.GenericMsg msg, OmmConsumerEvent event) {}

        @Override
        public void onAckMsg(com.refinitiv.ema.access.AckMsg msg, OmmConsumerEvent event) {}

        @Override
        public void onAllMsg(Msg msg, OmmConsumerEvent event) {}
    }

    private static void assertSame(DataDictionary want, DataDictionary got) {
        assertSame(want, got, display -> display);
    }

    /** {@code display} is what becomes of the display text of an enumeration on its way. */
    static void assertSame(DataDictionary want, DataDictionary got, UnaryOperator<String> display) {
        assertEquals(want.fieldVersion(), got.fieldVersion());
        assertEquals(want.enumRecordTemplateVersion(), got.enumRecordTemplateVersion());
        assertEquals(want.enumDisplayTemplateVersion(), got.enumDisplayTemplateVersion());
        assertEquals(want.dictionaryId(), got.dictionaryId());
        assertEquals(want.entries().size(), got.entries().size());
        assertNotEquals(0, got.entries().size());
        for (DictionaryEntry entry : want.entries()) {
            assertTrue(got.hasEntry(entry.fid()), entry.acronym());
            assertEquals(text(entry), text(got.entry(entry.fid())));
        }
        assertEquals(tables(want, display), tables(got, text -> text));
        assertEquals("USD", got.enumType(Samples.CURRENCY, 840).display());
        assertNotNull(got.entry(Samples.BID));
    }

    private static String text(DictionaryEntry entry) {
        return String.join(
                "|", entry.acronym(), entry.ddeAcronym(), String.valueOf(entry.fid()),
                String.valueOf(entry.rippleToField()), String.valueOf(entry.fieldType()),
                String.valueOf(entry.length()), String.valueOf(entry.enumLength()), String.valueOf(entry.rwfType()),
                String.valueOf(entry.rwfLength()));
    }

    private static Set<String> tables(DataDictionary dictionary, UnaryOperator<String> display) {
        return dictionary.enumTables().stream().map(table -> text(table, display)).collect(Collectors.toSet());
    }

    /** Meanings are comments of the file; the enumeration itself is value and display. */
    private static String text(EnumTypeTable table, UnaryOperator<String> display) {
        String values = table.enumTypes().stream()
                .map(value -> value.value() + "=" + display.apply(value.display()))
                .collect(Collectors.joining(","));
        return table.FidReferences().stream().sorted().toList() + ": " + values;
    }

    @Test
    void anUnknownServiceIsRefused() {
        Stream stream = market.consumer().open("NO_SUCH_SERVICE", "ANY");
        Event status = stream.events.await("a status", e -> e.is(Event.Kind.STATUS));
        assertEquals(DataState.SUSPECT, status.state().data());
    }

    @Test
    void aSecondConsumerIsServedBesideTheFirst() throws OmmException {
        Stream first = market.consumer().login();
        Stream second = market.consumer().login();
        assertTrue(first.image().says(StreamState.OPEN, DataState.OK));
        assertTrue(second.image().says(StreamState.OPEN, DataState.OK));
    }
}
