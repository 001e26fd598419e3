/** Draws a session with xterm.js; reload the page, or open it twice: it is the same shell. */

import { connect, ReplyTurns } from "/hawser/client/index.js";
import { Terminal } from "/xterm.mjs";

const askForTicket = async () => (await fetch("/ticket", { method: "POST" })).json();

const { url, id } = await askForTicket();
// A ticket is good for one connection; after a broken one the SDK asks for the next.
const ticket = async () => (await askForTicket()).ticket;
const attachment = connect({ url }).sessions.at(id).attach({ ticket, replies: true });

const terminal = new Terminal({ cols: 80, rows: 24 });
terminal.open(document.body);
terminal.focus();
terminal.onData((text) => attachment.write(text));

// Of all who look at a session, one terminal answers what its program asks; this one, only where it is its turn.
const turns = new ReplyTurns();
let isOurTurn = false;
for (const prefix of ["", "?", ">"]) {
	for (const final of ["c", "n"]) terminal.parser.registerCsiHandler({ prefix, final }, () => !isOurTurn);
	terminal.parser.registerCsiHandler({ prefix, intermediates: "$", final: "p" }, () => !isOurTurn);
}
terminal.parser.registerDcsHandler({ intermediates: "$", final: "q" }, () => !isOurTurn);

for await (const event of attachment) {
	if (event.kind === "replies") turns.change(event);
	if (event.kind === "connection" && event.state === "connected") turns.reset();
	if (event.kind === "resized") terminal.resize(event.cols, event.rows);
	if (event.kind === "output") {
		for (const { bytes, mine } of turns.split(event.offset, event.bytes)) {
			isOurTurn = mine;
			// Waiting until it is drawn keeps a flood of output from piling up in the page.
			await new Promise((drawn) => terminal.write(bytes, drawn));
		}
	}
	if (event.kind === "exited") terminal.write("\r\nThe shell has ended.\r\n");
}
