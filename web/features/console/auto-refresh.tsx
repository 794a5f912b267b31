/** Refreshes a page, every 5 s by default, except while it is hidden or a confirmation is open. */
'use client'

import { useRouter } from 'next/navigation'
import { useEffect } from 'react'

const EVERY_MS = 5_000

export function AutoRefresh({ everyMs = EVERY_MS }: { everyMs?: number }) {
  const router = useRouter()
  useEffect(() => {
    const timer = setInterval(() => {
      const isDeciding = document.querySelector('main form[data-confirmation]') !== null
      if (document.visibilityState === 'visible' && !isDeciding) router.refresh()
    }, everyMs)
    return () => clearInterval(timer)
  }, [router, everyMs])
  return null
}
