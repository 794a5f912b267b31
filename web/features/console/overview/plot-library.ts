/** Loads uPlot, which formats numbers in the language that the browser has at that moment. */

import type uPlot from 'uplot'

type Language = { readonly language: string }

export function loadPlotLibrary(): Promise<typeof uPlot> {
  return withKnownLanguage(navigator, async () => (await import('uplot')).default)
}

/** Calls `load` with the language `en` where the browser's is none: WebKit may name the locale `C`, for which `Intl` throws. */
export async function withKnownLanguage<T>(browser: Language, load: () => Promise<T>): Promise<T> {
  if (isKnown(browser.language)) return load()
  Object.defineProperty(browser, 'language', { value: 'en', configurable: true })
  try {
    return await load()
  } finally {
    Reflect.deleteProperty(browser, 'language')
  }
}

function isKnown(language: string): boolean {
  try {
    return Intl.getCanonicalLocales(language).length > 0
  } catch {
    return false
  }
}
