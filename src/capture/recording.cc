// One recording from its beginning to its end; see recording.h.
#include "capture/recording.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <ctime>

#include "base/clock.h"
#include "capture/build_ids.h"
#include "capture/record_output.h"
#include "capture/record_scan.h"
#include "formats/perfdata/record_builder.h"
#include "formats/perfdata/writer.h"
#include "perf_event/cpus.h"
#include "process/launch.h"
#include "process/process.h"
#include "process/tasks.h"
#include "replay/recording_facts.h"
#include "sampling/synthesize.h"
#include "symbolize/copied_text.h"

namespace jitscope {
namespace {

using perfdata::Feature;

constexpr std::chrono::milliseconds kTick{100};
constexpr uint64_t kProgressEvery = 250 * kMillisecond;
// How long a command that was told to end may take.
constexpr uint64_t kCommandGrace = 5000 * kMillisecond;

uint64_t clock_ns(clockid_t clock) {
  timespec time = {};
  ::clock_gettime(clock, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<uint64_t>(time.tv_nsec);
}

class Recording {
 public:
  explicit Recording(const RecordOptions& options)
      : options_(options),
        scan_({[this](pid_t pid, uint64_t since) {
                 if (follower_) follower_->add(pid, false, since);
               },
               [this](pid_t pid, uint64_t time) {
                 if (follower_) follower_->called_exec(pid, time);
               },
               [this](pid_t pid, std::string_view path, uint64_t inode) {
                 build_ids_.saw(pid, path, inode);
               }}) {}

  Result<RecordResult> run() {
    begin_ = monotonic_ns();
    Status status = open();
    if (status) status = describe();
    if (status) status = collect();
    if (status) status = finish();
    end_command();
    if (!status) return fail(abandon(std::move(status.error())));
    return std::move(result_);
  }

 private:
  Status open();
  Status describe();
  Status collect();
  Status finish();
  Status pass();
  Status tell_of_copied_text();
  Status cover_missed_threads();
  void end_command();
  // What is left when it cannot go on; the error with what the user still has.
  Error abandon(Error error);
  Status add_lost_record();
  void set_features();
  [[nodiscard]] bool targets_ended();
  [[nodiscard]] RecordProgress progress() const;

  const RecordOptions& options_;
  BuildIds build_ids_;
  RecordScan scan_;
  uint64_t begin_ = 0;
  std::optional<Launched> command_;
  std::vector<Process> targets_;
  std::unique_ptr<PerfSampler> sampler_;
  std::optional<RecordFile> file_;
  std::optional<perfdata::Writer> writer_;
  std::optional<perfdata::RecordBuilder> builder_;
  std::unique_ptr<FollowerThread> follower_;
  uint64_t first_id_ = 0;
  unsigned thread_checks_ = 0;
  bool sampling_ = false;       // there may be samples
  uint64_t saved_samples_ = 0;  // that a reader of the file finds whatever happens
  RecordResult result_;
};

Status Recording::open() {
  SampleTarget target;
  target.system = options_.system;
  target.processes = options_.processes;
  for (const pid_t pid : options_.processes) {
    JITSCOPE_ASSIGN(Process process, Process::open(pid));
    targets_.push_back(std::move(process));
  }
  if (!options_.command.empty()) {
    // First of all: there must be no thread yet, and no limit raised.
    JITSCOPE_ASSIGN(command_, Launched::start(options_.command));
    if (options_.records_command()) target.command = command_->pid();
  }
  JITSCOPE_ASSIGN(sampler_, PerfSampler::open(target, options_.sampler));
  JITSCOPE_ASSIGN(file_, RecordFile::create(options_.output));
  result_.output = options_.output;
  builder_.emplace(sampler_->sample_type(), true);
  writer_.emplace(*file_);
  perfdata::Attribute attribute;
  attribute.attr.assign(sampler_->attribute().begin(), sampler_->attribute().end());
  attribute.ids = sampler_->take_new_ids();
  attribute.name = sampler_->name();
  first_id_ = attribute.ids.front();
  std::vector<perfdata::Attribute> attributes;
  attributes.push_back(std::move(attribute));
  JITSCOPE_TRY(writer_->begin(std::move(attributes)));
  if (options_.follow) {
    result_.folder = names_folder(options_.output);
    FollowOptions follow;
    JITSCOPE_ASSIGN(follow.open_folder, file_->create_names_folder());
    follow.folder = result_.folder;
    follow.begin = begin_;
    follow.source.force = options_.force;
    follower_ = std::make_unique<FollowerThread>(std::move(follow));
    for (const pid_t pid : options_.processes) follower_->add(pid, true);
  }
  if (options_.on_start) {
    options_.on_start({sampler_->name(), sampler_->reason(), sampler_->frequency(),
                       sampler_->samples_kernel(), sampler_->threads().size(),
                       sampler_->ring_bytes(), sampler_->notes()});
  }
  return {};
}

// What is there already. The rings are emptied in between: there may be many processes.
Status Recording::describe() {
  std::string records;
  if (sampler_->samples_kernel()) {
    if (const Status kernel = append_kernel_records(records, *builder_); !kernel) {
      result_.notes.push_back("kernel code will have no names: " + to_string(kernel.error()));
    }
  }
  // What a command has mapped before its exec does not matter.
  if (options_.records_command()) append_thread_records(records, *builder_, command_->pid());
  const std::vector<pid_t> pids = options_.system ? list_processes() : options_.processes;
  for (const pid_t pid : pids) {
    append_thread_records(records, *builder_, pid);
    const auto maps = read_maps(pid);
    if (maps) {
      append_mapping_records(records, *builder_, pid, *maps);
      // Over the anonymous memory that it was moved to.
      append_mapping_records(records, *builder_, pid, find_copied_text(pid, *maps));
      for (const Mapping& mapping : *maps) {
        if (mapping.executable && !mapping.deleted)
          build_ids_.saw(pid, mapping.path, mapping.inode);
      }
    }
    JITSCOPE_TRY(writer_->records(records));
    records.clear();
    if (!options_.system) continue;
    JITSCOPE_TRY(pass());
    const bool jit = maps && std::ranges::any_of(*maps, [](const Mapping& mapping) {
                       return mapping.executable && path_suggests_jit(mapping.path);
                     });
    if (jit && follower_) follower_->add(pid);
  }
  JITSCOPE_TRY(writer_->records(records));
  return writer_->checkpoint();
}

Status Recording::pass() {
  return sampler_->read([&](std::string_view records) {
    scan_.scan(records);
    return writer_->records(records);
  });
}

// From now on the code has its file's names, for all who read the recording.
Status Recording::tell_of_copied_text() {
  if (!follower_) return {};
  std::string records;
  for (const CopiedText& each : follower_->take_copied_text()) {
    append_mapping_records(records, *builder_, each.pid, each.mappings, monotonic_ns(), first_id_);
  }
  return records.empty() ? Status{} : writer_->records(records);
}

bool Recording::targets_ended() {
  if (command_ && command_->ended()) return true;
  if (options_.records_command()) return false;
  if (options_.system) return false;
  return std::ranges::none_of(targets_, [](const Process& process) { return process.alive(); });
}

RecordProgress Recording::progress() const {
  return {monotonic_ns() - begin_, scan_.samples(), scan_.lost(), writer_->file_bytes(),
          follower_ ? follower_->following() : 0};
}

Status Recording::collect() {
  if (command_) JITSCOPE_TRY(command_->run());
  sampling_ = true;
  const uint64_t deadline = options_.seconds > 0
                                ? monotonic_ns() + static_cast<uint64_t>(options_.seconds * 1e9)
                                : UINT64_MAX;
  uint64_t shown = 0;
  bool over = false;
  while (!over) {
    const uint64_t now = monotonic_ns();
    const auto left =
        std::chrono::milliseconds((deadline - std::min(now, deadline)) / kMillisecond + 1);
    sampler_->wait(std::min(kTick, left));
    // Asked first: what happened before the end is in the rings by then.
    over = targets_ended() || monotonic_ns() >= deadline || (options_.stop && options_.stop());
    if (over) sampler_->stop();
    const uint64_t before = writer_->data_bytes();
    JITSCOPE_TRY(pass());
    JITSCOPE_TRY(tell_of_copied_text());
    if (writer_->data_bytes() != before) {
      JITSCOPE_TRY(writer_->finished_round());
      JITSCOPE_TRY(writer_->checkpoint());
      saved_samples_ = scan_.samples();
    }
    if (!over) JITSCOPE_TRY(cover_missed_threads());
    if (options_.on_progress && monotonic_ns() - shown >= kProgressEvery) {
      shown = monotonic_ns();
      options_.on_progress(progress());
    }
  }
  result_.elapsed_ns = monotonic_ns() - begin_;
  return {};
}

// Between the listing of a process's threads and the opening of its last event a thread that had
// none yet may have started another. All that were started since by one that had events are known
// by their FORK records.
Status Recording::cover_missed_threads() {
  constexpr unsigned most_checks = 10;
  if (targets_.empty() || thread_checks_ >= most_checks) return {};
  ++thread_checks_;
  if (thread_checks_ == 1) return {};  // the records of the first moments must have been read
  bool any = false;
  for (const Process& process : targets_) {
    for (const pid_t tid : list_threads(process.pid())) {
      const auto& known = sampler_->threads();
      const bool covered = std::ranges::find(known, tid) != known.end();
      if (covered || scan_.saw_start_of(tid)) continue;
      JITSCOPE_TRY(sampler_->add_thread(tid));
      any = true;
    }
  }
  const auto ids = sampler_->take_new_ids();
  writer_->add_ids(0, ids);
  if (!any && thread_checks_ > 3) thread_checks_ = most_checks;
  return {};
}

void Recording::end_command() {
  if (!command_ || !command_->running()) return;
  result_.command_status = command_->ended();
  if (result_.command_status) return;
  result_.command_told = ::kill(command_->pid(), SIGTERM) == 0;
  const uint64_t end = monotonic_ns() + kCommandGrace;
  while (!result_.command_status && monotonic_ns() < end) {
    ::usleep(10'000);
    result_.command_status = command_->ended();
  }
  if (!result_.command_status) {
    result_.notes.push_back(
        fmt::format("the command (process {}) was asked to end and runs on", command_->pid()));
  }
}

Error Recording::abandon(Error error) {
  if (follower_) {
    (void)follower_->finish();
    follower_.reset();
  }
  if (!file_) return error;
  file_->tidy_names_folder();
  if (!sampling_) {
    // A mistyped command must not cost the recording before it.
    file_->discard();
  } else if (saved_samples_ != 0) {
    error.hint = fmt::format("what was recorded until then can be read: {}", result_.output) +
                 (error.hint.empty() ? "" : "; " + error.hint);
  }
  return error;
}

// The kernel tells of losses with the next record that finds room; of the last ones only its
// counters know.
Status Recording::add_lost_record() {
  result_.lost = scan_.lost();
  const auto counted = sampler_->lost();
  if (!counted || *counted <= result_.lost) return {};
  perfdata::RecordHead head;
  head.time = monotonic_ns();
  head.id = first_id_;
  std::string record;
  builder_->lost(record, head, {*counted - result_.lost, false});
  result_.lost = *counted;
  return writer_->records(record);
}

void Recording::set_features() {
  utsname names = {};
  if (::uname(&names) == 0) {
    writer_->set_feature(Feature::hostname, perfdata::string_feature(&names.nodename[0]));
    writer_->set_feature(Feature::os_release, perfdata::string_feature(&names.release[0]));
    writer_->set_feature(Feature::arch, perfdata::string_feature(&names.machine[0]));
  }
  writer_->set_feature(
      Feature::version,
      perfdata::string_feature(options_.version +
                               std::string(result_.folder.empty() ? "" : kWithNames)));
  const auto online = list_online_cpus();
  writer_->set_feature(Feature::cpu_count, perfdata::cpu_count_feature(
                                               static_cast<uint32_t>(count_possible_cpus()),
                                               static_cast<uint32_t>(online ? online->size() : 1)));
  writer_->set_feature(Feature::command_line, perfdata::string_list_feature(options_.command_line));
  timespec resolution = {};
  ::clock_getres(CLOCK_MONOTONIC, &resolution);
  writer_->set_feature(Feature::clockid,
                       perfdata::clockid_feature(static_cast<uint64_t>(resolution.tv_nsec)));
  const uint64_t wall = clock_ns(CLOCK_REALTIME);
  writer_->set_feature(Feature::clock_data,
                       perfdata::clock_data_feature(CLOCK_MONOTONIC, wall, monotonic_ns()));
  std::string build_ids = build_ids_.section(sampler_->samples_kernel());
  if (!build_ids.empty()) writer_->set_feature(Feature::build_id, std::move(build_ids));
  if (scan_.samples() != 0) {
    writer_->set_feature(Feature::sample_time,
                         perfdata::sample_time_feature(scan_.first_sample(), scan_.last_sample()));
  }
}

Status Recording::finish() {
  result_.samples = scan_.samples();
  JITSCOPE_TRY(add_lost_record());
  result_.cpu_ns = thread_cpu_ns();
  if (follower_) {
    result_.follow = follower_->finish();
    follower_.reset();
    const bool any = std::ranges::any_of(
        result_.follow.processes, [](const FollowedSummary& each) { return !each.dump.empty(); });
    file_->tidy_names_folder();
    if (!any) result_.folder.clear();
  }
  set_features();
  JITSCOPE_TRY(writer_->finish());
  result_.bytes = writer_->file_bytes();
  return {};
}

}  // namespace

Result<RecordResult> record(const RecordOptions& options) {
  const bool nothing = !options.system && options.processes.empty() && options.command.empty();
  if (nothing || (options.system && !options.processes.empty())) {
    return fail(ErrorKind::usage, "what to record: -p PID, -a, or -- COMMAND", {},
                "one of them; `-p PID -- COMMAND` and `-a -- COMMAND` record while it runs");
  }
  return Recording(options).run();
}

}  // namespace jitscope
