// The engine of GNU Chess by itself: its two pipes to the adapter are standard input and output.

#include "components.h"

namespace engine { int main_engine(int argc, char * argv[]); }

int pipefd_a2e[2] = { 0, -1 };
int pipefd_e2a[2] = { -1, 1 };

int main(int argc, char * argv[]) {
   return engine::main_engine(argc, argv);
}
