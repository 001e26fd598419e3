import { afterAll, beforeAll, expect, it } from "vitest";
import { refused, WebhookReceiver } from "../helpers/webhook-receiver.ts";
import { Installation } from "./hawser.ts";

let here: Installation;
beforeAll(async () => {
	here = await Installation.create();
});
afterAll(() => here.remove());

it("adds, lists, tries and removes webhooks, and shows their secret once", async () => {
	const receiver = await WebhookReceiver.start();
	const args = ["webhook", "add", receiver.url, "--event", "failed", "--event", "waiting", "--label", "kind=ci"];
	const added = await here.run([...args, "--workspace", "ci"]);
	expect(added).toMatchObject({ code: 0, stdout: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=\n$/) });
	const [, id = ""] = /webhook (\w+) is told of failed, waiting;/.exec(added.stderr) ?? [];
	const listed = await here.run(["webhook", "ls"]);
	expect(listed.stdout).toMatch(/^ID +WAITING +FAILED +EVENTS +OF +URL +PROBLEM\n/);
	expect(listed.stdout).toContain(`${id}  0        0       failed waiting  ci kind=ci  ${receiver.url}  -\n`);
	expect(await here.run(["webhook", "test", id])).toEqual({ code: 0, stdout: "taken: it answered 204\n", stderr: "" });
	expect(receiver.received[0]?.isSignedWith(added.stdout.trim())).toBe(true);
	receiver.answer = refused;
	expect(await here.run(["webhook", "test", id])).toMatchObject({
		code: 1,
		stderr: "hawser: not taken: it answered 500\n",
	});
	expect(await here.run(["webhook", "failed", id])).toMatchObject({ code: 0, stdout: "" });
	expect(await here.run(["webhook", "retry", id])).toMatchObject({ code: 0, stdout: "sent again: 0\n" });
	expect(await here.run(["webhook", "rm", id])).toEqual({ code: 0, stdout: "", stderr: "" });
	expect(await here.run(["webhook", "rm", id])).toMatchObject({ code: 3 });
});

it("says in the words of the command line what is wrong", async () => {
	const add = async (...args: string[]) => (await here.run(["webhook", "add", ...args])).stderr;
	expect(await add("http://192.0.2.1/")).toMatch(/^hawser: the address: 192\.0\.2\.1 .* \(use https, or --allow-http /);
	expect(await add("https://192.0.2.1/", "--event", "nonsense")).toContain("expected one of waiting, secret, approval");
});
