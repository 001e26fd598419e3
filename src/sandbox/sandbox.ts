/** Runs programs in a sandbox, or refuses to: what bubblewrap can do here is tried once, before anybody relies on it. */

import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { access, realpath } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";
import { SessionError } from "../core/errors.ts";
import type { Command } from "../core/process.ts";
import { isConfined, type SandboxPolicy, type SandboxSupport } from "../core/sandbox.ts";
import type { Home } from "../core/sessions.ts";
import { builtFile } from "../native/addon.ts";
import type { ControlGroups } from "./cgroup.ts";
import { findPlaces } from "./places.ts";
import { wrap } from "./wrap.ts";

/** How long the first try may take: a start takes some ten milliseconds, a machine that is busy some hundred. */
const PROBE_MS = 10_000;

export type SandboxOptions = {
	/** Where bubblewrap is looked for: the PATH of the server, never that of a program. */
	readonly path: string | undefined;
	/** The server's own directories and files, which no program in a sandbox sees; they need not be there yet. */
	readonly hidden?: readonly string[];
	/** What native/confine.c was built to, where every user who is to have a sandbox can run it. */
	readonly helper?: string;
	/** Limit memory and processes in the place of rlimits. */
	readonly cgroups?: ControlGroups | undefined;
};

type Means = Required<Pick<SandboxOptions, "hidden" | "helper" | "cgroups">> & { readonly bubblewrap: string };

export class Sandbox {
	readonly #support: SandboxSupport;
	readonly #means: Means;

	private constructor(support: SandboxSupport, means: Means) {
		this.#support = support;
		this.#means = means;
	}

	/** Finds out what can be enforced here; never rejects. */
	static async probe({ path, hidden = [], helper = builtFile("confine"), cgroups }: SandboxOptions): Promise<Sandbox> {
		const bubblewrap = await find("bwrap", path);
		const means = { bubblewrap: bubblewrap ?? "", hidden, helper, cgroups };
		const without = (reason: string) => new Sandbox({ isEnforced: false, reason }, means);
		if (bubblewrap === undefined)
			return without(
				"bubblewrap is not installed: there is no bwrap in the server's PATH (Debian: apt-get install bubblewrap)",
			);
		const sandbox = new Sandbox({ isEnforced: true, by: bubblewrap, limits: cgroups ? "cgroup" : "rlimits" }, means);
		const fault = await tryOut(sandbox);
		return fault === undefined ? sandbox : without(`${bubblewrap} can't make a sandbox here: ${fault}`);
	}

	describe(): SandboxSupport {
		return this.#support;
	}

	/**
	 * The command that runs this one under its policy. Rejects with `unsupported` when that can't be enforced here, and
	 * with `invalid_argument` when the policy makes no sense.
	 */
	async apply(command: Command): Promise<Command> {
		const { sandbox: policy, ...rest } = command;
		if (!isConfined(policy)) return rest;
		if (!this.#support.isEnforced) throw unsupported(policy, this.#support.reason);
		const isRoot = (command.uid ?? process.geteuid?.()) === 0;
		const { cgroups, hidden, ...tools } = this.#means;
		if (policy.limits?.processes !== undefined && isRoot && !cgroups)
			throw unsupported(policy, "the kernel limits how many processes root has only in a control group (--cgroup)");
		const cgroup = cgroups?.for(command.sessionId, policy.limits ?? {});
		const places = await findPlaces(policy, command, hidden);
		// One that can't be resolved is the start's to complain about.
		const cwd = command.isRealCwd ? command.cwd : await realpath(command.cwd).catch(() => command.cwd);
		return wrap(command, { policy, cgroup, places, cwd, ...tools });
	}
}

/** A home whose sessions run in the sandboxes that they ask for, wherever it has them. */
export function confined(home: Home, sandbox: Sandbox): Home {
	return {
		start: async (start) => home.start({ ...start, command: await sandbox.apply(start.command) }),
		keep: (spec, facts) => home.keep(spec, facts),
		forget: (session, how) => home.forget(session, how),
		rename: (session, name) => home.rename(session, name),
		excessBytes: () => home.excessBytes(),
		keptBytes: (session) => home.keptBytes(session),
	};
}

function unsupported({ type }: SandboxPolicy, reason: string): SessionError {
	return new SessionError("unsupported", `the sandbox policy "${type}" can't be enforced here: ${reason}`, {
		hint: '"hawser doctor" says what this machine can do',
	});
}

async function find(program: string, path: string | undefined): Promise<string | undefined> {
	const folders = (path ?? "").split(delimiter).filter(isAbsolute);
	for (const folder of folders) {
		const file = join(folder, program);
		const isThere = await access(file, constants.X_OK).then(
			() => true,
			() => false,
		);
		if (isThere) return file;
	}
	return undefined;
}

/** What went wrong, or nothing. */
async function tryOut(sandbox: Sandbox): Promise<string | undefined> {
	try {
		const { argv } = await sandbox.apply({
			argv: ["true"],
			env: { PATH: "/usr/bin:/bin" },
			cwd: "/",
			mode: "pipe",
			size: { cols: 80, rows: 24 },
			stdin: "closed",
			drainMs: 0,
			sessionId: "",
			sandbox: { type: "readOnly" },
		});
		const [program = "", ...rest] = argv;
		await new Promise<void>((resolve, reject) => {
			const options = { env: { PATH: "/usr/bin:/bin" }, cwd: "/", timeout: PROBE_MS, killSignal: "SIGKILL" } as const;
			execFile(program, rest, options, (error, _stdout, stderr) => {
				if (error) reject(new Error(stderr.trim() || error.message));
				else resolve();
			});
		});
		return undefined;
	} catch (error) {
		return error instanceof Error ? error.message : String(error);
	}
}
