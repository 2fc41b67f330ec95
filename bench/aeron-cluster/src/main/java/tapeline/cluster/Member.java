package tapeline.cluster;

import io.aeron.archive.Archive;
import io.aeron.archive.ArchiveThreadingMode;
import io.aeron.archive.client.AeronArchive;
import io.aeron.cluster.ClusteredMediaDriver;
import io.aeron.cluster.ConsensusModule;
import io.aeron.cluster.service.ClusteredServiceContainer;
import io.aeron.driver.MediaDriver;
import io.aeron.driver.ThreadingMode;
import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.agrona.concurrent.NoOpLock;

/**
 * One member of the cluster, with a media driver, an archive, a consensus module and the echo on a thread each,
 * which is as few as Aeron's own examples have. It ends when its input does, at once: its folder goes too.
 */
public final class Member {
    /** A whole cluster is stopped while others are measured; nobody is to take another one for dead then. */
    static final long STOPPED_AT_MOST_NS = TimeUnit.MINUTES.toNanos(10);

    private static final String ANY_PORT = "aeron:udp?endpoint=127.0.0.1:0";

    private Member() {}

    public static void main(String[] arguments) {
        // Threads of Aeron that run already are not to keep a process whose other parts failed.
        try {
            run(arguments);
        } catch (IOException | RuntimeException failed) {
            failed.printStackTrace();
        }
        Runtime.getRuntime().halt(1);
    }

    private static void run(String[] arguments) throws IOException {
        int number = Integer.parseInt(arguments[0]);
        String members = arguments[1];
        Idle idle = Idle.of(arguments[2]);
        Path folder = Path.of(arguments[3]);
        String driver = folder.resolve("driver").toString();
        String control = "aeron:udp?endpoint=" + members.split("\\|")[number].split(",")[5];

        Archive.Context archive = new Archive.Context()
                .aeronDirectoryName(driver)
                .archiveDir(folder.resolve("archive").toFile())
                .controlChannel(control)
                .replicationChannel(ANY_PORT)
                .recordingEventsEnabled(false)
                .threadingMode(ArchiveThreadingMode.SHARED)
                .idleStrategySupplier(idle::strategy);
        AeronArchive.Context archiveClient = new AeronArchive.Context()
                .lock(NoOpLock.INSTANCE)
                .controlRequestChannel(archive.localControlChannel())
                .controlResponseChannel(archive.localControlChannel())
                .messageTimeoutNs(STOPPED_AT_MOST_NS)
                .aeronDirectoryName(driver);
        File cluster = folder.resolve("cluster").toFile();
        ConsensusModule.Context consensus = new ConsensusModule.Context()
                .aeronDirectoryName(driver)
                .clusterMemberId(number)
                .clusterMembers(members)
                .clusterDir(cluster)
                .ingressChannel("aeron:udp?term-length=64k")
                .replicationChannel(ANY_PORT)
                .leaderHeartbeatTimeoutNs(STOPPED_AT_MOST_NS)
                .startupCanvassTimeoutNs(2 * STOPPED_AT_MOST_NS)
                .sessionTimeoutNs(STOPPED_AT_MOST_NS)
                .archiveContext(archiveClient.clone())
                .idleStrategySupplier(idle::strategy);
        ClusteredServiceContainer.Context service = new ClusteredServiceContainer.Context()
                .aeronDirectoryName(driver)
                .clusterDir(cluster)
                .archiveContext(archiveClient.clone())
                .clusteredService(new Echo())
                .idleStrategySupplier(idle::strategy);

        ClusteredMediaDriver.launch(driver(driver, idle), archive, consensus);
        ClusteredServiceContainer.launch(service);
        System.in.transferTo(java.io.OutputStream.nullOutputStream());
    }

    /** A media driver on one thread. */
    static MediaDriver.Context driver(String folder, Idle idle) {
        return new MediaDriver.Context()
                .aeronDirectoryName(folder)
                .threadingMode(ThreadingMode.SHARED)
                .sharedIdleStrategy(idle.strategy())
                .clientLivenessTimeoutNs(STOPPED_AT_MOST_NS)
                .imageLivenessTimeoutNs(STOPPED_AT_MOST_NS)
                .publicationConnectionTimeoutNs(STOPPED_AT_MOST_NS)
                .publicationUnblockTimeoutNs(STOPPED_AT_MOST_NS + TimeUnit.MINUTES.toNanos(1))
                .flowControlReceiverTimeoutNs(STOPPED_AT_MOST_NS);
    }
}
