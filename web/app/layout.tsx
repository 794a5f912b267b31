/** Document around every page. */

import type { Metadata } from 'next'
import { headers } from 'next/headers'
import type { ReactNode } from 'react'
import { config } from '../lib/config.ts'
import { settingsAttribute } from '../lib/sentry/browser-config.ts'
import { settingsFor } from '../lib/sentry/privacy.ts'
import { themeAttribute } from '../lib/theme.ts'
import icon from '../ui/icon.svg'
import './global.css'

export const metadata: Metadata = {
  title: { default: 'Culvert', template: '%s · Culvert' },
  description: 'This site sends its error reports through its own address.',
  icons: { icon: { url: icon.src, type: 'image/svg+xml' } },
}

export default async function Layout({ children }: { children: ReactNode }) {
  const asked = await headers() // makes every document at request time, with the settings of this process and this visitor
  return (
    <html
      lang="en"
      {...themeAttribute(asked.get('cookie'))}
      {...settingsAttribute(settingsFor(config(), asked))}
    >
      <body>{children}</body>
    </html>
  )
}
