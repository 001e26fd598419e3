/** `hawser webhook`: manages webhooks. */

import { Command, InvalidArgumentError } from "commander";
import { usualWebhookEvents, webhookEvents } from "../../api/webhooks.ts";
import type { FailedNotice, WebhookEvent, WebhookMessage } from "../../client/index.ts";
import { collect } from "../args/values.ts";
import {
	findServer,
	type ServerFlags,
	type WorkspaceFlags,
	withServer,
	withWorkspace,
} from "../connect/find-server.ts";
import { print, printNotice, table } from "../print/output.ts";
import { safeJson } from "../print/safe-text.ts";

type AddFlags = WorkspaceFlags & {
	readonly event?: WebhookEvent[];
	readonly label?: string[];
	readonly allowHttp?: true;
	readonly json?: true;
};

const DEFAULT_EVENTS = usualWebhookEvents.join(", ");

const add = withWorkspace(new Command("add"), "only sessions in this workspace (all workspaces: operator only)")
	.summary("add a webhook")
	.description(
		"Adds a webhook for events from now on, and prints its signing secret to stdout. The secret cannot be " +
			"shown again.",
	)
	.argument("<url>", "https URL, or http on this machine")
	.option(
		"--event <event>",
		`event to send: ${webhookEvents.join(", ")}; repeatable (default: ${DEFAULT_EVENTS})`,
		events,
	)
	.option("--label <label>", "only sessions with this label, K or K=V; repeatable", collect)
	.option("--allow-http", "allow an http URL on another machine")
	.option("--json", "print as JSON, with all fields")
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
		printNotice(`created webhook ${made.id} for ${made.events.join(", ")}; the secret is not shown again`);
	});

const list = withServer(new Command("ls"))
	.alias("list")
	.summary("list webhooks")
	.description("Lists the webhooks that you may manage, with pending and failed deliveries and the last problem.")
	.option("--json", "print as a JSON array, with all fields")
	.addHelpText("after", "\nExamples:\n  hawser webhook ls\n  hawser webhook ls --json | jq -r '.[].id'")
	.action(async ({ json, ...flags }: ServerFlags & { json?: true }) => {
		const { client } = await findServer(flags);
		const webhooks = await client.webhooks.list();
		if (json) return print(`${safeJson(webhooks)}\n`);
		if (webhooks.length === 0) return printNotice("no webhooks that you may manage");
		const heading = ["ID", "PENDING", "FAILED", "EVENTS", "SCOPE", "URL", "LAST PROBLEM"];
		return print(table(heading, webhooks.map(toRow), process.stdout.columns));
	});

const test = withServer(new Command("test"))
	.summary("send a test delivery")
	.description("Sends one delivery of type test, and prints the result.")
	.argument("<id>", "webhook ID, as shown by hawser webhook ls")
	.addHelpText("after", "\nExamples:\n  hawser webhook test 4f0c2a9be1d7")
	.action(async (id: string, flags: ServerFlags) => {
		const { client } = await findServer(flags);
		const { delivered, status, reason } = await client.webhooks.test(id);
		if (delivered) return print(`delivered (${status})\n`);
		if (delivered === null) return printNotice(`sent: ${reason}`);
		printNotice(`delivery failed: ${reason}`);
		process.exitCode = 1;
	});

const failed = withServer(new Command("failed"))
	.summary("list failed deliveries")
	.description("Lists deliveries that failed after all retries, oldest first.")
	.argument("<id>", "webhook ID")
	.option("--json", "print as JSON, with the request bodies")
	.addHelpText(
		"after",
		"\nExamples:\n  hawser webhook failed 4f0c2a9be1d7\n  hawser webhook failed 4f0c2a9be1d7 --json",
	)
	.action(async (id: string, { json, ...flags }: ServerFlags & { json?: true }) => {
		const { client } = await findServer(flags);
		const answer = await client.webhooks.failed(id);
		if (json) return print(`${safeJson(answer)}\n`);
		if (answer.dropped > 0) printNotice(`${answer.dropped} older failures were dropped`);
		if (answer.failed.length === 0) return printNotice("no failed deliveries");
		return print(
			table(
				["ID", "TYPE", "SESSION", "TIME", "ATTEMPTS", "REASON"],
				answer.failed.map(toFailedRow),
				process.stdout.columns,
			),
		);
	});

const retry = withServer(new Command("retry"))
	.summary("retry failed deliveries")
	.description("Retries failed deliveries, or one of them. Without an ID, also sends pending retries now.")
	.argument("<id>", "webhook ID")
	.argument("[notice]", "delivery ID, as shown by hawser webhook failed (default: all)")
	.addHelpText("after", "\nExamples:\n  hawser webhook retry 4f0c2a9be1d7")
	.action(async (id: string, notice: string | undefined, flags: ServerFlags) => {
		const { client } = await findServer(flags);
		const { retried, left } = await client.webhooks.retry(id, { notice });
		await print(`retried ${retried} deliveries\n`);
		if (left > 0) printNotice(`${left} more are queued; run this again later`);
	});

const adopt = withServer(new Command("adopt"))
	.summary("take over webhooks")
	.description(
		"Makes webhooks the operator's. A webhook stops when the token that created it is revoked or expires; an adopted " +
			"one continues where it stopped.",
	)
	.argument("<id...>", "webhook IDs, as shown by hawser webhook ls")
	.addHelpText("after", "\nExamples:\n  hawser webhook adopt 4f0c2a9be1d7")
	.action(async (ids: string[], flags: ServerFlags) => {
		const { client } = await findServer(flags);
		for (const id of ids) await client.webhooks.adopt(id);
	});

const remove = withServer(new Command("rm"))
	.alias("remove")
	.summary("remove webhooks")
	.description("Removes webhooks and their pending deliveries.")
	.argument("<id...>", "webhook IDs, as shown by hawser webhook ls")
	.addHelpText("after", "\nExamples:\n  hawser webhook rm 4f0c2a9be1d7")
	.action(async (ids: string[], flags: ServerFlags) => {
		const { client } = await findServer(flags);
		for (const id of ids) await client.webhooks.remove(id);
	});

export const webhook: Command = new Command("webhook")
	.summary("manage webhooks")
	.description(
		"Webhooks send a signed HTTP request when a session waits for input, fails and so on. Failed " +
			"deliveries are retried.",
	)
	.addHelpText(
		"after",
		"\nExamples:\n  hawser webhook add https://example.org/hawser\n  hawser webhook ls\n" +
			"  hawser webhook test 4f0c2a9be1d7\n  hawser webhook failed 4f0c2a9be1d7",
	);
for (const part of [add, list, test, failed, retry, adopt, remove]) webhook.addCommand(part);

function events(text: string, previous: readonly WebhookEvent[] = []): WebhookEvent[] {
	const event = webhookEvents.find((one) => one === text);
	if (event === undefined) throw new InvalidArgumentError(`choices: ${webhookEvents.join(", ")}`);
	return [...previous, event];
}

const STOPPED = "stopped: its token is no longer valid (hawser webhook adopt)";

function toRow({ id, waiting, failed, events, workspace, labels, url, problem, stoppedAt }: WebhookMessage): string[] {
	const scope = [workspace ?? "all", ...labels].join(" ");
	const trouble = stoppedAt === null ? (problem ?? "-") : STOPPED;
	return [id, String(waiting), String(failed), events.join(" "), scope, url, trouble];
}

function toFailedRow({ id, attempts, reason, notice: { type, time, session } }: FailedNotice): string[] {
	const who = session ? (session.name ?? session.id) : "-";
	return [id, type, who, new Date(time).toISOString(), String(attempts), reason ?? "-"];
}
