package tapeline.fix;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.regex.Pattern;
import quickfix.Message;

/** The rules that hold for every execution report of a client. */
final class Reports {
    private static final int EXEC_ID = 17;
    private static final int CUM_QTY = 14;
    private static final int LEAVES_QTY = 151;
    private static final int ORDER_QTY = 38;
    private static final Set<String> ALIVE = Set.of("0", "1", "9");
    private static final Pattern NANOSECONDS = Pattern.compile("\\d{8}-\\d{2}:\\d{2}:\\d{2}\\.\\d{9}");

    /** What the exchange's table of this message has, and what heads and ends every message. */
    private static final Set<Integer> TAGS = Set.of(
            17, 11, 41, 37, 150, 19, 378, 39, 103, 58, 32, 31, 151, 14, 48, 22, 1, 453, 40, 1091, 59, 126, 432, 54, 38,
            1138, 1084, 44, 99, 581, 528, 60, 526, 583, 9730, 336, 386, 880, 20000, 27010, 278, 110, 851, 2668, 2669,
            2670, 1724, 27017, 30, 27018, 27020, 828, 27021, 522);

    /** What reports have besides that answer a question about orders. */
    private static final Set<Integer> ANSWER_TAGS = Set.of(584, 912);

    private final Set<String> executions = new HashSet<>();
    private final Map<String, Long> filled = new HashMap<>();

    /** What is wrong with a report. */
    List<String> check(Message report) {
        List<String> wrong = new ArrayList<>();
        BiConsumer<Boolean, String> demand = (holds, rule) -> {
            if (!holds) {
                wrong.add(rule + ": " + Fields.readable(report));
            }
        };
        boolean isAnswer = Fields.of(report, 150).equals("I");
        report.iterator().forEachRemaining(field -> demand.accept(
                TAGS.contains(field.getTag()) || isAnswer && ANSWER_TAGS.contains(field.getTag()),
                "the table has no tag " + field.getTag()));
        quantities(report, demand);
        if (isAnswer) {
            demand.accept(Fields.of(report, EXEC_ID).equals("0"), "17 of an answer is 0");
            return wrong;
        }
        boolean mayBeDouble = Fields.ofHeader(report, 43).equals("Y") || Fields.ofHeader(report, 97).equals("Y");
        demand.accept(executions.add(Fields.of(report, EXEC_ID)) || mayBeDouble, "17 is of one report only");
        demand.accept(NANOSECONDS.matcher(Fields.of(report, 60)).matches(), "60 is exact to a nanosecond");
        demand.accept(Fields.of(report, 22).equals("8"), "22 is 8");
        return wrong;
    }

    private void quantities(Message report, BiConsumer<Boolean, String> demand) {
        long leaves = Fields.number(report, LEAVES_QTY);
        long traded = Fields.number(report, CUM_QTY);
        boolean isTrade = Fields.of(report, 150).equals("F");
        boolean isCancelledTrade = Fields.of(report, 150).equals("H");
        boolean isOfTrade = isTrade || isCancelledTrade;
        // Behind the end of a trade, an order that was filled asks for less, and is not there any more.
        boolean mayBeGone = Fields.of(report, 378).equals("8");
        if (ALIVE.contains(Fields.of(report, 39))) {
            demand.accept(leaves > 0 || mayBeGone, "an order that is alive has a quantity left");
            demand.accept(traded + leaves == Fields.number(report, ORDER_QTY), "14 + 151 = 38");
        } else {
            demand.accept(leaves == 0, "an order that is not alive has nothing left");
        }
        demand.accept(isOfTrade == report.isSetField(31), "31 is there in trades");
        demand.accept(isOfTrade == report.isSetField(32), "32 is there in trades");
        demand.accept(isCancelledTrade == report.isSetField(19), "19 is there in ends of trades");
        boolean isDouble = executions.contains(Fields.of(report, EXEC_ID));
        if (isOfTrade && report.isSetField(32) && !isDouble) {
            long size = Fields.number(report, 32);
            long sum = filled.merge(Fields.of(report, 37), isTrade ? size : -size, Long::sum);
            demand.accept(sum == traded, "14 is the sum of all 32 that stand, which is " + sum);
        }
    }
}
