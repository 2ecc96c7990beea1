#include "node/topo_m_table.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "node/limits.hpp"
#include "node/topo_m_tail.hpp"
#include "node/topo_m_text.hpp"

namespace railhead::node {

namespace {

constexpr std::string_view what_to_do = "paste the whole output of nvidia-smi topo -m";

bool is_digit(char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

/// Whether a device may be called so: "GPU0", "mlx5_bond_0", "rocep59s0f1".
bool is_device(std::string_view word) {
    return is_device_name(word) && std::isalpha(static_cast<unsigned char>(word[0])) != 0 &&
           is_digit(word.back());
}

// ---- cells --------------------------------------------------------------------------------

struct Keyword {
    std::string_view text;
    TopoCell cell;
};

/// nvidia-smi's words; SOC is what SYS was called until 2017.
constexpr std::array<Keyword, 7> keywords{{{"X", {true, 0, Path::pix}},
                                           {"PIX", {false, 0, Path::pix}},
                                           {"PXB", {false, 0, Path::pxb}},
                                           {"PHB", {false, 0, Path::phb}},
                                           {"NODE", {false, 0, Path::node}},
                                           {"SYS", {false, 0, Path::sys}},
                                           {"SOC", {false, 0, Path::sys}}}};

/// Takes one cell from the front of `word`.
std::optional<TopoCell> take_cell(std::string_view& word) {
    for (const auto& [text, cell] : keywords) {
        if (word.starts_with(text)) {
            word.remove_prefix(text.size());
            return cell;
        }
    }
    if (!word.starts_with("NV")) {
        return std::nullopt;
    }
    constexpr unsigned most = 99;
    const auto end = std::min(word.find_first_not_of("0123456789", 2), word.size());
    const auto links = parse_number<unsigned>(word.substr(2, end - 2));
    if (!links || *links == 0 || *links > most) {
        return std::nullopt;
    }
    word.remove_prefix(end);
    return TopoCell{false, *links, Path::sys};
}

/// The cells at the front of `word`, one by one also where no blank stands between them.
std::vector<TopoCell> take_cells(std::string_view& word) {
    std::vector<TopoCell> cells;
    while (const auto cell = take_cell(word)) {
        cells.push_back(*cell);
    }
    return cells;
}

bool is_cell(std::string_view word) {
    return !take_cells(word).empty() && word.empty();
}

// ---- reading ------------------------------------------------------------------------------

struct Line {
    unsigned number = 0;  ///< 1-based
    std::string_view text;
    std::vector<TopoWord> words;
};

class Reader {
 public:
    explicit Reader(const std::string& source) : source_{source} {}

    /// Takes the next line; false when no further one belongs to the matrix.
    Result<bool> take(const Line& line) {
        if (is_header(line)) {
            if (!table_.rows.empty()) {
                table_.second = line.number;
                return false;
            }
            return read_header(line);  // names without a row below them were prose
        }
        if (table_.line > 0) {
            if (is_row(line)) {
                return read_row(line);
            }
            read_legend(line);
        }
        return true;
    }

    Result<TopoTable> finish() {
        if (table_.line == 0) {
            return fail(Errc::bad_input,
                        fmt::format("\"{}\" has no line of column names (GPU0 GPU1 ... CPU "
                                    "Affinity): {}",
                                    source_, what_to_do));
        }
        place_tails(table_.rows, tails_, columns_);
        return std::move(table_);
    }

 private:
    [[nodiscard]] tl::unexpected<Error> bad(unsigned line, std::size_t offset,
                                            const std::string& message) const {
        return fail(Errc::bad_input, fmt::format("{}: {}", message, what_to_do),
                    {source_, line, static_cast<unsigned>(offset + 1)});
    }

    [[nodiscard]] bool is_column(std::string_view name) const {
        return std::ranges::find(table_.devices, name) != table_.devices.end();
    }

    /// How many words at the front of a line are names of devices.
    static std::size_t count_devices(const Line& line) {
        const auto end = std::ranges::find_if_not(line.words, [](const TopoWord& word) {
            return is_device(word.text) && !is_cell(word.text);
        });
        return static_cast<std::size_t>(end - line.words.begin());
    }

    /// Whether a line begins with a GPU and goes on with names and labels, not with cells.
    static bool is_header(const Line& line) {
        const auto count = count_devices(line);
        return count > 0 && topo_gpu(line.words[0].text) &&
               parse_topo_columns(
                   {line.words.begin() + static_cast<std::ptrdiff_t>(count), line.words.end()});
    }

    Result<bool> read_header(const Line& line) {
        const auto labels = line.words.begin() + static_cast<std::ptrdiff_t>(count_devices(line));
        columns_ = *parse_topo_columns({labels, line.words.end()});
        table_ = {};
        table_.line = line.number;
        for (auto word = line.words.begin(); word != labels; ++word) {
            const auto& [name, offset] = *word;
            const auto gpu = topo_gpu(name);
            if (is_column(name)) {
                return bad(line.number, offset, fmt::format("a second column \"{}\"", name));
            }
            if (gpu && (gpu != table_.gpus || table_.gpus < table_.devices.size())) {
                return bad(line.number, offset,
                           fmt::format("column \"{}\" where \"GPU{}\" or a NIC is expected", name,
                                       table_.gpus));
            }
            table_.gpus += gpu ? 1 : 0;
            table_.devices.emplace_back(name);
        }
        return true;
    }

    /// Whether a line begins with a device and then has a cell; "GPU0 Xid 79" is no row.
    static bool is_row(const Line& line) {
        if (line.words.size() < 2 || !is_device(line.words[0].text) ||
            is_cell(line.words[0].text)) {
            return false;
        }
        auto left = line.words[1].text;
        return !take_cells(left).empty() && (left.empty() || is_digit(left[0]));
    }

    Result<bool> read_row(const Line& line) {
        TopoRow row;
        row.name = line.words[0].text;
        row.line = line.number;
        if (table_.find_row(row.name) != nullptr) {
            return bad(line.number, 0, fmt::format("a second row \"{}\"", row.name));
        }
        if (topo_gpu(row.name) && !is_column(row.name)) {
            return bad(line.number, 0, fmt::format("row \"{}\" has no column", row.name));
        }
        const auto end = read_cells(line, row);
        if (row.cells.size() != table_.devices.size()) {
            return bad(line.number, end,
                       fmt::format("row \"{}\" has {} for {}", row.name,
                                   count_of(row.cells.size(), "cell"),
                                   count_of(table_.devices.size(), "column")));
        }
        for (std::size_t i = 0; i < row.cells.size(); ++i) {
            if (row.cells[i].self != (table_.devices[i] == row.name)) {
                return bad(line.number, 0,
                           fmt::format("row \"{}\" has {} X in column \"{}\"", row.name,
                                       row.cells[i].self ? "an" : "no", table_.devices[i]));
            }
        }
        tails_.push_back(parse_topo_tail(line.text, end));
        table_.rows.push_back(std::move(row));
        return true;
    }

    /// Reads the row's cells, more than there are columns too; gives the offset behind the last.
    static std::size_t read_cells(const Line& line, TopoRow& row) {
        std::size_t end = 0;
        for (auto word = std::next(line.words.begin()); word != line.words.end(); ++word) {
            auto left = word->text;
            const auto cells = take_cells(left);
            row.cells.insert(row.cells.end(), cells.begin(), cells.end());
            end = cells.empty() ? end : word->offset + word->text.size() - left.size();
            if (!left.empty()) {  // an affinity, maybe glued to the last cell
                break;
            }
        }
        return end;
    }

    /// "NIC0: mlx5_0", below the matrix.
    void read_legend(const Line& line) {
        const auto colon = line.text.find(':');
        if (colon == std::string_view::npos) {
            return;
        }
        const auto name = trim(line.text.substr(0, colon));
        const auto words = split_words(line.text.substr(colon + 1));
        if (name.starts_with("NIC") && parse_number<unsigned>(name.substr(3)) &&
            words.size() == 1 && is_device(words[0])) {
            table_.legend.emplace(name, words[0]);
        }
    }

    const std::string& source_;
    TopoTable table_;
    TopoColumns columns_;
    std::vector<TopoTail> tails_;  ///< of each row
};

}  // namespace

const TopoRow* TopoTable::find_row(std::string_view name) const {
    const auto found = std::ranges::find(rows, name, &TopoRow::name);
    return found == rows.end() ? nullptr : &*found;
}

std::optional<unsigned> topo_gpu(std::string_view name) {
    return name.starts_with("GPU") ? parse_number<unsigned>(name.substr(3)) : std::nullopt;
}

Result<TopoTable> parse_topo_table(std::string_view text, const std::string& source) {
    const auto plain = without_terminal(text);
    Reader reader{source};
    unsigned number = 0;
    for (const auto line : split(plain, '\n')) {
        auto more = reader.take({++number, line, words_of(line)});
        if (!more) {
            return propagate(more);
        }
        if (!*more) {
            break;
        }
    }
    return reader.finish();
}

}  // namespace railhead::node
