# Text files compiled into a library, so that the binary needs no data directory.

# mgpu_embed_text(target name files...): adds a generated file that defines `std::span<const EmbeddedText> embedded_<name>()`, one
# entry per file, called by its file name. Re-made when a file changes.
function(mgpu_embed_text target name)
  set(inputs ${ARGN})
  list(TRANSFORM inputs PREPEND ${PROJECT_SOURCE_DIR}/)
  set(output ${PROJECT_BINARY_DIR}/generated/embedded_${name}.cpp)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DNAME=${name} -DOUTPUT=${output} "-DINPUTS=${inputs}" -P ${PROJECT_SOURCE_DIR}/cmake/write_embedded.cmake
    DEPENDS ${inputs} ${PROJECT_SOURCE_DIR}/cmake/write_embedded.cmake
    COMMENT "Embedding ${name}"
    VERBATIM)
  target_sources(${target} PRIVATE ${output})
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
endfunction()
