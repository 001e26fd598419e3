import { afterAll, beforeAll, expect, it } from "vitest";
import { TestHawser } from "../../support/hawser-command.ts";

let hawser: TestHawser;
beforeAll(async () => {
	hawser = await TestHawser.create();
	const program = "printf 'one\\033[31m err\\033[0mor\\n'; printf '10%%\\r20%%\\r\\nERROR two\\na.b\\n'";
	await hawser.run(["run", "--detach", "--name", "build", "--", "sh", "-c", program]);
	await hawser.run(["wait", "build"]);
});
afterAll(() => hawser.remove());

const grep = (...args: string[]) => hawser.run(["grep", ...args]);

it("grep prints the matching lines of a durable session without colors", async () => {
	expect(await grep("err(or)?", "build")).toEqual({ code: 0, stdout: "one error\n", stderr: "" });
	expect((await grep("-i", "error$|two", "build")).stdout).toBe("one error\nERROR two\n");
	expect((await grep("-i", "-n", "1", "ERROR")).stdout).toBe("one error\n");
	expect((await grep("^[0-9]+%$", "build")).stdout).toBe("10%\n20%\n");
});

it("grep -F takes the text literally, and prints offsets and times", async () => {
	expect((await grep("-F", "a.b", "build")).stdout).toBe("a.b\n");
	expect((await grep("-F", "a*", "build")).stdout).toBe("");
	const place = (await hawser.run(["logs", "build"])).stdout.indexOf("two");
	const { stdout } = await grep("-b", "-t", "two", "build");
	expect(stdout).toMatch(new RegExp(`^\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z ${place}:ERROR two\n$`));
	expect(JSON.parse((await grep("--json", "two", "build")).stdout)).toMatchObject({ text: "ERROR two", at: [6, 9] });
});

it("grep exits with 1 without a match, and explains an invalid pattern", async () => {
	expect(await grep("nothing", "build")).toEqual({ code: 1, stdout: "", stderr: "" });
	expect(await grep("(", "build")).toMatchObject({ code: 1, stderr: expect.stringMatching(/^hawser: .*group/) });
	expect(await grep("-F", "-E", "x")).toMatchObject({ code: 1, stderr: expect.stringContaining("-F and -E") });
	expect(await grep("x", "unknown")).toMatchObject({ code: 3 });
});
