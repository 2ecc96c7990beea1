#include "job/hostlist.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "base/text.hpp"

namespace railhead::job {

namespace {

/// Longer than any host name; keeps a hostile list from asking for gigabytes.
constexpr std::size_t max_name = 255;
/// Digits of a number that surely fit in 64 bits.
constexpr std::size_t max_digits = 18;
constexpr std::string_view separators = ", \t\r\n";

struct Range {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    std::size_t width = 1;  ///< digits, zeros in front counted
    [[nodiscard]] std::uint64_t size() const { return high - low + 1; }
};

/// Text before a bracket, and what the bracket holds.
struct Group {
    std::string_view before;
    std::vector<Range> ranges;
};

/// Fails at `part`, which lies inside `list`.
tl::unexpected<Error> fail_at(std::string_view list, std::string_view part, std::string message) {
    const auto offset = static_cast<unsigned>(part.data() - list.data());
    return fail(Errc::bad_input, std::move(message), Position{{}, 0, offset + 1});
}

std::string quoted(std::string_view text) {
    constexpr std::size_t shown = 60;
    return fmt::format("\"{}{}\"", printable(text.substr(0, shown)),
                       text.size() > shown ? "…" : "");
}

std::optional<std::uint64_t> parse_digits(std::string_view text) {
    return text.size() <= max_digits ? parse_number<std::uint64_t>(text) : std::nullopt;
}

std::optional<Range> parse_range(std::string_view text) {
    const auto dash = text.find('-');
    const auto first = text.substr(0, dash);
    const auto last = dash == std::string_view::npos ? first : text.substr(dash + 1);
    const auto low = parse_digits(first);
    const auto high = parse_digits(last);
    if (!low || !high || *high < *low) {
        return std::nullopt;
    }
    return Range{*low, *high, first.size()};
}

/// Reads the inside of a bracket: "1-4,7".
Result<std::vector<Range>> parse_ranges(std::string_view list, std::string_view inside) {
    std::vector<Range> ranges;
    for (;;) {
        const auto part = inside.substr(0, inside.find(','));
        const auto range = parse_range(part);
        if (!range) {
            return fail_at(list, part,
                           fmt::format("{} is not a number or a range like 1-8", quoted(part)));
        }
        ranges.push_back(*range);
        if (part.size() == inside.size()) {
            return ranges;
        }
        inside.remove_prefix(part.size() + 1);
    }
}

/// Takes the next name, brackets and all, off `rest`; empty at the end of the list.
std::string_view take_name(std::string_view& rest) {
    rest.remove_prefix(std::min(rest.find_first_not_of(separators), rest.size()));
    std::size_t end = 0;
    for (bool inside = false; end < rest.size(); ++end) {
        if (!inside && separators.find(rest[end]) != std::string_view::npos) {
            break;
        }
        inside = rest[end] == '[' || (inside && rest[end] != ']');
    }
    const auto name = rest.substr(0, end);
    rest.remove_prefix(end);
    return name;
}

/// Cuts one name at its brackets.  Slurm allows no text behind the last one.
Result<std::vector<Group>> parse_groups(std::string_view list, std::string_view name) {
    std::vector<Group> groups;
    auto rest = name;
    while (!rest.empty()) {
        const auto open = rest.find_first_of("[]");
        if (open == std::string_view::npos) {
            return fail_at(list, rest,
                           fmt::format("text after \"]\" in {}: a name ends with its last bracket",
                                       quoted(name)));
        }
        const auto close = rest.find_first_of("[]", open + 1);
        if (rest[open] == ']' || close == std::string_view::npos || rest[close] == '[') {
            return fail_at(list, rest.substr(open),
                           fmt::format("bracket without its partner in {}", quoted(name)));
        }
        auto ranges = parse_ranges(list, rest.substr(open + 1, close - open - 1));
        if (!ranges) {
            return propagate(ranges);
        }
        groups.push_back({rest.substr(0, open), std::move(*ranges)});
        rest.remove_prefix(close + 1);
    }
    return groups;
}

/// How many names the groups stand for; anything above max_hosts comes out as max_hosts + 1.
std::size_t count_names(const std::vector<Group>& groups) {
    std::uint64_t product = 1;
    for (const auto& group : groups) {
        std::uint64_t sum = 0;
        for (const auto& range : group.ranges) {
            sum = std::min<std::uint64_t>(sum + range.size(), max_hosts + 1);
        }
        product = std::min<std::uint64_t>(product * sum, max_hosts + 1);
    }
    return product;
}

std::size_t longest_name(const std::vector<Group>& groups) {
    std::size_t length = 0;
    for (const auto& group : groups) {
        std::size_t digits = 0;
        for (const auto& range : group.ranges) {
            digits = std::max({digits, range.width, fmt::formatted_size("{}", range.high)});
        }
        length += group.before.size() + digits;
    }
    return length;
}

/// The number with zeros before it up to `width` digits.  By hand, since a review may need hundreds.
std::string padded(std::uint64_t number, std::size_t width) {
    std::array<char, std::numeric_limits<std::uint64_t>::digits10 + 1> digits{};
    const auto* const end =
        std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    const auto count = static_cast<std::size_t>(end - digits.data());
    std::string text(width > count ? width - count : 0, '0');
    return text.append(digits.data(), count);
}

/// The texts that one bracket stands for: "08", "09", "10".
std::vector<std::string> numbers_of(const Group& group) {
    std::vector<std::string> numbers;
    for (const auto& range : group.ranges) {
        for (std::uint64_t n = range.low; n <= range.high; ++n) {
            numbers.push_back(padded(n, range.width));
        }
    }
    return numbers;
}

/// The order in which brackets run, slowest first.  As Slurm has it: the last one is the fastest,
/// and the others run the slower the further right they stand.
std::vector<std::size_t> running_order(std::size_t groups) {
    std::vector<std::size_t> order;
    for (std::size_t i = groups - 1; i-- > 0;) {
        order.push_back(i);
    }
    order.push_back(groups - 1);
    return order;
}

void append_names(const std::vector<Group>& groups, std::vector<std::string>& names) {
    std::vector<std::vector<std::string>> numbers;
    numbers.reserve(groups.size());
    for (const auto& group : groups) {
        numbers.push_back(numbers_of(group));
    }
    const auto order = running_order(groups.size());
    std::vector<std::size_t> at(groups.size(), 0);
    for (bool more = true; more;) {
        std::string name;
        for (std::size_t i = 0; i < groups.size(); ++i) {
            name.append(groups[i].before).append(numbers[i][at[i]]);
        }
        names.push_back(std::move(name));
        more = false;
        for (auto i = order.rbegin(); i != order.rend() && !more; ++i) {
            more = ++at[*i] < numbers[*i].size();
            at[*i] = more ? at[*i] : 0;
        }
    }
}

/// Reads one name of the list; no groups: it stands for itself.
Result<std::vector<Group>> read_name(std::string_view list, std::string_view name) {
    std::vector<Group> groups;
    if (name.find_first_of("[]") != std::string_view::npos) {
        auto parsed = parse_groups(list, name);
        if (!parsed) {
            return propagate(parsed);
        }
        groups = std::move(*parsed);
    }
    if ((groups.empty() ? name.size() : longest_name(groups)) > max_name) {
        return fail_at(list, name, fmt::format("a host name has at most {} characters", max_name));
    }
    return groups;
}

/// Calls `take(groups, name)` for each name of the list, until one is wrong or they stand for more
/// than `most`; gives how many they are.
template <class Take>
Result<std::size_t> each_name(std::string_view list, std::size_t most, const Take& take) {
    most = std::min(most, max_hosts);
    std::size_t count = 0;
    auto rest = list;
    for (;;) {
        const auto name = take_name(rest);
        if (name.empty()) {
            return count;
        }
        auto groups = read_name(list, name);
        if (!groups) {
            return propagate(groups);
        }
        const auto names = count_names(*groups);
        if (names > most - count) {
            return fail_at(list, name, fmt::format("more than {} names in one list", most));
        }
        count += names;
        take(*groups, name);
    }
}

/// Whether `digits` is a number of the range as it is written there: "007" of 001-064.
bool has_number(const Range& range, std::string_view digits) {
    const auto number = parse_digits(digits);
    return number && *number >= range.low && *number <= range.high &&
           digits.size() == std::max(range.width, fmt::formatted_size("{}", *number));
}

/// Whether the groups stand for `name` among others.
bool stand_for(std::span<const Group> groups, std::string_view name) {
    if (groups.empty()) {
        return name.empty();
    }
    const auto& group = groups.front();
    if (!name.starts_with(group.before)) {
        return false;
    }
    name.remove_prefix(group.before.size());
    for (std::size_t length = 1; length <= std::min(name.size(), max_digits); ++length) {
        const auto digits = name.substr(0, length);
        const bool fits = std::ranges::any_of(
            group.ranges, [&](const Range& range) { return has_number(range, digits); });
        if (fits && stand_for(groups.subspan(1), name.substr(length))) {
            return true;
        }
    }
    return false;
}

/// A name cut before the number at its end.
struct Numbered {
    std::string_view prefix;
    std::string_view digits;  ///< empty: no number, or one too long to count with
    std::uint64_t number = 0;
};

Numbered cut_number(std::string_view name) {
    std::size_t start = name.size();
    while (start > 0 && name.size() - start < max_digits && name[start - 1] >= '0' &&
           name[start - 1] <= '9') {
        --start;
    }
    const auto digits = name.substr(start);
    return {name.substr(0, start), digits, parse_number<std::uint64_t>(digits).value_or(0)};
}

bool comes_before(const Numbered& a, const Numbered& b) {
    if (a.prefix != b.prefix || a.digits.empty() || b.digits.empty()) {
        return std::pair{a.prefix, a.digits} < std::pair{b.prefix, b.digits};
    }
    return std::pair{a.digits.size(), a.number} < std::pair{b.digits.size(), b.number};
}

/// Whether `next` is what counting on from `last` gives, in a range that `first` begins.
bool continues(const Numbered& first, const Numbered& last, const Numbered& next) {
    return next.digits == padded(last.number + 1, first.digits.size());
}

/// The names of one prefix, sorted: "gpu[001-004,007]", or the name alone.
std::string write_group(std::span<const Numbered> group) {
    if (group.size() == 1) {
        return fmt::format("{}{}", group[0].prefix, group[0].digits);
    }
    std::string inside;
    for (std::size_t i = 0; i < group.size();) {
        std::size_t last = i;
        while (last + 1 < group.size() && continues(group[i], group[last], group[last + 1])) {
            ++last;
        }
        inside += fmt::format("{}{}", inside.empty() ? "" : ",", group[i].digits);
        if (last > i) {
            inside += fmt::format("-{}", group[last].digits);
        }
        i = last + 1;
    }
    return fmt::format("{}[{}]", group[0].prefix, inside);
}

}  // namespace

Result<std::vector<std::string>> expand_hostlist(std::string_view list, std::size_t most) {
    std::vector<std::string> names;
    auto read = each_name(list, most, [&](const std::vector<Group>& groups, std::string_view name) {
        if (groups.empty()) {
            names.emplace_back(name);
        } else {
            append_names(groups, names);
        }
    });
    if (!read) {
        return propagate(read);
    }
    return names;
}

Result<std::size_t> count_hosts(std::string_view list) {
    return each_name(list, max_hosts, [](const auto& /*groups*/, auto /*name*/) {});
}

bool hostlist_has(std::string_view list, std::string_view host) {
    bool found = false;
    const auto read =
        each_name(list, max_hosts, [&](const std::vector<Group>& groups, std::string_view name) {
            found = found || (groups.empty() ? name == host : stand_for(groups, host));
        });
    return read && found;
}

std::string compress_hostlist(std::span<const std::string> names) {
    std::vector<Numbered> sorted;
    sorted.reserve(names.size());
    for (const auto& name : names) {
        sorted.push_back(cut_number(name));
    }
    std::ranges::sort(sorted, comes_before);
    const auto same = [](const Numbered& a, const Numbered& b) {
        return a.prefix == b.prefix && a.digits == b.digits;
    };
    sorted.erase(std::unique(sorted.begin(), sorted.end(), same), sorted.end());
    std::string text;
    for (std::size_t i = 0; i < sorted.size();) {
        std::size_t end = i + 1;
        while (end < sorted.size() && !sorted[i].digits.empty() &&
               sorted[end].prefix == sorted[i].prefix) {
            ++end;
        }
        text += i == 0 ? "" : ",";
        text += write_group(std::span{sorted}.subspan(i, end - i));
        i = end;
    }
    return text;
}

}  // namespace railhead::job
