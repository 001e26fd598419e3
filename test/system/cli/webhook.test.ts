import { afterAll, beforeAll, expect, it } from "vitest";
import { TestHawser } from "../../support/hawser-command.ts";
import { refused, WebhookReceiver } from "../../support/webhook-receiver.ts";

let here: TestHawser;
beforeAll(async () => {
	here = await TestHawser.create();
});
afterAll(() => here.remove());

it("webhook adds, lists, tests and removes webhooks, and prints a secret once", async () => {
	const receiver = await WebhookReceiver.start();
	const args = ["webhook", "add", receiver.url, "--event", "failed", "--event", "waiting", "--label", "kind=ci"];
	const added = await here.run([...args, "--workspace", "ci"]);
	expect(added).toMatchObject({ code: 0, stdout: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=\n$/) });
	const [, id = ""] = /created webhook (\w+) for failed, waiting;/.exec(added.stderr) ?? [];
	const listed = await here.run(["webhook", "ls"]);
	expect(listed.stdout).toMatch(/^ID +PENDING +FAILED +EVENTS +SCOPE +URL +LAST PROBLEM\n/);
	expect(listed.stdout).toContain(`${id}  0        0       failed waiting  ci kind=ci  ${receiver.url}  -\n`);
	expect(await here.run(["webhook", "test", id])).toEqual({ code: 0, stdout: "delivered (204)\n", stderr: "" });
	expect(receiver.received[0]?.isSignedWith(added.stdout.trim())).toBe(true);
	receiver.answer = refused;
	expect(await here.run(["webhook", "test", id])).toMatchObject({
		code: 1,
		stderr: "hawser: delivery failed: the receiver answered 500\n",
	});
	expect(await here.run(["webhook", "failed", id])).toMatchObject({ code: 0, stdout: "" });
	expect(await here.run(["webhook", "retry", id])).toMatchObject({ code: 0, stdout: "retried 0 deliveries\n" });
	expect(await here.run(["webhook", "rm", id])).toEqual({ code: 0, stdout: "", stderr: "" });
	expect(await here.run(["webhook", "rm", id])).toMatchObject({ code: 3 });
});

it("webhook errors are worded for the command line", async () => {
	const add = async (...args: string[]) => (await here.run(["webhook", "add", ...args])).stderr;
	expect(await add("http://192.0.2.1/")).toMatch(
		/^hawser: URL: notices to 192\.0\.2\.1 .* \(use https, or --allow-http /,
	);
	expect(await add("https://192.0.2.1/", "--event", "nonsense")).toContain("choices: waiting, secret, approval");
});
