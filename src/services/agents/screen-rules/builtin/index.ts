/** The rules that come with Hawser. */

import type { AgentRules } from "../format.ts";
import { claudeCode } from "./claude-code.ts";
import { codex } from "./codex.ts";
import { copilot } from "./copilot.ts";
import { gemini } from "./gemini.ts";
import { opencode } from "./opencode.ts";

export const builtinRules: readonly AgentRules[] = [claudeCode, codex, copilot, gemini, opencode];
