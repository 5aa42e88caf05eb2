# Tests that look at the sources or drive the program from outside.
find_package(Python3 COMPONENTS Interpreter REQUIRED)

add_test(NAME layers.every_include_points_downwards
         COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/check_layers.py ${PROJECT_SOURCE_DIR})
if(TARGET riftjit AND NOT RIFTJIT_SANITIZE)
  add_test(NAME host_binary.has_nothing_beyond_sse2
           COMMAND ${PROJECT_SOURCE_DIR}/tests/check_baseline.sh $<TARGET_FILE:riftjit>)
endif()
if(TARGET tools_tests)
  add_dependencies(tools_tests riftjit)  # they run it
endif()
