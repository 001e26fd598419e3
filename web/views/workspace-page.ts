/** The page of a workspace: members, limits, shared links, and its audit log if the caller may read it. */

import { signal } from "@preact/signals-core";
import { type AuditMessage, isEnded, type TokenMessage } from "hawser/client";
import { html, nothing, type TemplateResult } from "lit-html";
import type { App } from "../state/app.ts";
import type { WorkspaceDetails } from "../state/workspace.ts";
import { banner } from "./connection-banner.ts";
import { mounted } from "./mounted.ts";
import { clockTime, formatDuration, nameOf, size, words } from "./text.ts";

export function workspacePage(app: App, workspace: string): TemplateResult {
	const state = app.workspace.state.value;
	const load = () => {
		void app.workspace.load(workspace);
		return () => {};
	};
	return html`<main class="main" id="content" ${mounted(load, workspace)}>
		<header class="bar"><h1>${workspace}</h1></header>
		${banner(app)}
		<div class="scroll page">
			${
				state.kind === "here"
					? sections(app, state.facts)
					: html`<p class="dim" role="status">${state.kind === "failed" ? state.message : "Loading…"}</p>`
			}
		</div>
	</main>`;
}

function sections(app: App, facts: WorkspaceDetails): TemplateResult {
	return html`${limitsOf(app, facts)}
		${tokens(app, facts, "Members", facts.members, "No tokens for only this workspace.")}
		${tokens(app, facts, "Shared links", linksHere(app, facts), "No shared links.")}
		${facts.audit && auditOf(app, facts.audit)}`;
}

/** Links to sessions known to be in this workspace. */
function linksHere(app: App, { id, links }: WorkspaceDetails): TokenMessage[] {
	const sessions = app.sessions.all.value;
	return links.filter(({ scopes }) =>
		scopes.some((scope) => sessions.get(scope.split(":")[1] ?? "")?.workspace === id),
	);
}

function limitsOf(app: App, { id, declared }: WorkspaceDetails): TemplateResult {
	const state = app.auth.state.value;
	const usual = state.kind === "signed-in" ? state.me.limits : undefined;
	const running = [...app.sessions.all.value.values()].filter((one) => one.workspace === id && !isEnded(one)).length;
	const most = declared?.limits.sessions ?? usual?.workspaceSessions;
	const bytes = declared?.limits.journalBytes ?? usual?.journalBytes;
	const starts = declared?.limits.startsPerSecond ?? usual?.startsPerSecond;
	const rows: (readonly [string, string])[] = [
		["Running sessions", most === undefined ? String(running) : `${running} of ${most}`],
		["Output kept on disk", bytes === undefined ? "server default" : `up to ${size(bytes)}`],
		["Starts per second", starts ? String(starts) : "no limit"],
		["Directories", declared && declared.roots.length > 0 ? declared.roots.join(", ") : "anywhere"],
	];
	return html`<section>
		<h2>Limits</h2>
		<dl class="facts">${rows.map(([name, value]) => html`<div><dt>${name}</dt><dd class="num">${value}</dd></div>`)}</dl>
	</section>`;
}

function tokens(
	app: App,
	facts: WorkspaceDetails,
	title: string,
	all: readonly TokenMessage[],
	none: string,
): TemplateResult {
	const now = app.clock.now.value;
	return html`<section>
		<h2>${title} <span class="n">${all.length === 0 ? nothing : all.length}</span></h2>
		${all.length === 0 ? html`<p class="faint">${none}</p>` : nothing}
		<ul class="lines">
			${all.map(
				({ id, name, scopes, expiresAt, lastUsedAt }) =>
					html`<li>
						<span class="name ell">${name ?? id}</span>
						<span class="dim grow ell">${scopes.map((scope) => rightOf(app, scope)).join(", ")}</span>
						<span class="faint small"
							>${expiresAt === null ? "never expires" : `expires in ${formatDuration(expiresAt - now)}`} ·
							${lastUsedAt === null ? "never used" : `used ${formatDuration(now - lastUsedAt)} ago`}</span
						>
						<button class="btn quiet danger" aria-label="Revoke ${name ?? id}" @click=${() => app.workspace.revoke(id, facts.id)}>
							Revoke
						</button>
					</li>`,
			)}
		</ul>
	</section>`;
}

/** A scope in words: "may manage", "can view web-dev". */
function rightOf(app: App, scope: string): string {
	const [kind, place = "", right = ""] = scope.split(":");
	if (kind === "workspace") return `may ${right}`;
	if (kind !== "session") return scope;
	const session = app.sessions.all.value.get(place);
	return `${right === "control" ? "can type in" : "can view"} ${session ? nameOf(session) : place}`;
}

/** The audit filter; empty means all. */
const auditFilter = signal({ who: "", what: "" });

const whoOf = ({ by }: AuditMessage) => by?.name ?? words.theServer;

function auditOf(app: App, all: readonly AuditMessage[]): TemplateResult {
	const sessions = app.sessions.all.value;
	const { who, what } = auditFilter.value;
	const entries = all.filter((entry) => (who === "" || whoOf(entry) === who) && (what === "" || entry.action === what));
	return html`<section aria-label="Audit">
		<div class="row head">
			<h2>Audit <span class="n">${entries.length === all.length ? all.length : `${entries.length} of ${all.length}`}</span></h2>
			<span class="grow"></span>
			${choice("Who", all.map(whoOf), who, (chosen) => ({ who: chosen, what }))}
			${choice(
				"What",
				all.map(({ action }) => action),
				what,
				(chosen) => ({ who, what: chosen }),
			)}
			<button class="btn" @click=${() => save(entries)}>Export</button>
		</div>
		<table class="audit">
			<thead>
				<tr>
					<th>When</th>
					<th>Who</th>
					<th>What</th>
					<th>Session</th>
				</tr>
			</thead>
			<tbody>
				${entries.map((entry) => {
					const { time, action, session } = entry;
					const known = session === undefined ? undefined : sessions.get(session);
					return html`<tr>
						<td class="num">${clockTime(time, { seconds: true })}</td>
						<td>${whoOf(entry)}</td>
						<td>${action}</td>
						<td>${known ? nameOf(known) : (session ?? "")}</td>
					</tr>`;
				})}
			</tbody>
		</table>
	</section>`;
}

/** A select of the values found. The chosen one stays, even without entries. */
function choice(
	name: string,
	found: readonly string[],
	chosen: string,
	change: (chosen: string) => { readonly who: string; readonly what: string },
): TemplateResult {
	const values = [...new Set(chosen === "" ? found : [...found, chosen])].sort();
	return html`<select
		class="btn"
		aria-label=${name}
		@change=${(event: Event) => {
			auditFilter.value = change((event.currentTarget as HTMLSelectElement).value);
		}}
	>
		<option value="" ?selected=${chosen === ""}>${name}: all</option>
		${values.map((value) => html`<option value=${value} ?selected=${value === chosen}>${value}</option>`)}
	</select>`;
}

/** Saves the entries in the format of the audit log, one per line. */
function save(entries: readonly AuditMessage[]): void {
	const lines = entries.map((entry) => `${JSON.stringify(entry)}\n`).reverse();
	const link = document.createElement("a");
	link.href = URL.createObjectURL(new Blob(lines, { type: "application/x-ndjson" }));
	link.download = "audit.jsonl";
	link.click();
	URL.revokeObjectURL(link.href);
}
