# cmake -DNAME=name -DINPUT=file -DOUTPUT=file -P EmbedBytes.cmake
# Writes the bytes of a file as the definition of an array of that name.
file(READ "${INPUT}" bytes HEX)
string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE "${OUTPUT}" "static const unsigned char ${NAME}[] = {\n${bytes}};\n")
