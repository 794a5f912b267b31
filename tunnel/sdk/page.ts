/** Reads of the page that no element in it can answer: one with `name="head"` or `id="Sentry"` hides `document.head`, or becomes `window.Sentry`. */

/** Returns a property of `document`. */
export function ofDocument<Name extends keyof Document>(name: Name): Document[Name] {
  return Reflect.get(Document.prototype, name, document)
}

/** Returns a global that a script or the browser has set. Elements are no properties of `window` itself. */
export function globalOf(name: string | symbol): unknown {
  return Reflect.getOwnPropertyDescriptor(window, name) && Reflect.get(window, name)
}

/** Returns `document.createElement(name)`. */
export function createElement<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
): HTMLElementTagNameMap[Name] {
  return ofDocument('createElement').call(document, name) as HTMLElementTagNameMap[Name]
}

/** Returns the script element that runs, of which other scripts do not know. */
export function ownScript(): HTMLScriptElement | null {
  return ofDocument('currentScript') as HTMLScriptElement | null
}

/** Reports whether the visitor's browser sends `Sec-GPC` (Global Privacy Control). */
export function asksForPrivacy(): boolean {
  return (navigator as { globalPrivacyControl?: unknown }).globalPrivacyControl === true
}
