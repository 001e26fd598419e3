/** As much of the package `ws` as the client needs, for when it is compiled without Node's types, which those of `ws` bring along. */

import type { WebSocketConstructor } from "./web-socket.ts";

export const WebSocket: WebSocketConstructor;
