# Warnings and sanitizers that every target of the project gets.
add_library(jitscope_options INTERFACE)
target_compile_options(jitscope_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor -Werror=return-type
  -fno-omit-frame-pointer)
target_include_directories(jitscope_options INTERFACE ${CMAKE_SOURCE_DIR}/src)
if(JITSCOPE_SANITIZE)
  target_compile_options(jitscope_options INTERFACE -fsanitize=${JITSCOPE_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(jitscope_options INTERFACE -fsanitize=${JITSCOPE_SANITIZE})
endif()
