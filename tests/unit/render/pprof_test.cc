// A pprof file is what protoc reads with profile.proto's fields, and says what the profile says.
#include "render/pprof.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>

#include "sample_profile.h"

namespace jitscope {
namespace {

using ::testing::HasSubstr;

// The fields of profile.proto that we write, with its numbers.
constexpr std::string_view kProto = R"(syntax = "proto3";
message ValueType { int64 type = 1; int64 unit = 2; }
message Label { int64 key = 1; int64 str = 2; int64 num = 3; int64 num_unit = 4; }
message Sample { repeated uint64 location_id = 1; repeated int64 value = 2; repeated Label label = 3; }
message Mapping {
  uint64 id = 1; uint64 memory_start = 2; uint64 memory_limit = 3; uint64 file_offset = 4;
  int64 filename = 5; int64 build_id = 6; bool has_functions = 7; bool has_filenames = 8;
  bool has_line_numbers = 9; bool has_inline_frames = 10;
}
message Line { uint64 function_id = 1; int64 line = 2; }
message Location {
  uint64 id = 1; uint64 mapping_id = 2; uint64 address = 3; repeated Line line = 4; bool is_folded = 5;
}
message Function { uint64 id = 1; int64 name = 2; int64 system_name = 3; int64 filename = 4; int64 start_line = 5; }
message Profile {
  repeated ValueType sample_type = 1; repeated Sample sample = 2; repeated Mapping mapping = 3;
  repeated Location location = 4; repeated Function function = 5; repeated string string_table = 6;
  int64 drop_frames = 7; int64 keep_frames = 8; int64 time_nanos = 9; int64 duration_nanos = 10;
  ValueType period_type = 11; int64 period = 12; repeated int64 comment = 13; int64 default_sample_type = 14;
}
)";

std::string gunzip(const std::string& bytes) {
  z_stream stream = {};
  EXPECT_EQ(::inflateInit2(&stream, 15 + 16), Z_OK);
  std::string in = bytes;
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  std::string out;
  std::array<char, 4096> buffer;
  int state = Z_OK;
  while (state == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = buffer.size();
    state = ::inflate(&stream, Z_NO_FLUSH);
    out.append(buffer.data(), buffer.size() - stream.avail_out);
  }
  ::inflateEnd(&stream);
  EXPECT_EQ(state, Z_STREAM_END);
  return out;
}

// The text form of the message, by protoc; "" (and the test is skipped) when there is none.
std::string decode(const std::string& bytes) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("jitscope-pprof-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "profile.proto") << kProto;
  std::ofstream(folder / "in", std::ios::binary) << bytes;
  const std::string command = "protoc --decode=Profile -I" + folder.string() + " " +
                              (folder / "profile.proto").string() + " < " +
                              (folder / "in").string() + " 2>&1";
  std::string text;
  if (FILE* pipe = ::popen(command.c_str(), "r"); pipe != nullptr) {
    std::array<char, 4096> buffer;
    while (const size_t size = ::fread(buffer.data(), 1, buffer.size(), pipe)) {
      text.append(buffer.data(), size);
    }
    if (::pclose(pipe) != 0) text = "protoc failed: " + text;
  }
  std::filesystem::remove_all(folder);
  return text;
}

bool has_protoc() {
  return std::system("protoc --version > /dev/null 2>&1") == 0;  // NOLINT(concurrency-mt-unsafe)
}

// protoc's text form: "name: value" and "name { ... }", as a tree.
struct Node {
  std::multimap<std::string, Node> children;
  std::string value;

  [[nodiscard]] std::vector<const Node*> all(const std::string& name) const {
    std::vector<const Node*> found;
    for (auto [at, end] = children.equal_range(name); at != end; ++at) found.push_back(&at->second);
    return found;
  }
  [[nodiscard]] uint64_t number(const std::string& name) const {
    const auto at = children.find(name);
    return at == children.end() ? 0 : std::stoull(at->second.value);
  }
};

Node parse(const std::string& text) {
  Node root;
  std::vector<Node*> open{&root};
  size_t at = 0;
  while (at < text.size()) {
    size_t end = text.find('\n', at);
    if (end == std::string::npos) end = text.size();
    std::string line = text.substr(at, end - at);
    at = end + 1;
    line.erase(0, line.find_first_not_of(' ') == std::string::npos ? line.size()
                                                                   : line.find_first_not_of(' '));
    if (line.empty()) continue;
    if (line == "}") {
      open.pop_back();
    } else if (line.ends_with(" {")) {
      open.push_back(
          &open.back()->children.emplace(line.substr(0, line.size() - 2), Node{})->second);
    } else {
      const size_t colon = line.find(": ");
      std::string value = line.substr(colon + 2);
      if (value.size() >= 2 && value.front() == '"') value = value.substr(1, value.size() - 2);
      open.back()->children.emplace(line.substr(0, colon), Node{{}, value});
    }
  }
  return root;
}

TEST(Pprof, ProtocReadsWhatTheProfileSays) {
  if (!has_protoc()) GTEST_SKIP() << "protoc (package protobuf-compiler) is not installed";
  const Profile profile = test::sample_profile();
  const auto packed = pprof_profile(profile, {.wall_clock_start = 1'700'000'000'000'000'000});
  ASSERT_TRUE(packed.has_value());
  EXPECT_TRUE(packed->starts_with("\x1f\x8b"));
  const std::string bytes = gunzip(*packed);
  const auto plain =
      pprof_profile(profile, {.wall_clock_start = 1'700'000'000'000'000'000, .compress = false});
  EXPECT_EQ(bytes, plain.value());
  const std::string text = decode(bytes);
  ASSERT_THAT(text, testing::Not(HasSubstr("protoc failed")));
  // A field of a number or type that we got wrong would show as a bare number.
  const Node root = parse(text);
  for (const auto& [name, node] : root.children) EXPECT_FALSE(std::isdigit(name[0])) << name;

  std::vector<std::string> strings;
  for (const Node* each : root.all("string_table")) strings.push_back(each->value);
  ASSERT_EQ(strings.at(0), "");
  const auto string = [&](const Node* node, const std::string& name) {
    return strings.at(node->number(name));
  };
  std::vector<std::string> types;
  for (const Node* each : root.all("sample_type")) {
    types.push_back(string(each, "type") + "/" + string(each, "unit"));
  }
  EXPECT_THAT(types, testing::ElementsAre("samples/count", "cpu-clock/nanoseconds", "samples/count",
                                          "page-faults/count"));
  EXPECT_EQ(root.number("time_nanos"), 1'700'000'000'000'000'000u);
  EXPECT_EQ(root.number("duration_nanos"), 1'500'000'000u);
  EXPECT_EQ(root.number("period"), 10'000'000u);

  std::map<uint64_t, const Node*> functions;
  for (const Node* each : root.all("function")) functions[each->number("id")] = each;
  std::map<uint64_t, const Node*> mappings;
  for (const Node* each : root.all("mapping")) mappings[each->number("id")] = each;
  std::map<uint64_t, std::string> locations;  // names, innermost first
  for (const Node* each : root.all("location")) {
    std::string names;
    for (const Node* line : each->all("line")) {
      ASSERT_TRUE(functions.contains(line->number("function_id")));
      names += string(functions[line->number("function_id")], "name") + "|";
    }
    if (each->number("mapping_id") != 0) {
      ASSERT_TRUE(mappings.contains(each->number("mapping_id")));
      names += string(mappings[each->number("mapping_id")], "filename");
    }
    EXPECT_TRUE(locations.emplace(each->number("id"), names).second) << "ids are unique";
  }
  std::map<std::string, uint64_t> samples;
  std::map<std::string, uint64_t> by_comm;
  for (const Node* each : root.all("sample")) {
    const auto values = each->all("value");
    ASSERT_EQ(values.size(), 4u);
    std::string stack;
    for (const Node* id : each->all("location_id")) {
      ASSERT_TRUE(locations.contains(std::stoull(id->value)));
      stack += locations[std::stoull(id->value)] + ";";
    }
    samples[stack] += std::stoull(values[0]->value);
    EXPECT_EQ(std::stoull(values[0]->value) * 10'000'000, std::stoull(values[1]->value));
    for (const Node* label : each->all("label")) {
      if (string(label, "key") == "comm") {
        by_comm[string(label, "str")] += std::stoull(values[0]->value);
      }
    }
  }
  EXPECT_EQ(by_comm["java"], 76u);
  EXPECT_EQ(by_comm["C2 Compiler"], 24u);
  EXPECT_EQ(by_comm["node"], 20u);
  // Inlined frames are lines of the location that they were inlined into.
  EXPECT_EQ(samples["Node::grow(unsigned int)|Compile::Code_Gen()|/usr/lib/libjvm.so;"
                    "start_thread|/usr/lib/libc.so.6;"],
            20u);
  EXPECT_EQ(samples["[unknown]|;"], 1u);
  bool raw_seen = false;
  for (const auto& [id, function] : functions) {
    raw_seen |= string(function, "system_name") == "Ljava/util/HashMap;::put" &&
                string(function, "filename") == "HashMap.java";
  }
  EXPECT_TRUE(raw_seen);
}

// What `go tool pprof` shows as the file is the first mapping; flags tell it that there is nothing
// left to look up.
TEST(Pprof, MainMappingAndFlags) {
  if (!has_protoc()) GTEST_SKIP() << "protoc (package protobuf-compiler) is not installed";
  test::ProfileBuilder b;
  b.profile.events = {{"samples", "count"}};
  b.profile.groups = {{1, 1, "worker", "a-long-program-"}, {2, 2, "sh", "sh"}};
  Frame kernel =
      test::named("schedule", "[kernel.kallsyms]", FrameKind::kernel, NameSource::kernel);
  Frame nameless;
  nameless.dso_path = "/usr/lib/stripped.so";
  Frame program = test::named("main", "", FrameKind::native, NameSource::elf);
  program.dso_path = "/opt/bin/a-long-program-name";
  program.file = "main.c";
  program.line = 3;
  Frame inlined = program;
  inlined.method = "helper";
  inlined.kind = FrameKind::native_inlined;
  b.add(1, b.stack({b.frame(kernel)}), 1);
  b.add(0, b.stack({b.frame(nameless)}), 1);
  b.add(0, b.stack({b.frame(program), b.frame(inlined)}), 5);
  PprofOptions options;
  options.compress = false;
  options.build_ids = {{"/usr/lib/stripped.so", "0123abcd"}, {"/not/there.so", "ff"}};
  const auto bytes = pprof_profile(b.profile, options);
  ASSERT_TRUE(bytes.has_value());
  const Node root = parse(decode(*bytes));
  std::vector<std::string> strings;
  for (const Node* each : root.all("string_table")) strings.push_back(each->value);
  std::map<uint64_t, const Node*> mappings;
  for (const Node* each : root.all("mapping")) mappings[each->number("id")] = each;
  ASSERT_EQ(mappings.size(), 3u);
  for (const auto& [id, mapping] : mappings) {
    const bool has_id = strings.at(mapping->number("filename")) == "/usr/lib/stripped.so";
    ASSERT_EQ(mapping->all("build_id").size(), has_id ? 1U : 0U) << id;
    if (has_id) {
      EXPECT_EQ(strings.at(mapping->number("build_id")), "0123abcd");
    }
  }
  EXPECT_EQ(strings.at(mappings[1]->number("filename")), "/opt/bin/a-long-program-name");
  const auto flag = [](const Node* mapping, const std::string& name) {
    return !mapping->all(name).empty() && mapping->all(name)[0]->value == "true";
  };
  for (const auto& [id, mapping] : mappings) {
    EXPECT_TRUE(flag(mapping, "has_functions")) << id;
    EXPECT_EQ(flag(mapping, "has_filenames"), id == 1) << id;
    EXPECT_EQ(flag(mapping, "has_line_numbers"), id == 1) << id;
    EXPECT_EQ(flag(mapping, "has_inline_frames"), id == 1) << id;
  }
}

TEST(Pprof, MainMappingOfAProgramThatWasNotSeen) {
  if (!has_protoc()) GTEST_SKIP() << "protoc (package protobuf-compiler) is not installed";
  test::ProfileBuilder b;
  b.profile.events = {{"samples", "count"}};
  b.profile.groups = {{1, 1, "C2 Compiler", "java"}};
  b.add(0, b.stack({b.frame(test::named("f", "[jit]", FrameKind::jit, NameSource::jitdump))}), 1);
  const Node root = parse(decode(pprof_profile(b.profile, {.compress = false}).value()));
  std::vector<std::string> strings;
  for (const Node* each : root.all("string_table")) strings.push_back(each->value);
  for (const Node* each : root.all("mapping")) {
    if (each->number("id") == 1) {
      EXPECT_EQ(strings.at(each->number("filename")), "java");
    }
  }
}

TEST(Pprof, EmptyAndDeepInlining) {
  const auto empty = pprof_profile(Profile{});
  ASSERT_TRUE(empty.has_value());
  EXPECT_EQ(gunzip(*empty), std::string("\x32\x00", 2));  // string_table: ""
  test::ProfileBuilder b;
  b.profile.events = {{"samples", "count"}};
  b.profile.groups = {{1, 1, "a", "a"}};
  const FrameId inlined =
      b.frame(test::named("deep", "x", FrameKind::jit_inlined, NameSource::jitdump));
  StackId last = kRootStack;
  for (uint32_t i = 0; i < 20'000; ++i) {
    b.profile.nodes.push_back({last, inlined});
    last = i + 1;
  }
  b.add(0, last, 1);
  const auto bytes = pprof_profile(b.profile, {.compress = false});
  ASSERT_TRUE(bytes.has_value());
  EXPECT_LT(bytes->size(), 1'000'000u) << "each location repeats its chain: chains are bounded";
}

}  // namespace
}  // namespace jitscope
