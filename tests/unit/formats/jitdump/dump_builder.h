// A jitdump as bytes, built record by record, with whatever is wrong in it that a test wants.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/jitdump/jitdump.h"

namespace jitscope::test {

class DumpBuilder {
 public:
  explicit DumpBuilder(std::endian order = std::endian::little) : order_(order) {}

  template <std::unsigned_integral T>
  DumpBuilder& number(T value) {
    if (order_ != std::endian::native) value = std::byteswap(value);
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    bytes_.append(bytes, sizeof(T));
    return *this;
  }
  DumpBuilder& u32(uint32_t value) { return number(value); }
  DumpBuilder& u64(uint64_t value) { return number(value); }
  DumpBuilder& text(std::string_view text) {
    bytes_ += text;
    return *this;
  }
  DumpBuilder& name(std::string_view name) { return text(name).text(std::string_view("\0", 1)); }

  DumpBuilder& header(uint32_t size = 40, uint32_t pad = 0, uint64_t flags = 0,
                      uint32_t version = 1) {
    u32(jitdump::kMagic).u32(version).u32(size).u32(62).u32(pad).u32(42).u64(1000).u64(flags);
    return text(std::string(size > 40 ? size - 40 : 0, 'h'));
  }
  // Begins a record; its size is put in by end(), or is `size`.
  DumpBuilder& begin(uint32_t id, uint64_t time) {
    start_ = bytes_.size();
    return u32(id).u32(0).u64(time);
  }
  DumpBuilder& end() { return end(static_cast<uint32_t>(bytes_.size() - start_)); }
  DumpBuilder& end(uint32_t size) {
    if (order_ != std::endian::native) size = std::byteswap(size);
    std::memcpy(bytes_.data() + start_ + 4, &size, sizeof(size));
    return *this;
  }

  DumpBuilder& load(uint64_t time, uint64_t address, std::string_view symbol,
                    std::string_view code) {
    return load_head(time, address, code.size(), symbol).text(code).end();
  }
  // A load up to the end of its name.
  DumpBuilder& load_head(uint64_t time, uint64_t address, uint64_t size, std::string_view symbol) {
    begin(0, time).u32(42).u32(43).u64(0).u64(address).u64(size).u64(index_++);
    return name(symbol);
  }
  DumpBuilder& lines(uint64_t time, uint64_t address, uint64_t count) {
    return begin(2, time).u64(address).u64(count);
  }
  DumpBuilder& line(uint64_t address, uint32_t line, std::string_view file,
                    uint32_t discriminator = 0) {
    return u64(address).u32(line).u32(discriminator).name(file);
  }
  DumpBuilder& unwind(uint64_t time, std::string_view data, uint64_t header, uint64_t mapped) {
    return begin(4, time).u64(data.size()).u64(header).u64(mapped).text(data).end();
  }

  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  [[nodiscard]] std::string cut(size_t bytes) const {
    return bytes_.substr(0, bytes_.size() - bytes);
  }

 private:
  std::endian order_;
  std::string bytes_;
  size_t start_ = 0;
  uint64_t index_ = 0;
};

// Records kept, as values.
struct KeptLine {
  uint64_t address;
  uint32_t line;
  std::string file;
  friend bool operator==(const KeptLine&, const KeptLine&) = default;
};
struct KeptLoad {
  jitdump::Load load;  // without its views
  std::string name;
  std::string code;
  std::string unwind;
  std::string scopes;
  std::vector<KeptLine> lines;
  uint64_t bias = 0;
};

struct Dump : jitdump::Handler {
  bool on_load(const jitdump::Load& load) override {
    KeptLoad kept{load,
                  std::string(load.name),
                  as_text(load.code),
                  as_text(load.unwind),
                  as_text(load.scopes),
                  {},
                  0};
    for (const auto& line : load.lines) {
      kept.lines.push_back({line.address, line.line, std::string(line.file)});
    }
    kept.bias = jitdump::v8_line_bias(header, load);
    kept.load.name = {};
    kept.load.code = {};
    kept.load.unwind = {};
    kept.load.scopes = {};
    kept.load.lines = {};
    loads.push_back(std::move(kept));
    return loads.size() < most;
  }
  bool on_move(const jitdump::Move& move) override {
    moves.push_back(move);
    return true;
  }
  bool on_gone(const jitdump::Gone& one) override {
    gone.push_back(one);
    return true;
  }
  bool on_close(const jitdump::Close& close) override {
    closed.push_back(close.time);
    return true;
  }
  static std::string as_text(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  jitdump::Header header;
  std::vector<KeptLoad> loads;
  std::vector<jitdump::Move> moves;
  std::vector<jitdump::Gone> gone;
  std::vector<uint64_t> closed;
  std::vector<Diagnostics::Entry> damage;
  size_t most = SIZE_MAX;

  [[nodiscard]] uint64_t damaged(std::string_view kind) const {
    for (const auto& entry : damage) {
      if (entry.kind == kind) return entry.count;
    }
    return 0;
  }
};

inline std::unique_ptr<ByteSource> as_source(std::string_view text, bool seekable = true,
                                             size_t piece = 4096) {
  const auto bytes = std::as_bytes(std::span(text));
  return memory_source(std::vector<std::byte>(bytes.begin(), bytes.end()), seekable, piece);
}

inline Result<Dump> read_dump(std::unique_ptr<ByteSource> source,
                              const jitdump::ReadOptions& options = {}, size_t most = SIZE_MAX) {
  JITSCOPE_ASSIGN(const auto reader, jitdump::Reader::open(std::move(source), options));
  Dump dump;
  dump.most = most;
  dump.header = reader->header();
  JITSCOPE_TRY(reader->read(dump));
  dump.damage = reader->diagnostics().entries();
  return dump;
}
inline Result<Dump> read_dump(std::string_view bytes, const jitdump::ReadOptions& options = {}) {
  return read_dump(as_source(bytes), options);
}

}  // namespace jitscope::test
