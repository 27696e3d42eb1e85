# SPDX-License-Identifier: Apache-2.0
# `cmake --install BUILD`: the binary finds its files by ../share/simtune from where it stands.
include(GNUInstallDirs)
if(TARGET simtune)
  install(TARGETS simtune RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  # The manual and the completions are printed by the program out of its own tables and the templates that ship.
  file(GLOB templates CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/templates/*.cu)
  add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/simtune.1 ${CMAKE_BINARY_DIR}/simtune.bash
    COMMAND $<TARGET_FILE:simtune> help --man > ${CMAKE_BINARY_DIR}/simtune.1
    COMMAND $<TARGET_FILE:simtune> help --bash > ${CMAKE_BINARY_DIR}/simtune.bash
    DEPENDS simtune ${templates} VERBATIM)
  add_custom_target(manual ALL DEPENDS ${CMAKE_BINARY_DIR}/simtune.1 ${CMAKE_BINARY_DIR}/simtune.bash)
  install(FILES ${CMAKE_BINARY_DIR}/simtune.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${CMAKE_BINARY_DIR}/simtune.bash RENAME simtune
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
endif()
foreach(folder templates db/history)
  if(IS_DIRECTORY ${CMAKE_SOURCE_DIR}/${folder})
    install(DIRECTORY ${folder}/ DESTINATION ${CMAKE_INSTALL_DATADIR}/simtune/${folder})
  endif()
endforeach()
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
