# Every undefined symbol must be the daemon's (allowed.imports), or a versioned
# one of the C and C++ run-time: lazy binding would hide the rest until 3 a.m.
# Weak ones may stay undefined; a statically linked libstdc++ has a few.  Those of
# yaml-cpp come from a library that the plugin names as its own need.
execute_process(COMMAND ${NM} -D --undefined-only --format=posix ${PLUGIN}
                OUTPUT_VARIABLE out COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "[^\n]*(@|4YAML|_ITM_|__gmon_start__| w )[^\n]*\n" "" out "${out}")
string(REGEX REPLACE " [^\n]*" "" names "${out}")
file(READ ${EXPECTED} expected)
if(NOT names STREQUAL expected)
  message(FATAL_ERROR "imports of ${PLUGIN}\nare:\n${names}\nexpected:\n${expected}")
endif()
