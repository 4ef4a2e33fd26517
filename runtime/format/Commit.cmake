# Writes OUTPUT, a header with the commit of the checkout at SOURCE: run by the
# build whenever HEAD has moved (CMakeLists.txt says on what it depends).
execute_process(COMMAND git -C ${SOURCE} rev-parse --short=12 HEAD
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define TPRT_COMMIT \"@commit@\"\n" @ONLY)
