// The page that `railhead report` writes: one HTML file that asks no network for anything.
//
// What it shows is JSON in the page, schema railhead.report/1; a script draws it.  The script, the
// style sheet and the chart library are part of the program where it was built with them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "diagnose/facts.hpp"
#include "fabric/collective_question.hpp"
#include "fabric/placed.hpp"
#include "report/diagnosis.hpp"

namespace railhead::report {

/// A table of nccl-tests, with the model of it or why there is none.
struct ModelledTable {
    const diagnose::BandwidthFacts* measured = nullptr;
    Result<fabric::CollectiveAnswer> model;
};

struct Page {
    const DiagnosisReport* report = nullptr;
    std::vector<ModelledTable> tables;
    fabric::Placed placed;  ///< the hosts of the NCCL logs are among its nodes
    std::string topology;   ///< the file; empty: none was given
    std::string title;
    std::string made_by;  ///< "railhead 0.1.0"
};

/// The nodes that a run was seen on: the hosts of its NCCL logs.
[[nodiscard]] std::vector<std::string> hosts_of(const diagnose::Facts& facts);

/// JSON that may stand in a script element: ASCII, and no "<", ">" or "&" in it.
[[nodiscard]] std::string page_data(const Page& page);

/// Whether this program has what pages are made of.
[[nodiscard]] bool has_pages();

/// The file.  Where has_pages() is false there is nothing in it that draws.
[[nodiscard]] std::string page_html(const Page& page);

}  // namespace railhead::report
