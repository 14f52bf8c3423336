#include "render/doctor_text.h"

#include <fmt/format.h>

#include "render/json.h"

namespace jitscope {
namespace {

double percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
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
  for (const Complaint& complaint : diagnosis.complaints) {
    out += fmt::format("{:>9} {:>10}  {} {}: {}\n", complaint.leaf_samples, complaint.frames,
                       printable(complaint.process), complaint.pid, complaint.reason);
    if (!complaint.example.empty()) {
      out += fmt::format("{:>22} e.g. {}\n", "", printable(complaint.example));
    }
    if (!complaint.advice.empty()) out += fmt::format("{:>22} -> {}\n", "", complaint.advice);
  }
  if (!diagnosis.sources.empty()) out += "\nsources of names for JIT code:\n";
  for (const SourceUse& source : diagnosis.sources) {
    out += fmt::format("  {} {}: {} {}\n", printable(source.process), source.pid,
                       source.used ? "used" : "not used:", printable(source.text));
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
        .text("reason", complaint.reason)
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
  for (const std::string& note : diagnosis.notes) {
    JsonObject line("note");
    line.text("text", note);
    out += line.str() + "\n";
  }
  return out;
}

}  // namespace jitscope
