# Warnings and sanitizers that every target of the project gets.
add_library(jitscope_options INTERFACE)
target_compile_options(jitscope_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor -Werror=return-type
  -fno-omit-frame-pointer
  # libstdc++ 12's stable_sort uses what C++23 calls deprecated.
  $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-deprecated-declarations>)
if(JITSCOPE_UNITY)  # a type of an unnamed namespace in one of a header: of one file then, and still of one here
  target_compile_options(jitscope_options INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
endif()
option(JITSCOPE_WERROR "Warnings are errors (what scripts/test builds with)" OFF)
if(JITSCOPE_WERROR)
  # What g++ 12 finds by following values, it also finds in the strings of its own library.
  target_compile_options(jitscope_options INTERFACE -Werror -Wno-error=maybe-uninitialized
    -Wno-error=stringop-overread -Wno-error=stringop-overflow -Wno-error=array-bounds -Wno-error=restrict)
endif()
target_include_directories(jitscope_options INTERFACE ${CMAKE_SOURCE_DIR}/src)
if(JITSCOPE_SANITIZE)
  target_compile_options(jitscope_options INTERFACE -fsanitize=${JITSCOPE_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(jitscope_options INTERFACE -fsanitize=${JITSCOPE_SANITIZE})
  # clang would look for a type before every function that is called by its address, also before those
  # that the tests wrote to a page themselves.
  target_compile_options(jitscope_options INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-fno-sanitize=function>)
endif()
