#include "own_records.hpp"

#include <unistd.h>

#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "base/environment.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "checkpoint/state_folder.hpp"

namespace railhead::cli {

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

Result<std::vector<checkpoint::Record>> read_record_files(const std::vector<std::string>& files) {
    std::vector<checkpoint::Record> found;
    for (const auto& file : files) {
        const auto text = read_file(file);
        auto record = text ? checkpoint::parse_record(*text)
                           : Result<checkpoint::Record>{tl::unexpected{text.error()}};
        if (!record) {
            auto error = std::move(record.error());
            error.message = fmt::format("\"{}\": {}", printable(file), error.message);
            return tl::unexpected{std::move(error)};
        }
        found.push_back(std::move(*record));
    }
    return found;
}

}  // namespace railhead::cli
