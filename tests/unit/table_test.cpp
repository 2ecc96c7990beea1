#include "report/table.hpp"
#include "support/catch.hpp"

using railhead::report::Table;

TEST_CASE("columns line up, and lines have no blanks at the end", "[report]") {
    Table table{{"GPU", "rail", "path"}};
    table.add({"0", "mlx5_0", "PIX"});
    table.add({"10", "µ", ""});
    CHECK(table.text() ==
          "GPU  rail    path\n"
          "0    mlx5_0  PIX\n"
          "10   µ\n");
}

TEST_CASE("the last column wraps under itself", "[report]") {
    Table table;
    table.add({"gang", "a line that is a good deal longer than the width that there is for it"});
    CHECK(table.text(2, 40) ==
          "  gang  a line that is a good deal\n"
          "        longer than the width that there\n"
          "        is for it\n");
}

TEST_CASE("an empty table is no text, and an empty row an empty line", "[report]") {
    CHECK(Table{}.text().empty());
    Table table;
    table.add({});
    CHECK(table.text() == "\n");
}
