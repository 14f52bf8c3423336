# jitscope_embed(TARGET NAMESPACE FILE...): puts files into a library as text. FILE `page.css` becomes
# `extern const std::string_view NAMESPACE::page_css`, declared by hand in a header.
# The script part (cmake -DIN=... -DOUT=... -DNAME=... -DNAMESPACE=... -P embed.cmake) writes one of them.
if(CMAKE_SCRIPT_MODE_FILE)
  file(READ "${IN}" hex HEX)
  string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${hex}")
  string(REGEX REPLACE "(('[^']*',){16})" "\\1\n    " bytes "${bytes}")
  file(WRITE "${OUT}" "// Written by cmake/embed.cmake.
#include <string_view>

namespace ${NAMESPACE} {
namespace {
constexpr char k_${NAME}[] = {
    ${bytes}'\\0'};
}  // namespace
extern const std::string_view ${NAME};
const std::string_view ${NAME}(k_${NAME}, sizeof(k_${NAME}) - 1);
}  // namespace ${NAMESPACE}
")
  return()
endif()

set(JITSCOPE_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})

function(jitscope_embed target namespace)
  foreach(path IN LISTS ARGN)
    get_filename_component(file ${path} NAME)
    string(REGEX REPLACE "[^A-Za-z0-9]" "_" name ${file})
    set(output ${CMAKE_BINARY_DIR}/embedded/${name}.cc)
    add_custom_command(
      OUTPUT ${output}
      COMMAND ${CMAKE_COMMAND} -DIN=${path} -DOUT=${output} -DNAME=${name} -DNAMESPACE=${namespace}
              -P ${JITSCOPE_EMBED_SCRIPT}
      DEPENDS ${path} ${JITSCOPE_EMBED_SCRIPT}
      VERBATIM)
    target_sources(${target} PRIVATE ${output})
  endforeach()
endfunction()
