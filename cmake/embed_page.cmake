# Writes OUT, a C++ source that holds the page of FILE: cmake -D FILE=... -D OUT=... -P embed_page.cmake
file(READ ${FILE} content)
file(WRITE ${OUT} "#include \"server/page.h\"\n\nnamespace riftjit::server {\n\nstd::string_view chat_page() {\n"
                  "    return R\"page(${content})page\";\n}\n\n}  // namespace riftjit::server\n")
