# kernels.metal [and kernels.h] as a C array. usage: cmake -DIN=kernels.metal -DHEADER=kernels.h -DOUT=x.c -P kernels_text.cmake
# An array, not a string: C11 promises strings of 4095 bytes only. Bytes travel as hexadecimal, which no quoting rule touches.
file(READ ${IN} text HEX)
if(EXISTS "${HEADER}")
  file(READ ${HEADER} header HEX)
  string(HEX "#include \"kernels.h\"" line)
  string(REPLACE ${line} ${header} text ${text})
endif()
string(REGEX REPLACE "(..)" "0x\\1," text ${text})
if(text MATCHES "0x[89a-f]")
  message(FATAL_ERROR "${IN}: not ASCII")
endif()
string(REGEX REPLACE "(................................................................................)" "\\1\n    " text ${text})
file(WRITE ${OUT} "#include \"kernels_text.h\"\n\nconst char KERNELS_TEXT[] = {\n    ${text}0};\n")
