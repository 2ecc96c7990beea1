#include "plan/store.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "base/toml_reader.hpp"
#include "plan/built_in_text.hpp"

namespace railhead::plan {

namespace {

constexpr double giga = 1e9;
constexpr double most = 1e12;  // GB/s or operations a second: no store is faster

/// One table of the file.
class StoreReader {
 public:
    explicit StoreReader(const TomlReader& reader) : reader_{reader} {}

    Store read(const toml::table& table) const {
        Store store;
        reader_.each(table, {{"name", reader_.text(store.name)},
                             {"what", reader_.text(store.what)},
                             {"unit", reader_.text(store.unit)},
                             {"in_nodes", reader_.flag(store.in_nodes)},
                             {"metadata_by_unit", reader_.flag(store.metadata_by_unit)},
                             {"gds", reader_.flag(store.gds)},
                             {"client_write", bandwidth(store.client_write)},
                             {"client_read", bandwidth(store.client_read)},
                             {"unit_write", bandwidth(store.unit_write)},
                             {"unit_read", bandwidth(store.unit_read)},
                             {"client_reads", rate(store.client_reads)},
                             {"unit_reads", rate(store.unit_reads)},
                             {"creates", rate(store.creates)},
                             {"opens", rate(store.opens)}});
        if (store.name.empty()) {
            reader_.complain(table, "a store needs a name");
        }
        if (!store.client_write || !store.client_read) {
            reader_.complain(table, fmt::format("store \"{}\" needs client_write and client_read",
                                                printable(store.name)));
        }
        return store;
    }

 private:
    TomlReader::Handler bandwidth(std::optional<Figure>& to) const {
        return figure(to, "gb_per_s", giga);
    }
    TomlReader::Handler rate(std::optional<Figure>& to) const { return figure(to, "per_s", 1); }

    TomlReader::Handler figure(std::optional<Figure>& to, std::string_view key,
                               double factor) const {
        return reader_.table([this, &to, key, factor](const toml::table& table) {
            Figure figure;
            reader_.each(table, {{key, reader_.fraction(figure.value, 0, most)},
                                 {"source", reader_.text(figure.source)},
                                 {"guess", reader_.flag(figure.is_guess)}});
            if (!(figure.value > 0)) {
                reader_.complain(table, fmt::format("a figure needs {}, more than 0", key));
            }
            if (figure.source.empty()) {
                reader_.complain(table, "a figure needs a source: who measured or published it");
            }
            figure.value *= factor;
            to = std::move(figure);
        });
    }

    const TomlReader& reader_;
};

void read_store(const TomlReader& reader, const toml::node& element, std::vector<Store>& stores) {
    const auto* table = element.as_table();
    if (table == nullptr) {
        reader.complain(element, "expected a table [[store]]");
        return;
    }
    auto store = StoreReader{reader}.read(*table);
    if (std::ranges::any_of(stores, [&](const auto& other) {
            return equals_ignoring_case(other.name, store.name);
        })) {
        reader.complain(*table, fmt::format("store \"{}\" is here twice", printable(store.name)));
    }
    stores.push_back(std::move(store));
}

}  // namespace

tl::expected<std::vector<Store>, std::vector<Error>> parse_stores(std::string_view text,
                                                                  const std::string& file) {
    std::vector<Store> stores;
    auto errors =
        read_toml(text, file, [&](const toml::table& root, std::vector<Error>& complaints) {
            const TomlReader reader{file, root, complaints};
            reader.each(root, {{"store", [&](const toml::node& value) {
                                    const auto* list = value.as_array();
                                    if (list == nullptr) {
                                        reader.complain(value, "expected tables [[store]]");
                                        return;
                                    }
                                    for (const auto& element : *list) {
                                        read_store(reader, element, stores);
                                    }
                                }}});
        });
    if (!errors.empty()) {
        return tl::unexpected{std::move(errors)};
    }
    return stores;
}

const std::vector<Store>& built_in_stores() {
    static const auto stores = [] {
        auto parsed = parse_stores(built_in_storage(), "storage.toml");
        assert(parsed && "the built-in stores are in order: a test reads them");
        return parsed.value_or(std::vector<Store>{});
    }();
    return stores;
}

void add_stores(std::vector<Store>& stores, std::vector<Store> more) {
    for (auto& store : more) {
        const auto same = std::ranges::find_if(stores, [&](const auto& other) {
            return equals_ignoring_case(other.name, store.name);
        });
        if (same == stores.end()) {
            stores.push_back(std::move(store));
        } else {
            *same = std::move(store);
        }
    }
}

Result<const Store*> find_store(const std::vector<Store>& stores, std::string_view name) {
    std::vector<std::string_view> names;
    for (const auto& store : stores) {
        if (equals_ignoring_case(store.name, name)) {
            return &store;
        }
        names.push_back(store.name);
    }
    const auto near = nearest_name(name, names);
    return fail(Errc::not_found,
                near ? fmt::format("no store \"{}\": did you mean \"{}\"?", printable(name), *near)
                     : fmt::format("no store \"{}\": expected one of {}", printable(name),
                                   fmt::join(names, ", ")));
}

}  // namespace railhead::plan
