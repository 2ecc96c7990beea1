// Of the gate: are the gradients sent while the backward pass computes?
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "diagnose/gate_checks.hpp"
#include "fabric/collective_question.hpp"
#include "plan/machine.hpp"
#include "plan/sizing_network.hpp"
#include "training/layout.hpp"
#include "training/recipe.hpp"
#include "training/traffic.hpp"

namespace railhead::diagnose {

namespace {

using training::Topic;

constexpr double giga = 1e9;
constexpr std::string_view usual_gradients = "adam-mixed-fp32-grads";

double as_double(std::uint64_t value) {
    return static_cast<double>(value);
}

/// What the copies of a parameter reach together: a bus bandwidth, bytes a second.
struct Speed {
    double bytes_per_s = 0;
    std::string from, how;
    std::optional<fabric::CollectiveAnswer> model;  ///< of these copies; none: not modelled
};

class Checker {
 public:
    explicit Checker(const GateQuestion& question)
        : question_{question},
          training_{question.facts != nullptr ? question.facts->main_training() : nullptr} {}

    GateCheck run() {
        check_.id = "all-reduce";
        check_.what = "gradients within the backward pass";
        check_.group = GateGroup::all_reduce;
        check_.unit = GateUnit::share;
        check_.aim = make_aim(question_.targets.all_reduce,
                              {1, "of the window: what goes beyond it makes the step longer"},
                              false, AimText::share);
        find_shape();
        find_step();
        find_layout();
        find_machine();
        if (check_.missing.empty()) {
            compare();
        } else {
            check_.run.insert(
                check_.run.begin(),
                "railhead gate TRAINING.log NCCL-TESTS.txt --model NAME --accelerator "
                "NAME --gpus N --tp N --pp N");
        }
        return std::move(check_);
    }

 private:
    void find_shape() {
        shape_ = training_ != nullptr && training_->mfu ? training_->mfu->shape : question_.shape;
        is_counted_ = training::check_shape(shape_).has_value();
        if (!is_counted_ && !shape_.parameters) {
            check_.missing.emplace_back("the model: --model, or its sizes");
        }
    }

    void find_step() {
        if (question_.step_s) {
            step_s_ = *question_.step_s;
            step_from_ = "--step-time";
        } else if (training_ != nullptr &&
                   training_->summary.measure == training::Measure::step_s &&
                   training_->summary.time.median > 0) {
            step_s_ = training_->summary.time.median;
            step_from_ = fmt::format("median of {} timed lines of {}", training_->summary.timed,
                                     question_.facts->sources.name(training_->file));
        } else {
            check_.missing.emplace_back(
                "the time of a step: a training log that prints it, or "
                "--step-time");
        }
    }

    [[nodiscard]] std::optional<std::uint64_t> said(Topic topic) const {
        const auto value = training_ != nullptr ? training_->said(topic) : std::nullopt;
        constexpr double most = 1e9;
        return value && *value >= 1 && *value <= most
                   ? std::optional{static_cast<std::uint64_t>(*value)}
                   : std::nullopt;
    }

    [[nodiscard]] std::uint64_t gpus() const {
        const auto typed = question_.facts != nullptr ? question_.facts->hardware.gpus : 0;
        return typed != 0 ? typed : said(Topic::world_size).value_or(0);
    }

    void find_layout() {
        const auto typed_or = [&](const std::optional<std::uint64_t>& typed, Topic topic) {
            return typed ? typed : said(topic);
        };
        const auto tp = typed_or(question_.layout.tp, Topic::tensor_parallel);
        if (!tp) {
            check_.missing.emplace_back("how the model lies over GPUs: --tp and --pp");
        }
        layout_.tp = tp.value_or(1);
        layout_.pp = typed_or(question_.layout.pp, Topic::pipeline_parallel).value_or(1);
        layout_.cp = typed_or(question_.layout.cp, Topic::context_parallel).value_or(1);
        layout_.ep = typed_or(question_.layout.ep, Topic::expert_parallel).value_or(1);
        const auto all = gpus();
        // A product of what may be typed does not fit 64 bits.
        const auto ways = as_double(layout_.tp) * as_double(layout_.pp) * as_double(layout_.cp) *
                          as_double(layout_.ep);
        if (all == 0) {
            check_.missing.emplace_back("how many GPUs: --gpus");
        } else if (ways > as_double(all) || all % static_cast<std::uint64_t>(ways) != 0) {
            check_.missing.push_back(
                fmt::format("a layout that {} GPUs divide into: tensor x pipeline x context x "
                            "expert parallelism is {:g}",
                            all, ways));
        } else {
            layout_.dp = all / static_cast<std::uint64_t>(ways);
        }
        if (is_counted_ && layout_.pp > shape_.layers) {
            check_.missing.push_back(
                fmt::format("a pipeline of no more stages than the model has "
                            "layers: {} of {}",
                            layout_.pp, shape_.layers));
        }
    }

    void find_machine() {
        const auto* hardware = question_.facts != nullptr ? &question_.facts->hardware : nullptr;
        if (hardware == nullptr || hardware->accelerator == nullptr) {
            check_.missing.emplace_back("the GPU: --accelerator");
            return;
        }
        plan::MachineQuestion about;
        about.accelerator = hardware->accelerator;
        about.nic = hardware->nic;
        if (hardware->gpus_per_node != 0) {
            about.gpus_per_node = hardware->gpus_per_node;
        }
        if (hardware->nics_per_node != 0) {
            about.nics_per_node = hardware->nics_per_node;
        }
        // Of the network alone: the peak does not matter here.
        if (!about.accelerator->bf16_tflops) {
            about.precision = training::Precision::fp16;
        }
        auto made = plan::make_machine(about, *question_.catalogue);
        if (!made) {
            check_.missing.push_back(made.error().message);
            return;
        }
        machine_ = std::move(*made);
    }

    [[nodiscard]] training::GradientTraffic traffic(const training::Recipe& recipe) const {
        if (is_counted_) {
            return plan::traffic_of(shape_, layout_, recipe);
        }
        return training::gradient_traffic(*shape_.parameters / as_double(layout_.tp * layout_.pp),
                                          recipe, layout_.sharding, copies());
    }

    [[nodiscard]] double copies() const { return as_double(layout_.cp * layout_.groups()); }

    /// Copies that share a domain, and how many such groups there are.
    void part() {
        const auto in_domain = plan::members_of(machine_, layout_);
        members_ = static_cast<std::uint64_t>(std::max(1.0, std::floor(in_domain)));
        groups_ = static_cast<std::uint64_t>(std::ceil(copies() / as_double(members_)));
    }

    /// NCCL's model of all copies of a parameter, with their share of the NICs.
    [[nodiscard]] std::optional<fabric::CollectiveAnswer> model(double bytes) const {
        const auto& gpu = *machine_.accelerator;
        fabric::CollectiveQuestion about;
        about.gpu = fabric::make_gpu_part(gpu.name, gpu.scale_up_bytes_per_s.value_or(0),
                                          gpu.pcie_bytes_per_s.value_or(0), gpu.source);
        if (!about.gpu) {
            return std::nullopt;
        }
        about.nodes = groups_;
        about.gpus_per_node = members_;
        about.nics_per_node = members_;
        about.nic_bytes_per_s = machine_.nic_share();
        about.bytes = bytes;
        auto answer = fabric::answer(about);
        return answer ? std::optional{std::move(*answer)} : std::nullopt;
    }

    [[nodiscard]] Speed modelled(double bytes) const {
        Speed speed;
        speed.model = model(bytes);
        if (speed.model) {
            const auto& at = speed.model->at_bytes;
            speed.bytes_per_s = at.busbw_bytes_per_s;
            speed.from = "collective model (railhead allreduce)";
            speed.how = fmt::format("NCCL takes {} with {}", fabric::name_of(at.algorithm),
                                    fabric::name_of(at.protocol));
            return speed;
        }
        speed.bytes_per_s = groups_ > 1 ? machine_.network_bytes_per_s * as_double(members_)
                                        : machine_.scale_up_bytes_per_s;
        speed.from = "rates of the links (railhead size)";
        speed.how = "NCCL's constants are not those of this GPU's library";
        return speed;
    }

    /// By a table of nccl-tests, where it is of the same kind: one node, or several.
    [[nodiscard]] std::optional<Speed> measured() const {
        for (const auto& one : question_.facts->bandwidth) {
            const auto& table = one.table;
            const auto* row = table.largest();
            const bool is_over_nodes = table.hosts > 1;
            if (row == nullptr || table.hosts == 0 || table.ranks < table.hosts ||
                is_over_nodes != (groups_ > 1) || !(row->busbw_gb_per_s > 0)) {
                continue;
            }
            const fabric::Hierarchy of_table{table.hosts, table.ranks / table.hosts, 0, 0};
            const bool is_alike = !is_over_nodes || members_ == of_table.gpus_per_node;
            const auto on_nic = fabric::wire_rate_of(of_table, row->busbw_gb_per_s * giga);
            Speed speed;
            speed.bytes_per_s =
                is_alike ? row->busbw_gb_per_s * giga : on_nic * as_double(members_);
            speed.from = question_.facts->sources.name(one.file);
            speed.how = fmt::format(
                "measured over {}, {} of {}: busbw {:.4g} GB/s{}", count_of(table.ranks, "rank"),
                size_text(row->bytes), "nccl-tests", row->busbw_gb_per_s,
                is_alike ? std::string{} : fmt::format(", {:.3g} GB/s on each NIC", on_nic / giga));
            return speed;
        }
        return std::nullopt;
    }

    static std::string size_text(double bytes) {
        constexpr double mebi = 0x1p20;
        constexpr double gibi = 0x1p30;
        return bytes >= gibi ? fmt::format("{:.4g} GiB", bytes / gibi)
                             : fmt::format("{:.4g} MiB", bytes / mebi);
    }

    void compare() {
        part();
        const auto* recipe = training::find_recipe(usual_gradients);
        const auto sent = traffic(*recipe);
        if (!(sent.total() > 0)) {
            judge(check_, 0, "no gradients are sent: one copy of the model", step_from_);
            return;
        }
        const auto each = copies() / (copies() - 1);
        auto speed = modelled(sent.reduce_scatter * each);
        if (auto table = measured()) {
            table->model = std::move(speed.model);
            speed = std::move(*table);
        }
        const auto gradients = plan::gradients_of(sent, copies(), 1, step_s_, speed.bytes_per_s);
        judge(check_, gradients.send_s / gradients.window_s,
              fmt::format("{}: {} of a window of {}",
                          percent_text(gradients.send_s / gradients.window_s),
                          span_text(gradients.send_s), span_text(gradients.window_s)),
              speed.from);
        explain(sent, speed);
        advise(sent, speed);
    }

    void explain(const training::GradientTraffic& sent, const Speed& speed) {
        check_.details = {
            fmt::format("Each GPU sends {:.4g} GB a step ({:.4g} of fp32 gradients, {:.4g} of "
                        "weights back: {}, sharded optimizer) at {:.4g} GB/s: {}.",
                        sent.total() / giga, sent.reduce_scatter / giga, sent.all_gather / giga,
                        usual_gradients, speed.bytes_per_s / giga, speed.how),
            fmt::format("{:.0f} copies of each parameter (tensor {}, pipeline {}, context {}), "
                        "{} of them joined by NVLink or its like.",
                        copies(), layout_.tp, layout_.pp, layout_.cp, members_),
            fmt::format("The window is the backward pass, two thirds of a step of {} ({}).",
                        span_text(step_s_), step_from_)};
    }

    /// What would send them faster: rails, algorithm, chunk size.
    void advise(const training::GradientTraffic& sent, const Speed& speed) {
        advise_rails(sent);
        if (speed.model) {
            advise_algorithm(*speed.model);
        }
        check_.advice.emplace_back(
            "NCCL_P2P_NET_CHUNKSIZE is of sends and all-to-all: for all-reduce leave it alone");
        if (check_.verdict == GateVerdict::fail) {
            check_.advice.emplace_back(
                "Gradients of bf16 are half as large; more sequences a step make the window "
                "longer; Megatron-LM sends beside computing with --overlap-grad-reduce "
                "--overlap-param-gather");
        }
    }

    void advise_rails(const training::GradientTraffic& sent) {
        if (groups_ <= 1) {
            return;
        }
        const auto gradients = plan::gradients_of(sent, copies(), as_double(members_), step_s_,
                                                  machine_.network_bytes_per_s);
        const auto need = plan::rails_of(machine_, layout_, gradients);
        auto text = fmt::format("{} of {:.3g} GB/s a node would hide them, it has {}",
                                count_of(need.for_gradients, "rail"),
                                machine_.nic_bytes_per_s / giga, machine_.nics_per_node);
        if (const auto used = used_nics(); used > 0) {
            text += fmt::format("; NCCL's log shows {} in use", used);
        }
        check_.advice.push_back(text +
                                ". NCCL_IB_HCA is to name all of them, exact (=) and the "
                                "same on every node: railhead rails");
    }

    /// Of a node, by NCCL's lines on connections.
    [[nodiscard]] std::uint64_t used_nics() const {
        std::uint64_t bits = 0;
        if (const auto& log = question_.facts->nccl) {
            for (const auto& rank : log->ranks) {
                bits |= rank.nics;
            }
        }
        return static_cast<std::uint64_t>(std::popcount(bits));
    }

    void advise_algorithm(const fabric::CollectiveAnswer& model) {
        const fabric::Setting* best = nullptr;
        for (const auto& setting : model.settings) {
            const bool is_choice =
                setting.name.starts_with("NCCL_ALGO=") || setting.name.starts_with("NCCL_PROTO=");
            if (is_choice && setting.gives &&
                (best == nullptr || setting.gives->time_us < best->gives->time_us)) {
                best = &setting;
            }
            if (setting.name == "NCCL_BUFFSIZE") {
                check_.advice.push_back(fmt::format("NCCL_BUFFSIZE: {}", setting.advice));
            }
        }
        constexpr double faster = 0.97;
        if (best != nullptr && best->gives->time_us < faster * model.at_bytes.time_us) {
            check_.advice.push_back(fmt::format("{}: {:.3g} in place of {:.3g} ms by the model; {}",
                                                best->name, best->gives->time_us / 1000,
                                                model.at_bytes.time_us / 1000, best->advice));
        } else {
            check_.advice.push_back(
                fmt::format("NCCL_ALGO, NCCL_PROTO: NCCL's choice, {} with {}, is the fastest by "
                            "the model: leave them alone",
                            fabric::name_of(model.at_bytes.algorithm),
                            fabric::name_of(model.at_bytes.protocol)));
        }
    }

    const GateQuestion& question_;
    const TrainingFacts* training_;
    GateCheck check_;
    training::Shape shape_;
    bool is_counted_ = false;  ///< it has all sizes; else its parameters alone are known
    training::Layout layout_;
    plan::Machine machine_;
    double step_s_ = 0;
    std::string step_from_;
    std::uint64_t members_ = 1, groups_ = 1;
};

}  // namespace

GateCheck check_all_reduce(const GateQuestion& question) {
    return Checker{question}.run();
}

}  // namespace railhead::diagnose
