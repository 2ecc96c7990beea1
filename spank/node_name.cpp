#include "node_name.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.hpp"
#include "job/hostlist.hpp"

namespace railhead::spank {

namespace {

/// The host's name up to the first dot.
std::string host_name() {
    std::array<char, 256> host{};
    return ::gethostname(host.data(), host.size() - 1) == 0
               ? std::string{split(host.data(), '.').front()}
               : std::string{};
}

/// The nodes of the step.  A batch step has no list of its own; one that it inherited is another's.
std::optional<std::string> node_list(const Session& session) {
    if (session.kind() != StepKind::batch) {
        if (auto list = session.variable("SLURM_STEP_NODELIST")) {
            return list;
        }
    }
    return session.variable("SLURM_JOB_NODELIST");
}

}  // namespace

std::string node_name(const Session& session) {
    auto host = host_name();
    const auto list = node_list(session);
    const auto nodes = job::expand_hostlist(list.value_or(""));
    if (!nodes || std::ranges::find(*nodes, host) != nodes->end()) {
        return host;
    }
    const auto place = session.number(S_JOB_NODEID).value_or(0);
    return place < nodes->size() ? (*nodes)[place] : host;
}

}  // namespace railhead::spank
