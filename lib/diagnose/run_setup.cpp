#include "diagnose/run_setup.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"

namespace railhead::diagnose {

namespace {

using training::Topic;

/// The line of `configuration` that `fact` is from.
Evidence evidence_of(const RunConfiguration& configuration, const training::Fact& fact) {
    const auto found = std::ranges::find_if(configuration.settings, [&](const Setting& setting) {
        return setting.key == fact.written && setting.evidence.line == fact.line;
    });
    return found == configuration.settings.end() ? Evidence{} : found->evidence;
}

/// Ranks of the largest communicator of NCCL: the GPUs of the run.
std::optional<double> nccl_world(const Facts& facts) {
    const auto world = facts.nccl ? facts.nccl->world() : 0;
    return world > 0 ? std::optional{static_cast<double>(world)} : std::nullopt;
}

}  // namespace

RunSetup::RunSetup(const Facts& facts) {
    const auto* training = facts.main_training();
    if (training != nullptr) {
        add_log(*training);
    }
    for (auto one = facts.machine.configurations.rbegin();
         one != facts.machine.configurations.rend(); ++one) {
        add_configuration(*one);
    }
    gpus_ = value(Topic::world_size);
    if (!gpus_ && facts.hardware.gpus != 0) {
        gpus_ = static_cast<double>(facts.hardware.gpus);
    }
    if (!gpus_) {
        gpus_ = nccl_world(facts);
    }
    batch_ = value(Topic::global_batch);
    if (!batch_ && training != nullptr) {
        const auto derived = training::batch_of(training->run());
        batch_ = derived ? std::optional{derived->value} : std::nullopt;
    }
}

void RunSetup::add_log(const TrainingFacts& training) {
    for (std::size_t i = 0; i < told_.size(); ++i) {
        if (const auto* fact = training.run().fact(static_cast<Topic>(i))) {
            // The reader keeps no line of a log: its key and its value stand for it.
            told_.at(i) = Told{fact->value,
                               fact->written,
                               {training.file, fact->line,
                                printable(fmt::format("{} {}", trim(fact->written), fact->value))}};
            is_empty_ = false;
        }
    }
}

void RunSetup::add_configuration(const RunConfiguration& configuration) {
    for (std::size_t i = 0; i < told_.size(); ++i) {
        const auto* fact = configuration.fact(static_cast<Topic>(i));
        if (fact != nullptr && !told_.at(i)) {
            told_.at(i) = Told{fact->value, fact->written, evidence_of(configuration, *fact)};
            is_empty_ = false;
        }
    }
}

std::optional<double> RunSetup::value(Topic topic) const {
    const auto* told = find(topic);
    return told != nullptr ? std::optional{told->value} : std::nullopt;
}

std::vector<Evidence> RunSetup::at(Topic topic) const {
    const auto* told = find(topic);
    return told != nullptr ? std::vector{told->at} : std::vector<Evidence>{};
}

std::optional<double> RunSetup::replicas() const {
    if (const auto told = value(Topic::data_parallel)) {
        return told;
    }
    if (!gpus_) {
        return std::nullopt;
    }
    const double ways = this->ways(Topic::tensor_parallel) * this->ways(Topic::pipeline_parallel) *
                        this->ways(Topic::context_parallel);
    return ways > 0 && *gpus_ >= ways ? std::optional{*gpus_ / ways} : std::nullopt;
}

std::optional<double> RunSetup::microbatches() const {
    const auto micro = value(Topic::micro_batch);
    const auto copies = replicas();
    return batch_ && micro && copies && *micro > 0 && *copies > 0
               ? std::optional{*batch_ / (*micro * *copies)}
               : std::nullopt;
}

std::optional<double> RunSetup::chunks() const {
    if (const auto told = value(Topic::chunks); told && *told > 0) {
        return told;
    }
    const auto each = value(Topic::layers_per_chunk);
    const auto layers = value(Topic::layers);
    const auto stages = value(Topic::pipeline_parallel);
    return each && layers && stages && *each > 0 && *stages > 0
               ? std::optional{*layers / *stages / *each}
               : std::nullopt;
}

std::vector<Named> named_gpus(const Facts& facts) {
    std::vector<Named> names;
    for (const auto& training : facts.training) {
        const auto& run = training.run();
        if (run.device_line > 0) {
            auto name = std::string_view{run.device};
            for (const std::string_view maker : {"NVIDIA ", "AMD Instinct "}) {
                if (name.starts_with(maker)) {
                    name.remove_prefix(maker.size());
                }
            }
            names.push_back({std::string{name}, training.at(run.device_line)});
        }
    }
    for (const auto& configuration : facts.machine.configurations) {
        if (const auto* type = configuration.find("job.gpu-type")) {
            names.push_back({type->value, type->evidence});
        }
    }
    return names;
}

void add_named_model(const Facts& facts, const training::Catalogue& catalogue,
                     training::MfuQuestion& question) {
    if (!question.shape_from.empty()) {
        return;
    }
    for (const auto& configuration : facts.machine.configurations) {
        const auto* name = configuration.find("model.name");
        const auto* flavor = configuration.find("model.flavor");
        if (name == nullptr || flavor == nullptr) {
            continue;
        }
        const auto full = name->value + " " + flavor->value;
        if (const auto found = training::find_model(catalogue, full)) {
            question.shape = **found;
            question.shape_from = place_of(facts.sources, flavor->evidence);
            question.inputs.push_back({"model", (*found)->name, question.shape_from});
            return;
        }
    }
}

void add_configurations(const Facts& facts, training::MfuQuestion& question) {
    const auto& all = facts.machine.configurations;
    for (auto one = all.rbegin(); one != all.rend(); ++one) {
        training::Run run;
        run.facts = one->facts;
        const auto source = one->settings.empty()
                                ? std::string{}
                                : printable(facts.sources.name(one->settings[0].evidence.file));
        training::add_facts(question, run, source);
    }
    const auto world = nccl_world(facts);
    if (!question.gpus && world) {
        question.gpus = world;
        question.inputs.push_back({"GPUs", fmt::format("{:.0f}", *world), "NCCL's ranks"});
    }
}

}  // namespace railhead::diagnose
