/** Notifications of this browser, for who asked for them: that a session waits, or has ended. */

import { needOf } from "hawser/client";
import { base } from "./router.ts";
import type { App } from "./state/app.ts";
import type { News } from "./state/sessions.ts";
import { describe } from "./views/describe.ts";
import { longEnd, nameOf } from "./views/words.ts";

/** A page may name its worker only through a policy; the address is ours to the letter. */
type TrustedTypes = {
	createPolicy(name: string, rules: { createScriptURL(url: string): string }): { createScriptURL(url: string): string };
};

/** The worker that opens what a notification is about; there is none where browsers allow none. */
export async function registerWorker(): Promise<void> {
	if (!("serviceWorker" in navigator)) return;
	const address = new URL("worker.js", base).href;
	const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
	const policy = trustedTypes?.createPolicy("hawser-worker", {
		createScriptURL: (url) => (url === address ? url : ""),
	});
	await navigator.serviceWorker.register(policy ? policy.createScriptURL(address) : address, { scope: base.pathname });
}

export function keepNotifying(app: App): void {
	app.sessions.onNews((news) => void notify(app, news));
}

/** Nothing to somebody who looks at the page. */
async function notify(app: App, { kind, session }: News): Promise<void> {
	const { notifies, notifiesQuestion } = app.settings.current.peek();
	if (!notifies || document.visibilityState === "visible" || Notification.permission !== "granted") return;
	const now = Date.now();
	const need = needOf(session, { ...app.circumstances.peek(), now });
	if (kind === "waits" && !need) return;
	const isQuestion = need?.kind === "asks" || need?.kind === "approval";
	const asked = isQuestion && notifiesQuestion ? need.question : undefined;
	const body = kind === "ended" ? longEnd(session).join(" ") : (asked ?? describe(session, need, now).word);
	const registration = await navigator.serviceWorker.ready;
	await registration.showNotification(nameOf(session), {
		body,
		tag: session.id,
		icon: new URL("icons/icon-192.png", base).href,
	});
}
