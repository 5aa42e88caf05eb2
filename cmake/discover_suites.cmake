# One ctest entry per test suite of PROGRAM, "NAME.Suite", written to OUT: a process per suite, where a process per test
# spent a third of the time on starting. Run after the program is linked.
execute_process(COMMAND ${PROGRAM} --gtest_list_tests OUTPUT_VARIABLE listing COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "(^|\n)[^ \n][^\n]*\\.[^\n]*\n " suites "${listing}")
set(entries "")
foreach(suite ${suites})
  string(REGEX REPLACE "^\n?([^ \n]*)\\..*$" "\\1" suite "${suite}")
  string(APPEND entries "add_test([[${NAME}.${suite}]] [[${PROGRAM}]] [[--gtest_filter=${suite}.*]])\n"
                        "set_tests_properties([[${NAME}.${suite}]] PROPERTIES TIMEOUT 900)\n")
endforeach()
file(WRITE ${OUT} "${entries}")
