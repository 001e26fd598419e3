// The addon: what Node can't do itself. Each part adds its functions.
//
// Everything here is a thin cover over system calls. Errors carry `errno` and the `step` that failed; names
// and sentences are made in TypeScript. No call blocks, but for the moment between vfork and exec.

#define NAPI_VERSION 8
#include "parts.h"

NAPI_MODULE_INIT() {
	add_spawn(env, exports);
	add_poller(env, exports);
	add_terminal(env, exports);
	add_system(env, exports);
	add_pump(env, exports);
	add_crc(env, exports);
	add_skim(env, exports);
	add_inspect(env, exports);
	return exports;
}
