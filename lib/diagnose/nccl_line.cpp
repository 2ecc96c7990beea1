#include "diagnose/nccl_line.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include "diagnose/hash_index.hpp"

namespace railhead::diagnose {
namespace {

/// Whether a byte may stand in the name of a host.
constexpr auto host_characters = [] {
    std::array<bool, 256> may{};
    for (const char c : std::string_view{"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                         "0123456789-._"}) {
        may[static_cast<unsigned char>(c)] = true;
    }
    return may;
}();

bool is_host_character(char c) {
    return host_characters[static_cast<unsigned char>(c)];
}

bool stands_at(const char* at, const char* end, std::string_view word) {
    return static_cast<std::size_t>(end - at) >= word.size() &&
           std::memcmp(at, word.data(), word.size()) == 0;
}

/// What follows "NCCL" at `at`; a mark without a beginning where it is another word.
Mark mark_at(const char* at, const char* end) {
    const char* const behind = at + 4;
    if (stands_at(behind, end, " INFO")) {
        return {MarkKind::info, at, behind + 5};
    }
    if (stands_at(behind, end, " WARN")) {
        return {MarkKind::warning, at, behind + 5};
    }
    if (stands_at(behind, end, " version ")) {
        return {MarkKind::version, at, behind + 9};
    }
    if (stands_at(behind, end, " failure ")) {
        return {MarkKind::failure, at, behind + 1};
    }
    if (stands_at(behind, end, ".cpp:") || stands_at(behind, end, "(SeqNum=")) {
        return {MarkKind::watchdog, at, at};
    }
    return {};
}

/// The start of the digits that end at `at`, not before `begin`.
const char* back_over_digits(const char* begin, const char* at) {
    while (at > begin && is_digit(at[-1])) {
        --at;
    }
    return at;
}

std::int32_t small_number(const char* begin, const char* end) {
    std::int32_t value = 0;
    for (; begin < end && value < 100'000; ++begin) {
        value = value * 10 + (*begin - '0');
    }
    return value;
}

/// A host that stands behind an escape for colour, as "ESC[0mnode1" or, where the escape character
/// was lost, "[0mnode1".
const char* behind_escape(const char* line, const char* begin, const char* end) {
    if (begin == line || begin[-1] != '[') {
        return begin;
    }
    const char* at = begin;
    while (at < end && (is_digit(*at) || *at == ';')) {
        ++at;
    }
    return at < end && *at == 'm' ? at + 1 : begin;
}

bool find_host(const char* line, const char* pid_colon, Prefix& prefix) {
    constexpr std::ptrdiff_t longest = 253;  // RFC 1035
    const char* host = pid_colon;
    while (host > line && pid_colon - host < longest && is_host_character(host[-1])) {
        --host;
    }
    host = behind_escape(line, host, pid_colon);
    if (host == pid_colon) {
        return false;
    }
    prefix.begin = host;
    prefix.host = {host, static_cast<std::size_t>(pid_colon - host)};
    return true;
}

}  // namespace

Mark find_mark(const char* begin, const char* end) {
    constexpr std::ptrdiff_t shortest = 9;  // "NCCL INFO"
    while (end - begin >= shortest) {
        const auto* at = static_cast<const char*>(
            std::memchr(begin, 'N', static_cast<std::size_t>(end - begin - shortest + 1)));
        if (at == nullptr) {
            break;
        }
        if (at[1] == 'C' && at[2] == 'C' && at[3] == 'L') {
            if (const Mark mark = mark_at(at, end); mark.begin != nullptr) {
                return mark;
            }
        }
        begin = at + 1;
    }
    return {};
}

Prefix read_prefix(const char* begin, const char* mark) {
    Prefix prefix;
    const char* at = mark;
    const auto back_over_blanks = [&] {
        while (at > begin && at[-1] == ' ') {
            --at;
        }
    };
    back_over_blanks();
    if (at > begin && at[-1] != ']') {  // a warning: "transport/net_ib.cc:839"
        const char* const end = at;
        while (at > begin && at[-1] != ' ' && at[-1] != ']') {
            --at;
        }
        prefix.source = {at, static_cast<std::size_t>(end - at)};
        back_over_blanks();
    }
    if (at == begin || at[-1] != ']') {
        return prefix;
    }
    const char* const device_end = --at;
    at = back_over_digits(begin, at);
    if (at == device_end || at == begin || at[-1] != '[') {
        return prefix;
    }
    const std::int32_t device = small_number(at, device_end);
    --at;
    back_over_blanks();
    const char* const thread = back_over_digits(begin, at);
    if (thread == at || thread - begin < 3 || thread[-1] != ':') {
        return prefix;
    }
    const char* const pid_end = thread - 1;
    const char* const pid = back_over_digits(begin, pid_end);
    if (pid == pid_end || pid == begin || pid[-1] != ':' || !find_host(begin, pid - 1, prefix)) {
        return prefix;
    }
    for (const char* digit = pid; digit < pid_end; ++digit) {
        prefix.pid = prefix.pid * 10 + static_cast<std::uint32_t>(*digit - '0');
    }
    prefix.device = device;
    prefix.hash = hash_of_speaker(prefix.host, prefix.pid, device);
    return prefix;
}

std::uint64_t hash_of_speaker(std::string_view host, std::uint32_t pid, std::int32_t device) {
    return hash_of(host, (std::uint64_t{pid} << 20U) ^ static_cast<std::uint32_t>(device));
}

Record find_record(const char* from, const char* end) {
    Record record;
    record.mark = find_mark(from, end);
    if (record.mark.begin != nullptr) {
        record.prefix = read_prefix(from, record.mark.begin);
    }
    return record;
}

std::optional<std::int64_t> find_time(std::string_view text) {
    constexpr std::string_view form = "dddd-dd-dd?dd:dd:dd";
    const auto fits = [&](std::string_view part) {
        return std::equal(form.begin(), form.end(), part.begin(), [](char f, char c) {
            return f == 'd' ? is_digit(c) : f == '?' ? c == ' ' || c == 'T' : f == c;
        });
    };
    for (; text.size() >= form.size(); text.remove_prefix(1)) {
        if (!is_digit(text[0]) || !fits(text)) {
            continue;
        }
        const auto number = [&](std::size_t at, std::size_t digits) {
            return small_number(text.data() + at, text.data() + at + digits);
        };
        using namespace std::chrono;
        const year_month_day date{year{number(0, 4)}, month{static_cast<unsigned>(number(5, 2))},
                                  day{static_cast<unsigned>(number(8, 2))}};
        if (!date.ok()) {
            return std::nullopt;
        }
        const auto days = sys_days{date}.time_since_epoch().count();
        return std::int64_t{days} * 86'400 + number(11, 2) * 3600 + number(14, 2) * 60 +
               number(17, 2);
    }
    return std::nullopt;
}

}  // namespace railhead::diagnose
