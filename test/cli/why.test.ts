import { afterAll, beforeAll, expect, it } from "vitest";
import { eventually } from "../helpers/reading.ts";
import { Installation } from "./hawser.ts";

let hawser: Installation;
beforeAll(async () => {
	hawser = await Installation.create();
});
afterAll(() => hawser.remove());

const start = (name: string, program: string) =>
	hawser.run(["run", "--detach", "--name", name, "--cwd", "/usr", "--", "bash", "-c", program], {
		env: { TMUX_TMPDIR: hawser.stateDir },
	});

const says = (name: string, pattern: RegExp) =>
	eventually(String(pattern), async () => {
		const { stdout } = await hawser.run(["why", name]);
		return pattern.test(stdout) ? stdout : undefined;
	});

it("says in a line what a session in a keeper waits for", async () => {
	await start("install", "printf 'Continue? [Y/n] '; read answer; sleep 1000");
	expect(await says("install", /waits for a line/)).toMatch(
		/^install waits for a line · bash \(\d+\) in \/usr · "Continue\? \[Y\/n\]" · quiet for \S+\n$/,
	);
	await hawser.run(["send", "install", "--enter"]);
	await says("install", /^install sleeps for a time · sleep \(\d+\)/);
	await start("login", "printf 'Password: '; read -s x");
	await says("login", /^login waits for a secret, which it will not show · bash/);
	expect(JSON.parse((await hawser.run(["why", "login", "--json"])).stdout)).toMatchObject({
		...{ state: "waiting", kind: "secret", confidence: "sure", lastLine: "Password:" },
	});
});

type Stuck = {
	readonly program: string;
	/** Pressed once it runs. */
	readonly key?: string;
	readonly line: RegExp;
	readonly fields: object;
};

/** By what keeps each from going on. */
const stuck: Readonly<Record<string, Stuck>> = {
	"flow-stopped": {
		program: "while :; do echo y; done",
		key: "C-s",
		line: /can't write: Ctrl-S was pressed, and Ctrl-Q lets it go on · bash \(\d+\)/,
		fields: { state: "flow-stopped", kind: "key", confidence: "sure" },
	},
	disk: {
		// A process whose child borrows its memory is not to be woken either, and that is what the kernel calls the disk.
		program: "exec /usr/bin/python3 -c 'import ctypes, time; ctypes.CDLL(None).vfork(); time.sleep(1000)'",
		line: /waits for the disk · python3 \(\d+\)/,
		fields: { state: "disk", confidence: "sure", program: "python3" },
	},
	"stopped job": {
		program: "kill -STOP $$",
		line: /is stopped; SIGCONT lets it go on · bash \(\d+\)/,
		fields: { state: "stopped", confidence: "sure" },
	},
	relay: {
		program: "exec tmux new cat ';' split-window cat",
		line: /shows what runs elsewhere, where nobody can look · tmux: client \(\d+\)/,
		fields: { state: "unknown", kind: "relay" },
	},
	"terminal reply": {
		// A question that no answer is known to.
		program: `exec /usr/bin/python3 -c 'import os, tty; tty.setraw(0); os.write(1, b"\\033]4;1;?\\007"); os.read(0, 1)'`,
		line: /has asked its terminal something, and waits for the reply · python3 \(\d+\)/,
		fields: { state: "waiting", kind: "reply", confidence: "sure" },
	},
	"unread input": {
		program: "sleep 1000",
		key: "Enter",
		line: /has input that it has not read yet · sleep \(\d+\)/,
		fields: { state: "busy", confidence: "sure", program: "sleep" },
	},
};

it.each(Object.entries(stuck))(
	"state: why is it stuck, in one line for people and fields for programs: %s",
	async (what, { program, key, line, fields }) => {
		const name = what.replace(" ", "-");
		await start(name, program);
		if (key !== undefined) await hawser.run(["send", name, "--key", key]);
		expect(await says(name, line)).toMatch(/^[^\n]{10,200}\n$/);
		expect(JSON.parse((await hawser.run(["why", name, "--json"])).stdout)).toMatchObject(fields);
		await hawser.run(["kill", "--signal", "KILL", name]);
	},
);

it("says how a session ended", async () => {
	await start("over", "exit 3");
	await hawser.run(["wait", "over"]);
	expect((await hawser.run(["why", "over"])).stdout).toBe("over has ended: exit 3\n");
});

it("shows a log as small text", async () => {
	await start("build", 'for i in 1 2 3; do printf "\\r$i %%"; done; echo; for i in $(seq 2000); do echo line $i; done');
	await hawser.run(["wait", "build"]);
	const { stdout } = await hawser.run(["logs", "--text", "--max", "1000", "build"]);
	expect(stdout).toMatch(/^3 %\nline 1\n/);
	expect(stdout).toMatch(/\n\[… [\d,]+ bytes left out: since=\d+ limit=\d+\]\n/);
	expect(stdout).toMatch(/\nline 2000\n$/);
	expect(Buffer.byteLength(stdout)).toBeLessThanOrEqual(1000);
	expect(await hawser.run(["logs", "--max", "5", "build"])).toMatchObject({ code: 1 });
});
