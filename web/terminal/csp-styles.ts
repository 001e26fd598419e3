/**
 * Lets xterm.js style itself under `style-src 'self'`.
 *
 * xterm.js adds <style> elements with text and style attributes, which need 'unsafe-inline'. The same rules set through
 * the CSSOM (a constructed sheet, `element.style`) don't.
 */

type CreateElement = (name: string, options?: ElementCreationOptions) => HTMLElement;

let isAdopted = false;

/** Call once, before the first terminal is opened. */
export function adoptTerminalStyles(): void {
	if (isAdopted) return;
	isAdopted = true;
	const create = document.createElement.bind(document) as CreateElement;
	// Even an empty <style> violates the policy, so use a <template>, which is never rendered.
	const createElement: CreateElement = (name, options) =>
		name === "style" ? adopted(create("template")) : create(name, options);
	document.createElement = createElement as typeof document.createElement;
	const { setAttribute } = Element.prototype;
	HTMLSpanElement.prototype.setAttribute = function (name: string, value: string) {
		if (name === "style") this.style.cssText = value;
		else setAttribute.call(this, name, value);
	};
}

function adopted(element: HTMLElement): HTMLElement {
	const sheet = new CSSStyleSheet();
	document.adoptedStyleSheets.push(sheet);
	Object.defineProperty(element, "textContent", { set: (text: string) => sheet.replaceSync(text), get: () => "" });
	element.remove = () => {
		document.adoptedStyleSheets = document.adoptedStyleSheets.filter((other) => other !== sheet);
		HTMLElement.prototype.remove.call(element);
	};
	return element;
}
