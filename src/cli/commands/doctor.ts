/** `hawser doctor`: checks the machine and the server, and says how to fix problems. */

import { Command } from "commander";
import { connect, type ServerAddress } from "../../client/index.ts";
import { loadConfig } from "../../server/config.ts";
import { version } from "../../server/version.ts";
import { locate, type ServerFlags, withServer } from "../connect/find-server.ts";
import { fetchHealth, isConnectable, serverHungError } from "../connect/server-health.ts";
import { type Check, inspectMachine } from "../doctor/machine-checks.ts";
import { toUserError } from "../print/errors.ts";
import { print } from "../print/output.ts";
import { safeJson, safeLine } from "../print/safe-text.ts";

export const doctor: Command = withServer(new Command("doctor"))
	.summary("check this machine and the server")
	.description(
		"Checks what Hawser needs: Node.js, native addon, terminals, limits, directories, disk space, " +
			"sandboxes and the server. Exits with 1 if a check fails.",
	)
	.option("--json", "print as a JSON array")
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
		const health = await fetchHealth(address);
		if (!health) return await unresponsiveCheck(address);
		await connect(address).sessions.list({ state: ["running"] });
		const message = `server ${health.version} at ${address.url}`;
		if (health.version === version) return { name, status: "ok", message };
		return {
			name,
			status: "warn",
			message: `${message}, but this hawser is ${version}`,
			fix: "restart the server: sessions keep running",
		};
	} catch (error) {
		const explained = toUserError(error);
		if (!explained) throw error;
		const isNone = "code" in (error as Error) && (error as { code?: unknown }).code === "node_unavailable";
		// Not a problem: a server may not have been started yet.
		if (isNone) return { name, status: "info", message: "not running; hawser run starts one" };
		return { name, status: "FAIL", message: explained.message };
	}
}

/** The server is on another machine, hangs, or is gone but left its address file. */
async function unresponsiveCheck(address: ServerAddress): Promise<Check> {
	const name = "server";
	if (!address.createConnection) {
		const fix = "check the URL and that a server runs there";
		return { name, status: "FAIL", message: `no response from ${address.url}`, fix };
	}
	const { message, hint: fix } = serverHungError(address);
	if (await isConnectable(address)) return { name, status: "FAIL", message, ...(fix && { fix }) };
	const crashed = "the server crashed or was killed; durable sessions keep running";
	return { name, status: "warn", message: crashed, fix: "start it again: hawser serve" };
}

/** Empty if the server does not respond, which another check reports. */
async function audit(flags: ServerFlags): Promise<Check[]> {
	const name = "audit";
	try {
		const { audit: state } = await connect(await locate(flags)).info();
		// Absent in servers without an audit log.
		if (!state?.kept) return [{ name, status: "info", message: "the audit log is off" }];
		const lost = state.lost === 0 ? "" : `, and ${state.lost} entries were lost`;
		if (state.healthy && state.lost === 0) return [{ name, status: "ok", message: "the audit log is on" }];
		if (state.healthy) return [{ name, status: "warn", message: `the audit log is on${lost}` }];
		const fix = "check for a full disk or a directory without write access; sessions keep running";
		return [{ name, status: "FAIL", message: `the audit log can't be written${lost}`, fix }];
	} catch (error) {
		if (toUserError(error)) return [];
		throw error;
	}
}
