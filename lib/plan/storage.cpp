#include "plan/storage.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "plan/loading.hpp"
#include "plan/storage_bases.hpp"

namespace railhead::plan {

namespace {

constexpr std::uint64_t usual_gpus_per_node = 8;

/// How fast the store and the job's nodes are, together.
struct Rates {
    std::uint64_t nodes = 1;
    std::optional<double> store_write, store_read;
    double node_write = 0, node_read = 0;
    std::optional<double> creates, opens;
};

/// The nodes of the job, and how many GPUs they have.
std::uint64_t nodes_of(const checkpoint::Question& question) {
    const auto per_node = question.gpus_per_node.value_or(usual_gpus_per_node);
    return question.nodes ? *question.nodes : (question.gpus.value_or(0) + per_node - 1) / per_node;
}

std::uint64_t gpus_of(const checkpoint::Question& question) {
    return question.gpus ? *question.gpus
                         : *question.nodes * question.gpus_per_node.value_or(usual_gpus_per_node);
}

std::string missing_bandwidth(const Store& store) {
    const auto each = store.unit_write
                          ? fmt::format(", or how many units it has (each {} writes {:g} GB/s)",
                                        store.unit, store.unit_write->value / 1e9)
                          : std::string{};
    return fmt::format(
        "nothing tells how fast \"{}\" is as a whole: give what it writes and reads{}",
        printable(store.name), each);
}

class Planner {
 public:
    explicit Planner(const StorageQuestion& question)
        : question_{question}, store_{*question.store} {}

    Result<StoragePlan> plan();

 private:
    Result<void> find_rates();
    std::optional<double> store_rate(const std::optional<double>& given,
                                     const std::optional<Figure>& unit, std::string_view what);
    std::optional<double> file_rate(const std::optional<Figure>& figure, std::string_view what);
    double node_rate(const std::optional<double>& given, const Figure& figure,
                     std::string_view what);
    double count_bytes();
    [[nodiscard]] Transfer transfer(double bytes, std::uint64_t files, bool writes) const;
    [[nodiscard]] Result<checkpoint::Recommendation> recommend(const Transfer& write);
    [[nodiscard]] Restart restart(const Transfer& write) const;
    [[nodiscard]] StoragePlan put_together(checkpoint::Recommendation recommendation,
                                           const Transfer& write) const;
    void add_notes(StoragePlan& plan) const;

    const StorageQuestion& question_;
    const Store& store_;
    Rates rates_;
    std::optional<double> local_copy_s_;
    bool assumed_one_server_ = false;
    Bases bases_;
};

/// Of the whole store: as given, or unit by unit; of drives in the nodes, theirs together.
std::optional<double> Planner::store_rate(const std::optional<double>& given,
                                          const std::optional<Figure>& unit,
                                          std::string_view what) {
    if (given || store_.in_nodes || !unit || !question_.units) {
        return given;
    }
    bases_.add(what, *unit, Basis::Unit::bytes_per_s);
    return unit->value * static_cast<double>(*question_.units);
}

double Planner::node_rate(const std::optional<double>& given, const Figure& figure,
                          std::string_view what) {
    if (!given) {
        bases_.add(what, figure, Basis::Unit::bytes_per_s);
    }
    return given.value_or(figure.value);
}

/// Files a second, of all metadata servers (or units, where they are the limit).
std::optional<double> Planner::file_rate(const std::optional<Figure>& figure,
                                         std::string_view what) {
    if (!figure) {
        return std::nullopt;
    }
    bases_.add(what, *figure, Basis::Unit::per_s);
    const auto servers = store_.metadata_by_unit ? question_.units : question_.metadata_servers;
    if (!servers && !assumed_one_server_) {
        assumed_one_server_ = true;
        bases_.guess(store_.metadata_by_unit ? "units" : "metadata servers", 1, Basis::Unit::count,
                     "one of them; more create and open more files a second");
    }
    return figure->value * static_cast<double>(servers.value_or(1));
}

Result<void> Planner::find_rates() {
    rates_.nodes = nodes_of(question_.checkpoint);
    if (rates_.nodes == 0) {
        return fail(Errc::bad_input, "nothing tells how large the job is: give its nodes or GPUs");
    }
    rates_.store_write =
        store_rate(question_.write_bytes_per_s, store_.unit_write, "a unit writes");
    rates_.store_read = store_rate(question_.read_bytes_per_s, store_.unit_read, "a unit reads");
    const bool has_limit = store_.unit_write || store_.unit_read;
    if (has_limit && !(rates_.store_write && rates_.store_read)) {
        return fail(Errc::bad_input, missing_bandwidth(store_));
    }
    rates_.node_write =
        node_rate(question_.node_write_bytes_per_s, *store_.client_write, "a node writes");
    rates_.node_read =
        node_rate(question_.node_read_bytes_per_s, *store_.client_read, "a node reads");
    rates_.creates = file_rate(store_.creates, "files created");
    rates_.opens = file_rate(store_.opens, "files opened");
    return {};
}

Transfer Planner::transfer(double bytes, std::uint64_t files, bool writes) const {
    const auto& store = writes ? rates_.store_write : rates_.store_read;
    const auto nodes =
        static_cast<double>(rates_.nodes) * (writes ? rates_.node_write : rates_.node_read);
    Transfer out;
    out.bytes = bytes;
    out.limit = store && *store <= nodes ? Limit::store : Limit::nodes;
    out.bytes_per_s = store ? std::min(*store, nodes) : nodes;
    out.data_s = bytes / out.bytes_per_s;
    out.files = files;
    out.files_per_s = writes ? rates_.creates : rates_.opens;
    if (out.files_per_s) {
        out.metadata_s = static_cast<double>(files) / *out.files_per_s;
    }
    return out;
}

double Planner::count_bytes() {
    const auto& about = question_.checkpoint;
    return about.bytes.value_or(
        about.params.value_or(0) *
        about.bytes_per_param.value_or(checkpoint::usual_recipe().in_checkpoint()));
}

Result<checkpoint::Recommendation> Planner::recommend(const Transfer& write) {
    auto about = question_.checkpoint;
    about.bytes_per_s = write.bytes / write.total_s();
    about.node_bytes_per_s.reset();
    if (about.process_share && question_.local != nullptr) {
        const auto& figure = *question_.local->client_write;
        bases_.add("a node's drives write", figure, Basis::Unit::bytes_per_s);
        local_copy_s_ = write.bytes / static_cast<double>(rates_.nodes) / figure.value;
        about.memory_cost_s = local_copy_s_;
    }
    return checkpoint::recommend(about);
}

/// Weights are in every replica; what the optimizer keeps is divided among them, so each byte of
/// it is read once.
Restart Planner::restart(const Transfer& write) const {
    const auto& about = question_.checkpoint;
    const auto& recipe = about.recipe != nullptr ? *about.recipe : checkpoint::usual_recipe();
    const auto weights = write.bytes * recipe.weights / recipe.in_checkpoint();
    Restart out;
    out.replicas = question_.replicas.value_or(1);
    out.once = transfer(write.bytes, write.files, false);
    const auto copies = static_cast<double>(out.replicas);
    // Each replica opens the files of the weights anew.
    out.by_all = transfer(write.bytes + weights * (copies - 1), write.files * out.replicas, false);
    return out;
}

void Planner::add_notes(StoragePlan& plan) const {
    constexpr double much = 0.05;
    const auto& write = plan.write;
    if (!write.files_per_s && !store_.in_nodes) {
        plan.notes.emplace_back(
            "how many files a second the store creates was not published: time for them is left "
            "out");
    }
    if (write.metadata_s > write.data_s) {
        plan.notes.emplace_back(
            "creating the files takes longer than writing them: let fewer processes write, or "
            "spread them over metadata servers (directories, prefixes)");
    }
    if (plan.share > much) {
        plan.notes.push_back(
            fmt::format("to write within {:g} % of the interval the store has to take {:.3g} GB/s",
                        much * 100, write.bytes / (much * plan.interval_s) / 1e9));
    }
    if (write.limit == Limit::nodes && rates_.store_write) {
        plan.notes.emplace_back("a faster store would change nothing: the nodes are the limit");
    }
    const auto& by_all = plan.restart.by_all;
    if (by_all.total_s() > plan.checkpoint.timing.restart_s()) {
        plan.notes.emplace_back(
            "reading alone takes longer than the restart time that was reckoned with: give "
            "--restart, or let one replica read and send on");
    }
    if (!rates_.store_write && !store_.in_nodes) {
        plan.notes.emplace_back(
            "no limit of the whole store is known, only that of the nodes: give --write and --read "
            "if it has one");
    }
    if (store_.in_nodes) {
        plan.notes.emplace_back(
            "drives in a node die with it: copy checkpoints to a peer or to shared storage");
    }
}

StoragePlan Planner::put_together(checkpoint::Recommendation recommendation,
                                  const Transfer& write) const {
    StoragePlan plan{std::move(recommendation)};
    plan.store = &store_;
    plan.nodes = rates_.nodes;
    plan.write_bytes_per_s = rates_.store_write;
    plan.read_bytes_per_s = rates_.store_read;
    plan.node_write_bytes_per_s = rates_.node_write;
    plan.node_read_bytes_per_s = rates_.node_read;
    plan.write = write;
    plan.is_own_interval = plan.checkpoint.own.has_value();
    plan.interval_s = plan.is_own_interval ? *question_.checkpoint.own_interval_s
                                           : plan.checkpoint.chosen.interval_s;
    plan.share = write.total_s() / plan.interval_s;
    plan.local_copy_s = local_copy_s_;
    plan.restart = restart(write);
    return plan;
}

Result<StoragePlan> Planner::plan() {
    if (auto found = find_rates(); !found) {
        return propagate(found);
    }
    const auto bytes = count_bytes();
    if (!(bytes > 0)) {
        return fail(Errc::bad_input,
                    "nothing tells how large a checkpoint is: give its size or the parameters of "
                    "the model");
    }
    if (question_.replicas > gpus_of(question_.checkpoint)) {
        return fail(Errc::bad_input, fmt::format("{} on {}: each replica needs one at least",
                                                 count_of(*question_.replicas, "replica"),
                                                 count_of(gpus_of(question_.checkpoint), "GPU")));
    }
    const auto writers = question_.processes.value_or(gpus_of(question_.checkpoint));
    const auto files_per_writer = question_.files_per_writer.value_or(1);
    constexpr double most_files = 1e15;  // and their count would not fit
    if (static_cast<double>(writers) * static_cast<double>(files_per_writer) *
            static_cast<double>(question_.replicas.value_or(1)) >
        most_files) {
        return fail(Errc::bad_input,
                    "more files than any store holds: writers, their files and "
                    "replicas multiply");
    }
    const auto write = transfer(bytes, writers * files_per_writer, true);
    auto recommendation = recommend(write);
    if (!recommendation) {
        return propagate(recommendation);
    }
    auto plan = put_together(std::move(*recommendation), write);
    plan.writers = writers;
    auto loading = plan_loading(
        question_.data,
        {store_, rates_.nodes, rates_.store_read, rates_.node_read, question_.units, rates_.opens},
        bases_);
    if (!loading) {
        return propagate(loading);
    }
    plan.loading = *loading;
    add_notes(plan);
    plan.bases = bases_.take();
    return plan;
}

Result<void> check(const StorageQuestion& question) {
    for (const auto& value : {question.write_bytes_per_s, question.read_bytes_per_s,
                              question.node_write_bytes_per_s, question.node_read_bytes_per_s}) {
        if (value && !(*value > 0 && std::isfinite(*value))) {
            return fail(Errc::bad_input, fmt::format("a bandwidth of {:g} bytes a second: it has "
                                                     "to be more than 0",
                                                     *value));
        }
    }
    const auto& job = question.checkpoint;
    for (const auto& count :
         {question.units, question.metadata_servers, question.processes, question.files_per_writer,
          question.replicas, job.nodes, job.gpus, job.gpus_per_node}) {
        if (count == std::uint64_t{0}) {
            return fail(Errc::bad_input,
                        "nodes, GPUs, units, metadata servers, writers, files and replicas: 0 is "
                        "none");
        }
    }
    return {};
}

}  // namespace

/// Writes in the background may fill the interval to the last digit.
bool StoragePlan::is_fast_enough() const {
    constexpr double rounding = 1e-9;
    return share <= 1 + rounding;
}

Result<StoragePlan> plan_storage(const StorageQuestion& question) {
    if (auto checked = check(question); !checked) {
        return propagate(checked);
    }
    return Planner{question}.plan();
}

}  // namespace railhead::plan
