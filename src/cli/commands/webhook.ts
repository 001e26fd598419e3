/** `hawser webhook`: has addresses told what happens to sessions. */

import { Command, InvalidArgumentError } from "commander";
import type { FailedNotice, WebhookEvent, WebhookMessage } from "../../client/index.ts";
import { usualWebhookEvents, webhookEvents } from "../../protocol/webhooks.ts";
import { findServer, type ServerFlags, type WorkspaceFlags, withServer, withWorkspace } from "../find-server.ts";
import { print, remark, table } from "../output.ts";
import { collect } from "../parse.ts";
import { safeJson } from "../safe-text.ts";

type AddFlags = WorkspaceFlags & {
	readonly event?: WebhookEvent[];
	readonly label?: string[];
	readonly allowHttp?: true;
	readonly json?: true;
};

const USUAL = usualWebhookEvents.join(", ");

const add = withWorkspace(new Command("add"), "only sessions of this workspace; without one it takes the operator")
	.summary("have an address told what happens")
	.description(
		"Has an address told what happens from now on, and prints the secret with which the notices are signed on stdout; it " +
			"can't be shown again.",
	)
	.argument("<url>", "https, or http on this machine")
	.option("--event <event>", `what to tell, one of ${webhookEvents.join(", ")}; repeatable (default: ${USUAL})`, events)
	.option("--label <label>", "only sessions with this label, K or K=V; repeatable", collect)
	.option("--allow-http", "without TLS, wherever it is")
	.option("--json", "as JSON, with everything the server says")
	.addHelpText(
		"after",
		"\nExamples:\n  hawser webhook add https://example.org/hawser\n" +
			"  hawser webhook add http://127.0.0.1:9000/ --event failed --event exited --label kind=ci --workspace ci",
	)
	.action(async (url: string, { event, label, allowHttp, workspace, json, ...flags }: AddFlags) => {
		const { client } = await findServer(flags);
		const made = await client.webhooks.create({
			url,
			...(event ? { events: event } : {}),
			...(workspace === undefined ? {} : { workspace }),
			...(label ? { labels: label } : {}),
			...(allowHttp ? { allowHttp } : {}),
		});
		if (json) return print(`${safeJson(made)}\n`);
		await print(`${made.secret}\n`);
		remark(`webhook ${made.id} is told of ${made.events.join(", ")}; its secret is not shown again`);
	});

const list = withServer(new Command("ls"))
	.alias("list")
	.summary("list webhooks")
	.description("Lists the webhooks that you may manage, with what waits, what was given up, and why.")
	.option("--json", "as a JSON array, with everything the server says")
	.addHelpText("after", "\nExamples:\n  hawser webhook ls\n  hawser webhook ls --json | jq -r '.[].id'")
	.action(async ({ json, ...flags }: ServerFlags & { json?: true }) => {
		const { client } = await findServer(flags);
		const webhooks = await client.webhooks.list();
		if (json) return print(`${safeJson(webhooks)}\n`);
		if (webhooks.length === 0) return remark("there are no webhooks, or none that you may manage");
		const heading = ["ID", "WAITING", "FAILED", "EVENTS", "OF", "URL", "PROBLEM"];
		return print(table(heading, webhooks.map(toRow), process.stdout.columns));
	});

const test = withServer(new Command("test"))
	.summary("send a notice to try one")
	.description("Sends a notice of the type test, once, and says what became of it.")
	.argument("<id>", "as hawser webhook ls shows it")
	.addHelpText("after", "\nExamples:\n  hawser webhook test 4f0c2a9be1d7")
	.action(async (id: string, flags: ServerFlags) => {
		const { client } = await findServer(flags);
		const { delivered, status, reason } = await client.webhooks.test(id);
		if (delivered) return print(`taken: it answered ${status}\n`);
		remark(`not taken: ${reason}`);
		process.exitCode = 1;
	});

const failed = withServer(new Command("failed"))
	.summary("list notices that were given up")
	.description("Lists the notices that were tried to the end and not taken, oldest first.")
	.argument("<id>", "of the webhook")
	.option("--json", "as JSON, with the notices as they were sent")
	.addHelpText(
		"after",
		"\nExamples:\n  hawser webhook failed 4f0c2a9be1d7\n  hawser webhook failed 4f0c2a9be1d7 --json",
	)
	.action(async (id: string, { json, ...flags }: ServerFlags & { json?: true }) => {
		const { client } = await findServer(flags);
		const answer = await client.webhooks.failed(id);
		if (json) return print(`${safeJson(answer)}\n`);
		if (answer.dropped > 0) remark(`${answer.dropped} older ones had to make room and are lost`);
		if (answer.failed.length === 0) return remark("none is kept that was given up");
		return print(
			table(
				["ID", "TYPE", "SESSION", "TIME", "ATTEMPTS", "REASON"],
				answer.failed.map(toFailedRow),
				process.stdout.columns,
			),
		);
	});

const retry = withServer(new Command("retry"))
	.summary("send again what was given up")
	.description(
		"Sends the notices that were given up again, or one of them; without one also those that wait for their next " +
			"attempt, at once.",
	)
	.argument("<id>", "of the webhook")
	.argument("[notice]", "as hawser webhook failed shows it (default: all)")
	.addHelpText("after", "\nExamples:\n  hawser webhook retry 4f0c2a9be1d7")
	.action(async (id: string, notice: string | undefined, flags: ServerFlags) => {
		const { client } = await findServer(flags);
		const { retried, left } = await client.webhooks.retry(id, { notice });
		await print(`sent again: ${retried}\n`);
		if (left > 0) remark(`there is no room yet for ${left} more; ask again when those have been taken`);
	});

const remove = withServer(new Command("rm"))
	.alias("remove")
	.summary("remove webhooks")
	.description("Removes webhooks, with all that they were still to be told.")
	.argument("<id...>", "as hawser webhook ls shows them")
	.addHelpText("after", "\nExamples:\n  hawser webhook rm 4f0c2a9be1d7")
	.action(async (ids: string[], flags: ServerFlags) => {
		const { client } = await findServer(flags);
		for (const id of ids) await client.webhooks.remove(id);
	});

export const webhook: Command = new Command("webhook")
	.summary("have addresses told what happens")
	.description(
		"Webhooks are told by signed HTTP requests when a session waits for somebody, has failed, and the like; what is not " +
			"taken is sent again.",
	)
	.addHelpText(
		"after",
		"\nExamples:\n  hawser webhook add https://example.org/hawser\n  hawser webhook ls\n" +
			"  hawser webhook test 4f0c2a9be1d7\n  hawser webhook failed 4f0c2a9be1d7",
	);
for (const part of [add, list, test, failed, retry, remove]) webhook.addCommand(part);

function events(text: string, previous: readonly WebhookEvent[] = []): WebhookEvent[] {
	const event = webhookEvents.find((one) => one === text);
	if (event === undefined) throw new InvalidArgumentError(`expected one of ${webhookEvents.join(", ")}`);
	return [...previous, event];
}

function toRow({ id, waiting, failed, events, workspace, labels, url, problem }: WebhookMessage): string[] {
	const of = [workspace ?? "all", ...labels].join(" ");
	return [id, String(waiting), String(failed), events.join(" "), of, url, problem ?? "-"];
}

function toFailedRow({ id, attempts, reason, notice: { type, time, session } }: FailedNotice): string[] {
	const who = session ? (session.name ?? session.id) : "-";
	return [id, type, who, new Date(time).toISOString(), String(attempts), reason ?? "-"];
}
