# Shared libraries that the program opens when it needs them (host/module.h): what is linked with HDF5, cairo,
# libedit and cpp-httplib, whose loading would cost every start 10 ms and more. They stand beside the program, or in ../lib/riftjit.
pkg_check_modules(HDF5 REQUIRED IMPORTED_TARGET hdf5)
pkg_check_modules(CAIRO REQUIRED IMPORTED_TARGET cairo)
pkg_check_modules(EDIT REQUIRED IMPORTED_TARGET libedit)
pkg_check_modules(HTTPLIB REQUIRED IMPORTED_TARGET cpp-httplib)

# Program and module share these headers' types: each refuses another build of them.
set(module_interface "${PROJECT_VERSION}")
foreach(header host/result.h sim/files/recording.h sim/files/metadata.h sim/files/recording_source.h
               sim/files/network_file.h
               sim/files/hdf5_module.h sim/plots/canvas.h host/line_editor.h
               server/http.h)
  file(SHA256 ${PROJECT_SOURCE_DIR}/${header} hash)
  string(APPEND module_interface "-${hash}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${header})
endforeach()
string(SHA256 module_interface "${module_interface}")
# Of the one source: with a definition of its own the library's precompiled header would be nobody else's.
set_property(SOURCE ${PROJECT_SOURCE_DIR}/host/module.cpp PROPERTY
             COMPILE_DEFINITIONS RIFTJIT_MODULE_INTERFACE="${module_interface}")

set(riftjit_modules "")
function(riftjit_module name)
  cmake_parse_arguments(ARG "" "FOLDER" "SOURCES;LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${ARG_FOLDER}/*.cpp)
  list(TRANSFORM ARG_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/)
  add_library(riftjit-${name} MODULE ${sources} ${ARG_SOURCES})
  target_include_directories(riftjit-${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(riftjit-${name} PRIVATE RIFTJIT_MODULE_INTERFACE="${module_interface}")
  # Only the factory is exported: each side keeps its own copies of what both use.
  set_target_properties(riftjit-${name} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_link_libraries(riftjit-${name} PRIVATE fmt::fmt ${ARG_LINK})
  riftjit_units(riftjit-${name})
  riftjit_optimize(riftjit-${name} -O1)
  install(TARGETS riftjit-${name} LIBRARY DESTINATION lib/riftjit)
  set(riftjit_modules ${riftjit_modules} riftjit-${name} PARENT_SCOPE)
endfunction()

riftjit_module(hdf5 FOLDER sim/files/hdf5
               SOURCES host/result.cpp host/available_memory.cpp host/control_groups.cpp sim/files/append_file.cpp sim/files/metadata.cpp
                       sim/files/recording_times.cpp sim/files/unfinished_file.cpp
               LINK PkgConfig::HDF5 nlohmann_json::nlohmann_json)
riftjit_module(plots FOLDER sim/plots/cairo SOURCES host/result.cpp host/utf8.cpp LINK PkgConfig::CAIRO)
riftjit_module(edit FOLDER host/libedit SOURCES host/result.cpp host/utf8.cpp LINK PkgConfig::EDIT)
riftjit_module(http FOLDER server/httplib SOURCES host/result.cpp LINK PkgConfig::HTTPLIB Threads::Threads)

function(riftjit_depends_on_modules target)
  if(TARGET ${target})
    add_dependencies(${target} ${riftjit_modules})
  endif()
endfunction()
