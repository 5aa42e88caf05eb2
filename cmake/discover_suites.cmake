# One ctest entry per test suite of PROGRAM, "NAME.Suite", written to OUT: a process per suite, where a process per test
# spent a third of the time on starting. Run after the program is linked.
execute_process(COMMAND ${PROGRAM} --gtest_list_tests OUTPUT_VARIABLE listing COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "(^|\n)[^ \n][^\n]*\\.[^\n]*\n " suites "${listing}")
# Those that take longest, by seconds of processor time: ctest starts them first, so that no core waits for one at the end.
set(long_suites Files/SessionGolden 16 ListingX86 16 Targets/CompiledCooperation 15 Formats/Mutations 15 Texts 14
    Targets/CompilerKernels 11 Targets/ObjectListing 9 SimNetwork 9 Targets/Mutation 8 Formats/Survival 8
    Targets/AssemblyFile 8 Formats/SurvivalInPart 8 Generations/RandomText 8)
set(entries "")
foreach(suite ${suites})
  string(REGEX REPLACE "^\n?([^ \n]*)\\..*$" "\\1" suite "${suite}")
  set(cost 1)
  list(FIND long_suites "${suite}" position)
  if(position GREATER -1)
    math(EXPR position "${position} + 1")
    list(GET long_suites ${position} cost)
  endif()
  string(APPEND entries "add_test([[${NAME}.${suite}]] [[${PROGRAM}]] [[--gtest_filter=${suite}.*]])\n"
                        "set_tests_properties([[${NAME}.${suite}]] PROPERTIES TIMEOUT 900 COST ${cost})\n")
endforeach()
file(WRITE ${OUT} "${entries}")
