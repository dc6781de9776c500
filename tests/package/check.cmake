# Builds and runs user/ against weft, found in one of two ways.
set(place ${build}/package-${way})
file(REMOVE_RECURSE ${place})
if(way STREQUAL "installed")
  execute_process(COMMAND ${CMAKE_COMMAND} --install ${build} --prefix ${place}/prefix OUTPUT_QUIET
                  COMMAND_ERROR_IS_FATAL ANY)
  set(found -D CMAKE_PREFIX_PATH=${place}/prefix)
  # A package that works only beside its sources is none.
  file(GLOB_RECURSE files ${place}/prefix/*.cmake)
  foreach(file ${files})
    file(READ ${file} text)
    string(FIND "${text}" "${source}/include" position)
    if(NOT position EQUAL -1)
      message(FATAL_ERROR "${file} names the source folder")
    endif()
  endforeach()
else()
  set(found -D WEFT_SOURCE=${source})
endif()
execute_process(COMMAND ${CMAKE_COMMAND} -S ${source}/tests/package/user -B ${place}/build -G ${generator}
                        -D CMAKE_CXX_COMPILER=${compiler} -D CMAKE_CXX_COMPILER_LAUNCHER=${launcher} ${found}
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${place}/build OUTPUT_VARIABLE output RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "${output}")
endif()
foreach(program header_only compiled)
  execute_process(COMMAND ${place}/build/${program} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
