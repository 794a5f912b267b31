/** Button that changes the colour theme: the system's, light or dark. */
'use client'

import { useEffect, useState } from 'react'
import { readTheme, THEMES, type Theme, themeCookie } from '../../lib/theme.ts'

const LABELS: Record<Theme, string> = { system: 'Theme: system', light: 'Theme: light', dark: 'Theme: dark' }

export function ThemeToggle() {
  const [theme, setTheme] = useState<Theme>('system')
  useEffect(() => {
    const chosen = readTheme(document.cookie)
    document.documentElement.dataset.theme = chosen // the page may come from a cache, or without cookies
    setTheme(chosen)
  }, [])

  function change(): void {
    const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'system'
    // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API needs HTTPS
    document.cookie = themeCookie(next)
    document.documentElement.dataset.theme = next
    setTheme(next)
  }

  return (
    <button
      type="button"
      onClick={change}
      className="min-h-6 cursor-pointer rounded-part text-quiet underline-offset-4 hover:text-accent hover:underline"
    >
      {LABELS[theme]}
    </button>
  )
}
