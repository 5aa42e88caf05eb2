# One ctest entry per test suite of PROGRAM, "NAME.Suite", written to OUT: a process per suite, where a process per test
# spent a third of the time on starting. Run after the program is linked.
execute_process(COMMAND ${PROGRAM} --gtest_list_tests OUTPUT_VARIABLE listing COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "(^|\n)[^ \n][^\n]*\\.[^\n]*\n " suites "${listing}")
# Those that take longest, by seconds of processor time: ctest starts them first, so that no core waits for one at the end.
set(long_suites FamilyTypes 25 Targets/CompiledCooperation 15 Formats/Mutations 15 ListingX86 12 Texts 10
    Selftest 45 HipFaults 12 Targets/CompilerKernels 11 Targets/ObjectListing 9 SimNetwork 9 Targets/Mutation 8 Formats/Survival 8
    Targets/AssemblyFile 8 Formats/SurvivalInPart 8 Generations/RandomText 8)
# Those whose threads wait for each other at every step: beside another suite they take a multiple of the time.
set(crowding_suites Files/SessionGolden Nano/SessionTypes SmolLm2 GammaSources NestStdp Noise)
set(entries "")
foreach(suite ${suites})
  string(REGEX REPLACE "^\n?([^ \n]*)\\..*$" "\\1" suite "${suite}")
  set(cost 1)
  list(FIND long_suites "${suite}" position)
  if(position GREATER -1)
    math(EXPR position "${position} + 1")
    list(GET long_suites ${position} cost)
  endif()
  set(processors 1)
  list(FIND crowding_suites "${suite}" position)
  if(position GREATER -1)
    set(processors 2)
    set(cost 20)  # first, before cores are taken one by one
  endif()
  string(APPEND entries
         "add_test([[${NAME}.${suite}]] [[${PROGRAM}]] [[--gtest_filter=${suite}.*]])\n"
         "set_tests_properties([[${NAME}.${suite}]] PROPERTIES ENVIRONMENT RIFTJIT_TUNE=off TIMEOUT 900 COST ${cost} PROCESSORS ${processors})\n")
endforeach()
file(WRITE ${OUT} "${entries}")
