// A diagnosis as text and as JSON lines.
#pragma once

#include <string>

#include "doctor/doctor.h"

namespace jitscope {

[[nodiscard]] std::string doctor_text(const Diagnosis& diagnosis);
// {"type":"diagnosis"...}, then {"type":"complaint"...}, {"type":"source"...}, {"type":"note"...}.
[[nodiscard]] std::string doctor_json(const Diagnosis& diagnosis);

}  // namespace jitscope
