/** Programs of a process that owns all its descendants; in a file, and so a process, of its own. */

import { testKeeperBackend } from "../contract/backend.ts";

testKeeperBackend("pty");
testKeeperBackend("pipe");
