/** Starts the page: creates the app and renders it on every change. */

import { connect } from "hawser/client";
import { startAnnouncements } from "./announcements.ts";
import { registerWorker, startNotifications } from "./notifications.ts";
import { renderOnChange } from "./render.ts";
import { base, consumeGuestKey, consumeStartFlag, startRouter } from "./router.ts";
import { listenToKeys } from "./shortcuts.ts";
import { createApp } from "./state/app.ts";
import { emptyForm } from "./state/start-form.ts";
import { applyTheme } from "./theme.ts";
import { trackViewport } from "./viewport.ts";
import { shell } from "./views/layout.ts";

const root = document.getElementById("app");
if (!root) throw new Error("invariant: the page has no root element");

const app = createApp(connect({ url: base.href.replace(/\/$/, "") }), localStorage);
applyTheme(app.settings);
trackViewport();
addEventListener("storage", () => app.settings.reread());
document.addEventListener("visibilitychange", () => app.clock.setVisible(!document.hidden));
startRouter();
if (consumeStartFlag()) app.dialogs.open({ kind: "start", form: emptyForm });
listenToKeys(app);
startNotifications(app);
startAnnouncements(app);
renderOnChange(() => shell(app), root);
void registerWorker();
await app.auth.begin(consumeGuestKey());
