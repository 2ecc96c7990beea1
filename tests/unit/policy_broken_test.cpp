// Every way that we know to break a policy, and what a person is told of it.
#include <filesystem>
#include <set>
#include <string>

#include "policy/parse.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/paths.hpp"

namespace {

using namespace railhead;

constexpr const char* folder = "policies-broken";

/// The names in the folder with that extension, without it.
std::set<std::string> names(const std::string& extension) {
    std::set<std::string> found;
    for (const auto& entry :
         std::filesystem::directory_iterator{railhead::test::data_file(folder)}) {
        if (entry.path().extension() == extension) {
            found.insert(entry.path().stem().string());
        }
    }
    return found;
}

std::string path(const std::string& name, const std::string& extension) {
    return std::string{folder} + "/" + name + extension;
}

}  // namespace

TEST_CASE("each broken policy is refused with file, line, column and what to do", "[policy][errors][golden]") {
    const auto policies = names(".toml");
    REQUIRE(policies.size() > 25);
    for (const auto& name : policies) {
        CAPTURE(name);

        const auto policy = policy::parse_policy(test::read(path(name, ".toml")), name + ".toml");

        REQUIRE_FALSE(policy.has_value());
        std::string text;
        for (const auto& error : policy.error()) {
            CHECK(error.where.line > 0);
            CHECK(error.where.column > 0);
            text += to_string(error) + "\n";
        }
        CHECK(text == test::golden(path(name, ".expected"), text));
    }
}

TEST_CASE("every broken policy has an expectation, and every expectation a policy", "[policy][errors]") {
    CHECK(names(".toml") == names(".expected"));
}
