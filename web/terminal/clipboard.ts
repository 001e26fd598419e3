/** Clipboard requests of programs (OSC 52). Programs can write the clipboard, never read it. */

/** Maximum length of the encoded text; more is not a user's copy. */
const MAX_ENCODED = 1024 * 1024;

/** The text to copy; undefined for an invalid or refused request. */
export function clipboardText(data: string): string | undefined {
	const encoded = data.slice(data.indexOf(";") + 1);
	// A question mark would read the clipboard.
	if (encoded === "?" || encoded.length > MAX_ENCODED) return undefined;
	try {
		return new TextDecoder().decode(Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0)));
	} catch {
		return undefined;
	}
}
