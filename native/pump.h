// Adds the functions of pump.c to the addon.

#pragma once
#include <node_api.h>

void add_pump(napi_env env, napi_value exports);
