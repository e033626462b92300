/* What the unit of C has for injected_program.cpp. */
#ifndef STRATA_TESTS_INJECTED_C_H
#define STRATA_TESTS_INJECTED_C_H

#ifdef __cplusplus
extern "C" {
#endif
void annotated_work(void (*body)(int), int times);
void annotated_step(void (*body)(int), int times);
#ifdef __cplusplus
}
#endif

#endif
