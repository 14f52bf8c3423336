# What `cmake --install` puts where, and the packages that cpack makes of it (scripts/package).
include(GNUInstallDirs)
find_package(Python3 COMPONENTS Interpreter)

# Manual pages are made of the docs and of what the program says about its options.
set(manual ${CMAKE_BINARY_DIR}/man)
if(Python3_FOUND AND NOT CMAKE_CROSSCOMPILING)
  file(GLOB pages CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/*.md)
  add_custom_command(
    OUTPUT ${manual}/jitscope.1
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_SOURCE_DIR}/scripts/manual-pages $<TARGET_FILE:jitscope> ${manual}
    DEPENDS jitscope ${CMAKE_SOURCE_DIR}/scripts/manual-pages ${CMAKE_SOURCE_DIR}/README.md
            ${CMAKE_SOURCE_DIR}/CHANGELOG.md ${pages}
    COMMENT "Manual pages" VERBATIM)
  # A program with sanitizers is not what is packaged, and one under libFuzzer says nothing.
  if(NOT JITSCOPE_SANITIZE)
    set(in_all ALL)
  endif()
  add_custom_target(jitscope_manual ${in_all} DEPENDS ${manual}/jitscope.1)
  install(DIRECTORY ${manual}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 FILES_MATCHING PATTERN "*.1")
else()
  message(STATUS "no Python 3: no manual pages")
endif()

install(TARGETS jitscope RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# Found beside the program: ../lib/jitscope, whatever the prefix (runtimes/agent_loader.h).
set(private lib/jitscope)
if(TARGET jitscope_agent)
  install(TARGETS jitscope_agent LIBRARY DESTINATION ${private})
endif()
if(JITSCOPE_STATIC)
  # Has no archive in Debian, and other machines have another version of it or none.
  get_target_property(zydis Zydis::Zydis LOCATION)
  install(FILES ${zydis} DESTINATION ${private} RENAME libZydis.so.4.0)
  set_target_properties(jitscope PROPERTIES INSTALL_RPATH "$ORIGIN/../${private}")
endif()

set(completions ${CMAKE_SOURCE_DIR}/completions)
install(FILES ${completions}/jitscope.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME jitscope)
# Debian's zsh looks in vendor-completions for what packages bring, others' in site-functions.
set(JITSCOPE_ZSH_DIR ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions CACHE STRING "Folder of zsh's completions")
install(FILES ${completions}/_jitscope DESTINATION ${JITSCOPE_ZSH_DIR})
install(FILES ${completions}/jitscope.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

file(GLOB docs CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/*.md)
install(FILES ${CMAKE_SOURCE_DIR}/README.md ${CMAKE_SOURCE_DIR}/ARCHITECTURE.md ${CMAKE_SOURCE_DIR}/CONTRIBUTING.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
# The links of README.md lead there.
install(FILES ${docs} DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)
install(FILES ${CMAKE_SOURCE_DIR}/docs/images/flame.png DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs/images)
install(FILES ${CMAKE_SOURCE_DIR}/packaging/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE ${CMAKE_SOURCE_DIR}/CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR}
        COMPONENT plain)
# Debian wants changelogs of its own names, the licence in `copyright` alone, and manual pages compressed.
install(CODE "execute_process(COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_SOURCE_DIR}/packaging/for-debian
                              \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX} COMMAND_ERROR_IS_FATAL ANY)"
        COMPONENT debian EXCLUDE_FROM_ALL)

set(CPACK_PACKAGE_NAME jitscope)
set(CPACK_PACKAGE_VENDOR "The jitscope authors")
set(CPACK_PACKAGE_CONTACT "The jitscope authors <maintainers@jitscope.example>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "names, probe points and ELF images for JIT-compiled code")
set(CPACK_PACKAGE_DESCRIPTION "jitscope gives code that a JIT compiler wrote what ELF code has always had, on
running programs, without a restart, an agent or a flag: profiles whose frames
are named right in time, ELF files with symbols, lines and unwind tables, perf
maps and jitdumps, counts and traces of the calls of a method, and symbols that
bpftrace, perf and other tools attach to.
Java (HotSpot) is read from outside; Node and other runtimes by their perf
maps.")
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_FILE_NAME jitscope-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_GENERATOR DEB TGZ)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS libdebuginfod1)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "bpftrace, linux-perf, gdb, binutils")
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_LIST_DIR}/cpack.cmake)
include(CPack)
