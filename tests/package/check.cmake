# Builds user/ against weft, found in one of three ways, and runs what it built.
set(place ${build}/package-${way})
file(REMOVE_RECURSE ${place})
if(way STREQUAL "installed")
  execute_process(COMMAND ${CMAKE_COMMAND} --install ${build} --prefix ${place}/first OUTPUT_QUIET
                  COMMAND_ERROR_IS_FATAL ANY)
  # A package that works only where it was put first, or beside its sources, is none.
  file(RENAME ${place}/first ${place}/prefix)
  file(GLOB_RECURSE files ${place}/prefix/*.cmake ${place}/prefix/*.pc)
  foreach(file ${files})
    file(READ ${file} text)
    foreach(folder ${source}/include ${place}/first)
      string(FIND "${text}" "${folder}" position)
      if(NOT position EQUAL -1)
        message(FATAL_ERROR "${file} names ${folder}")
      endif()
    endforeach()
  endforeach()
  set(found -D CMAKE_PREFIX_PATH=${place}/prefix)
elseif(way STREQUAL "subdirectory")
  # Here weft::compiled is a shared library, in a project that hides what it does not mean to show.
  set(found -D WEFT_SOURCE=${source} -D BUILD_SHARED_LIBS=ON -D CMAKE_CXX_VISIBILITY_PRESET=hidden
            -D CMAKE_VISIBILITY_INLINES_HIDDEN=ON)
elseif(way STREQUAL "fetched")
  # Nothing but what a program needs: no tests, no examples.
  file(MAKE_DIRECTORY ${place})
  execute_process(COMMAND ${CMAKE_COMMAND} -E tar cz ${place}/weft.tar.gz CMakeLists.txt cmake include LICENSE
                  WORKING_DIRECTORY ${source} COMMAND_ERROR_IS_FATAL ANY)
  set(found -D WEFT_ARCHIVE=${place}/weft.tar.gz)
endif()
execute_process(COMMAND ${CMAKE_COMMAND} -S ${source}/tests/package/user -B ${place}/build -G ${generator}
                        -D CMAKE_CXX_COMPILER=${compiler} -D CMAKE_CXX_COMPILER_LAUNCHER=${launcher} ${found}
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
set(programs header_only compiled)
if(way STREQUAL "fetched") # the library is the one that add_subdirectory builds
  set(programs header_only)
endif()
execute_process(COMMAND ${CMAKE_COMMAND} --build ${place}/build --target ${programs} OUTPUT_VARIABLE output RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "${output}")
endif()
foreach(program ${programs})
  execute_process(COMMAND ${place}/build/${program} OUTPUT_VARIABLE said RESULT_VARIABLE code)
  if(code EQUAL 3 AND said MATCHES "none was found")
    message("[skip] ${program} is built, not run: ${said}")
  elseif(NOT said STREQUAL "right\n")
    message(FATAL_ERROR "${program} ends with ${code} and says: ${said}")
  endif()
endforeach()
