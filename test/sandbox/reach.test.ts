// @module-tag apart

import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { attempt, confined, directoryOf, onHost, startConfined, users } from "./support.ts";

const offline = { type: "readOnly" } as const;
const online = { type: "readOnly", networkAccess: true } as const;

describe.each(users)("as $name, a program without network", (user) => {
	const options = { sandbox: offline, user } as const;

	test.each(["inet", "netlink", "vsock"])("a program without network can't create a socket of %s", async (family) => {
		expect(await attempt([family], options)).toBe("EPERM");
	});

	test("a program without network reaches no socket of the host, whatever socket it inherits", async () => {
		const folder = await directoryOf(user);
		const [stream, datagrams, abstract] = [join(folder, "stream"), join(folder, "datagrams"), `hawser-${randomUUID()}`];
		await onHost(["take-stream", stream], user);
		await onHost(["take-datagrams", datagrams], user);
		await onHost(["take-abstract", abstract], user);
		const ways = { stream, abstract, datagram: datagrams, "datagram-raw": datagrams, "datagram-pair": datagrams };
		for (const [way, name] of Object.entries(ways)) {
			expect(await attempt([way, name], options), way).toBe("EPERM");
			const control = await attempt([way, name], { ...options, sandbox: { type: "dangerFullAccess" } });
			expect(control, `${way} without a sandbox`).toBe("ok");
		}
	});

	test("a program without network talks to its children over a socket pair", async () => {
		expect(await attempt(["pair"], options)).toBe("ok");
	});

	test("a program without network can't trace", async () => {
		expect(await attempt(["trace-child"], options)).toBe("EPERM");
	});
});

describe.each(users)("as $name, a program with network", (user) => {
	const options = { sandbox: online, user } as const;

	test("a program with network uses the network and sockets of the host, but not those of virtual machines", async () => {
		const path = join(await directoryOf(user), "stream");
		await onHost(["take-stream", path], user);
		expect(await attempt(["inet"], options)).toBe("ok");
		expect(await attempt(["netlink"], options)).toBe("ok");
		expect(await attempt(["stream", path], options)).toBe("ok");
		expect(await attempt(["vsock"], options)).toBe("EPERM");
	});

	test("a program with network traces its own children", async () => {
		expect(await attempt(["trace-child"], options)).toBe("ok");
	});
});

describe.each(users)("as $name, any program in a sandbox", (user) => {
	const options = { sandbox: online, user } as const;

	test("a sandboxed program sees and reaches only its own processes", async () => {
		const { pid = 0 } = await onHost(["take-abstract", `hawser-${randomUUID()}`], user);
		const { text } = await confined(
			'for each in /proc/[0-9]*; do read name < "$each/comm"; echo "$name"; done',
			options,
		);
		expect(new Set(text.trim().split("\n"))).toEqual(new Set(["sandbox", "sh"]));
		expect(await attempt(["read", `/proc/${pid}/environ`], options)).toBe("ENOENT");
		expect(await attempt(["signal", String(pid)], options)).toBe("ESRCH");
		expect(await attempt(["trace", String(pid)], options)).toBe("ESRCH");
	});

	test("a sandboxed program gains no rights from what it starts", async () => {
		const { text } = await confined("grep -E '^(Cap|NoNewPrivs|Seccomp):?' /proc/self/status /proc/1/status", options);
		const caps = [...text.matchAll(/Cap\w+:\t(\w+)/g)].map(([, set]) => set);
		expect(new Set(caps)).toEqual(new Set(["0000000000000000"]));
		expect([...text.matchAll(/NoNewPrivs:\t(\d)/g)].map(([, value]) => value)).toEqual(["1", "1"]);
		// Process 1 too: a tracer of it would be free of the filter.
		expect([...text.matchAll(/Seccomp:\t(\d)/g)].map(([, value]) => value)).toEqual(["2", "2"]);
	});

	test.each([
		["namespace", "ENOSPC"],
		["ring", "EPERM"],
		["key", "EPERM"],
		["fault", "EPERM"],
		["32-bit", "ENOSYS"],
	])("a sandboxed program can't use %s", async (what, error) => {
		expect(await attempt([what], options)).toBe(error);
	});

	test.each(["type", "type-high"])("a sandboxed program can't type into its terminal (%s)", async (way) => {
		expect(await attempt([way], { ...options, mode: "pty" })).toBe("EPERM");
	});

	test("a sandboxed program has only its own three descriptors", async () => {
		for (const mode of ["pipe", "pty"] as const)
			expect(await attempt(["descriptors"], { ...options, mode })).toBe("0 1 2 ok");
	});

	test("a sandboxed program sees its terminal, directory and host name", async () => {
		const { text } = await confined("ls /dev/pts; pwd; hostname >/dev/null && echo named", {
			...options,
			cwd: "/usr/bin",
		});
		expect(text).toBe("ptmx\n/usr/bin\nnamed\n");
	});

	test("a sandboxed program gets its variables, and its launcher does not", async () => {
		const env = { PATH: "/usr/bin:/bin", LD_PRELOAD: "/is/not/there.so", SECRET: "in-a-variable" };
		const run = await startConfined(["/bin/sh", "-c", 'echo "$SECRET"; read line'], { ...options, env });
		await run.untilText("in-a-variable\n");
		const all = execFileSync("ps", ["-ewwo", "args"], { encoding: "utf8" });
		expect(all).not.toContain("in-a-variable");
		await run.process.kill({ signal: "SIGKILL" });
		await run.closed();
		// The loader complains about a missing library: once for sh, never for bubblewrap.
		expect(run.text("stderr").match(/cannot be preloaded/g)).toHaveLength(1);
	});
});

test("a program is found in its own PATH, and a failed start reports the reason", async () => {
	const found = await confined("true", { sandbox: offline });
	expect(found.code).toBe(0);
	const missing = await (await startConfined(["hawser-is-not-there"], { sandbox: offline })).closed();
	expect(missing.exit?.code).toBe(127);
	expect(missing.text("stderr")).toBe("hawser: cannot start hawser-is-not-there: No such file or directory\n");
	const forbidden = await (await startConfined(["/etc/passwd"], { sandbox: offline })).closed();
	expect(forbidden.exit?.code).toBe(126);
});

test("a program sees the name that it was given", async () => {
	const run = await startConfined(["/bin/sh", "-c", 'tr "\\0" " " < /proc/$$/cmdline'], {
		sandbox: offline,
		arg0: "other",
	});
	expect((await run.closed()).text()).toMatch(/^other -c /);
});
