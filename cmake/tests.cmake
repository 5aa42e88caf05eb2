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

# Of the server, with the clients that people use, with MCP's SDK and with a browser; 77: these are not here.
if(TARGET riftjit AND NOT RIFTJIT_SANITIZE)
  foreach(script clients mcp page)
    add_test(NAME server.${script}
             COMMAND sh -c "exec \"\${RIFTJIT_PEER_CLIENTS:-${Python3_EXECUTABLE}}\" \"\$@\"" server
                     ${PROJECT_SOURCE_DIR}/tests/server/${script}_test.py $<TARGET_FILE:riftjit>)
    set_tests_properties(server.${script} PROPERTIES ENVIRONMENT RIFTJIT_TUNE=off SKIP_RETURN_CODE 77 TIMEOUT 300)
  endforeach()
endif()

# A libamdhip64 over the software machine, which runs in a process of its own (tests/hip_stand_in); and one that lacks a
# function.
if(TARGET tools_tests)
  add_executable(hip_stand_in_machine tests/hip_stand_in/machine.cpp)
  target_link_libraries(hip_stand_in_machine PRIVATE riftjit_rdna_emulator)
  # The same with an NVIDIA GPU instead of the machine, for which kernels are translated to PTX.
  riftjit_library(ptx FOLDERS tests/hip_stand_in/ptx OPTIMIZE -O1 LINK riftjit_rdna)
  target_link_libraries(runtime_tests PRIVATE riftjit_ptx)
  add_executable(hip_stand_in_cuda tests/hip_stand_in/cuda_machine.cpp)
  target_link_libraries(hip_stand_in_cuda PRIVATE riftjit_ptx)
  # A libcuda of the host for that; rounding in other ways than to nearest is asked for.
  add_library(cuda_stand_in SHARED tests/hip_stand_in/cuda_stand_in/cuda.cpp
              tests/hip_stand_in/cuda_stand_in/interpreter.cpp)
  target_include_directories(cuda_stand_in PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_options(cuda_stand_in PRIVATE -frounding-math)
  set_target_properties(cuda_stand_in PROPERTIES PREFIX "" OUTPUT_NAME libcuda SUFFIX .so.1
                        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/hip_stand_in)
  add_dependencies(tools_tests hip_stand_in_cuda cuda_stand_in)
  foreach(form whole lacking)
    add_library(hip_stand_in_${form} SHARED tests/hip_stand_in/hip.cpp)
    target_include_directories(hip_stand_in_${form} PRIVATE ${PROJECT_SOURCE_DIR})
    target_compile_definitions(hip_stand_in_${form} PRIVATE STAND_IN_MACHINE="$<TARGET_FILE:hip_stand_in_machine>")
    set_target_properties(hip_stand_in_${form} PROPERTIES PREFIX "" OUTPUT_NAME libamdhip64 SUFFIX .so.7
                          LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/hip_stand_in/${form})
    riftjit_optimize(hip_stand_in_${form} -Og)
    foreach(tests runtime_tests tools_tests)
      add_dependencies(${tests} hip_stand_in_${form} hip_stand_in_machine)
    endforeach()
  endforeach()
  target_compile_definitions(hip_stand_in_lacking PRIVATE STAND_IN_LACKS_EVENTS)
  foreach(tests runtime_tests tools_tests)
    target_compile_definitions(${tests} PRIVATE RIFTJIT_HIP_STAND_IN="${PROJECT_BINARY_DIR}/hip_stand_in")
  endforeach()
endif()
