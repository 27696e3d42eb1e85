# SPDX-License-Identifier: Apache-2.0
# Tuned headers in a build. Promise: a build reads the lock file and nothing else: no GPU, no network, no store of a
# user; a header is printed again only when the lock, the templates or simtune change, and what includes it is compiled
# again only when its text has changed.
#
#   simtune_tuned_header(TARGET app FAMILIES reduce scan LOCK simtune.lock
#                        [TYPES f32 f64] [ARCHS 80 90] [TEMPLATES my_kernel.cu …] [WARM] [REQUIRE_MEASURED] [SPLIT])
#
# TARGET includes "simtune_reduce.h" … after that. LOCK and TEMPLATES are relative to the current source folder.
# TEMPLATES are kernels that do not ship: their families need not stand in FAMILIES. Without TYPES and ARCHS the header
# has all that the lock has. SPLIT: kernels go into a .cu of their own, which becomes a source of TARGET (the language
# CUDA must be enabled); the headers then serve C++ files too. It may be called several times for one target.
include_guard(GLOBAL)

# The program: imported by find_package, or a target of this build (add_subdirectory).
function(_simtune_program program share)
  if(TARGET simtune::simtune)
    get_target_property(location simtune::simtune IMPORTED_LOCATION)
    set(${program} "${location}" PARENT_SCOPE)
    set(${share} "${SIMTUNE_SHARE_FOLDER}" PARENT_SCOPE)
  elseif(TARGET simtune)
    get_target_property(source simtune SOURCE_DIR)
    set(${program} $<TARGET_FILE:simtune> PARENT_SCOPE)
    set(${share} "${source}" PARENT_SCOPE)
  else()
    message(FATAL_ERROR "simtune_tuned_header: there is no program simtune: find_package(simtune CONFIG REQUIRED), "
                        "or add_subdirectory of its source, comes first.")
  endif()
endfunction()

# The family of a template, as its directive says.
function(_simtune_family_of file family)
  file(STRINGS "${file}" lines REGEX "^[ \t]*//[ \t]*simtune:[ \t]+family[ \t]")
  list(GET lines 0 line)
  if(NOT line MATCHES "family[ \t]+([A-Za-z_][A-Za-z0-9_]*)")
    message(FATAL_ERROR "simtune_tuned_header: ${file} has no line `// simtune: family NAME`.")
  endif()
  set(${family} "${CMAKE_MATCH_1}" PARENT_SCOPE)
endfunction()

# What can be told while configuring is told there, in words; the rest is simtune's own message while building.
function(_simtune_check_lock lock families)
  if(NOT EXISTS "${lock}")
    message(FATAL_ERROR "simtune_tuned_header: there is no lock file ${lock}. "
                        "`simtune lock ${families} -o simtune.lock` writes it from measurements; commit it.")
  endif()
  foreach(family ${families})
    file(STRINGS "${lock}" rows REGEX "^${family} sm_" LIMIT_COUNT 1)
    if(NOT rows)
      message(FATAL_ERROR "simtune_tuned_header: the lock file ${lock} has no row of ${family}. "
                          "`simtune lock ${family} -o ${lock}` adds it.")
    endif()
  endforeach()
endfunction()

function(simtune_tuned_header)
  cmake_parse_arguments(PARSE_ARGV 0 arg "WARM;REQUIRE_MEASURED;SPLIT" "TARGET;LOCK" "FAMILIES;TYPES;ARCHS;TEMPLATES")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "simtune_tuned_header: does not know ${arg_UNPARSED_ARGUMENTS}.")
  endif()
  if(NOT arg_TARGET OR NOT arg_LOCK OR NOT (arg_FAMILIES OR arg_TEMPLATES))
    message(FATAL_ERROR "simtune_tuned_header(TARGET app FAMILIES reduce … LOCK simtune.lock): something is missing.")
  endif()
  if(NOT TARGET ${arg_TARGET})
    message(FATAL_ERROR "simtune_tuned_header: there is no target ${arg_TARGET} yet.")
  endif()
  _simtune_program(program share)
  get_filename_component(lock "${arg_LOCK}" ABSOLUTE)
  set(words ${arg_FAMILIES})
  set(families ${arg_FAMILIES})
  foreach(template ${arg_TEMPLATES})
    get_filename_component(template "${template}" ABSOLUTE)
    _simtune_family_of("${template}" family)
    list(APPEND words "${template}")
    list(APPEND families ${family})
  endforeach()
  _simtune_check_lock("${lock}" "${families}")

  set(options --lock "${lock}")
  foreach(pair TYPES:--type ARCHS:--arch)
    string(REPLACE ":" ";" pair ${pair})
    list(GET pair 0 name)
    list(GET pair 1 option)
    if(arg_${name})
      string(REPLACE ";" "," list "${arg_${name}}")
      list(APPEND options ${option} ${list})
    endif()
  endforeach()
  if(arg_WARM)
    list(APPEND options --warm)
  endif()
  if(arg_REQUIRE_MEASURED)
    list(APPEND options --require measured)
  endif()

  if(arg_SPLIT)
    list(APPEND options --format h,cu)
  endif()

  # An equal header is left untouched, so a stamp stands for it: the rule has run, and nothing that includes the
  # header is compiled again.
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/simtune/${arg_TARGET}")
  list(JOIN families "_" joined)
  set(stamp "${folder}/${joined}.stamp")
  set(made "")
  foreach(family ${families})
    list(APPEND made "${folder}/simtune_${family}.h")
    if(arg_SPLIT)
      list(APPEND made "${folder}/simtune_${family}.cu")
      target_sources(${arg_TARGET} PRIVATE "${folder}/simtune_${family}.cu")
    endif()
  endforeach()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${share}/templates/*.cu" "${share}/templates/*.cuh")
  list(JOIN families " " shown)
  add_custom_command(OUTPUT "${stamp}" BYPRODUCTS ${made}
    COMMAND "${CMAKE_COMMAND}" -E env "SIMTUNE_SHARE=${share}" "${program}" emit ${words} ${options} -o "${folder}"
    COMMAND "${CMAKE_COMMAND}" -E touch "${stamp}"
    DEPENDS "${lock}" ${arg_TEMPLATES} ${sources} "${program}"
    COMMENT "Tuned headers of ${arg_TARGET}: ${shown}" VERBATIM)
  add_custom_target(${arg_TARGET}_simtune_${joined} DEPENDS "${stamp}")
  add_dependencies(${arg_TARGET} ${arg_TARGET}_simtune_${joined})
  # An interface library hands the folder on to whoever links it.
  get_target_property(kind ${arg_TARGET} TYPE)
  if(kind STREQUAL "INTERFACE_LIBRARY")
    target_include_directories(${arg_TARGET} INTERFACE "${folder}")
  else()
    target_include_directories(${arg_TARGET} PRIVATE "${folder}")
  endif()
endfunction()
