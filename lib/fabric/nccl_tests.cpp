#include "fabric/nccl_tests.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <span>

#include <fmt/format.h>

#include "base/text.hpp"

namespace railhead::fabric {

namespace {

std::optional<double> number(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) {
        return std::nullopt;
    }
    return value;
}

/// Without terminal colours: ESC [ ... letter.
std::string without_colours(std::string_view line) {
    std::string plain;
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] == '\x1b' && i + 1 < line.size() && line[i + 1] == '[') {
            i = line.find_first_not_of("0123456789;?", i + 2);
            if (i == std::string_view::npos) {
                break;
            }
        } else {
            plain += line[i];
        }
    }
    return plain;
}

/// Without "0: " of srun --label, or "[1,0]<stdout>:" of mpirun --tag-output.
std::string_view without_prefix(std::string_view line) {
    line = trim(line);
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) {
        return line;
    }
    const auto before = line.substr(0, colon);
    const bool is_label =
        !before.empty() && before.find_first_not_of("0123456789 ") == std::string_view::npos;
    const bool is_tag = before.starts_with('[') && before.ends_with('>');
    return is_label || is_tag ? trim(line.substr(colon + 1)) : line;
}

/// size count type [redop [root]], then time, two bandwidths and errors, once or twice.
std::optional<MeasuredRow> row_of(std::span<const std::string_view> words) {
    constexpr std::size_t head = 3;
    constexpr std::size_t half = 4;
    if (words.size() < head + half || !parse_number<std::uint64_t>(words[0]) ||
        !parse_number<std::uint64_t>(words[1]) || number(words[2])) {
        return std::nullopt;
    }
    const auto rest = words.size() - head;
    const auto figures = rest >= 2 * half ? 2 * half : half;
    constexpr std::size_t optional_columns = 2;  // redop and root
    if (rest - figures > optional_columns) {
        return std::nullopt;
    }
    const auto cells = words.last(figures);
    const auto time = number(cells[0]);
    const auto busbw = number(cells[2]);
    if (!time || !busbw) {
        return std::nullopt;
    }
    MeasuredRow row;
    row.bytes = number(words[0]).value_or(0);
    row.time_us = *time;
    row.busbw_gb_per_s = *busbw;
    // Releases before 2.13 have the largest error here, with a fraction or an exponent.
    row.wrong = parse_number<std::uint64_t>(cells[3]).value_or(0);
    if (figures > half) {
        row.in_place_us = number(cells[half]);
        row.in_place_busbw_gb_per_s = number(cells[half + 2]);
        row.wrong += parse_number<std::uint64_t>(cells[half + 3]).value_or(0);
    }
    return row;
}

class Reader {
 public:
    void read(std::string_view line) {
        const auto plain = without_colours(line);
        const auto text = without_prefix(plain);
        const auto words = split_words(text);
        if (words.empty()) {
            return;
        }
        if (const auto row = row_of(words)) {
            if (row->bytes > 0) {
                tests_.rows.push_back(*row);
            }
            has_rows_ = true;
            return;
        }
        if (words[0] == "...") {
            tests_.is_shortened = true;
        }
        if (words.size() > 2 && words[0] == "NCCL" && words[1] == "version") {
            tests_.nccl_version = words[2];
        }
        constexpr std::array<std::string_view, 6> of_nccl1{"N",    "type",  "op",
                                                           "time", "algbw", "busbw"};
        is_nccl1_ = is_nccl1_ || std::ranges::equal(words, of_nccl1);
        if (text.starts_with('#')) {
            read_comment(text, words);
        }
    }

    Result<NcclTests> result(const std::string& name) {
        if (is_nccl1_) {
            return fail(Errc::bad_input,
                        "this is the format of NCCL 1's tests, with times in ms; run those of "
                        "github.com/NVIDIA/nccl-tests",
                        {name});
        }
        if (!has_rows_ && !tests_.average_busbw_gb_per_s) {
            return fail(Errc::bad_input,
                        "no output of nccl-tests: neither a row of sizes and times nor an average "
                        "bus bandwidth",
                        {name});
        }
        tests_.hosts = hosts_.size();
        return std::move(tests_);
    }

 private:
    void read_comment(std::string_view text, const std::vector<std::string_view>& words) {
        constexpr std::string_view average = "# Avg bus bandwidth";
        if (text.starts_with(average)) {
            tests_.average_busbw_gb_per_s = number(words.back());
        }
        // "#  Rank  0 Group  0 Pid   2114 on host device  0 [0000:8f:00] NVIDIA B200"
        if (words.size() > 2 && words[1] == "Rank") {
            ++tests_.ranks;
            const auto on = std::ranges::find(words, "on");
            if (on != words.end() && on + 1 != words.end()) {
                hosts_.insert(std::string{on[1]});
            }
            const auto bracket = text.find(']');
            if (tests_.device.empty() && bracket != std::string_view::npos) {
                tests_.device = trim(text.substr(bracket + 1));
            }
        }
    }

    NcclTests tests_;
    std::set<std::string> hosts_;
    bool has_rows_ = false;
    bool is_nccl1_ = false;
};

}  // namespace

const MeasuredRow* NcclTests::largest() const {
    const auto found = std::ranges::max_element(rows, {}, &MeasuredRow::bytes);
    return found == rows.end() ? nullptr : &*found;
}

std::uint64_t NcclTests::wrong() const {
    std::uint64_t all = 0;
    for (const auto& row : rows) {
        all += row.wrong;
    }
    return all;
}

Result<NcclTests> parse_nccl_tests(std::string_view text, const std::string& name) {
    Reader reader;
    for (const auto line : split(text, '\n')) {
        reader.read(line);
    }
    return reader.result(name);
}

}  // namespace railhead::fabric
