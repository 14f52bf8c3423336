#include "replay/processes.h"

#include <algorithm>
#include <utility>

#include "runtimes/detect.h"

namespace jitscope {
namespace {

// The kernel's pid of a task that is being released: of any of them, so it has no name of its own.
constexpr auto released_task = static_cast<decltype(perfdata::Comm::pid)>(-1);

// PERF_RECORD_MISC_FORK_EXEC: perf made up the record for a process that was there already, so the
// parent's mappings say nothing about the child's.
constexpr uint16_t kMiscForkExec = 1U << 13U;

uint64_t thread_key(uint32_t pid, uint32_t tid) {
  return (static_cast<uint64_t>(pid) << 32U) | tid;
}

}  // namespace

std::shared_ptr<ProcessLife> Processes::begin(uint32_t pid, uint64_t time) {
  auto life = std::make_shared<ProcessLife>();
  life->pid = pid;
  life->start = time;
  life->number = static_cast<uint32_t>(lives_.size());
  lives_.push_back(life);
  return life;
}

std::shared_ptr<ProcessLife> Processes::process(uint32_t pid) {
  std::shared_ptr<ProcessLife>& life = processes_[pid];
  if (life == nullptr) {
    life = begin(pid, 0);
    if (pid == 0) life->comm = "swapper";  // the idle tasks, of which no record tells
  }
  return life;
}

ThreadState& Processes::thread(uint32_t pid, uint32_t tid) {
  if (last_ != nullptr && last_->tid == tid && last_->pid == pid) return *last_;
  std::unique_ptr<ThreadState>& thread = threads_[thread_key(pid, tid)];
  if (thread == nullptr) {
    thread = std::make_unique<ThreadState>();
    thread->pid = pid;
    thread->tid = tid;
    thread->process = process(pid);
    thread->comm = thread->process->comm;
  }
  last_ = thread.get();
  return *thread;
}

void Processes::apply(const perfdata::Record& record) {
  const perfdata::RecordHead& head = record.head;
  if (const auto* mmap = std::get_if<perfdata::Mmap>(&record.body)) {
    apply_mmap(head, *mmap);
  } else if (const auto* comm = std::get_if<perfdata::Comm>(&record.body)) {
    apply_comm(head, *comm);
  } else if (const auto* fork = std::get_if<perfdata::Fork>(&record.body)) {
    apply_fork(head, *fork);
  } else if (const auto* exit = std::get_if<perfdata::Exit>(&record.body)) {
    apply_exit(head, *exit);
  } else if (const auto* names = std::get_if<perfdata::Namespaces>(&record.body)) {
    const std::shared_ptr<ProcessLife> life = process(names->pid);
    constexpr size_t kPidNamespace = 3;
    constexpr size_t kMountNamespace = 5;
    if (names->count > kPidNamespace) life->pid_namespace = names->links[kPidNamespace].inode;
    if (names->count > kMountNamespace) life->mount_namespace = names->links[kMountNamespace].inode;
  }
}

MappedRange Processes::range_of(const perfdata::RecordHead& head, const perfdata::Mmap& mmap) {
  MappedRange range;
  range.start = mmap.start;
  range.end = mmap.start + mmap.length;
  range.page_offset = mmap.page_offset;
  range.file = files_.number(mmap);
  range.shared = mmap.shared;
  range.executable = mmap.executable;
  range.time = head.time;
  range.memory = is_jit_memory(files_.info(range.file).kind);
  return range;
}

void Processes::apply_mmap(const perfdata::RecordHead& head, const perfdata::Mmap& mmap) {
  if (mmap.kernel || mmap.guest || mmap.pid == UINT32_MAX) return;
  const std::shared_ptr<ProcessLife> life = process(mmap.pid);
  const MappedRange range = range_of(head, mmap);
  const MappedFileInfo& info = files_.info(range.file);
  life->space.map(range);
  if (!mmap.executable) return;
  if (life->runtime == Runtime::unknown) life->runtime = runtime_of_file(info.path);
  life->kind.see(info.path);
  // A jitdump is marked by an executable mapping of its start, whatever it is called.
  if ((info.kind == MappingKind::file || info.kind == MappingKind::deleted_file) &&
      mmap.page_offset == 0 && info.base.find(".so") == std::string::npos) {
    const bool known = std::ranges::any_of(
        life->dump_candidates, [&](const auto& each) { return each.file == range.file; });
    if (!known) {
      life->dump_candidates.push_back({range.file, head.time});
      life->space.touch();
      if (life->forked) touch_children(life.get());
    }
  }
}

// What is known of their code has changed, too.
void Processes::touch_children(const ProcessLife* life) {
  for (const auto& [pid, each] : processes_) {
    if (each == nullptr) continue;
    const ProcessLife* from = each->parent.get();
    while (from != nullptr && from != life) from = from->parent.get();
    if (from != nullptr) each->space.touch();
  }
}

void Processes::apply_comm(const perfdata::RecordHead& head, const perfdata::Comm& comm) {
  if (comm.pid == released_task) return;
  if (comm.exec) {
    std::shared_ptr<ProcessLife>& life = processes_[comm.pid];
    if (life != nullptr) life->end = head.time;
    auto next = begin(comm.pid, head.time);
    if (life != nullptr) {
      next->before_exec = life->space;
      next->pid_namespace = life->pid_namespace;
      next->mount_namespace = life->mount_namespace;
    }
    life = next;
    last_ = nullptr;
    // All other threads are gone; the one that called exec has the leader's tid now.
    thread(comm.pid, comm.pid).process = next;
    thread(comm.pid, comm.tid).process = next;
  }
  ThreadState& thread = this->thread(comm.pid, comm.tid);
  thread.comm = comm.name;
  thread.label = nullptr;
  if (comm.pid == comm.tid) thread.process->comm = comm.name;
}

void Processes::apply_fork(const perfdata::RecordHead& head, const perfdata::Fork& fork) {
  if (fork.pid == released_task) return;
  ThreadState& parent = thread(fork.parent_pid, fork.parent_tid);
  if (fork.pid == fork.parent_pid) {
    if (fork.tid == fork.parent_tid) return;
    const std::string comm = parent.comm;
    ThreadState& child = thread(fork.pid, fork.tid);
    child.process = process(fork.pid);
    child.comm = comm;
    child.label = nullptr;
    return;
  }
  const bool made_up = (head.misc & kMiscForkExec) != 0;
  const std::shared_ptr<ProcessLife> from = parent.process;
  const std::string comm = parent.comm;
  std::shared_ptr<ProcessLife>& life = processes_[fork.pid];
  // perf makes up COMM before FORK for processes that were there: their name is known by then.
  const std::string known_comm = made_up && life != nullptr ? life->comm : std::string();
  const uint64_t pid_namespace = life != nullptr && made_up ? life->pid_namespace : 0;
  const uint64_t mount_namespace = life != nullptr && made_up ? life->mount_namespace : 0;
  life = begin(fork.pid, made_up ? 0 : head.time);
  life->comm = known_comm.empty() ? comm : known_comm;
  life->parent = from;
  if (from != nullptr) from->forked = true;
  life->forked_at = made_up ? 0 : head.time;
  life->uncertain_parent = made_up;
  life->pid_namespace = pid_namespace;
  life->mount_namespace = mount_namespace;
  if (!made_up) {
    life->space = from->space;
    life->runtime = from->runtime;
    life->kind = from->kind;
    life->pid_namespace = from->pid_namespace;
    life->mount_namespace = from->mount_namespace;
  }
  const std::shared_ptr<ProcessLife> fresh = life;
  last_ = nullptr;
  threads_.erase(thread_key(fork.pid, fork.tid));
  ThreadState& child = thread(fork.pid, fork.tid);
  child.process = fresh;
  child.comm = fresh->comm;
}

void Processes::apply_exit(const perfdata::RecordHead& head, const perfdata::Exit& exit) {
  // Late samples may still come, but what speeds up the next one is no longer needed.
  ThreadState& thread = this->thread(exit.pid, exit.tid);
  thread.chain = {};
  thread.locations = {};
  thread.of_process = nullptr;
  if (exit.pid != exit.tid) return;
  const auto found = processes_.find(exit.pid);
  if (found != processes_.end()) found->second->end = head.time;
}

}  // namespace jitscope
