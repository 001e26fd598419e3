/** Browser notifications, if enabled: a session waits for input, or has ended. */

import { needOf } from "hawser/client";
import { base } from "./router.ts";
import type { App } from "./state/app.ts";
import type { SessionChange } from "./state/session-list.ts";
import { sessionState } from "./views/session-state.ts";
import { longEnd, nameOf } from "./views/text.ts";

/** Under Trusted Types, a worker's URL must come from a policy. */
type TrustedTypes = {
	createPolicy(name: string, rules: { createScriptURL(url: string): string }): { createScriptURL(url: string): string };
};

/** Registers the worker that opens a notification's session, if the browser supports workers. */
export async function registerWorker(): Promise<void> {
	if (!("serviceWorker" in navigator)) return;
	const address = new URL("worker.js", base).href;
	const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
	const policy = trustedTypes?.createPolicy("hawser-worker", {
		createScriptURL: (url) => (url === address ? url : ""),
	});
	await navigator.serviceWorker.register(policy ? policy.createScriptURL(address) : address, { scope: base.pathname });
}

export function startNotifications(app: App): void {
	app.sessions.onChange((change) => void notify(app, change));
}

/** Shows a notification, unless the page is visible. */
async function notify(app: App, { kind, session }: SessionChange): Promise<void> {
	const { notifies, notifiesQuestion } = app.settings.current.peek();
	if (!notifies || document.visibilityState === "visible" || Notification.permission !== "granted") return;
	const now = Date.now();
	const need = needOf(session, { ...app.circumstances.peek(), now });
	if (kind === "waits" && !need) return;
	const isQuestion = need?.kind === "asks" || need?.kind === "approval";
	const asked = isQuestion && notifiesQuestion ? need.question : undefined;
	const body = kind === "ended" ? longEnd(session).join(" ") : (asked ?? sessionState(session, need, now).word);
	const registration = await navigator.serviceWorker.ready;
	await registration.showNotification(nameOf(session), {
		body,
		tag: session.id,
		icon: new URL("icons/icon-192.png", base).href,
	});
}
