#include "fabric/collective_settings.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"

namespace railhead::fabric {

namespace {

constexpr double mega = 0x1p20;
constexpr double giga = 1e9;
constexpr double micro = 1e-6;
constexpr double buffer_bytes = 4 * mega;  // NCCL_BUFFSIZE's default, of each channel

class Explainer {
 public:
    Explainer(const CollectiveModel& model, const Allowed& allowed, double bytes)
        : model_{model}, allowed_{allowed}, bytes_{bytes}, now_{model.predict(bytes)} {}

    std::vector<Setting> explain() {
        if (model_.collective() != Collective::all_to_all) {
            for (std::size_t i = 0; i < algorithm_names().size(); ++i) {
                add_algorithm(static_cast<Algorithm>(i));
            }
            for (const auto protocol : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
                add_protocol(protocol);
            }
        }
        add_nvls();
        add_sharp();
        add_buffer();
        add_channels();
        return std::move(settings_);
    }

 private:
    [[nodiscard]] std::optional<Prediction> with(const System& system,
                                                 const Allowed& allowed) const {
        const auto model = CollectiveModel::make(system, model_.collective(), allowed);
        return model ? std::optional{model->predict(bytes_)} : std::nullopt;
    }

    /// What to make of another time.
    [[nodiscard]] std::string verdict(const Prediction& other, std::string_view variable) const {
        constexpr double much = 0.03;  // less is within what two runs differ by
        const auto change = other.time_us / now_.time_us - 1;
        if (change > much) {
            return fmt::format("slower: leave {} alone", variable);
        }
        if (change < -much) {
            return fmt::format("faster by this model: measure it; {} binds all sizes", variable);
        }
        return fmt::format("no real change: leave {} alone", variable);
    }

    void add_algorithm(Algorithm algorithm) {
        if (algorithm == now_.algorithm || allowed_.algorithm) {
            return;
        }
        if (const auto other = with(model_.system(), {algorithm, allowed_.protocol})) {
            settings_.push_back({fmt::format("NCCL_ALGO={}", name_of(algorithm)), other,
                                 verdict(*other, "NCCL_ALGO")});
        }
    }

    void add_protocol(Protocol protocol) {
        if (protocol == now_.protocol || allowed_.protocol) {
            return;
        }
        if (const auto other = with(model_.system(), {allowed_.algorithm, protocol})) {
            settings_.push_back({fmt::format("NCCL_PROTO={}", name_of(protocol)), other,
                                 verdict(*other, "NCCL_PROTO")});
        }
    }

    void add_nvls() {
        if (now_.algorithm != Algorithm::nvls && now_.algorithm != Algorithm::nvls_tree) {
            return;
        }
        auto without = model_.system();
        without.nvls = false;
        if (const auto other = with(without, allowed_)) {
            settings_.push_back({"NCCL_NVLS_ENABLE=0", other,
                                 "only where its buffers do not fit the memory, or a driver "
                                 "refuses multicast"});
        }
    }

    void add_sharp() {
        const auto& system = model_.system();
        if (system.nodes == 1 || model_.collective() != Collective::all_reduce ||
            allowed_.algorithm || allowed_.protocol) {
            return;
        }
        auto other = system;
        other.sharp = !system.sharp;
        if (const auto prediction = with(other, allowed_)) {
            settings_.push_back(
                {fmt::format("NCCL_COLLNET_ENABLE={}", other.sharp ? 1 : 0), prediction,
                 other.sharp ? "needs SHARP in the InfiniBand switches, its aggregation manager "
                               "and the plugin nccl-rdma-sharp"
                             : "only to find out whether SHARP is at fault"});
        }
    }

    /// The fastest that one channel is asked to go.
    [[nodiscard]] double channel_bytes_per_s() const {
        const auto& system = model_.system();
        const auto channels = static_cast<double>(system.channel_count());
        const auto all =
            system.nodes > 1 ? system.network_bytes_per_s() : system.scale_up_bytes_per_s();
        return all / channels;
    }

    void add_buffer() {
        const auto& system = model_.system();
        const auto link = system.nodes > 1                ? Link::network
                          : system.nvlink_bytes_per_s > 0 ? Link::nvlink
                                                          : Link::pcie;
        const auto there_us = system.nodes > 1 && system.network_step_us > 0
                                  ? system.network_step_us + system.network_completion_us
                                  : step_latency_us(link, Algorithm::ring, Protocol::simple) +
                                        2 * (system.nodes > 1 ? system.network_latency_us : 0);
        const auto flying = channel_bytes_per_s() * 2 * there_us * micro;
        const auto needed = fmt::format("{:.2g} MiB are under way on a channel", flying / mega);
        settings_.push_back(
            {"NCCL_BUFFSIZE", std::nullopt,
             flying <= buffer_bytes
                 ? needed + ", within the 4 MiB of each (chunks of 512 KiB): leave it alone"
                 : needed +
                       ", more than the 4 MiB of each: double it until that fits, and measure"});
    }

    void add_channels() {
        const auto& system = model_.system();
        const auto fastest = fastest_channel_gb_per_s(system.generation);
        const auto rate =
            (system.nodes > 1
                 ? std::min(system.network_bytes_per_s(),
                            system.gpus_per_node > 1 ? system.scale_up_bytes_per_s() : HUGE_VAL)
                 : system.scale_up_bytes_per_s()) /
            giga;
        settings_.push_back(
            {"NCCL_MAX_CTAS", std::nullopt,
             fmt::format("{} of {:.0f} GB/s would do for the {:.0f} GB/s of the links, each on an "
                         "SM: fewer leave SMs to what runs beside it, more seldom help",
                         count_of(static_cast<std::uint64_t>(std::ceil(rate / fastest)), "channel"),
                         fastest, rate)});
    }

    const CollectiveModel& model_;
    const Allowed& allowed_;
    double bytes_;
    Prediction now_;
    std::vector<Setting> settings_;
};

}  // namespace

std::vector<Setting> explain_settings(const CollectiveModel& model, const Allowed& allowed,
                                      double bytes) {
    return Explainer{model, allowed, bytes}.explain();
}

}  // namespace railhead::fabric
