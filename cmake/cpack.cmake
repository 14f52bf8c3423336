# Read by cpack for each kind of package: a .deb lies in /usr and has Debian's own files, a tarball in a
# folder of its own.
list(GET CPACK_BUILD_SOURCE_DIRS 1 build)
if(CPACK_GENERATOR STREQUAL "DEB")
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  set(CPACK_INSTALL_CMAKE_PROJECTS "${build};jitscope;Unspecified;/;${build};jitscope;debian;/")
else()
  set(CPACK_INSTALL_CMAKE_PROJECTS "${build};jitscope;Unspecified;/;${build};jitscope;plain;/")
endif()
