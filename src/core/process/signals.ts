import { signalNames } from "../../words/signals.ts";
import { SessionError } from "../errors.ts";

/** Accepts `TERM` or `SIGTERM`, in any case, and returns `SIGTERM`. */
export function parseSignal(name: string): string {
	const short = name.toUpperCase().replace(/^SIG/, "");
	if (signalNames.has(short)) return `SIG${short}`;
	throw new SessionError("invalid_argument", `unknown signal ${JSON.stringify(name)}; expected a name like SIGTERM`);
}
