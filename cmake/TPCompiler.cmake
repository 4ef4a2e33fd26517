# How the compiler's libraries and tools are built: against Debian's shared
# libMLIR, with one precompiled header that every library reuses (a pass file
# then compiles in one or two seconds instead of fifteen).

find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)

list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)

set(TP_LIT "${LLVM_TOOLS_BINARY_DIR}/lit")

add_library(tp-compiler-options INTERFACE)
target_include_directories(tp-compiler-options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/runtime/include>
  $<INSTALL_INTERFACE:include>)
target_include_directories(tp-compiler-options SYSTEM INTERFACE
  $<BUILD_INTERFACE:${LLVM_INCLUDE_DIRS}> $<BUILD_INTERFACE:${MLIR_INCLUDE_DIRS}>)
separate_arguments(TP_LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")
target_compile_options(tp-compiler-options INTERFACE
  $<BUILD_INTERFACE:${TP_LLVM_DEFINITIONS}> $<BUILD_INTERFACE:-fno-exceptions>
  $<BUILD_INTERFACE:-Wall> $<BUILD_INTERFACE:-Wextra>
  $<BUILD_INTERFACE:-Wno-unused-parameter>)

# The precompiled header's owner. Everything else says REUSE_FROM it, so its
# options must be the same as theirs.
add_library(tp-pch STATIC ${PROJECT_SOURCE_DIR}/cmake/Precompiled.cpp)
target_link_libraries(tp-pch PRIVATE tp-compiler-options)
target_precompile_headers(tp-pch PRIVATE ${PROJECT_SOURCE_DIR}/cmake/Precompiled.h)
# ccache can then cache objects that use the header.
target_compile_options(tp-pch PUBLIC $<BUILD_INTERFACE:SHELL:-Xclang -fno-pch-timestamp>)
target_compile_options(tp-compiler-options INTERFACE $<BUILD_INTERFACE:SHELL:-Xclang -fno-pch-timestamp>)
if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache")
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
    ${CMAKE_CXX_COMPILER_LAUNCHER})
  set_target_properties(tp-pch PROPERTIES CXX_COMPILER_LAUNCHER "${CMAKE_CXX_COMPILER_LAUNCHER}")
endif()

# tp_add_library(NAME source... [LINK libs...] [DEPENDS targets...])
# A static library of the compiler. MLIR comes through the shared libMLIR. What
# it links must be declared before it, so that the graph has no cycle; a test
# (scripts/check-libraries) compares the graph with what its files include.
function(tp_add_library name)
  cmake_parse_arguments(ARG "" "" "LINK;DEPENDS" ${ARGN})
  foreach(library IN LISTS ARG_LINK)
    if(NOT TARGET ${library})
      message(FATAL_ERROR "${name} links ${library}, which is not declared before it: "
        "put its folder first in lib/CMakeLists.txt, or break the cycle")
    endif()
  endforeach()
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC tp-compiler-options ${ARG_LINK})
  target_precompile_headers(${name} REUSE_FROM tp-pch)
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  # Libraries that only tests use are not installed.
  if(NOT CMAKE_CURRENT_SOURCE_DIR MATCHES "^${PROJECT_SOURCE_DIR}/test")
    set_property(GLOBAL APPEND PROPERTY TP_LIBRARIES ${name})
    file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
    list(JOIN ARG_LINK " " links)
    set_property(GLOBAL APPEND_STRING PROPERTY TP_LIBRARY_GRAPH "${name} ${folder} ${links}\n")
  endif()
endfunction()

# tp_add_tool(NAME source... [LINK libs...]): a program of the compiler.
function(tp_add_tool name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE tp-compiler-options ${ARG_LINK} MLIR LLVM)
  # As the precompiled header was made; CMake says -fPIE for programs.
  target_compile_options(${name} PRIVATE -fPIC)
  target_precompile_headers(${name} REUSE_FROM tp-pch)
  # Nor are programs that only tests use.
  if(NOT CMAKE_CURRENT_SOURCE_DIR MATCHES "^${PROJECT_SOURCE_DIR}/test")
    set_property(GLOBAL APPEND PROPERTY TP_TOOLS ${name})
  endif()
endfunction()

# tp_add_unittest(NAME source... [LINK libs...]): a GoogleTest program, run by
# ctest and by lit's googletest format alike.
function(tp_add_unittest name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE tp-compiler-options ${ARG_LINK}
    GTest::gtest GTest::gtest_main MLIR LLVM)
  target_compile_options(${name} PRIVATE -fPIC)
  target_precompile_headers(${name} REUSE_FROM tp-pch)
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/unittests)
  add_test(NAME ${name} COMMAND ${name})
  set_property(GLOBAL APPEND PROPERTY TP_UNITTESTS ${name})
endfunction()
