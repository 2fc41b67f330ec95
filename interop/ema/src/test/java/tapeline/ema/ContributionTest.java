package tapeline.ema;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import com.refinitiv.ema.access.DataType.DataTypes;
import com.refinitiv.ema.access.EmaFactory;
import com.refinitiv.ema.access.PostMsg;
import com.refinitiv.ema.rdm.EmaRdm;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What consumers send: posts on and off stream with their acknowledgements, generic messages. */
class ContributionTest {
    private static final long USER_ID = 4711;
    private static final long ADDRESS = 0x0a01_0203;
    private static final long LOOPBACK = 0x7f00_0001;

    @RegisterExtension
    static final Market market = new Market();

    private static PostMsg post(long id, long seq) {
        return EmaFactory.createPostMsg().domainType(EmaRdm.MMT_MARKET_PRICE).postId(id).seqNum(seq)
                .solicitAck(true).complete(true).publisherId(USER_ID, ADDRESS);
    }

    @Test
    void aPostOnItsStreamReachesTheSourceAndIsAcknowledged() {
        Consumer consumer = market.consumer();
        Stream stream = consumer.open(Source.SERVICE, "POST.N");
        Stream reader = market.consumer().open(Source.SERVICE, "POST.N");
        stream.image();
        reader.image();
        consumer.ema.submit(
                post(41, 1).payload(EmaFactory.createUpdateMsg().payload(Encode.fieldList(Samples.tick(9)))),
                stream.handle);
        Source.Post post = market.source().posts.await("the post", p -> p.seq() != null && p.seq() == 1);
        assertEquals(EmaRdm.MMT_MARKET_PRICE, post.domain());
        assertEquals(true, post.onStream());
        assertEquals(new Value.Message(DataTypes.UPDATE_MSG, Samples.tick(9)), post.payload());
        Event ack = stream.events.await("an ack", e -> e.is(Event.Kind.ACK));
        assertEquals(new Event.Ack(41, null, null), ack.ack());
        assertEquals(1, ack.seq());
        Event update = stream.events.await("the update born of the post", Event::isUpdate);
        assertEquals(Samples.tick(9), update.payload());
        // Who posted is who the server saw, whatever the client says of itself.
        Event.Publisher publisher = update.publisher();
        assertEquals(LOOPBACK, publisher.address());
        assertNotEquals(USER_ID, publisher.userId());
    }

    @Test
    void aRefusedPostComesBackWithTheReasonOfTheSource() {
        Consumer consumer = market.consumer();
        Stream stream = consumer.open(Source.SERVICE, "REFUSED.N");
        stream.image();
        consumer.ema.submit(post(42, 901).payload(Encode.fieldList(Samples.tick(1))), stream.handle);
        Event ack = stream.events.await("an ack", e -> e.is(Event.Kind.ACK));
        assertEquals(new Event.Ack(42, 1, "not yours"), ack.ack());
        assertEquals(901, ack.seq());
    }

    @Test
    void aPostOffStreamGoesByServiceAndName() {
        Consumer consumer = market.consumer();
        Stream login = consumer.login();
        login.image();
        consumer.ema.submit(
                post(43, 2).serviceName(Source.SERVICE).name("NEW.N").payload(Encode.fieldList(Samples.tick(3))),
                login.handle);
        Source.Post post = market.source().posts.await("the post", p -> "NEW.N".equals(p.name()));
        assertEquals(EmaRdm.MMT_MARKET_PRICE, post.domain());
        assertEquals(false, post.onStream());
        assertEquals(Samples.tick(3), post.payload());
        Event ack = login.events.await("an ack", e -> e.is(Event.Kind.ACK));
        assertEquals(new Event.Ack(43, null, null), ack.ack());
        assertEquals(2, ack.seq());
    }

    @Test
    void acknowledgementsGoToTheirPosterOnly() {
        Consumer[] consumers = {market.consumer(), market.consumer()};
        Stream[] streams = {
            consumers[0].open(Source.SERVICE, "POSTERS.N"), consumers[1].open(Source.SERVICE, "POSTERS.N")
        };
        streams[0].image();
        streams[1].image();
        int posts = 50;
        for (int i = 0; i < posts; i++) {
            // Both use the same numbers: the infrastructure must keep them apart.
            consumers[0].ema.submit(post(i, 10 + i).payload(Encode.fieldList(Samples.tick(i))), streams[0].handle);
            consumers[1].ema.submit(post(i, 300 + i).payload(Encode.fieldList(Samples.tick(i))), streams[1].handle);
        }
        for (int side = 0; side < 2; side++) {
            long first = side == 0 ? 10 : 300;
            List<Event> acks = streams[side].events.await(posts, "acks", e -> e.is(Event.Kind.ACK));
            for (int i = 0; i < posts; i++) {
                assertEquals(new Event.Ack(i, null, null), acks.get(i).ack());
                assertEquals(first + i, acks.get(i).seq());
            }
        }
    }

    @Test
    void aPostWithoutAcknowledgementArrives() {
        Consumer consumer = market.consumer();
        Stream stream = consumer.open(Source.SERVICE, "QUIET.N");
        stream.image();
        consumer.ema.submit(
                EmaFactory.createPostMsg().domainType(EmaRdm.MMT_MARKET_PRICE).seqNum(77).complete(true)
                        .payload(Encode.fieldList(Samples.tick(7))),
                stream.handle);
        Source.Post post = market.source().posts.await("the post", p -> p.seq() != null && p.seq() == 77);
        assertEquals(Samples.tick(7), post.payload());
    }

    @Test
    void genericMessagesGoBothWays() {
        Consumer consumer = market.consumer();
        Stream stream = consumer.open(Source.SERVICE, "GENERIC.N");
        stream.image();
        Value.Elements question =
                new Value.Elements(List.of(new Value.Element("ask", new Value.Ascii("how are you"))));
        Value.Elements answer = new Value.Elements(List.of(new Value.Element("answer", new Value.UInt(42))));
        consumer.ema.submit(
                EmaFactory.createGenericMsg().domainType(EmaRdm.MMT_MARKET_PRICE).name("question").seqNum(17)
                        .complete(true).payload(Encode.payload(question)),
                stream.handle);
        Source.Generic got = market.source().generics.await("the question", g -> "question".equals(g.name()));
        assertEquals(17, got.seq());
        assertEquals(question, got.payload());
        market.source().generic("GENERIC.N", 18, answer);
        Event reply = stream.events.await("the reply", e -> e.is(Event.Kind.GENERIC));
        assertEquals(18, reply.seq());
        assertEquals("reply", reply.name());
        assertEquals(answer, reply.payload());
    }
}
