// Tables and JSON lines of report_table.h.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <ranges>
#include <span>

#include "base/utf8.h"
#include "render/json.h"
#include "render/report_keys.h"
#include "render/report_table.h"

namespace jitscope {
namespace {

bool has(const Report& report, ReportKey key) {
  return has(report.options, key);
}

double percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

size_t characters(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80; }));
}

std::string method_text(const ReportRow& row) {
  if (row.frame.method.empty()) {
    return row.frame.no_name == NoName::none
               ? "[unknown]"
               : fmt::format("[unknown: {}]", to_string(row.frame.no_name));
  }
  return row.frame.method + (row.ambiguous ? "?" : "");
}

struct Column {
  std::string_view title;
  std::string (*text)(const ReportRow&);
};

// The columns behind the numbers; the last one is not padded.
std::vector<Column> columns_of(const Report& report) {
  std::vector<Column> columns;
  const bool method = has(report, ReportKey::method);
  if (has(report, ReportKey::cpu)) {
    columns.push_back(
        {"CPU", [](const ReportRow& row) { return row.cpu.empty() ? std::string("-") : row.cpu; }});
  }
  if (has(report, ReportKey::comm)) {
    columns.push_back({"Command", [](const ReportRow& row) { return printable(row.comm); }});
  }
  if (has(report, ReportKey::process)) {
    columns.push_back({"Process", [](const ReportRow& row) { return printable(row.process); }});
  }
  if (has(report, ReportKey::thread)) {
    columns.push_back({"Thread", [](const ReportRow& row) { return printable(row.thread); }});
  }
  if (method || has(report, ReportKey::tier)) {
    columns.push_back({"Tier", [](const ReportRow& row) {
                         return row.tiers.empty() ? std::string("-") : row.tiers;
                       }});
  }
  if (method || has(report, ReportKey::source)) {
    columns.push_back({"Source", [](const ReportRow& row) { return row.sources; }});
  }
  if (method || has(report, ReportKey::dso)) {
    columns.push_back({"DSO", [](const ReportRow& row) {
                         return row.frame.dso.empty() ? std::string("[unknown]")
                                                      : printable(row.frame.dso);
                       }});
  }
  if (method) {
    columns.push_back({"Method", [](const ReportRow& row) { return printable(method_text(row)); }});
  }
  if (has(report, ReportKey::srcline)) {
    columns.push_back({"Source:Line", [](const ReportRow& row) {
                         const std::string line = line_text(row.frame);
                         return line.empty() ? std::string("-") : printable(line);
                       }});
  }
  return columns;
}

// A column is as wide as its widest text among the first rows, but for long outliers.
constexpr size_t kMostWidth = 28;
constexpr size_t kRowsMeasured = 200;

std::vector<size_t> widths_of(const Report& report, const std::vector<Column>& columns) {
  std::vector<size_t> widths;
  for (const Column& column : columns) {
    size_t width = column.title.size();
    for (const ReportRow& row : report.rows | std::views::take(kRowsMeasured)) {
      width = std::max(width, std::min(kMostWidth, characters(column.text(row))));
    }
    widths.push_back(width);
  }
  return widths;
}

void append_padded(std::string& out, std::string_view text, size_t width, bool last) {
  out += "  ";
  out += text;
  if (!last) out.append(width - std::min(width, characters(text)), ' ');
}

class Table {
 public:
  explicit Table(const Report& report)
      : report_(report), columns_(columns_of(report)), widths_(widths_of(report, columns_)) {}

  void append_title(std::string& out) const {
    out += report_.options.children ? "#  Total     Self   Samples" : "#   Self   Samples";
    for (size_t i = 0; i < columns_.size(); ++i) {
      append_padded(out, columns_[i].title, widths_[i], i + 1 == columns_.size());
    }
    out += '\n';
  }

  void append_row(std::string& out, const ReportRow& row) const {
    const Measure measure = report_.options.measure;
    const uint64_t whole = report_.whole();
    if (report_.options.children) {
      fmt::format_to(std::back_inserter(out), "{:7.2f}%", percent(row.total.of(measure), whole));
      out += ' ';
    }
    fmt::format_to(std::back_inserter(out), "{:7.2f}% {:9}", percent(row.self.of(measure), whole),
                   report_.options.children ? row.total.samples : row.self.samples);
    for (size_t i = 0; i < columns_.size(); ++i) {
      append_padded(out, columns_[i].text(row), widths_[i], i + 1 == columns_.size());
    }
    out += '\n';
  }

 private:
  const Report& report_;
  std::vector<Column> columns_;
  std::vector<size_t> widths_;
};

}  // namespace

std::string report_header_text(const Report& report) {
  std::string out;
  for (const std::string& filter : report.filters) {
    out += fmt::format("# {}\n", printable(filter));
  }
  out += fmt::format("# Samples: {} of event '{}'\n# Event count (approx.): {}{}\n",
                     report.sum.samples, printable(report.event.name), report.sum.weight,
                     report.event.unit == "nanoseconds" ? " ns" : "");
  if (report.left_out != 0) {
    out += fmt::format("# Left out by filters: {} samples\n", report.left_out);
  }
  if (report.others.samples != 0 && !report.options.relative) {
    out += fmt::format("# Percentages: of {} samples (--percentage relative: of those shown)\n",
                       report.sum.samples + report.others.samples);
  }
  if (report.samples != report.sum.samples) {
    std::string others;
    for (const EventName& event : report.events) {
      if (event.name == report.event.name) continue;
      if (!others.empty()) others += ", ";
      others += event.name;
    }
    out += fmt::format("# Samples of all events: {}\n", report.samples);
    if (!others.empty()) out += fmt::format("# Other events (--event): {}\n", printable(others));
  }
  out += fmt::format("# Lost: {}\n#\n", report.lost);
  Table(report).append_title(out);
  return out;
}

std::vector<std::string> report_row_texts(const Report& report, size_t count) {
  const Table table(report);
  std::vector<std::string> texts(std::min(count, report.rows.size()));
  for (size_t i = 0; i < texts.size(); ++i) table.append_row(texts[i], report.rows[i]);
  return texts;
}

std::string report_text(const Report& report, const ReportTextOptions& options) {
  std::string out;
  if (options.header) out += report_header_text(report);
  const Table table(report);
  const Measure measure = report.options.measure;
  const uint64_t whole = report.whole();
  size_t shown = 0;
  for (const ReportRow& row : report.rows) {
    const uint64_t value = report.options.children ? row.total.of(measure) : row.self.of(measure);
    // Without children, rows that are on stacks but never their leaf are no lines of a profile.
    if (value == 0 || shown == options.max_rows || percent(value, whole) < options.min_percent) {
      break;
    }
    table.append_row(out, row);
    ++shown;
  }
  const auto left_out = static_cast<size_t>(
      std::ranges::count_if(report.rows | std::views::drop(shown), [&](const ReportRow& row) {
        return (report.options.children ? row.total : row.self).of(measure) != 0;
      }));
  if (left_out != 0) out += fmt::format("# {} more rows\n", left_out);
  return out;
}

std::string report_json(const Report& report, const ReportTextOptions& options) {
  JsonObject head("profile");
  head.raw("events", json_array(report.events,
                                [](const EventName& event) {
                                  JsonObject each("");
                                  each.text("name", event.name).text("unit", event.unit);
                                  return each.str();
                                }))
      .text("event", report.event.name)
      .number("samples", report.sum.samples)
      .number("weight", report.sum.weight)
      .number("lost", report.lost)
      .text("command", report.command)
      .text("hostname", report.hostname);
  if (!report.filters.empty()) head.number("left_out", report.left_out);
  std::string out = head.str() + "\n";
  const bool process = has(report, ReportKey::process);
  const bool thread = has(report, ReportKey::thread);
  const Measure measure = report.options.measure;
  for (const ReportRow& row :
       std::span(report.rows).first(std::min(options.max_rows, report.rows.size()))) {
    const ReportCount& count = report.options.children ? row.total : row.self;
    if (percent(count.of(measure), report.whole()) < options.min_percent) break;
    JsonObject line("row");
    line.text("method", row.frame.method)
        .text("raw", row.frame.raw)
        .text("dso", row.frame.dso)
        .number("self", row.self.samples)
        .number("total", row.total.samples)
        .text("tier", row.tiers)
        .text("source", row.sources)
        .boolean("ambiguous", row.ambiguous);
    if (row.frame.method.empty()) line.text("reason", to_string(row.frame.no_name));
    if (process) line.text("process", row.process);
    if (thread) line.text("thread", row.thread);
    if (has(report, ReportKey::comm)) line.text("comm", row.comm);
    if (!row.cpu.empty()) line.raw("cpu", row.cpu);
    if (has(report, ReportKey::srcline) && !row.frame.file.empty()) {
      line.text("file", row.frame.file).number("line", row.frame.line);
    }
    out += line.str();
    out += '\n';
  }
  return out;
}

}  // namespace jitscope
