// The addon: system functions that Node lacks. Each part registers its functions.
//
// Everything here is a thin layer over system calls. Errors carry `errno` and the failed `step`; TypeScript code turns
// them into messages. No call blocks, except between vfork and exec.

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
