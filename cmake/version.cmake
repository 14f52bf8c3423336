# The commit that is built, as a source file of its own that is written anew only when it is another one:
# a commit costs one small file and a link. From a tarball of `git archive` it is in commit.txt; else, and
# without git, there is none.
#   cmake -DSOURCE=... -DOUT=... -P version.cmake
if(CMAKE_SCRIPT_MODE_FILE)
  set(commit "")
  file(STRINGS ${SOURCE}/cmake/commit.txt archived LIMIT_COUNT 1)
  if(archived MATCHES "^[0-9a-f]+$")
    set(commit ${archived})
  else()
    # Not the commit of whatever a tarball was unpacked in.
    execute_process(COMMAND git rev-parse --show-toplevel WORKING_DIRECTORY ${SOURCE}
                    OUTPUT_VARIABLE top OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    get_filename_component(here ${SOURCE} REALPATH)
    if(top AND top STREQUAL here)
      execute_process(COMMAND git describe --always --abbrev=12 --exclude=* --dirty=+ WORKING_DIRECTORY ${SOURCE}
                      OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    endif()
  endif()
  set(text "// Written by cmake/version.cmake.
#include \"cli/version.h\"

std::string_view jitscope::version_commit() {
  return \"${commit}\";
}
")
  set(old "")
  if(EXISTS ${OUT})
    file(READ ${OUT} old)
  endif()
  if(NOT old STREQUAL text)
    file(WRITE ${OUT} "${text}")
  endif()
  return()
endif()

set(version_source ${CMAKE_BINARY_DIR}/generated/version_commit.cc)
add_custom_target(jitscope_commit
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DOUT=${version_source} -P ${CMAKE_CURRENT_LIST_FILE}
  BYPRODUCTS ${version_source} COMMENT "Which commit it is" VERBATIM)
target_sources(jitscope PRIVATE ${version_source})
add_dependencies(jitscope jitscope_commit)
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/cli/version.cc PROPERTIES
  COMPILE_DEFINITIONS JITSCOPE_VERSION="${PROJECT_VERSION}")
