# What `cmake --install` copies: headers (generated ones too), static libraries,
# programs, and a package that another project finds with
# find_package(tp-mlir CONFIG).

get_property(libraries GLOBAL PROPERTY TP_LIBRARIES)
get_property(tools GLOBAL PROPERTY TP_TOOLS)
install(TARGETS ${libraries} tp-compiler-options EXPORT tp-mlir-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS ${tools} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY include/tp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.td")
install(DIRECTORY ${PROJECT_BINARY_DIR}/include/tp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.inc" PATTERN "*.def")
install(EXPORT tp-mlir-targets NAMESPACE tp-mlir::
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tp-mlir)

include(CMakePackageConfigHelpers)
configure_package_config_file(cmake/tp-mlir-config.cmake.in
  ${PROJECT_BINARY_DIR}/tp-mlir-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tp-mlir)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tp-mlir-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tp-mlir-config.cmake
  ${PROJECT_BINARY_DIR}/tp-mlir-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tp-mlir)
