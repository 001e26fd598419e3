/** `hawser doctor`: whether everything is there that Hawser needs, and what to do where it is not. */

import { Command } from "commander";
import { type Address, connect } from "../../client/index.ts";
import { loadConfig } from "../../server/config.ts";
import { version } from "../../server/version.ts";
import { type Check, inspectMachine } from "../doctor.ts";
import { explain } from "../errors.ts";
import { locate, type ServerFlags, withServer } from "../find-server.ts";
import { print } from "../output.ts";
import { safeJson, safeLine } from "../safe-text.ts";
import { hangs, healthOf, isConnectable } from "../server-health.ts";

export const doctor: Command = withServer(new Command("doctor"))
	.summary("check this machine and the server")
	.description(
		"Checks what Hawser needs: Node.js, the native addon, terminals, limits, directories, disk space, sandboxes and " +
			"the server. Ends with 1 when something keeps it from working.",
	)
	.option("--json", "as a JSON array")
	.addHelpText("after", "\nExamples:\n  hawser doctor\n  hawser doctor --json | jq '.[] | select(.status != \"ok\")'")
	.action(async ({ json, ...flags }: ServerFlags & { json?: true }) => {
		const config = loadConfig({ stateDir: flags.stateDir || undefined });
		const checks = [...(await inspectMachine(config)), await server(flags), ...(await audit(flags))];
		await print(json ? `${safeJson(checks)}\n` : checks.map(line).join(""));
		if (checks.some(({ status }) => status === "FAIL")) process.exitCode = 1;
	});

function line({ name, status, message, fix }: Check): string {
	const advice = fix === undefined ? "" : `\n${" ".repeat(6)}${safeLine(fix)}`;
	return `${status.padEnd(5)} ${name}: ${safeLine(message)}${advice}\n`;
}

async function server(flags: ServerFlags): Promise<Check> {
	const name = "server";
	try {
		const address = await locate(flags);
		const health = await healthOf(address);
		if (!health) return await silent(address);
		await connect(address).sessions.list({ state: ["running"] });
		const message = `version ${health.version} answers at ${address.url}`;
		if (health.version === version) return { name, status: "ok", message };
		return {
			name,
			status: "warn",
			message: `${message}, but this is ${version}`,
			fix: "restart the server: sessions keep running",
		};
	} catch (error) {
		const explained = explain(error);
		if (!explained) throw error;
		const isNone = "code" in (error as Error) && (error as { code?: unknown }).code === "node_unavailable";
		// Nothing is wrong with a machine on which no server was started yet.
		if (isNone) return { name, status: "info", message: "none is running; hawser run starts one by itself" };
		return { name, status: "FAIL", message: explained.sentence };
	}
}

/** Somewhere else, or hung here, or gone from here without having taken its address away. */
async function silent(address: Address): Promise<Check> {
	const name = "server";
	if (!address.createConnection) {
		const fix = "check the address, and that a server runs there";
		return { name, status: "FAIL", message: `nothing answers at ${address.url}`, fix };
	}
	const { message, hint: fix } = hangs(address);
	if (await isConnectable(address)) return { name, status: "FAIL", message, ...(fix && { fix }) };
	const crashed = "it has crashed or was killed: sessions are kept, and their programs keep running";
	return { name, status: "warn", message: crashed, fix: "start it again: hawser serve" };
}

/** Nothing where no server answers, of which another check tells. */
async function audit(flags: ServerFlags): Promise<Check[]> {
	const name = "audit";
	try {
		const { audit: state } = await connect(await locate(flags)).info();
		// Not there before there was one.
		if (!state?.kept) return [{ name, status: "info", message: "the server records nothing of who does what" }];
		const lost = state.lost === 0 ? "" : `, and ${state.lost} entries were lost`;
		if (state.healthy && state.lost === 0) return [{ name, status: "ok", message: "who does what is recorded" }];
		if (state.healthy) return [{ name, status: "warn", message: `who does what is recorded${lost}` }];
		const fix = "look for a full disk or a directory that can't be written; sessions go on meanwhile";
		return [{ name, status: "FAIL", message: `who does what can't be recorded now${lost}`, fix }];
	} catch (error) {
		if (explain(error)) return [];
		throw error;
	}
}
