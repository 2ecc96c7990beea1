// How was the run set up?  What its log prints of its arguments, and what configuration files and
// the batch script say where the log does not: one value a topic, with the line that says it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "diagnose/facts.hpp"
#include "training/achieved.hpp"
#include "training/catalogue.hpp"
#include "training/log.hpp"

namespace railhead::diagnose {

/// A value and where it is from.
struct Told {
    double value = 0;
    std::string
        written;  ///< its key, as in the file: "--use-flash-attn" is "option.use-flash-attn"
    Evidence at;
};

class RunSetup {
 public:
    /// Of the log with most steps, and of all configurations in `facts`.
    explicit RunSetup(const Facts& facts);

    [[nodiscard]] const Told* find(training::Topic topic) const {
        const auto& told = told_.at(static_cast<std::size_t>(topic));
        return told ? &*told : nullptr;
    }
    [[nodiscard]] std::optional<double> value(training::Topic topic) const;
    /// The line that says it; empty where none does.
    [[nodiscard]] std::vector<Evidence> at(training::Topic topic) const;
    [[nodiscard]] bool is_empty() const { return is_empty_; }

    /// GPUs of the run: as told, as said, or the ranks of NCCL's largest communicator.
    [[nodiscard]] std::optional<double> gpus() const { return gpus_; }
    /// Sequences of a step, as told or from the samples that were consumed.
    [[nodiscard]] std::optional<double> batch() const { return batch_; }
    /// Copies of the model that take sequences of their own.
    [[nodiscard]] std::optional<double> replicas() const;
    /// Sequences of a replica in a step, in micro-batches.
    [[nodiscard]] std::optional<double> microbatches() const;
    /// Chunks of the model in a pipeline stage; 1 where the stages are known not to be interleaved.
    [[nodiscard]] std::optional<double> chunks() const;
    /// Of a kind of parallelism: at least 1.
    [[nodiscard]] double ways(training::Topic topic) const {
        return std::max(1.0, value(topic).value_or(1));
    }

 private:
    void add_log(const TrainingFacts& training);
    void add_configuration(const RunConfiguration& configuration);

    std::array<std::optional<Told>, static_cast<std::size_t>(training::Topic::count_)> told_;
    std::optional<double> gpus_, batch_;
    bool is_empty_ = true;
};

/// A name in a file.
struct Named {
    std::string text;
    Evidence at;
};
/// GPUs by the names that logs and batch scripts give them, the log's first.
[[nodiscard]] std::vector<Named> named_gpus(const Facts& facts);

/// The model that a configuration names ("llama3", "8B"), where none was said.
void add_named_model(const Facts& facts, const training::Catalogue& catalogue,
                     training::MfuQuestion& question);

/// What configurations say where neither the command line nor the log did, and the GPUs by NCCL's
/// ranks.
void add_configurations(const Facts& facts, training::MfuQuestion& question);

}  // namespace railhead::diagnose
