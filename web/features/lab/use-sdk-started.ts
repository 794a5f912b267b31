/** Start of the SDK: before it, the buttons for errors of the browser would report nothing. */
'use client'

import { useEffect, useState } from 'react'
import { browserSdk } from '../../lib/sentry/late-sdk/browser-sdk.ts'

/** Returns `true` when the SDK has started, and where the page has none. */
export function useSdkStarted(): boolean {
  const [hasStarted, setHasStarted] = useState(false)
  useEffect(() => void browserSdk.whenStarted().then(() => setHasStarted(true)), [])
  return hasStarted
}
