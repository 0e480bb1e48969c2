# Makes an error in memory end the program instead of lending it to somebody else. Each setting is
# asked of the compiler or linker first; tests/test_hardening.py looks for them in what was built.
include(CheckCCompilerFlag)
include(CheckCSourceCompiles)
include(CheckLinkerFlag)
include(CheckPIESupported)

# harden_compiler(FLAG): in every build that is optimised.
function(harden_compiler flag)
  string(MAKE_C_IDENTIFIER "HAVE${flag}" have)
  check_c_compiler_flag("${flag}" ${have})
  if(${have})
    target_compile_options(quota_native_settings INTERFACE $<$<NOT:$<CONFIG:Debug>>:${flag}>)
  endif()
endfunction()

function(harden_linker flag)
  string(MAKE_C_IDENTIFIER "HAVE${flag}" have)
  check_linker_flag(C "${flag}" ${have})
  if(${have})
    target_link_options(quota_native_settings INTERFACE "${flag}")
  endif()
endfunction()

# A program that is loaded at a random address; the library is anyway.
check_pie_supported(LANGUAGES C)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

harden_compiler(-fstack-protector-strong)
harden_compiler(-fstack-clash-protection)
harden_compiler(-fcf-protection)
harden_linker(LINKER:-z,relro)
harden_linker(LINKER:-z,now)
harden_linker(LINKER:-z,noexecstack)

# The sanitizers check more, and the C library's checks would come before theirs. It needs
# optimisation. Some distributions define it already: a second definition would be a warning.
set(CMAKE_REQUIRED_FLAGS "-O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3")
check_c_source_compiles("
  #include <stdio.h>
  #if __USE_FORTIFY_LEVEL < 3
  #error not supported
  #endif
  int main(void) { return 0; }" HAVE_FORTIFY_SOURCE_3)
unset(CMAKE_REQUIRED_FLAGS)
if(HAVE_FORTIFY_SOURCE_3)
  set(fortify 3)
else()
  set(fortify 2)
endif()
if(NOT QUOTA_ADVISOR_SANITIZE)
  target_compile_options(quota_native_settings INTERFACE
    "$<$<NOT:$<CONFIG:Debug>>:SHELL:-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=${fortify}>")
endif()
