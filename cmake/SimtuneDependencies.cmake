# SPDX-License-Identifier: Apache-2.0
# Well-kept libraries from the distribution, and the CUDA headers (nothing of CUDA is linked).
function(simtune_dependency name header library)
  find_path(${name}_INCLUDE ${header})
  if(SIMTUNE_STATIC_LIBRARIES)
    find_library(${name}_LIBRARY_STATIC NAMES lib${library}.a)
    set(file ${${name}_LIBRARY_STATIC})
  else()
    find_library(${name}_LIBRARY NAMES ${library})
    set(file ${${name}_LIBRARY})
  endif()
  if(NOT ${name}_INCLUDE OR NOT file)
    message(FATAL_ERROR "simtune needs ${name} (${header}, lib${library}). Run ./dev, which installs it.")
  endif()
  add_library(simtune::${name} INTERFACE IMPORTED GLOBAL)
  set_target_properties(simtune::${name} PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES ${${name}_INCLUDE} INTERFACE_LINK_LIBRARIES ${file})
endfunction()

simtune_dependency(jansson jansson.h jansson)
simtune_dependency(xxhash xxhash.h xxhash)
simtune_dependency(zlib zlib.h z)
simtune_dependency(sqlite sqlite3.h sqlite3)
if(SIMTUNE_STATIC_LIBRARIES)
  set_property(TARGET simtune::sqlite APPEND PROPERTY INTERFACE_LINK_LIBRARIES m dl pthread)
endif()

# cuda.h, nvrtc.h, cupti*.h: from a toolkit, or unpacked from PyPI by ./dev (SIMTUNE_CUDA_INCLUDE, one
# folder or several: the packages of CUDA 12 have one each).
set(toolkit_includes $ENV{CUDA_HOME}/include $ENV{CUDA_PATH}/include /usr/local/cuda/include
  /usr/local/cuda/targets/x86_64-linux/include)
if(NOT SIMTUNE_CUDA_INCLUDE)
  find_path(SIMTUNE_CUDA_INCLUDE cuda.h HINTS ${toolkit_includes})
endif()
set(cuda_includes ${SIMTUNE_CUDA_INCLUDE})
foreach(folder ${SIMTUNE_CUDA_INCLUDE}) # where a toolkit's own installer puts CUPTI
  list(APPEND cuda_includes ${folder}/../extras/CUPTI/include)
endforeach()
foreach(header cuda.h nvrtc.h cupti_range_profiler.h)
  unset(found)
  find_path(found ${header} PATHS ${cuda_includes} NO_CACHE NO_DEFAULT_PATH)
  if(NOT found)
    message(FATAL_ERROR "simtune needs the CUDA headers of 12.6 or later; ${header} is not in "
      "SIMTUNE_CUDA_INCLUDE (${SIMTUNE_CUDA_INCLUDE}). Run ./dev build, which takes them from PyPI.")
  endif()
  list(APPEND cuda_found ${found})
endforeach()
list(REMOVE_DUPLICATES cuda_found)
add_library(simtune::cuda_headers INTERFACE IMPORTED GLOBAL)
# cupti_profiler_host.h includes the C++ header <string>: an empty file of that name satisfies C.
file(WRITE ${PROJECT_BINARY_DIR}/empty_cxx_headers/string "")
set_target_properties(simtune::cuda_headers PROPERTIES INTERFACE_INCLUDE_DIRECTORIES
  "${cuda_found};$<$<COMPILE_LANGUAGE:C>:${PROJECT_BINARY_DIR}/empty_cxx_headers>")
