/** Passes keys from a Unix socket to a raw terminal and the output back, with or without a flooding session. */

import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { BenchHome, type HomeKind } from "../homes.ts";
import { finish, readInput, say } from "./input.ts";
import { startEcho, startFlood } from "./load.ts";

export type EchoInput = { readonly home: HomeKind; readonly flood: "none" | "yes" | "cat"; readonly file: string };

const { home: kind, flood: floodKind, file, directory } = readInput<EchoInput>();
const home = await BenchHome.open({ kind, directory });
const flood = floodKind === "none" ? undefined : await startFlood(home, floodKind, file);
const echo = await startEcho(home);

const server = createServer();
const path = join(directory, "keys.sock");
server.listen(path);
await once(server, "listening");
// Before the first key, the flood runs at full speed and hot code is compiled.
await flood?.received(8_000_000);
const before = flood?.bytes ?? 0;
const begin = performance.now();
say(path);
const [client] = (await once(server, "connection")) as [Socket];
client.on("data", (bytes: Buffer) => void echo.session.act({ kind: "write", bytes }));
echo.onBytes = (bytes) => void client.write(bytes);
await once(client, "close");
const floodRate = ((flood?.bytes ?? 0) - before) / 1e3 / (performance.now() - begin);
await home.close();
finish({ floodRate });
