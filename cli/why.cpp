#include "why.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/environment.hpp"
#include "base/text.hpp"
#include "nccl_files.hpp"
#include "node/interfaces.hpp"
#include "rails/advice.hpp"
#include "rails/environment.hpp"
#include "rails/rail_plan.hpp"
#include "report/why.hpp"
#include "topo_file.hpp"

namespace railhead::cli {

namespace {

using rails::Rung;
using rails::Verdict;
using rails::Word;

/// Railhead's own switches: a variable, and what plugstack.conf says where the job says nothing.
struct Switch {
    std::string_view name;
    bool rails::PluginArguments::*site;  ///< nullptr: plugstack.conf cannot turn it off
    std::string_view on;
};
constexpr std::array switches{
    Switch{"RAILHEAD", nullptr, "on"},
    Switch{"RAILHEAD_RAIL", &rails::PluginArguments::rail, "auto"},
    Switch{"RAILHEAD_GPU_AFFINITY", &rails::PluginArguments::gpu_affinity, "auto"}};

/// The NICs that the task which we are was given at launch, else those of the first GPU.
std::vector<std::size_t> nics_of_task(const WhyNode& about, const rails::RailPlan& plan) {
    const auto own = about.here ? own_variable("RAILHEAD_NIC") : std::nullopt;
    if (!own) {
        return plan.gpus.empty() ? std::vector<std::size_t>{} : plan.gpus.front().nics;
    }
    std::vector<std::size_t> nics;
    const auto names = split(*own, ',');
    for (std::size_t i = 0; i < about.node.nics.size(); ++i) {
        if (std::ranges::find(names, rails::device_port(about.node.nics[i])) != names.end()) {
            nics.push_back(i);
        }
    }
    return nics;
}

/// Answers for one node.
class Explainer {
 public:
    Explainer(const WhyNode& about, Console& console)
        : about_{about},
          plan_{rails::plan_rails(about.node, about.site.declared.rails)},
          found_{rails::plan_rails(about.node)},
          nics_{nics_of_task(about, plan_)},
          users_{about.here ? rails::without_marked([](std::string_view name) {
              return own_variable(std::string{name});
          })
                            : rails::Lookup{[](std::string_view) { return std::nullopt; }}} {
        for (const auto& nic : about.node.nics) {
            surroundings_.devices.push_back(nic.name);
        }
        if (about.here) {
            files_ = read_nccl_files(about.site.arguments.nccl_conf, console);
            if (auto interfaces = node::read_interfaces("")) {
                surroundings_.interfaces = std::move(*interfaces);
            } else {
                console.warn(interfaces.error());
            }
        }
    }

    report::WhyAnswer explain(const std::string& name) const {
        auto verdict =
            name.starts_with("RAILHEAD") ? judge_own(name) : rails::judge(name, launch());
        auto notes = notes_on(verdict);
        return {std::move(verdict), std::move(notes)};
    }

    std::vector<report::WhyAnswer> explain_all() const {
        std::vector<report::WhyAnswer> all;
        for (const auto& name : rails::variables_of(about_.site.find_type())) {
            all.push_back(explain(name));
        }
        for (const auto& one : switches) {
            all.push_back(explain(std::string{one.name}));
        }
        return all;
    }

 private:
    rails::Launch launch() const {
        return {.node = about_.node,
                .plan = plan_,
                .nics = nics_,
                .files = files_,
                .environment = users_,
                .type = about_.site.find_type(),
                .declared_by = about_.site.declared.by,
                .per_task = true,
                .found = &found_};
    }

    Verdict judge_own(const std::string& name) const {
        const auto* one = std::ranges::find(switches, name, &Switch::name);
        if (one != switches.end()) {
            return judge_switch(*one);
        }
        Verdict verdict{name, {}};
        if (const auto value = about_.here ? own_variable(name) : std::nullopt) {
            verdict.words.push_back({Rung::automatic, "Railhead at launch", value, {}});
        }
        return verdict;
    }

    Verdict judge_switch(const Switch& one) const {
        const auto& arguments = about_.site.arguments;
        const std::string site{one.site == nullptr || arguments.*one.site ? one.on : "off"};
        Verdict verdict{std::string{one.name}, {}};
        if (!arguments.user_off) {
            verdict.words.push_back({Rung::policy, "user_off=false of plugstack.conf", site, {}});
        }
        if (auto value = users_(one.name)) {
            verdict.words.push_back({Rung::user, "the environment", std::move(value), {}});
        }
        if (site != one.on) {
            verdict.words.push_back({Rung::policy, "plugstack.conf", site, {}});
        }
        verdict.words.push_back({Rung::automatic, "default", std::string{one.on}, {}});
        return verdict;
    }

    std::vector<std::string> notes_on(const Verdict& verdict) const {
        std::vector<std::string> notes;
        const auto add = [&](std::vector<std::string> more) {
            std::ranges::move(more, std::back_inserter(notes));
        };
        const auto* first = verdict.words.empty() ? nullptr : &verdict.words.front();
        if (first != nullptr && first->value && first->rung < Rung::automatic) {
            add(rails::advise(verdict.name, *first->value, surroundings_));
            if (first->rung < Rung::policy) {  // the site's list is written for people too
                add(rails::advise_on_order(verdict.name, *first->value));
            }
            if (verdict.name == "NCCL_TOPO_FILE" && about_.here) {
                add(check_topo_file(*first->value, about_.node));
            }
        }
        if (verdict.name == "NCCL_SOCKET_IFNAME") {
            add(rails::advise_on_routes(surroundings_.interfaces.routes));
        }
        if (auto note = note_on_job(verdict); !note.empty()) {
            notes.push_back(std::move(note));
        }
        return notes;
    }

    /// In a job: where what it was told at launch is not what a launch would say now.
    std::string note_on_job(const Verdict& verdict) const {
        const bool ours = !verdict.words.empty() && verdict.words.front().rung >= Rung::policy &&
                          verdict.words.front().value && !verdict.name.starts_with("RAILHEAD");
        if (!ours || !about_.here || !own_variable("SLURM_JOB_ID")) {
            return {};
        }
        const auto now = own_variable(verdict.name);
        if (!now) {
            return "not set in this job: Railhead sets it in steps with GPUs, unless switched off";
        }
        return now == verdict.words.front().value
                   ? std::string{}
                   : fmt::format(
                         "this job has \"{}\": it was started with other GPUs or before "
                         "the policy changed",
                         printable(*now));
    }

    const WhyNode& about_;
    rails::RailPlan plan_, found_;
    std::vector<std::size_t> nics_;
    rails::Lookup users_;
    std::vector<rails::FileSetting> files_;
    rails::Surroundings surroundings_;
};

}  // namespace

void show_why(const std::string& variable, bool as_json, const WhyNode& about, Console& console) {
    const Explainer explainer{about, console};
    if (as_json) {
        const auto* type = about.site.find_type();
        const auto answers =
            variable.empty() ? explainer.explain_all() : std::vector{explainer.explain(variable)};
        console.out << report::why_json({about.site.node_name, type == nullptr ? "" : type->name},
                                        answers);
        return;
    }
    if (!about.site.node_name.empty()) {
        const auto* type = about.site.find_type();
        console.out << fmt::format(
            "{}: {}\n\n", printable(about.site.node_name),
            type == nullptr ? std::string{"no node type in the policy"} : printable(called(*type)));
    }
    console.out << (variable.empty() ? report::why_table(explainer.explain_all())
                                     : report::why_text(explainer.explain(variable)));
}

}  // namespace railhead::cli
