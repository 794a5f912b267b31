/** Notice that the SDK of the page is missing, since most buttons of the lab wait for it. */
'use client'

import { useEffect, useState } from 'react'
import { useSdkStarted } from './use-sdk-started.ts'

const PATIENCE_MS = 5_000

export function SdkNotice() {
  const hasStarted = useSdkStarted()
  const [isLate, setLate] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), PATIENCE_MS)
    return () => clearTimeout(timer)
  }, [])
  return (
    <p role="status" className="text-warn empty:hidden">
      {isLate &&
        !hasStarted &&
        'The Sentry SDK of this page is not loaded yet, so the buttons for errors of the browser wait. If it stays away, look for a blocked script in the network tools of the browser.'}
    </p>
  )
}
