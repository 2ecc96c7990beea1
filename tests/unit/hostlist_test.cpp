#include "job/hostlist.hpp"

#include <array>
#include <cstdio>
#include <memory>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "support/catch.hpp"

using namespace railhead;

namespace {

struct Case {
    std::string why;
    std::string list;
    std::string expected;
};

/// Lists that both Slurm and we take, with the names they stand for.
const auto good_lists = std::vector<Case>{
    {"one name", "n1", "n1"},
    {"names without brackets", "a,b", "a b"},
    {"a range", "n[1-3]", "n1 n2 n3"},
    {"padding is kept", "n[08-10]", "n08 n09 n10"},
    {"padding comes from the first number", "n[001-2]", "n001 n002"},
    {"and never from the second", "n[1-002]", "n1 n2"},
    {"a range that outgrows its padding", "n[9-10]", "n9 n10"},
    {"zero, padded", "n[00-1]", "n00 n01"},
    {"a range of one", "n[01-1]", "n01"},
    {"numbers and ranges", "n[1,3-4],b", "n1 n3 n4 b"},
    {"two brackets", "r[1-2]n[01-02]", "r1n01 r1n02 r2n01 r2n02"},
    {"two brackets that touch", "n[1][2]", "n12"},
    {"three brackets: Slurm's own order", "a[1-2]b[3-4]c[5-6]",
     "a1b3c5 a1b3c6 a2b3c5 a2b3c6 a1b4c5 a1b4c6 a2b4c5 a2b4c6"},
    {"no prefix", "[1-3]", "1 2 3"},
    {"a dash in the name", "n1-3", "n1-3"},
    {"a dash between brackets", "n[1-2]-[3-4]", "n1-3 n1-4 n2-3 n2-4"},
    {"colons and dots in the name", "a:b,sw.2.[1-2]", "a:b sw.2.1 sw.2.2"},
    {"what is written twice comes twice", "n[1-2],n[1-2]", "n1 n2 n1 n2"},
    {"empty", "", ""},
    {"commas only", ",,", ""},
    {"empty entries", "a,,b,", "a b"},
    {"blanks between names", "a b\tc", "a b c"},
    {"blanks around", " n1 ", "n1"},
};

/// The names that `scontrol show hostnames` prints, joined by blanks.
std::string ask_scontrol(const std::string& list) {
    const auto command = fmt::format(
        "f=$(mktemp) && printf 'ClusterName=x\\nSlurmctldHost=localhost\\nNodeName=n1\\n' > $f && "
        "SLURM_CONF=$f scontrol show hostnames '{}' 2>&1; rm -f $f",
        list);
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe{::popen(command.c_str(), "r"),
                                                               ::pclose};
    std::string out;
    std::array<char, 4096> block{};
    for (std::size_t got = 1; pipe && got > 0;) {
        got = std::fread(block.data(), 1, block.size(), pipe.get());
        out.append(block.data(), got);
    }
    return fmt::format("{}", fmt::join(split_words(out), " "));
}

}  // namespace

TEST_CASE("host lists stand for the names that Slurm would give", "[hostlist]") {
    const auto c = GENERATE(from_range(good_lists));
    CAPTURE(c.why, c.list);

    const auto names = job::expand_hostlist(c.list);

    REQUIRE(names);
    CHECK(fmt::format("{}", fmt::join(*names, " ")) == c.expected);
}

TEST_CASE("scontrol agrees with every list of the table", "[hostlist][slurm]") {
    if (std::system("command -v scontrol >/dev/null 2>&1") != 0) {
        SKIP("no scontrol on this machine");
    }
    const auto c = GENERATE(from_range(good_lists));
    CAPTURE(c.why, c.list);

    CHECK(ask_scontrol(c.list) == c.expected);
}

TEST_CASE("a list has the names that it stands for, and no other", "[hostlist]") {
    for (const std::string list :
         {"n1", "n[1-3]", "n[08-11]", "n[1-3,7]", "r[1-2]n[01-12]", "a,b[2-3],c", "n[1-12][1-12]"}) {
        const auto names = job::expand_hostlist(list);
        REQUIRE(names);
        CHECK(*job::count_hosts(list) == names->size());
        for (const auto& name : *names) {
            CAPTURE(list, name);
            CHECK(job::hostlist_has(list, name));
        }
    }
    const auto [list, name] = GENERATE(table<std::string, std::string>({
        {"n[08-11]", "n8"},   {"n[08-11]", "n011"}, {"n[08-11]", "n12"}, {"n[1-3]", "n"},
        {"n[1-3]", "n1x"},    {"n[1-3]", "m1"},     {"n[1-3]", "n01"},   {"r[1-2]n[1-2]", "r1n"},
        {"r[1-2]n[1-2]", "r3n1"}, {"", ""},         {"n[1-3", "n1"},     {"n1", ""},
    }));
    CAPTURE(list, name);
    CHECK_FALSE(job::hostlist_has(list, name));
}

TEST_CASE("a host list that names nothing sensible is an error with its column", "[hostlist]") {
    struct Bad {
        std::string why;
        std::string list;
        unsigned column;
        std::string message;
    };
    // Slurm takes the first three and gives "n]" or "n1": a name that nobody meant.
    const auto c = GENERATE(values<Bad>({
        {"an unclosed bracket", "a,n[1-2", 4, "bracket without its partner"},
        {"an unopened bracket", "n1]", 3, "bracket without its partner"},
        {"an open range", "n[1-]", 3, "\"1-\" is not a number or a range"},
        {"a range that runs backwards", "n[3-1]", 3, "\"3-1\" is not"},
        {"an empty bracket", "n[]", 3, "\"\" is not"},
        {"an empty number", "n[1,,2]", 5, "\"\" is not"},
        {"letters in a bracket", "n[a-b]", 3, "\"a-b\" is not"},
        {"a hexadecimal number", "n[0x1]", 3, "\"0x1\" is not"},
        {"two dashes", "n[1-2-3]", 3, "\"1-2-3\" is not"},
        {"a blank in a bracket", "n[1, 2]", 5, "\" 2\" is not"},
        {"brackets in brackets", "n[[1-2]]", 2, "bracket without its partner"},
        {"text after the bracket", "b,n[1-2]x", 9, "text after \"]\""},
        {"a huge range", "n[0-99999999]", 1, "more than 1048576 names"},
        {"a huge product", "n[0-9999][0-9999]", 1, "more than 1048576 names"},
        {"a number beyond 64 bits", "n[99999999999999999999]", 3, "is not a number"},
        {"a name of 256 characters", std::string(256, 'n'), 1, "at most 255 characters"},
    }));
    CAPTURE(c.why, c.list);

    const auto names = job::expand_hostlist(c.list);

    REQUIRE_FALSE(names);
    CHECK(names.error().code == Errc::bad_input);
    CHECK_THAT(names.error().message, ContainsSubstring(c.message));
    CHECK(names.error().where.column == c.column);
}

TEST_CASE("the limit on names counts the whole list", "[hostlist]") {
    CHECK(job::expand_hostlist("a[0-65535]")->size() == 65536);
    CHECK_FALSE(job::expand_hostlist("a[0-65535],b[0-999999]"));
}

TEST_CASE("names are written as scontrol show hostlistsorted does", "[hostlist]") {
    const auto c = GENERATE(values<Case>({
        {"a range", "n1,n2,n3", "n[1-3]"},
        {"one name has no bracket", "n1", "n1"},
        {"holes", "n1,n3,n5", "n[1,3,5]"},
        {"order does not matter", "n10,n9,n8", "n[8-10]"},
        {"padding is kept", "n008,n009,n010", "n[008-010]"},
        {"other paddings are other names", "n1,n03,n2", "n[1-2,03]"},
        {"a padded range that grows", "n9,n10,n099,n100", "n[9-10,099-100]"},
        {"names without a number", "b,a,n2", "a,b,n2"},
        {"numbers alone", "3,1,2", "[1-3]"},
        {"text after the number", "n1x,n2x", "n1x,n2x"},
        {"only the last number counts", "r1n1,r1n2,r2n1", "r1n[1-2],r2n1"},
        {"duplicates are dropped", "n1,n1,a,a,n2", "a,n[1-2]"},
        {"none", "", ""},
    }));
    CAPTURE(c.why, c.list);
    const auto names = job::expand_hostlist(c.list);
    REQUIRE(names);

    CHECK(job::compress_hostlist(*names) == c.expected);
}

TEST_CASE("what is written compressed reads back as the same names", "[hostlist]") {
    const auto c = GENERATE(from_range(good_lists));
    CAPTURE(c.why, c.list);
    const auto names = job::expand_hostlist(c.list).value();

    const auto again = job::expand_hostlist(job::compress_hostlist(names));

    REQUIRE(again);
    CHECK(std::set(again->begin(), again->end()) == std::set(names.begin(), names.end()));
}

TEST_CASE("hostile host lists are read or refused, quickly", "[hostlist][hostile]") {
    const std::size_t size = 10U << 20U;
    CHECK(job::expand_hostlist(std::string(size / 10, ',')));
    CHECK_FALSE(job::expand_hostlist(std::string(size, '[')));
    CHECK_FALSE(job::expand_hostlist(std::string(size, ']')));
    CHECK_FALSE(job::expand_hostlist(std::string(size, 'x')));
    CHECK_FALSE(job::expand_hostlist("n[" + std::string(size, '0') + "]"));
    CHECK_FALSE(job::expand_hostlist("n[" + std::string(size, ',') + "]"));
    std::string brackets;
    for (int i = 0; i < 100'000; ++i) {
        brackets += "[1-2]";
    }
    CHECK_FALSE(job::expand_hostlist(brackets));
    CHECK(job::expand_hostlist(std::string{"a\0b", 3})->size() == 1);
}
