package tapeline.cluster;

import java.io.IOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.StringJoiner;
import java.util.stream.Stream;

/** Three processes, and a folder in memory for all that they keep. Both go when this process ends. */
final class Members {
    private static final int COUNT = 3;
    /** For clients, for votes, for the log, to catch up, and of the archive. */
    private static final int PORTS_OF_ONE = 5;

    private final List<Process> processes = new ArrayList<>();
    private final StringJoiner ingress = new StringJoiner(",");
    private final Path folder;

    private Members(Path folder) {
        this.folder = folder;
    }

    static Members start(String idle) throws IOException {
        Path memory = Path.of("/dev/shm");
        if (!Files.isWritable(memory)) {
            throw new IOException(memory + ", a file system in memory, cannot be written to");
        }
        Members all = new Members(Files.createTempDirectory(memory, "tapeline-aeron-cluster-"));
        Runtime.getRuntime().addShutdownHook(new Thread(all::end));
        StringJoiner members = new StringJoiner("|");
        int[] ports = freePorts(COUNT * PORTS_OF_ONE);
        for (int number = 0; number < COUNT; number++) {
            StringJoiner member = new StringJoiner(",").add(Integer.toString(number));
            for (int port = 0; port < PORTS_OF_ONE; port++) {
                member.add("127.0.0.1:" + ports[number * PORTS_OF_ONE + port]);
            }
            members.add(member.toString());
            all.ingress.add(number + "=127.0.0.1:" + ports[number * PORTS_OF_ONE]);
        }
        for (int number = 0; number < COUNT; number++) {
            all.processes.add(all.start(number, members.toString(), idle));
        }
        return all;
    }

    /** Where clients find the members. */
    String ingress() {
        return ingress.toString();
    }

    Path folder() {
        return folder;
    }

    /** With the options of this process. */
    private Process start(int number, String members, String idle) throws IOException {
        ProcessHandle.Info own = ProcessHandle.current().info();
        List<String> command = new ArrayList<>();
        command.add(own.command().orElse("java"));
        command.addAll(java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments());
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), Member.class.getName()));
        command.addAll(List.of(Integer.toString(number), members, idle, folder.resolve("" + number).toString()));
        return new ProcessBuilder(command)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
    }

    /** The system chooses, and the members bind what it chose. */
    private static int[] freePorts(int count) throws IOException {
        List<DatagramSocket> chosen = new ArrayList<>();
        try {
            int[] ports = new int[count];
            for (int i = 0; i < count; i++) {
                chosen.add(new DatagramSocket(0, InetAddress.getLoopbackAddress()));
                ports[i] = chosen.get(i).getLocalPort();
            }
            return ports;
        } finally {
            chosen.forEach(DatagramSocket::close);
        }
    }

    private void end() {
        processes.forEach(Process::destroyForcibly);
        try {
            for (Process process : processes) {
                process.waitFor();
            }
            delete();
        } catch (IOException | InterruptedException why) {
            System.err.println(folder + " is left behind: " + why);
        }
    }

    private void delete() throws IOException {
        try (Stream<Path> all = Files.walk(folder)) {
            all.sorted(Comparator.reverseOrder()).forEach(path -> path.toFile().delete());
        }
    }
}
