#include "accounting.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "base/environment.hpp"
#include "base/subprocess.hpp"
#include "checkpoint/state_folder.hpp"
#include "slurm_files.hpp"

namespace railhead::cli {

Result<std::string> ask_slurm(const std::vector<std::string>& argv, std::string_view time_format) {
    constexpr std::chrono::seconds limit{60};
    return output_of(argv, limit, {fmt::format("SLURM_TIME_FORMAT={}", time_format)});
}

Result<void> ask_sacct(const std::vector<std::string>& selection, std::string_view time_format,
                       diagnose::SlurmRecords& records) {
    // Fields that this Slurm does not have are an error: FailedNode came with 24.11, or shortly
    // before.
    const std::string fields =
        "JobID,JobIDRaw,User,State,ExitCode,NodeList,AllocNodes,AllocTRES,Submit,Start,End,Reason";
    for (const auto& more :
         {std::string{",FailedNode,Restarts,JobName"}, std::string{",JobName"}}) {
        std::vector<std::string> argv{"sacct", "--duplicates", "--allocations", "--parsable2",
                                      "--format=" + fields + more};
        argv.insert(argv.end(), selection.begin(), selection.end());
        const auto text = ask_slurm(argv, time_format);
        if (text) {
            read_slurm_text(*text, "sacct --duplicates", records);
            break;
        }
        if (more == ",JobName" || text.error().code == Errc::not_found) {
            return tl::unexpected{text.error()};
        }
    }
    return {};
}

std::vector<checkpoint::Record> own_records(const diagnose::SlurmRecords& records) {
    std::vector<checkpoint::Record> found;
    const auto path = checkpoint::state_path(&own_variable);
    if (!path) {
        return found;
    }
    const auto folder = checkpoint::StateFolder::open(*path, ::geteuid());
    std::uint32_t last = 0;
    for (const auto& attempt : records.attempts) {
        if (folder && attempt.number != 0 && attempt.number != last) {
            last = attempt.number;
            if (auto record = folder->read_record(attempt.number)) {
                found.push_back(std::move(*record));
            }
        }
    }
    return found;
}

}  // namespace railhead::cli
