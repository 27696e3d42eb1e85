# SPDX-License-Identifier: Apache-2.0
# `cmake --install BUILD`: the binary finds its files by ../share/simtune from where it stands.
include(GNUInstallDirs)
if(TARGET simtune)
  install(TARGETS simtune RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  # The manual and the completions are printed by the program out of its own tables and the templates that ship.
  file(GLOB templates CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/templates/*.cu
    ${PROJECT_SOURCE_DIR}/templates/examples/*.cu)
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/simtune.1 ${PROJECT_BINARY_DIR}/simtune.bash
    COMMAND $<TARGET_FILE:simtune> help --man > ${PROJECT_BINARY_DIR}/simtune.1
    COMMAND $<TARGET_FILE:simtune> help --bash > ${PROJECT_BINARY_DIR}/simtune.bash
    DEPENDS simtune ${templates} VERBATIM)
  add_custom_target(manual ALL DEPENDS ${PROJECT_BINARY_DIR}/simtune.1 ${PROJECT_BINARY_DIR}/simtune.bash)
  install(FILES ${PROJECT_BINARY_DIR}/simtune.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${PROJECT_BINARY_DIR}/simtune.bash RENAME simtune
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
endif()
foreach(folder templates db/history)
  if(IS_DIRECTORY ${PROJECT_SOURCE_DIR}/${folder})
    install(DIRECTORY ${folder}/ DESTINATION ${CMAKE_INSTALL_DATADIR}/simtune/${folder})
  endif()
endforeach()
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

# find_package(simtune CONFIG), and pkg-config for builds without CMake.
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/simtune)
configure_package_config_file(cmake/simtune-config.cmake.in ${PROJECT_BINARY_DIR}/simtune-config.cmake
  INSTALL_DESTINATION ${package_folder} PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_DATADIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/simtune-config-version.cmake COMPATIBILITY SameMinorVersion
  ARCH_INDEPENDENT)
install(FILES ${PROJECT_BINARY_DIR}/simtune-config.cmake ${PROJECT_BINARY_DIR}/simtune-config-version.cmake
  cmake/SimtuneTunedHeader.cmake DESTINATION ${package_folder})
configure_file(cmake/simtune.pc.in ${PROJECT_BINARY_DIR}/simtune.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/simtune.pc DESTINATION ${CMAKE_INSTALL_DATADIR}/pkgconfig)

# cpack -G DEB: one package for Debian 12 and later. The preset portable leaves glibc as its only dependency.
set(CPACK_PACKAGE_VENDOR "simtune")
set(CPACK_PACKAGE_CONTACT "simtune <simtune@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "profiling-guided auto-tuner for CUDA kernels")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
  "Finds the fastest correct configuration of a kernel template, says why it wins,\nremembers every measurement, and writes headers for builds, which need no GPU.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
include(CPack)
