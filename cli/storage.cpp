// railhead storage: whether a kind of storage is fast enough for a training job.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/file.hpp"
#include "base/text.hpp"
#include "checkpoint_options.hpp"
#include "command.hpp"
#include "plan/storage.hpp"
#include "quantity_reader.hpp"
#include "report/storage.hpp"
#include "some.hpp"

namespace railhead::cli {

namespace {

struct Options {
    // As typed: their units are read when all options are there.
    std::optional<std::string> write, read, node_write, node_read;
    CheckpointOptions checkpoint;
    std::optional<std::string> samples, sample_bytes, samples_per_file, decode;
    std::string store, local = "local-nvme";
    std::vector<std::string> files;
    plan::StorageQuestion question;
    bool list = false;
    bool json = false;
};

/// The built-in stores, with those of the user's files over them.
std::optional<std::vector<plan::Store>> read_stores(const Options& options, Console& console) {
    auto stores = plan::built_in_stores();
    for (const auto& file : options.files) {
        const auto text = read_file(file);
        if (!text) {
            console.fail(text.error());
            return std::nullopt;
        }
        auto more = plan::parse_stores(*text, file);
        if (!more) {
            for (const auto& error : more.error()) {
                console.fail(error);
            }
            return std::nullopt;
        }
        plan::add_stores(stores, std::move(*more));
    }
    return stores;
}

void read_data(const Options& options, QuantityReader& reader, plan::DataQuestion& data) {
    reader.read("--samples", options.samples, Quantity::count, data.samples_per_s);
    reader.read("--sample-bytes", options.sample_bytes, Quantity::size, data.sample_bytes);
    reader.read("--samples-per-file", options.samples_per_file, Quantity::count,
                data.samples_per_file);
    if (options.decode && equals_ignoring_case(*options.decode, "jpeg")) {
        data.decode_s = plan::jpeg_decode_s;
    } else {
        reader.read("--decode", options.decode, Quantity::duration, data.decode_s);
    }
}

Result<plan::StorageQuestion> read_question(const Options& options) {
    auto question = options.question;
    QuantityReader reader;
    reader.read("--write", options.write, Quantity::bandwidth, question.write_bytes_per_s);
    reader.read("--read", options.read, Quantity::bandwidth, question.read_bytes_per_s);
    reader.read("--node-write", options.node_write, Quantity::bandwidth,
                question.node_write_bytes_per_s);
    reader.read("--node-read", options.node_read, Quantity::bandwidth,
                question.node_read_bytes_per_s);
    read_checkpoint(options.checkpoint, reader, question.checkpoint);
    read_data(options, reader, question.data);
    if (reader.error()) {
        return tl::unexpected{*reader.error()};
    }
    return question;
}

/// Options that would be left unused by this store.
Result<void> check_units(const plan::StorageQuestion& question) {
    const auto& store = *question.store;
    if (!question.units) {
        return {};
    }
    if (store.in_nodes) {
        return fail(Errc::bad_input,
                    fmt::format("--units: the drives of \"{}\" are as many as nodes: leave it out",
                                printable(store.name)));
    }
    const bool is_given = question.write_bytes_per_s || question.read_bytes_per_s;
    const bool is_used =
        store.metadata_by_unit || (store.unit_reads && question.data.samples_per_s);
    if (is_given && !is_used) {
        return fail(Errc::bad_input,
                    "--units and --write or --read: both say how fast the store is, give one of "
                    "them");
    }
    return {};
}

Result<void> check_options(const plan::StorageQuestion& question) {
    if (question.checkpoint.process_share && !question.local->in_nodes) {
        return fail(Errc::bad_input,
                    fmt::format("--local \"{}\" is no drive in a node: copies there would outlive "
                                "it, give its rate as --store",
                                printable(question.local->name)));
    }
    return check_units(question);
}

void run(const Options& options, Console& console) {
    const auto stores = read_stores(options, console);
    if (!stores) {
        return;
    }
    if (options.list) {
        console.out << (options.json ? report::stores_json(*stores) : report::stores_text(*stores));
        return;
    }
    const auto store = plan::find_store(*stores, options.store);
    const auto local = plan::find_store(*stores, options.local);
    for (const auto* found : {&store, &local}) {
        if (!*found) {
            return console.fail(found->error());
        }
    }
    auto question = read_question(options);
    if (!question) {
        return console.fail(question.error());
    }
    question->store = *store;
    question->local = *local;
    if (auto right = check_options(*question); !right) {
        return console.fail(right.error());
    }
    const auto plan = plan::plan_storage(*question);
    if (!plan) {
        return console.fail(plan.error());
    }
    console.out << (options.json ? report::storage_json(*plan) : report::storage_text(*plan));
    if (!plan->is_fast_enough()) {
        console.leave(Exit::findings);
    }
}

void add_store(CLI::App& command, Options& options) {
    auto& question = options.question;
    const std::string group = "The store";
    command
        .add_option("--store", options.store,
                    "lustre, gpfs, beegfs, nvme-of, object-store, local-nvme, or your own "
                    "(default: lustre)")
        ->default_val("lustre")
        ->group(group);
    command
        .add_option("--stores", options.files, "More kinds of storage, as storage.toml has them")
        ->group(group);
    command.add_flag("--list", options.list, "List the kinds of storage, with sources")
        ->group(group);
    command.add_option("--write", options.write, "What the store writes as a whole: 400GB/s")
        ->group(group);
    command.add_option("--read", options.read, "What it reads as a whole")->group(group);
    command
        .add_option("--units", question.units,
                    "Or how many units it has: OSSs, building blocks, ports, prefixes")
        ->check(some)
        ->group(group);
    command
        .add_option("--metadata-servers", question.metadata_servers,
                    "That create and open the files (default: 1)")
        ->check(some)
        ->group(group);
    command.add_option("--node-write", options.node_write, "The most that one node writes")
        ->group(group);
    command.add_option("--node-read", options.node_read, "The most that one node reads")
        ->group(group);
}

void add_checkpoint(CLI::App& command, Options& options) {
    auto& question = options.question;
    const std::string group = "Its checkpoints";
    const auto add = [&](const char* name, auto& to, const char* help) {
        return command.add_option(name, to, help)->group(group);
    };
    add_size_options(command, options.checkpoint, group);
    add("--writers", question.processes, "Processes that write (default: each GPU's)")->check(some);
    add("--files", question.files_per_writer, "Files of each of them (default: 1)")->check(some);
    add("--replicas", question.replicas,
        "Of the model, in data parallelism: each reads the weights at a restart")
        ->check(some);
    add("--interval", options.checkpoint.interval, "Your own interval (default: the best one)");
    add("--cost", options.checkpoint.cost,
        "How long training stands still for one (default: the whole write)");
    auto* share = add("--process-share", options.checkpoint.process_share,
                      "The share of failures that a copy on the nodes' drives survives: 70%");
    add("--local", options.local, "Those drives, as a kind of storage")
        ->default_val("local-nvme")
        ->needs(share);
}

void add_samples(CLI::App& command, Options& options) {
    const std::string group = "Its samples";
    command.add_option("--samples", options.samples, "Samples a second, of the whole job: 50k")
        ->group(group);
    command.add_option("--sample-bytes", options.sample_bytes, "Size of one, as stored: 110kB")
        ->group(group);
    command
        .add_option("--samples-per-file", options.samples_per_file,
                    "Default: each sample is a file of its own")
        ->group(group);
    command
        .add_option("--decode", options.decode,
                    "Time of one core to decode a sample: 2ms, or jpeg (default: none)")
        ->group(group);
    command
        .add_option("--cores", options.question.data.cores, "CPU cores of a node (default: 112)")
        ->check(some)
        ->group(group);
}

}  // namespace

void add_storage(CLI::App& app, Console& console) {
    auto options = std::make_shared<Options>();
    auto* command =
        app.add_subcommand("storage", "Whether storage is fast enough for a job's checkpoints");
    add_store(*command, *options);
    add_job_options(*command, options->checkpoint, options->question.checkpoint, "The job");
    add_checkpoint(*command, *options);
    add_samples(*command, *options);
    command->add_flag("--json", options->json, "Write JSON, schema railhead.storage/1");
    command->callback([options, &console] { run(*options, console); });
}

}  // namespace railhead::cli
