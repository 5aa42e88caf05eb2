# cmake --install: the program, the shipped model, the man page and shell completion.
include(GNUInstallDirs)
install(TARGETS riftjit RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY share/models/storyteller DESTINATION ${CMAKE_INSTALL_DATADIR}/riftjit/models
        FILES_MATCHING PATTERN "*.gguf")
foreach(page riftjit.1)
  if(EXISTS ${PROJECT_SOURCE_DIR}/share/man/${page})
    install(FILES share/man/${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  endif()
endforeach()
