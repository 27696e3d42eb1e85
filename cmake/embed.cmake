# SPDX-License-Identifier: Apache-2.0
# cmake -DOUT=FILE.c -DNAMES=a,b -DFILES=x,y -P embed.cmake: texts as arrays of a C file, const char NAME[], each with
# a NUL behind it.
string(REPLACE "," ";" NAMES "${NAMES}")
string(REPLACE "," ";" FILES "${FILES}")
set(text "// Made by cmake/embed.cmake.\n")
foreach(name file IN ZIP_LISTS NAMES FILES)
  file(READ ${file} bytes HEX)
  string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
  string(APPEND text "extern const char ${name}[];\nconst char ${name}[] = {\n${bytes}0};\n")
endforeach()
file(WRITE ${OUT} "${text}")
