#include "inject/view.h"

#include <algorithm>
#include <iterator>

namespace jitscope {
namespace {

// PERF_RECORD_MISC_FORK_EXEC: perf does not clone the mappings then.
constexpr uint16_t kMiscForkExec = 1U << 13U;

uint64_t next_state() {
  static uint64_t state = 0;
  return ++state;
}

}  // namespace

PerfView::PerfView() : pieces_(std::make_shared<Pieces>()), lost_(next_state()), changed_(lost_) {}

PerfView::Pieces& PerfView::own() {
  if (pieces_.use_count() > 1) pieces_ = std::make_shared<Pieces>(*pieces_);
  return *pieces_;
}

PerfView::Pieces::const_iterator PerfView::first(uint64_t low) const {
  auto piece = pieces_->upper_bound(low);
  if (piece != pieces_->begin() && std::prev(piece)->second.end > low) --piece;
  return piece;
}

bool PerfView::shows(uint64_t low, uint64_t high, uint32_t code) const {
  auto piece = first(low);
  uint64_t next = low;
  for (; piece != pieces_->end() && piece->first <= next; ++piece) {
    if (piece->second.code != code || !piece->second.sure) return false;
    if (piece->second.end > high) return true;
    next = piece->second.end;
  }
  return false;
}

std::vector<std::pair<uint64_t, PerfView::Piece>> PerfView::pieces(uint64_t low,
                                                                   uint64_t high) const {
  std::vector<std::pair<uint64_t, Piece>> result;
  if (!all_.meets(low, high)) return result;
  for (auto piece = first(low); piece != pieces_->end() && piece->first <= high; ++piece) {
    Piece cut = piece->second;
    if (high != UINT64_MAX) cut.end = std::min(cut.end, high + 1);
    result.emplace_back(std::max(piece->first, low), cut);
  }
  return result;
}

bool PerfView::clear(Pieces& pieces, uint64_t start, uint64_t end) {
  bool any = false;
  auto piece = pieces.upper_bound(start);
  if (piece != pieces.begin() && std::prev(piece)->second.end > start) --piece;
  while (piece != pieces.end() && piece->first < end) {
    any = true;
    const uint64_t from = piece->first;
    const Piece old = piece->second;
    piece = pieces.erase(piece);
    if (from < start) pieces.emplace(from, Piece{start, old.code, old.sure});
    if (old.end > end) {
      pieces.emplace(end, old);
      break;
    }
  }
  return any;
}

bool PerfView::any(uint64_t start, uint64_t end) const {
  const auto piece = first(start);
  return piece != pieces_->end() && piece->first < end;
}

void PerfView::cover(uint64_t start, uint64_t end) {
  if (!any(start, end)) return;
  clear(own(), start, end);
  lost_ = changed_ = next_state();
}

void PerfView::show(uint64_t start, uint64_t end, uint32_t code, bool over_file) {
  Pieces& pieces = own();
  all_.add(start, end);
  if (over_file) files_.add(start, end);
  changed_ = next_state();
  if (clear(pieces, start, end)) lost_ = changed_;
  pieces.insert_or_assign(start, Piece{end, code, true});
}

void PerfView::doubt() {
  for (auto& [start, piece] : own()) piece.sure = false;
  tables_.clear();
  lost_ = changed_ = next_state();
}

PerfView& PerfViews::of(uint32_t pid) {
  std::unique_ptr<PerfView>& view = views_[pid];
  if (view == nullptr) view = std::make_unique<PerfView>();
  return *view;
}

void PerfViews::apply(const perfdata::Record& record) {
  if (const auto* fork = std::get_if<perfdata::Fork>(&record.body)) {
    if (fork->pid == fork->parent_pid) return;
    const auto parent = views_.find(fork->parent_pid);
    const bool inherits = parent != views_.end() && (record.head.misc & kMiscForkExec) == 0;
    if (!inherits && !views_.contains(fork->pid)) return;
    auto child = inherits ? std::make_unique<PerfView>(*parent->second) : nullptr;
    views_[fork->pid] = child != nullptr ? std::move(child) : std::make_unique<PerfView>();
    ++epoch_;
  } else if (const auto* comm = std::get_if<perfdata::Comm>(&record.body)) {
    const auto found = comm->exec ? views_.find(comm->pid) : views_.end();
    if (found != views_.end()) found->second->doubt();
  }
}

}  // namespace jitscope
