# One program per file bench/*_bench.cpp, on Google Benchmark; skipped, with a line that says so, where it is missing.
find_package(benchmark QUIET)
file(GLOB bench_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*_bench.cpp)
if(benchmark_FOUND)
  foreach(source ${bench_sources})
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} ${source})
    target_link_libraries(${name} PRIVATE riftjit_x86 riftjit_rdna_samples riftjit_rdna_emulator riftjit_grammar
                          benchmark::benchmark)
  endforeach()
else()
  message(STATUS "Google Benchmark (libbenchmark-dev) not found: bench/*_bench.cpp are not built")
endif()
