// A session handed to a unit of the other mode: its class has another name there, so the linker
// refuses.
#include <strata/session.hpp>

void take(strata::session& s);

#ifdef ODR_TAKE
void take(strata::session& s) { s.stop(); }
#else
int main(int, char** argv) { take(reinterpret_cast<strata::session&>(*argv)); }
#endif
