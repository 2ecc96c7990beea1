#include "own_records.hpp"

#include <unistd.h>

#include <cstdint>
#include <utility>

#include "base/environment.hpp"
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

}  // namespace railhead::cli
