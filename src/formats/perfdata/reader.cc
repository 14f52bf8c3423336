// The reader's face and its opening of files and pipes; see reader.h. The walk itself is Walk.
#include "formats/perfdata/reader.h"

#include <algorithm>
#include <utility>

#include "base/byte_cursor.h"
#include "formats/perfdata/file_header.h"
#include "formats/perfdata/walk.h"

namespace jitscope::perfdata {

int Header::clock() const {
  if (events.empty()) return -1;
  const EventInfo& first = events.front();
  const bool same = std::ranges::all_of(events, [&](const EventInfo& event) {
    return event.use_clockid && event.clockid == first.clockid;
  });
  return same ? first.clockid : -1;
}

struct Reader::State {
  State(std::unique_ptr<ByteSource> source, const ReadOptions& options)
      : input(std::move(source), options.meter),
        gatherer(header, events, diagnostics, options.keep_raw),
        walk(options, header, events, gatherer, diagnostics) {}

  Status open();
  template <typename To>
  Status read(To& to);

  Header header;
  Diagnostics diagnostics;
  EventTable events;
  Input input;
  Gatherer gatherer;
  FileHeader file;
  uint64_t end = UINT64_MAX;  // of the records
  Walk walk;
  bool done = false;
};

Status Reader::State::open() {
  JITSCOPE_ASSIGN(file, read_file_header(input));
  header.pipe = file.pipe;
  if (file.pipe) return {};
  if (!input.seekable()) {
    // A file that comes through a pipe: what leads to the records lies before them.
    JITSCOPE_TRY(input.keep_until(file.data.offset));
  }
  JITSCOPE_TRY(read_events(input, file, gatherer));
  if (file.data.size == 0) {
    // perf record writes the size and the features when it ends.
    diagnostics.note("perf.data cut short", "the recording was not ended properly");
  } else {
    // An end that no file has still is one, unlike UINT64_MAX.
    end = checked_add(file.data.offset, file.data.size).value_or(UINT64_MAX - 1);
    if (input.seekable() && end <= input.size()) {
      JITSCOPE_TRY(read_features(input, file, gatherer, diagnostics));
    }
  }
  if (input.seekable()) {
    input.jump(file.data.offset);
  } else if (input.position() < file.data.offset) {
    end = input.position();
    diagnostics.note("perf.data cut short", "it ends before its records");
  }
  return {};
}

template <typename To>
Status Reader::State::read(To& to) {
  if (std::exchange(done, true)) {
    return fail(ErrorKind::usage, "a recording is read once", input.where());
  }
  auto walked = walk.run(input, end, to);
  if (!walked) {
    if (walked.error().where.empty()) walked.error().where = input.where();
    return walked;
  }
  if (!file.pipe && !input.seekable() && file.data.size != 0 && input.position() == end) {
    JITSCOPE_TRY(input.keep_rest());
    JITSCOPE_TRY(read_features(input, file, gatherer, diagnostics));
  }
  return {};
}

Result<std::unique_ptr<Reader>> Reader::open(std::unique_ptr<ByteSource> source,
                                             const ReadOptions& options) {
  auto state = std::make_unique<State>(std::move(source), options);
  JITSCOPE_TRY(state->open());
  return std::unique_ptr<Reader>(new Reader(std::move(state)));
}

Reader::Reader(std::unique_ptr<State> state) : state_(std::move(state)) {}
Reader::~Reader() = default;

const Header& Reader::header() const {
  return state_->header;
}
Status Reader::read(Handler& handler) {
  return state_->read(handler);
}
Status Reader::read(BatchSink& sink) {
  return state_->read(sink);
}
bool Reader::batches_fit() const {
  return !state_->header.pipe && state_->input.seekable();
}
std::unique_ptr<Decoder> Reader::decoder(Diagnostics& diagnostics) const {
  return std::make_unique<Decoder>(state_->events, diagnostics);
}
void Reader::take_notes(const Diagnostics& notes) {
  state_->diagnostics.add(notes);
}
const Diagnostics& Reader::diagnostics() const {
  return state_->diagnostics;
}

}  // namespace jitscope::perfdata
