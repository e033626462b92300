/* A C library with ranges of its own. */
#ifndef ENGINE_H
#define ENGINE_H

#ifdef __cplusplus
extern "C" {
#endif

/* For callbacks: what runs inside a block. */
typedef void (*engine_hook)(int layer);

__attribute__((visibility("default"))) int engine_forward(int layers, engine_hook inside);

#ifdef __cplusplus
}
#endif

#endif
