/** The document around every page. */

import type { Metadata } from 'next'
import { connection } from 'next/server'
import type { ReactNode } from 'react'
import { settingsAttribute } from '../lib/browser-settings.ts'
import { config } from '../lib/config.ts'
import './global.css'

export const metadata: Metadata = {
  title: { default: 'Culvert', template: '%s · Culvert' },
  description: 'This site carries its own error reports: they go through its own address and nowhere else.',
}

export default async function Layout({ children }: { children: ReactNode }) {
  await connection() // settings are those of the running process, so no document is made at build time
  return (
    <html lang="en" {...settingsAttribute(config().browser)}>
      <body>{children}</body>
    </html>
  )
}
