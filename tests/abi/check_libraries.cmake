# What a plugin has loaded into a daemon with itself.  libibverbs is not to be among it: it loads a
# library for each kind of device.
execute_process(COMMAND ${READELF} -d ${PLUGIN} OUTPUT_VARIABLE out COMMAND_ERROR_IS_FATAL ANY)
if(NOT out MATCHES "NEEDED")
  message(FATAL_ERROR "no library of ${PLUGIN} is known:\n${out}")
endif()
if(out MATCHES "libibverbs")
  message(FATAL_ERROR "${PLUGIN} loads libibverbs:\n${out}")
endif()
