import { systemClock } from "../../src/backends/clock.ts";
import { spawn } from "../../src/backends/spawn.ts";
import { LocalSession } from "../../src/core/local-session.ts";
import { sessionContract } from "../contract/session.ts";

sessionContract("in this process", async () => (start) => LocalSession.start(start, { spawn, clock: systemClock }));
