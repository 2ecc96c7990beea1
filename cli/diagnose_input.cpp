#include "diagnose_input.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/text.hpp"
#include "job_input.hpp"
#include "job_record.hpp"
#include "progress.hpp"
#include "text_stream.hpp"

namespace railhead::cli {

namespace {

/// Feeds a text of any size to `intake`.  What was read before an error counts.
void read_stream(TextStream stream, const std::string& name, diagnose::Intake& intake,
                 std::vector<report::CutFile>& cut, Console& console) {
    Progress progress{console, "railhead: reading " + printable(name)};
    intake.begin_file(name);
    while (true) {
        const auto piece = stream.read();
        if (!piece) {
            console.warn(piece.error());
            cut.push_back({name, piece.error().message});
            break;
        }
        if (piece->empty()) {
            break;
        }
        intake.feed(*piece);
        if (stream.size() > 0) {
            progress.show(std::min(stream.done(), stream.size()), stream.size());
        }
    }
    intake.end_file();
}

bool read_file(const std::string& path, diagnose::Intake& intake, std::vector<report::CutFile>& cut,
               Console& console) {
    auto stream = TextStream::open(path);
    if (!stream) {
        console.fail(stream.error());
        return false;
    }
    read_stream(std::move(*stream), path == "-" ? "standard input" : path, intake, cut, console);
    return true;
}

/// What Slurm tells of a job, and what it wrote.
bool read_job(const std::string& job, diagnose::Intake& intake, std::vector<report::CutFile>& cut,
              Console& console) {
    const auto input = find_job(job, console);
    if (!input) {
        console.fail(input.error());
        return false;
    }
    for (const auto& [name, text] : input->texts) {
        intake.begin_file(name);
        intake.feed(text);
        intake.end_file();
    }
    for (const auto& output : input->outputs) {
        auto stream = open_output(output);
        if (stream) {
            read_stream(std::move(*stream), output.path, intake, cut, console);
        } else {
            console.warn(stream.error());
        }
    }
    return true;
}

/// "12" is a job unless there is such a file.
bool is_job(const std::string& word) {
    std::error_code error;
    return is_job_name(word) && !std::filesystem::exists(word, error);
}

}  // namespace

std::optional<diagnose::Facts> read_facts(const std::vector<std::string>& words,
                                          const diagnose::Given& given,
                                          std::vector<report::CutFile>& cut, Console& console) {
    diagnose::Intake intake{given};
    for (const auto& file : words) {
        const bool is_read = is_job(file) ? read_job(file, intake, cut, console)
                                          : read_file(file, intake, cut, console);
        if (!is_read) {
            return std::nullopt;
        }
    }
    return intake.take();
}

}  // namespace railhead::cli
