/** Single-use pass of the lab, in its page. */

import { useRouter } from 'next/navigation'
import { useEffect, useState } from 'react'
import type { Asked } from './server-errors.ts'

export type OnServer = ReturnType<typeof usePass>

/** Tracks the single-use pass that the server requires: requests the next one after each use. */
export function usePass(pass: string) {
  const { refresh } = useRouter()
  const [spent, setSpent] = useState('')
  useEffect(() => {
    if (spent === pass) refresh()
  }, [spent, pass, refresh])
  return <T>(onServer: (asked: Asked) => Promise<T>) => ({
    disabled: spent === pass,
    onServer: (reference: string) => {
      setSpent(pass)
      return onServer({ pass, reference })
    },
  })
}
