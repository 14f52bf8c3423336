#include "cli/describe.h"

#include "cli/command.h"
#include "cli/examples.h"
#include "cli/version.h"
#include "render/json.h"

namespace jitscope {
namespace {

std::string option_json(const CLI::Option& option) {
  const auto& about = option.about();
  JsonObject object("");
  object.raw("names", json_array(about.names, json_string))
      .text("about", about.text)
      .text("value", about.value.name)
      .raw("choices", json_array(about.choices, json_string))
      .boolean("positional", about.positional)
      .boolean("flag", about.flag)
      .boolean("required", about.required)
      .boolean("several", about.several);
  return object.str();
}

// `path`: without the program's name.
std::string command_json(const CLI::App& command, const std::string& path) {
  JsonObject object("");
  object.text("name", command.name())
      .text("about", command.about())
      .raw("options", json_array(command.options(), option_json))
      .raw("examples", json_array(examples_of(path),
                                  [](const Example& example) {
                                    JsonObject each("");
                                    each.text("about", example.about).text("line", example.line);
                                    return each.str();
                                  }))
      .raw("commands", json_array(command.commands(), [&](const CLI::App& each) {
             return command_json(each, path.empty() ? each.name() : path + " " + each.name());
           }));
  return object.str();
}

}  // namespace

int print_description(const CLI::App& app) {
  JsonObject object("");
  object.text("version", version_number()).raw("program", command_json(app, ""));
  write_out(object.str() + "\n");
  return status_with_output(0);
}

}  // namespace jitscope
