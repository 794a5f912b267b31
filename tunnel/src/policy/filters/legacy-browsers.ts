/** Browsers that Sentry's filter for legacy browsers drops (relay-filter/src/legacy_browsers.rs), by their names in ua-parser. */

/** First version of each browser that is not a legacy one. */
const FIRST_VERSIONS: ReadonlyMap<string, number> = new Map([
  ['IE', 12],
  ['Edge', 79],
  ['Chrome', 63],
  ['Firefox', 67],
  ['Safari', 12],
  ['Opera', 51],
  ['Opera Mini', 35],
  ['Android', 4],
])

/** Names that stand beside those of another browser. The first pattern that matches decides; one without a browser is none of the above. */
const PATTERNS: readonly (readonly [browser: string | undefined, pattern: RegExp])[] = [
  ['Opera Mini', /Opera Mini(?:\/att)?\/?(\d+)/],
  [undefined, /Opera (?:Mobi|Tablet)|Mobile.*OPR\/|OPT\/|OPiOS|OPX\//],
  ['Opera', /OPR\/(\d+)/],
  ['Opera', /Opera\/9\.80.*Version\/(\d+)/],
  ['Opera', /Opera[/ ](\d+)/],
  ['IE', /(?:IEMobile[/ ]|MSIE )(\d+)/],
  ['IE', /Trident\/.*rv:(\d+)/],
  [undefined, /EdgA\/|EdgiOS\/|Windows Phone/],
  ['Edge', /Edge?\/(\d+)/],
  [
    undefined,
    /SamsungBrowser|YaBrowser|Vivaldi|U?C?Browser\/|Electron|Headless|Chromium|Silk|Puffin|Whale|DuckDuckGo|FB_IAB|FBA[NV]|Instagram|GSA\/|PhantomJS|CriOS|FxiOS|Focus\/|SeaMonkey|bot\b/i,
  ],
  [undefined, /(?:Mobile|Tablet).*Firefox\/|Firefox\/.*(?:Mobile|Tablet)|Android.*Firefox\//],
  ['Firefox', /Firefox\/(\d+)/],
  [undefined, /Android.*Chrome\/.* Mobile|; wv\)|CrMo/],
  ['Chrome', /Chrome\/(\d+)/],
  ['Android', /Android[ /](\d+)/],
  [undefined, /iPhone|iPad|iPod|Mobile\//],
  ['Safari', /Version\/(\d+).*Safari\//],
]

/** Returns `true` if a user agent, or the name of a browser with its version, is that of a legacy browser. */
export function isLegacyBrowser(userAgent: string, version: string): boolean {
  if (version !== '') return isLegacy(userAgent, version)
  for (const [browser, pattern] of PATTERNS) {
    const match = pattern.exec(userAgent)
    if (match) return browser !== undefined && isLegacy(browser, match[1] ?? '')
  }
  return false
}

function isLegacy(browser: string, version: string): boolean {
  const first = FIRST_VERSIONS.get(browser === 'IE Mobile' ? 'IE' : browser)
  return first !== undefined && Number.parseInt(version, 10) < first
}
