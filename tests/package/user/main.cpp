#include <weft/weft.hpp>

int main() { return weft::environment_number("WEFT_NO_SUCH_VARIABLE", 0, 9, 7) == 7 ? 0 : 1; }
