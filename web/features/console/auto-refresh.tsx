/** Refreshes a page every 5 s, except while it is hidden or a confirmation is open. */
'use client'

import { useRouter } from 'next/navigation'
import { useEffect } from 'react'

const EVERY_MS = 5_000

export function AutoRefresh() {
  const router = useRouter()
  useEffect(() => {
    const timer = setInterval(() => {
      const isDeciding = document.querySelector('main form') !== null
      if (document.visibilityState === 'visible' && !isDeciding) router.refresh()
    }, EVERY_MS)
    return () => clearInterval(timer)
  }, [router])
  return null
}
