/**
 * The part of the package `ws` that the client needs, for compiling without Node's types, which the types of `ws`
 * require.
 */

import type { WebSocketConstructor } from "./attach/websocket.ts";

export const WebSocket: WebSocketConstructor;
