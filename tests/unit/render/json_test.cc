// JSON is what a strict parser reads back, whatever the names hold.
#include "render/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

namespace jitscope {
namespace {

using Json = nlohmann::json;

// Throws (and so fails the test) on anything that is not strict JSON in UTF-8.
std::string back(std::string_view text) {
  return Json::parse(json_string(text)).get<std::string>();
}

TEST(JsonString, ComesBackAsItWas) {
  for (const std::string_view text :
       {"", "plain", "quote \" backslash \\ slash /", "a\nb\tc\r", "\x01\x1f\x7f", "caf\xc3\xa9",
        "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf", "\xed\x9f\xbf", "\xee\x80\x80",
        "a;b c"}) {
    EXPECT_EQ(back(text), text);
  }
  EXPECT_EQ(back(std::string_view("nul\0in", 6)), std::string("nul\0in", 6));
}

TEST(JsonString, IsOneLineWithoutControlCharacters) {
  std::string all;
  for (int c = 0; c < 128; ++c) all += static_cast<char>(c);
  const std::string json = json_string(all);
  for (const char c : json) EXPECT_GE(static_cast<unsigned char>(c), 0x20);
  EXPECT_EQ(back(all), all);
}

TEST(JsonString, HidesNothingFromATerminal) {
  // C1, marks of direction, separators of lines, no shape, beyond U+FFFF.
  for (const std::string_view text :
       {"\xc2\x9b", "\xe2\x80\xae", "\xe2\x80\xa8", "\xe2\x80\x8b", "\xf3\xa0\x81\x81"}) {
    const std::string json = json_string(text);
    for (const char c : json) EXPECT_TRUE(c >= 0x20 && c < 0x7f) << json;
    EXPECT_EQ(back(text), text);
  }
  EXPECT_EQ(json_string("\xe2\x80\xae"), "\"\\u202e\"");
  EXPECT_EQ(json_string("\xf3\xa0\x81\x81"), "\"\\udb40\\udc41\"");
}

TEST(JsonString, EveryByteThatIsNoUtf8BecomesAReplacement) {
  const std::string r = "\xef\xbf\xbd";
  EXPECT_EQ(back("\x80"), r);                          // continuation alone
  EXPECT_EQ(back("a\xff"), "a" + r);                   // never a byte of UTF-8
  EXPECT_EQ(back("\xc0\x80"), r + r);                  // overlong NUL, as Java writes it
  EXPECT_EQ(back("\xc1\xbf"), r + r);                  // overlong
  EXPECT_EQ(back("\xe0\x9f\xbf"), r + r + r);          // overlong
  EXPECT_EQ(back("\xf0\x8f\xbf\xbf"), r + r + r + r);  // overlong
  EXPECT_EQ(back("\xed\xa0\x80"), r + r + r);          // high surrogate
  EXPECT_EQ(back("\xed\xbf\xbf"), r + r + r);          // low surrogate
  EXPECT_EQ(back("\xf4\x90\x80\x80"), r + r + r + r);  // beyond U+10FFFF
  EXPECT_EQ(back("\xf5\x80\x80\x80"), r + r + r + r);
  EXPECT_EQ(back("\xe2\x82"), r + r);         // cut short
  EXPECT_EQ(back("\xe2\x82z"), r + r + "z");  // cut short by a letter
  EXPECT_EQ(back("\xe2\"\\"), r + "\"\\");    // does not swallow what must be escaped
  EXPECT_EQ(back("\xf0\x9f\x98\n"), r + r + r + "\n");
}

TEST(JsonString, RandomBytesAlwaysParse) {
  std::mt19937 random(7);
  for (int round = 0; round < 5000; ++round) {
    std::string text(random() % 24, '\0');
    for (char& c : text) c = static_cast<char>(random());
    EXPECT_TRUE(Json::accept(json_string(text))) << json_string(text);
  }
}

TEST(JsonAddress, IsHexadecimalText) {
  EXPECT_EQ(json_address(0), "\"0x0\"");
  EXPECT_EQ(json_address(UINT64_MAX), "\"0xffffffffffffffff\"");
}

TEST(Printable, NothingThatATerminalWouldObey) {
  EXPECT_EQ(printable("plain; caf\xc3\xa9"), "plain; caf\xc3\xa9");
  EXPECT_EQ(printable("a\nb\x1b[31m\x7f"), "a\\x0ab\\x1b[31m\\x7f");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
  // U+009B does what ESC [ does; a byte that is no UTF-8 may be one for an 8-bit terminal.
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "\\xc2\\x9b2J");
  EXPECT_EQ(printable("\x9b"
                      "2J"),
            "\\x9b2J");
  EXPECT_EQ(printable("\xc2\xa0"), "\xc2\xa0");
}

TEST(JsonObjectTest, BuildsInOrder) {
  JsonObject object("kind");
  object.text("te\"xt", "a\nb")
      .address("address", 0x10)
      .number("number", UINT64_MAX)
      .boolean("yes", true)
      .boolean("no", false)
      .raw("raw", "[1,null]");
  EXPECT_EQ(object.str(),
            "{\"type\":\"kind\",\"te\\\"xt\":\"a\\u000ab\",\"address\":\"0x10\","
            "\"number\":18446744073709551615,\"yes\":true,\"no\":false,\"raw\":[1,null]}");
  const Json parsed = Json::parse(object.str());
  EXPECT_EQ(parsed["number"].get<uint64_t>(), UINT64_MAX);
  EXPECT_EQ(parsed["te\"xt"], "a\nb");
}

TEST(JsonObjectTest, EmptyWithoutAType) {
  EXPECT_EQ(JsonObject("").str(), "{}");
  EXPECT_EQ(JsonObject("").text("a", "").str(), "{\"a\":\"\"}");
}

TEST(JsonArray, CommasBetweenOnly) {
  EXPECT_EQ(json_array(std::vector<std::string>{}, json_string), "[]");
  EXPECT_EQ(json_array(std::vector<std::string>{"a"}, json_string), "[\"a\"]");
  EXPECT_EQ(json_array(std::vector<std::string>{"", ""}, json_string), "[\"\",\"\"]");
}

}  // namespace
}  // namespace jitscope
