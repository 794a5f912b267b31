/** Colour theme that an operator chose for the console. It is kept in a cookie, so that the server renders it. */

export const THEMES = ['system', 'light', 'dark'] as const

export type Theme = (typeof THEMES)[number]

const COOKIE = 'culvert-theme'
const A_YEAR = 365 * 24 * 60 * 60 // s

/** Reads the theme from a cookie header; `system` without one. */
export function readTheme(cookies: string | null): Theme {
  const value = new RegExp(`(?:^|; )${COOKIE}=(\\w+)`).exec(cookies ?? '')?.[1]
  return THEMES.find((theme) => theme === value) ?? 'system'
}

/** Returns the attribute of the document that `global.css` knows; none for the system's theme. */
export function themeAttribute(cookies: string | null): { 'data-theme'?: Theme } {
  const theme = readTheme(cookies)
  return theme === 'system' ? {} : { 'data-theme': theme }
}

/** Returns the cookie that keeps a theme. Pages of visitors do not get it. With `strict`, a link from another site would open the wrong theme. */
export function themeCookie(theme: Theme): string {
  return `${COOKIE}=${theme}; path=/console; max-age=${A_YEAR}; samesite=lax`
}
