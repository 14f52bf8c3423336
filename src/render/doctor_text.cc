#include "render/doctor_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "render/json.h"

namespace jitscope {
namespace {

double percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

// Processes of one name that lack the same are one entry: servers fork, builds start hundreds.
struct Entry {
  const Complaint* first = nullptr;  // that with most samples
  std::vector<uint32_t> pids;
  uint64_t leaf_samples = 0;
  uint64_t frames = 0;
};

std::vector<Entry> entries_of(const std::vector<Complaint>& complaints) {
  std::vector<Entry> entries;
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, size_t> known;
  for (const Complaint& complaint : complaints) {
    const auto [it, added] = known.try_emplace(
        {complaint.process, to_string(complaint.reason), complaint.advice}, entries.size());
    if (added) entries.push_back({&complaint, {}, 0, 0});
    Entry& entry = entries[it->second];
    entry.pids.push_back(complaint.pid);
    entry.leaf_samples += complaint.leaf_samples;
    entry.frames += complaint.frames;
  }
  std::ranges::stable_sort(entries, [](const Entry& a, const Entry& b) {
    return std::tie(a.leaf_samples, a.frames) > std::tie(b.leaf_samples, b.frames);
  });
  return entries;
}

std::string pids_text(const std::vector<uint32_t>& pids) {
  constexpr size_t most = 3;
  std::string text;
  for (size_t i = 0; i < std::min(most, pids.size()); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ", ", pids[i]);
  }
  if (pids.size() > most) text += fmt::format(" and {} more", pids.size() - most);
  return text;
}

}  // namespace

std::string doctor_text(const Diagnosis& diagnosis) {
  std::string out = fmt::format(
      "{} samples, {} frames: {:.2f} % named\n"
      "leaves: {} without a name ({:.2f} %), {} with an uncertain one ({:.2f} %)\n",
      diagnosis.samples, diagnosis.frames, percent(diagnosis.named_frames, diagnosis.frames),
      diagnosis.unnamed_leaves, percent(diagnosis.unnamed_leaves, diagnosis.samples),
      diagnosis.ambiguous_leaves, percent(diagnosis.ambiguous_leaves, diagnosis.samples));
  if (!diagnosis.complaints.empty()) {
    out += fmt::format("\n{:>9} {:>10}  {}\n", "leaves", "frames", "process: reason");
  }
  for (const Entry& entry : entries_of(diagnosis.complaints)) {
    const Complaint& complaint = *entry.first;
    out += fmt::format("{:>9} {:>10}  {} {}: {}\n", entry.leaf_samples, entry.frames,
                       printable(complaint.process), pids_text(entry.pids),
                       to_string(complaint.reason));
    if (!complaint.example.empty()) {
      out += fmt::format("{:>22} e.g. {}\n", "", printable(complaint.example));
    }
    if (!complaint.advice.empty()) {
      out += fmt::format("{:>22} -> {}\n", "", printable(complaint.advice));
    }
  }
  if (!diagnosis.sources.empty()) out += "\nsources of names for JIT code:\n";
  for (const SourceUse& source : diagnosis.sources) {
    out += fmt::format("  {} {}: {} {}\n", printable(source.process), source.pid,
                       source.used ? "used" : "not used:", printable(source.text));
  }
  if (!diagnosis.images.empty()) out += "\nmapped images that are no ELF files:\n";
  for (const ImageUse& image : diagnosis.images) {
    out += fmt::format("  {}: {}\n", printable(image.path), printable(image.names));
    if (!image.advice.empty()) out += fmt::format("    -> {}\n", printable(image.advice));
  }
  if (!diagnosis.notes.empty()) out += "\nabout the recording:\n";
  for (const std::string& note : diagnosis.notes) out += "  " + printable(note) + "\n";
  return out;
}

std::string doctor_json(const Diagnosis& diagnosis) {
  std::string out;
  JsonObject head("diagnosis");
  head.number("samples", diagnosis.samples)
      .number("frames", diagnosis.frames)
      .number("named_frames", diagnosis.named_frames)
      .number("unnamed_leaves", diagnosis.unnamed_leaves)
      .number("ambiguous_leaves", diagnosis.ambiguous_leaves)
      .number("lost", diagnosis.lost);
  out += head.str() + "\n";
  for (const Complaint& complaint : diagnosis.complaints) {
    JsonObject line("complaint");
    line.number("pid", complaint.pid)
        .text("process", complaint.process)
        .text("reason", to_string(complaint.reason))
        .number("leaf_samples", complaint.leaf_samples)
        .number("frames", complaint.frames)
        .text("example", complaint.example)
        .text("advice", complaint.advice);
    out += line.str() + "\n";
  }
  for (const SourceUse& source : diagnosis.sources) {
    JsonObject line("source");
    line.number("pid", source.pid)
        .text("process", source.process)
        .boolean("used", source.used)
        .text("text", source.text);
    out += line.str() + "\n";
  }
  for (const ImageUse& image : diagnosis.images) {
    JsonObject line("image");
    line.text("path", image.path).text("names", image.names).text("advice", image.advice);
    out += line.str() + "\n";
  }
  for (const std::string& note : diagnosis.notes) {
    JsonObject line("note");
    line.text("text", note);
    out += line.str() + "\n";
  }
  return out;
}

}  // namespace jitscope
