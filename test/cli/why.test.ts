import { afterAll, beforeAll, expect, it } from "vitest";
import { eventually } from "../helpers/reading.ts";
import { Installation } from "./hawser.ts";

let hawser: Installation;
beforeAll(async () => {
	hawser = await Installation.create();
});
afterAll(() => hawser.remove());

const start = (name: string, program: string) =>
	hawser.run(["run", "--detach", "--name", name, "--cwd", "/usr", "--", "bash", "-c", program]);

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
