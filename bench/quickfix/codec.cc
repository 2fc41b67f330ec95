// An order that is read and a report that is written, by QuickFIX for C++: what
// crates/fix/examples/codec.rs does with the same bytes.
//
//   codec order COUNT FILE     FILE has the order
//   codec report COUNT FILE
//   codec bytes 1 FILE         the report, to be looked at beside the other one

#include <quickfix/FieldConvertors.h>
#include <quickfix/Message.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

namespace {

// What a gateway takes from an order.
struct Order {
    std::string name;
    std::int64_t instrument;
    char kind;
    char time_in_force;
    char side;
    std::int64_t quantity;
    std::int64_t display;
    double price;
    char capacity;
    FIX::UtcTimeStamp at;
};

Order read(const FIX::Message& message) {
    return Order{
        message.getField(11),
        FIX::IntConvertor::convert(message.getField(48)),
        FIX::CharConvertor::convert(message.getField(40)),
        FIX::CharConvertor::convert(message.getField(59)),
        FIX::CharConvertor::convert(message.getField(54)),
        FIX::IntConvertor::convert(message.getField(38)),
        FIX::IntConvertor::convert(message.getField(1138)),
        FIX::DoubleConvertor::convert(message.getField(44)),
        FIX::CharConvertor::convert(message.getField(528)),
        FIX::UtcTimeStampConvertor::convert(message.getField(60)),
    };
}

void set(FIX::FieldMap& map, int tag, const std::string& value) {
    map.setField(FIX::FieldBase(tag, value));
}

void set(FIX::FieldMap& map, int tag, char value) {
    map.setField(tag, FIX::CharConvertor::convert(value));
}

void set(FIX::FieldMap& map, int tag, std::int64_t value) {
    map.setField(tag, FIX::IntConvertor::convert(static_cast<int>(value)));
}

std::string report(const Order& order, std::int64_t number) {
    const FIX::UtcTimeStamp now(12, 0, 0, static_cast<int>(number), 26, 11, 2026, 9);
    FIX::Message message;
    FIX::Header& header = message.getHeader();
    set(header, 8, "FIXT.1.1");
    set(header, 35, "8");
    set(header, 34, number);
    set(header, 49, "FGW");
    set(header, 52, FIX::UtcTimeStampConvertor::convert(now, 9));
    set(header, 56, "CLIENT");
    set(message, 17, "0000a1B2c3D4");
    set(message, 11, order.name);
    set(message, 37, "01hbIXLE8st0");
    set(message, 150, '0');
    set(message, 39, '0');
    set(message, 151, order.quantity);
    set(message, 14, std::int64_t{0});
    set(message, 48, order.instrument);
    set(message, 22, '8');
    // As fields and not as a group, which would cost it more.
    set(message, 453, std::int64_t{1});
    set(message, 448, "TRADER1");
    set(message, 447, 'D');
    set(message, 452, std::int64_t{76});
    set(message, 40, order.kind);
    set(message, 59, order.time_in_force);
    set(message, 54, order.side);
    set(message, 38, order.quantity);
    set(message, 1138, order.display);
    set(message, 44, FIX::DoubleConvertor::convert(order.price));
    set(message, 581, '1');
    set(message, 528, order.capacity);
    set(message, 60, FIX::UtcTimeStampConvertor::convert(order.at, 9));
    set(message, 278, "01hbIXLE8st");
    return message.toString();
}

}  // namespace

int main(int count, char** words) {
    if (count != 4) {
        std::cerr << "usage: codec order|report|bytes COUNT FILE\n";
        return 2;
    }
    const std::string row = words[1];
    const long turns = std::atol(words[2]);
    std::ifstream file(words[3], std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    // Length and checksum are looked at; there is no dictionary to hold it against.
    const Order order = read(FIX::Message(bytes, true));
    std::size_t sum = 0;
    if (row == "order") {
        for (long turn = 0; turn < turns; turn++) {
            sum += read(FIX::Message(bytes, true)).name.size();
        }
    } else {
        for (long turn = 0; turn < turns; turn++) {
            const std::string out = report(order, 123456 + turn % 1000);
            sum += out.size();
            if (row == "bytes") {
                std::cout << out;
            }
        }
    }
    return sum == 0 ? 1 : 0;
}
