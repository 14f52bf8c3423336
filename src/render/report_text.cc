// Tables and JSON lines of report_table.h.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <ranges>
#include <span>

#include "base/utf8.h"
#include "render/fit_text.h"
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
// Of all columns together: with less nothing could be read.
constexpr size_t kLeastRoom = 16;

std::vector<size_t> widths_of(const Report& report, const std::vector<Column>& columns,
                              size_t widest) {
  std::vector<size_t> widths;
  for (const Column& column : columns) {
    size_t width = column.title.size();
    for (const ReportRow& row : report.rows | std::views::take(kRowsMeasured)) {
      width = std::max(width, std::min(widest, characters(column.text(row))));
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
  Table(const Report& report, const ReportTextOptions& options)
      : report_(report),
        columns_(columns_of(report)),
        cut_(options.width != 0),
        colour_(options.colour) {
    widths_ = widths_of(report, columns_, cut_ ? options.width : kMostWidth);
    if (!cut_) return;
    const size_t numbers = numbers_title().size() + 2 * columns_.size();
    widths_ = fit_columns(std::move(widths_),
                          std::max(options.width - std::min(options.width, numbers), kLeastRoom));
  }

  void append_title(std::string& out) const {
    out += numbers_title();
    for (size_t i = 0; i < columns_.size(); ++i) {
      const std::string_view title = columns_[i].title;
      append_padded(out, cut_ ? title.substr(0, widths_[i]) : title, widths_[i],
                    i + 1 == columns_.size());
    }
    out += '\n';
  }

  void append_row(std::string& out, const ReportRow& row) const {
    const Measure measure = report_.options.measure;
    const uint64_t whole = report_.whole();
    if (report_.options.children) {
      append_percent(out, percent(row.total.of(measure), whole), 7, colour_);
      out += ' ';
    }
    append_percent(out, percent(row.self.of(measure), whole), 7, colour_);
    fmt::format_to(std::back_inserter(out), " {:9}",
                   report_.options.children ? row.total.samples : row.self.samples);
    for (size_t i = 0; i < columns_.size(); ++i) {
      const std::string text = columns_[i].text(row);
      append_padded(out, cut_ ? fit_name(text, widths_[i]) : text, widths_[i],
                    i + 1 == columns_.size());
    }
    out += '\n';
  }

 private:
  [[nodiscard]] std::string_view numbers_title() const {
    return report_.options.children ? "#  Total     Self   Samples" : "#   Self   Samples";
  }

  const Report& report_;
  std::vector<Column> columns_;
  std::vector<size_t> widths_;
  bool cut_;
  bool colour_;
};

}  // namespace

void append_percent(std::string& out, double percent, int width, bool colour) {
  // Those of perf (tools/perf/util/color.c).
  constexpr double red = 5;
  constexpr double green = 0.5;
  const bool coloured = colour && percent >= green;
  if (coloured) out += percent >= red ? "\x1b[31m" : "\x1b[32m";
  fmt::format_to(std::back_inserter(out), "{:{}.2f}%", percent, width);
  if (coloured) out += "\x1b[m";
}

std::string report_header_text(const Report& report, const ReportTextOptions& options) {
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
  Table(report, options).append_title(out);
  return out;
}

std::vector<std::string> report_row_texts(const Report& report, size_t count,
                                          const ReportTextOptions& options) {
  const Table table(report, options);
  std::vector<std::string> texts(std::min(count, report.rows.size()));
  for (size_t i = 0; i < texts.size(); ++i) table.append_row(texts[i], report.rows[i]);
  return texts;
}

std::string report_text(const Report& report, const ReportTextOptions& options) {
  std::string out;
  if (options.header) out += report_header_text(report, options);
  const Table table(report, options);
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
