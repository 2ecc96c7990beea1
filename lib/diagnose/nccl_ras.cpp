#include "diagnose/nccl_ras.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"

namespace railhead::diagnose {

namespace {

constexpr std::size_t most_members = 256;

/// "INCOMPLETE": letters alone, all of them capital.
bool is_word_of_state(std::string_view text) {
    return text.size() >= 4 &&
           std::ranges::all_of(text, [](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; });
}

/// "21", "21,23-25", "21, 23".
void take_ranks(std::string_view text, std::vector<std::uint32_t>& to) {
    for (const auto part : split(text, ',')) {
        const auto dash = part.find('-');
        const auto first = parse_number<std::uint32_t>(trim(part.substr(0, dash)));
        const auto last = dash == std::string_view::npos
                              ? first
                              : parse_number<std::uint32_t>(trim(part.substr(dash + 1)));
        if (!first || !last) {
            return;
        }
        for (auto rank = *first; rank <= *last && to.size() < most_members; ++rank) {
            to.push_back(rank);
        }
    }
}

}  // namespace

void RasReader::read_line(std::string_view line) {
    static_cast<void>(take_label(line));
    const auto text = trim(line);
    if (text.empty() || text.starts_with("===") || open_section(text)) {
        return;
    }
    if (section_ == Section::summary) {
        const auto words = split_words(text);
        const auto nodes = parse_number<std::uint64_t>(words[0]);
        if (words.size() == 5 && nodes) {
            report_.nodes = nodes;
            report_.processes = parse_number<std::uint64_t>(words[3]);
            report_.gpus = parse_number<std::uint64_t>(words[4]);
        }
    } else if (section_ == Section::groups) {
        read_group(text);
    } else if (section_ != Section::none) {
        read_problem(text);
    }
}

bool RasReader::open_section(std::string_view text) {
    if (text == "Job summary") {
        section_ = Section::summary;
    } else if (text.starts_with("Communicators...")) {
        section_ = Section::groups;
    } else if (text == "Errors") {
        section_ = Section::errors;
    } else if (text == "Warnings") {
        section_ = Section::warnings;
    } else {
        return false;
    }
    said_.clear();
    return true;
}

/// "0  8  4  1  4  32  RUNNING  OK": group, communicators, nodes, ranks a node, ranks, all ranks.
void RasReader::read_group(std::string_view text) {
    const auto words = split_words(text);
    if (words.size() != 8 || report_.groups.size() == most) {
        return;
    }
    const auto communicators = parse_number<std::uint64_t>(words[1]);
    const auto nodes = parse_number<std::uint64_t>(words[2]);
    const auto ranks = parse_number<std::uint64_t>(words[4]);
    if (communicators && nodes && ranks) {
        report_.groups.push_back({*communicators, *nodes, *ranks,
                                  printable(words[6].substr(0, evidence_limit)),
                                  printable(words[7].substr(0, evidence_limit)), evidence()});
    }
}

void RasReader::read_problem(std::string_view text) {
    const auto words = split_words(text);
    if (is_word_of_state(words.back()) && (words.size() == 1 || words[0].starts_with('#'))) {
        said_.clear();
        if (report_.problems.size() < most) {
            auto& problem = report_.problems.emplace_back();
            problem.is_error = section_ == Section::errors;
            problem.communicator = words.size() > 1 ? words[0].substr(0, 32) : std::string_view{};
            problem.word = words.back().substr(0, 32);
            problem.evidence = evidence();
        }
        return;
    }
    if (report_.problems.empty()) {
        return;
    }
    auto& problem = report_.problems.back();
    if (text.starts_with("The missing rank")) {
        take_ranks(text.substr(std::min(text.size(), text.find(':') + 1)), problem.missing);
    } else if (text.starts_with("Rank ") || text.starts_with("Process ")) {
        read_member(problem, text);
    } else {
        said_ = printable(text.substr(0, evidence_limit));
        problem.said = problem.said.empty() ? said_ : problem.said;
    }
}

/// "Rank 0 -- GPU 0 managed by process 483072 on node 172.16.64.210";
/// "Process 3487984 on node 172.16.64.213 managing GPU 5".
void RasReader::read_member(RasProblem& problem, std::string_view text) {
    if (problem.members.size() == most_members) {
        return;
    }
    RasMember member;
    member.rank = parse_number<std::uint32_t>(word_after(text, "Rank "));
    member.gpu = printable(word_after(text, "GPU ").substr(0, 32));
    member.node = printable(word_after(text, "on node ").substr(0, evidence_limit));
    member.process = printable(
        word_after(text, text.starts_with("Rank ") ? "process " : "Process ").substr(0, 32));
    member.said = said_;
    problem.members.push_back(std::move(member));
}

}  // namespace railhead::diagnose
