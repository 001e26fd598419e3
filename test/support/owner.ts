/** An owner that may change everything, as the operator. */

import type { Owner } from "../../src/core/session/workspaces.ts";

export const operator: Owner = { id: "admin", check: () => {} };
