/** Runs programs in a sandbox, or refuses to. Support is probed once, before it is needed. */

import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { access, realpath } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { SessionError } from "../core/errors.ts";
import type { Command } from "../core/process/process.ts";
import {
	type ConfiningPolicy,
	isConfined,
	type RequiredSandbox,
	type SandboxLimits,
	type SandboxPolicy,
	type SandboxSupport,
} from "../core/process/sandbox-policy.ts";
import type { SessionProvider } from "../core/session/session-registry.ts";
import { builtFile } from "../native/addon.ts";
import { toBubblewrapCommand } from "./bubblewrap-command.ts";
import type { ControlGroups } from "./control-groups.ts";
import { exceeding, planMounts } from "./mount-plan.ts";

/** Timeout of the probe. It takes about ten milliseconds, or some hundred on a busy machine. */
const PROBE_MS = 10_000;

export type SandboxOptions = {
	/** The PATH in which bubblewrap is searched: the server's, never a program's. */
	readonly path: string | undefined;
	/** The server's own files, which no program in a sandbox may see. They need not exist yet. */
	readonly hidden?: readonly string[];
	/** The executable of native/confine.c, at a path where every user with a sandbox can run it. */
	readonly helper?: string;
	/** Replace rlimits for memory and processes. */
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

	/** Probes what this machine can enforce. Never rejects. */
	static async probe({ path, hidden = [], helper = builtFile("confine"), cgroups }: SandboxOptions): Promise<Sandbox> {
		const bubblewrap = await find("bwrap", path);
		const means = { bubblewrap: bubblewrap ?? "", hidden, helper, cgroups };
		const without = (reason: string) => new Sandbox({ isEnforced: false, reason }, means);
		if (bubblewrap === undefined)
			return without("bubblewrap is not installed: no bwrap in the server's PATH (Debian: apt-get install bubblewrap)");
		const sandbox = new Sandbox({ isEnforced: true, by: bubblewrap, limits: cgroups ? "cgroup" : "rlimits" }, means);
		const fault = await tryOut(sandbox);
		return fault === undefined ? sandbox : without(`${bubblewrap} can't create a sandbox here: ${fault}`);
	}

	describe(): SandboxSupport {
		return this.#support;
	}

	/**
	 * Wraps a command with its policy and that of its workspace. Rejects with `unsupported` if it can't be enforced here,
	 * with `invalid_argument` for an invalid policy, and with `permission_denied` if it allows more than the workspace
	 * does.
	 */
	async apply(command: Command): Promise<Command> {
		const { requiredSandbox: required, ...rest } = command;
		const { sandbox: asked } = rest;
		if (!required) return this.#confine(rest);
		if (asked === undefined || isDeepStrictEqual(asked, required.policy))
			return this.#confine({ ...rest, sandbox: required.policy }).catch((error: unknown) => {
				throw inapplicable(required, error);
			});
		return this.#confine({ ...rest, sandbox: await this.#atLeast(required, asked, rest) });
	}

	/** The requested policy plus missing limits, if it allows no more than the required one. */
	async #atLeast(required: RequiredSandbox, asked: SandboxPolicy, command: Command): Promise<ConfiningPolicy> {
		const { policy } = required;
		if (!isConfined(asked)) throw weaker(required, asked, "it restricts nothing");
		if (asked.networkAccess === true && policy.networkAccess !== true) throw weaker(required, asked, "it has network");
		const limits = { ...policy.limits, ...asked.limits };
		for (const [name, most] of Object.entries(policy.limits ?? {})) {
			if ((limits[name as keyof SandboxLimits] ?? most) > most)
				throw weaker(required, asked, `its limits.${name} is above ${most}`);
		}
		const { hidden } = this.#means;
		const most = await planMounts(policy, command, hidden).catch((error: unknown) => {
			throw inapplicable(required, error);
		});
		const excess = exceeding(await planMounts(asked, command, hidden), most);
		if (excess)
			throw weaker(required, asked, `it allows more than "${excess.most}" for ${JSON.stringify(excess.path)}`);
		return { ...asked, limits };
	}

	async #confine(command: Command): Promise<Command> {
		const { sandbox: policy, ...rest } = command;
		if (!isConfined(policy)) return rest;
		if (!this.#support.isEnforced) throw unsupported(policy, this.#support.reason);
		const isRoot = (command.uid ?? process.geteuid?.()) === 0;
		const { cgroups, hidden, ...tools } = this.#means;
		if (policy.limits?.processes !== undefined && isRoot && !cgroups)
			throw unsupported(policy, "the kernel can limit root's processes only in a control group (--cgroup)");
		const cgroup = cgroups?.for(command.sessionId, policy.limits ?? {});
		const places = await planMounts(policy, command, hidden);
		// If it can't be resolved, the start will report that.
		const cwd = command.isRealCwd ? command.cwd : await realpath(command.cwd).catch(() => command.cwd);
		return toBubblewrapCommand(command, { policy, cgroup, places, cwd, ...tools });
	}
}

/** A provider whose sessions run in the sandboxes that they request. */
export function confined(home: SessionProvider, sandbox: Sandbox): SessionProvider {
	return {
		start: async (start) => home.start({ ...start, command: await sandbox.apply(start.command) }),
		import: (spec, facts) => home.import(spec, facts),
		forget: (session, how) => home.forget(session, how),
		rename: (session, name) => home.rename(session, name),
		excessBytes: () => home.excessBytes(),
		keptBytes: (session) => home.keptBytes(session),
	};
}

function weaker({ workspace, policy }: RequiredSandbox, asked: SandboxPolicy, why: string): SessionError {
	return new SessionError(
		"permission_denied",
		`workspace "${workspace}" requires the sandbox policy "${policy.type}", and the requested "${asked.type}" is weaker: ${why}`,
		{ hint: "request a stricter policy, or none to get the required one" },
	);
}

/** Names the policy, because the caller did not choose it. */
function inapplicable({ workspace, policy }: RequiredSandbox, thrown: unknown): unknown {
	if (!(thrown instanceof SessionError)) return thrown;
	const { code, message, hint, cause } = thrown;
	const required = `workspace "${workspace}" requires the sandbox policy "${policy.type}"`;
	return new SessionError(code, `${required}: ${message}`, { cause, ...(hint === undefined ? {} : { hint }) });
}

function unsupported({ type }: SandboxPolicy, reason: string): SessionError {
	return new SessionError("unsupported", `the sandbox policy "${type}" can't be enforced here: ${reason}`, {
		hint: 'run "hawser doctor" to see what this machine supports',
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

/** Runs a program in a sandbox. Returns the problem, or undefined. */
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
