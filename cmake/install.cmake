# cmake --install: the program, the shipped model, and the manual page and shell completion, which the program writes.
include(GNUInstallDirs)
install(TARGETS riftjit RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY share/models/storyteller DESTINATION ${CMAKE_INSTALL_DATADIR}/riftjit/models
        FILES_MATCHING PATTERN "*.gguf")

function(riftjit_self_description file destination)
  set(path ${PROJECT_BINARY_DIR}/self-description/${file})
  get_filename_component(folder ${path} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(TARGET riftjit POST_BUILD COMMAND $<TARGET_FILE:riftjit> ${ARGN} > ${path} VERBATIM)
  install(FILES ${path} DESTINATION ${destination})
endfunction()
riftjit_self_description(riftjit.1 ${CMAKE_INSTALL_MANDIR}/man1 man-page)
riftjit_self_description(bash/riftjit ${CMAKE_INSTALL_DATADIR}/bash-completion/completions completion bash)
riftjit_self_description(zsh/_riftjit ${CMAKE_INSTALL_DATADIR}/zsh/site-functions completion zsh)
riftjit_self_description(fish/riftjit.fish ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d completion fish)
