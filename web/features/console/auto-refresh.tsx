/** Keeps a page of figures fresh while somebody looks at it, and holds still while they decide. */
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
