/** The user of a command: user, primary group and supplementary groups, as the system's files define them. */

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { groupsOf } from "../../../../src/fronts/dropins/opensandbox/user-groups.ts";
import { temporaryDirectory } from "../../../support/temporary.ts";
import { command } from "./support/events.ts";
import { startExecd } from "./support/execd-server.ts";

describe("4.5: user and group files", () => {
	test("primary and supplementary groups are resolved, and an unknown user has none", async () => {
		const directory = await temporaryDirectory();
		const files = { passwd: join(directory, "passwd"), group: join(directory, "group") };
		await writeFile(
			files.passwd,
			"root:x:0:0:root:/root:/bin/sh\n# x\nme:x:1000:100:Me:/home/me:/bin/sh\nbad:x:1001\n",
		);
		await writeFile(
			files.group,
			"users:x:100:\ndev:x:200:you,me\nmea:x:201:mea\nsudo:x:27:me\nbroken:x\nusers2:x:100:me\n",
		);
		expect(await groupsOf(1000, files)).toEqual({ gid: 100, groups: [100, 200, 27] });
		expect(await groupsOf(0, files)).toEqual({ gid: 0, groups: [0] });
		for (const uid of [1001, 4242]) expect(await groupsOf(uid, files)).toEqual({ gid: undefined, groups: [] });
		expect(await groupsOf(0, { passwd: "/nowhere", group: "/nowhere" })).toEqual({ gid: undefined, groups: [] });
	});
});

describe("4.5: the user of a command", () => {
	const isRoot = process.getuid?.() === 0;
	const ids = async (more: object) => (await command(await startExecd(), "id -u; id -g; id -G", more)).stdout;

	test(
		isRoot ? "uid alone takes the user's groups, an unknown user gets group 0" : "only root may choose",
		async () => {
			if (isRoot) {
				const { gid, groups } = await groupsOf(1);
				expect(await ids({ uid: 1 })).toEqual(["1", String(gid), groups.join(" ")]);
				expect((await ids({ uid: 1, gid: 7 })).slice(0, 2)).toEqual(["1", "7"]);
				expect(await ids({ uid: 54_321 })).toEqual(["54321", "0", "0"]);
			} else {
				const stream = await command(await startExecd(), "id -u", { uid: 54_321 });
				expect(stream.types).toEqual(["init", "error"]);
				expect(stream.last?.error?.evalue).toContain("not permitted");
			}
		},
	);

	test("the server's own user is no change of user, with the same HOME", async () => {
		const uid = process.getuid?.();
		expect((await ids({ uid, gid: process.getgid?.() })).at(0)).toBe(String(uid));
		const server = await startExecd();
		expect((await command(server, "echo $HOME", { uid })).stdout).toEqual([process.env.HOME ?? ""]);
	});

	test("4.2: a directory that the user may not enter gives init, then an error", async () => {
		const directory = await temporaryDirectory();
		const closed = join(directory, "closed");
		await mkdir(closed, { mode: isRoot ? 0o700 : 0 });
		const stream = await command(await startExecd(), "pwd", { cwd: closed, ...(isRoot ? { uid: 54_321 } : {}) });
		expect(stream.types).toEqual(["init", "error"]);
		expect(stream.last?.error?.evalue).toContain("permission denied");
	});
});
