/* Annotations of a program that has nothing of Strata but <strata/c.h>. */
#include "injected_c.h"

#include <strata/c.h>

void annotated_work(void (*body)(int), int times) {
  strata_push("own");
  body(times);
  strata_pop();
}

void annotated_step(void (*body)(int), int times) {
  strata_step_begin();
  body(times);
  strata_step_end();
}
