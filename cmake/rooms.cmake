# The rooms of src/rooms.txt as libraries, and their unit tests.

# Library jitscope_ROOM from src/ROOM/**.cc for each room but cli, which is the program. Of rooms inside one
# folder (formats/elf) the library is jitscope_formats_elf, and jitscope_formats stands for all of
# them, where the folder is no room itself.
function(jitscope_rooms)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/rooms.txt)
  file(STRINGS ${CMAKE_SOURCE_DIR}/src/rooms.txt lines REGEX "^[a-z]")
  set(rooms ${lines})
  list(TRANSFORM rooms REPLACE ":.*$" "")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "^([a-z0-9_/]+):(.*)$" matched "${line}")
    set(room ${CMAKE_MATCH_1})
    separate_arguments(uses UNIX_COMMAND "${CMAKE_MATCH_2}")
    if(NOT room STREQUAL "cli")
      jitscope_room(${room} ${uses})
    endif()
  endforeach()
endfunction()

function(jitscope_room room)
  string(REPLACE "/" "_" name ${room})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${room}/*.cc)
  foreach(other IN LISTS rooms)  # inside this one
    if(other MATCHES "^${room}/")
      list(FILTER sources EXCLUDE REGEX "/src/${other}/")
    endif()
  endforeach()
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    list(FILTER sources EXCLUDE REGEX "_x86_64\\.cc$")
  endif()
  if(sources)
    add_library(jitscope_${name} STATIC ${sources})
    set_target_properties(jitscope_${name} PROPERTIES UNITY_BUILD ${JITSCOPE_UNITY} UNITY_BUILD_BATCH_SIZE 10)
    set(scope PUBLIC)
    if(ARGN OR room STREQUAL "base")  # base's headers were compiled with what fmt wants
      jitscope_precompile(jitscope_${name})
    endif()
  else()
    add_library(jitscope_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_link_libraries(jitscope_${name} ${scope} jitscope_options)
  foreach(used IN LISTS ARGN)
    string(REPLACE "/" "_" used ${used})
    target_link_libraries(jitscope_${name} ${scope} jitscope_${used})
  endforeach()
  get_filename_component(folder ${room} DIRECTORY)
  if(folder AND NOT folder IN_LIST rooms)
    if(NOT TARGET jitscope_${folder})
      add_library(jitscope_${folder} INTERFACE)
    endif()
    target_link_libraries(jitscope_${folder} INTERFACE jitscope_${name})
  endif()
endfunction()

# The standard headers that most files include, parsed once for all libraries: a third of what compiling
# takes. A file still includes what it uses.
function(jitscope_precompile target)
  if(target STREQUAL jitscope_base)
    target_precompile_headers(jitscope_base PRIVATE
      <algorithm> <array> <chrono> <cstdint> <cstring> <expected> <functional> <map> <memory> <optional> <set>
      <span> <string> <string_view> <unordered_map> <utility> <vector> <fmt/format.h> <fmt/ranges.h>)
  else()
    target_precompile_headers(${target} REUSE_FROM jitscope_base)
  endif()
endfunction()

# unit_NAME from tests/unit/NAME/**_test.cc.
function(jitscope_unit_test name)
  if(NOT JITSCOPE_UNIT_TESTS STREQUAL "all" AND NOT name IN_LIST JITSCOPE_UNIT_TESTS)
    return()
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/unit/${name}/*_test.cc)
  if(NOT sources)
    return()
  endif()
  add_executable(unit_${name} ${sources})
  # Half of what compiling a test takes.
  get_property(first GLOBAL PROPERTY JITSCOPE_FIRST_UNIT_TEST)
  if(NOT first)
    set_property(GLOBAL PROPERTY JITSCOPE_FIRST_UNIT_TEST unit_${name})
    target_precompile_headers(unit_${name} PRIVATE
      <algorithm> <array> <filesystem> <fstream> <functional> <map> <memory> <optional> <random> <span> <string>
      <vector> <fmt/format.h> <gmock/gmock.h> <gtest/gtest.h>)
  else()
    target_precompile_headers(unit_${name} REUSE_FROM ${first})
  endif()
  # What is tested is optimised; what tests it compiles in half the time without, but for tests that do
  # much work themselves.
  target_compile_options(unit_${name} PRIVATE -O0)
  set(working ${sources})
  list(FILTER working INCLUDE REGEX "(corpus|model|random|damage|trace_format)[a-z_]*_test\\.cc$")
  set_source_files_properties(${working} PROPERTIES COMPILE_OPTIONS -O1 SKIP_PRECOMPILE_HEADERS ON)
  target_link_libraries(unit_${name} PRIVATE jitscope_${name} GTest::gmock GTest::gtest_main)
  target_include_directories(unit_${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests ${CMAKE_SOURCE_DIR})
  target_compile_definitions(unit_${name} PRIVATE
    JITSCOPE_SOURCE_DIR="${CMAKE_SOURCE_DIR}" JITSCOPE_BINARY_DIR="${CMAKE_BINARY_DIR}")
  add_test(NAME unit_${name} COMMAND unit_${name})
  # Locals stay on the stack under ASan: some tests are about what lies there.
  set_tests_properties(unit_${name} PROPERTIES LABELS unit TIMEOUT 600
    ENVIRONMENT "ASAN_OPTIONS=detect_stack_use_after_return=0")
  if(name MATCHES "^(process|surgery|perf_event|ebpf|probe)$")  # they use breakpoints and stop processes
    set_tests_properties(unit_${name} PROPERTIES RESOURCE_LOCK probes)
  endif()
endfunction()
