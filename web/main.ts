/** The page itself: makes everything once, and draws it from then on. */

import { connect } from "hawser/client";
import { keepAnnouncing } from "./announce.ts";
import { keepDrawn } from "./draw.ts";
import { listenToKeys } from "./keys.ts";
import { keepNotifying, registerWorker } from "./notify.ts";
import { base, startRouter, takeGuestKey, takeStart } from "./router.ts";
import { createApp } from "./state/app.ts";
import { emptyForm } from "./state/start.ts";
import { keepTheme } from "./theme.ts";
import { keepViewport } from "./viewport.ts";
import { shell } from "./views/shell.ts";

const root = document.getElementById("app");
if (!root) throw new Error("invariant: the page has no place to draw in");

const app = createApp(connect({ url: base.href.replace(/\/$/, "") }), localStorage);
keepTheme(app.settings);
keepViewport();
addEventListener("storage", () => app.settings.reread());
document.addEventListener("visibilitychange", () => app.clock.see(!document.hidden));
startRouter();
if (takeStart()) app.dialogs.open({ kind: "start", form: emptyForm });
listenToKeys(app);
keepNotifying(app);
keepAnnouncing(app);
keepDrawn(() => shell(app), root);
void registerWorker();
await app.auth.begin(takeGuestKey());
