#include "plugin_file.hpp"

#include <elf.h>

#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/file.hpp"

namespace railhead::cli {

namespace {

/// The object at `offset` of the file, if it lies within it.
template <class T>
std::optional<T> at(std::string_view file, std::uint64_t offset) {
    if (offset > file.size() || file.size() - offset < sizeof(T)) {
        return std::nullopt;
    }
    T value;
    std::memcpy(&value, file.data() + offset, sizeof(T));
    return value;
}

std::string_view name_at(std::string_view file, const Elf64_Shdr& strings, std::uint32_t offset) {
    const auto start = strings.sh_offset + offset;
    if (offset >= strings.sh_size || start >= file.size()) {
        return {};
    }
    const auto rest = file.substr(start);
    return rest.substr(0, rest.find('\0'));
}

/// The file offset of the byte that is loaded at `address`.
std::optional<std::uint64_t> offset_of(std::string_view file, const Elf64_Ehdr& header,
                                       std::uint64_t address) {
    for (unsigned i = 0; i < header.e_phnum; ++i) {
        const auto segment =
            at<Elf64_Phdr>(file, header.e_phoff + std::uint64_t{i} * sizeof(Elf64_Phdr));
        if (segment && segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
            address - segment->p_vaddr < segment->p_filesz) {
            return segment->p_offset + (address - segment->p_vaddr);
        }
    }
    return std::nullopt;
}

std::optional<Elf64_Sym> find_symbol(std::string_view file, const Elf64_Ehdr& header,
                                     std::string_view name) {
    const auto section = [&](std::uint64_t index) {
        return at<Elf64_Shdr>(file, header.e_shoff + index * sizeof(Elf64_Shdr));
    };
    for (unsigned i = 0; i < header.e_shnum; ++i) {
        const auto symbols = section(i);
        if (!symbols || symbols->sh_type != SHT_DYNSYM) {
            continue;
        }
        const auto strings = section(symbols->sh_link);
        for (std::uint64_t k = 0; strings && k < symbols->sh_size / sizeof(Elf64_Sym); ++k) {
            const auto symbol =
                at<Elf64_Sym>(file, symbols->sh_offset + k * sizeof(Elf64_Sym));
            if (!symbol) {
                break;  // a file cut short
            }
            if (symbol->st_shndx != SHN_UNDEF && name_at(file, *strings, symbol->st_name) == name) {
                return symbol;
            }
        }
    }
    return std::nullopt;
}

}  // namespace

Result<std::uint32_t> plugin_version(const std::string& path) {
    constexpr std::size_t most = std::size_t{1} << 30U;  // with debug information they grow large
    const auto file = read_file(path, most);
    if (!file) {
        return tl::unexpected{file.error()};
    }
    const auto header = at<Elf64_Ehdr>(*file, 0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB) {
        return fail(Errc::bad_input,
                    fmt::format("\"{}\" is not a shared object of a 64-bit machine", path));
    }
    const auto symbol = find_symbol(*file, *header, "plugin_version");
    const auto offset = symbol ? offset_of(*file, *header, symbol->st_value) : std::nullopt;
    const auto version = offset ? at<std::uint32_t>(*file, *offset) : std::nullopt;
    if (!version) {
        return fail(Errc::bad_input,
                    fmt::format("\"{}\" has no plugin_version: not a Slurm plugin", path));
    }
    return *version;
}

std::string version_text(std::uint32_t version) {
    return fmt::format("{}.{:02}.{}", (version >> 16U) & 0xffU, (version >> 8U) & 0xffU,
                       version & 0xffU);
}

}  // namespace railhead::cli
