/** Tracks the simulated outage. */

import type { SimulatedOutageStatus } from 'contract/inbox'
import { useCallback, useEffect, useRef, useState } from 'react'
import { describeOutcome } from '../outcome.ts'
import type { Asked } from '../server-errors.ts'

const POLL_MS = 1_000
const PATH = '/lab/outage'
const NO_RESPONSE = 'The tunnel does not respond. Try again.'

type Answer = SimulatedOutageStatus & { rejection: string; detail: string }

/** Returns the state, the reason why the last change failed, and a function that begins or ends an outage. */
export function useOutage() {
  const [status, setStatus] = useState<SimulatedOutageStatus>()
  const [problem, setProblem] = useState<string>()
  const changes = useRef(0)
  const isActive = status !== undefined && (status.remaining_ms > 0 || status.pending > 0)

  const request = useCallback(async (method: string, asked: Partial<Asked> = {}) => {
    const changesBefore = changes.current
    const response = await fetch(`${PATH}?${new URLSearchParams(asked)}`, { method }).catch(() => undefined)
    const answer: Partial<Answer> = await (response?.json() ?? {})
    const { remaining_ms, pending, delivered, rejection, detail } = answer
    if (rejection !== undefined) return describeOutcome({ is: 'rejected', why: rejection }).text
    if (detail !== undefined) return detail
    if (remaining_ms === undefined || pending === undefined || delivered === undefined) return NO_RESPONSE
    if (method !== 'GET') changes.current += 1
    else if (changes.current !== changesBefore) return undefined // read before the change
    setStatus({ remaining_ms, pending, delivered })
    return undefined
  }, [])

  useEffect(() => void request('GET').catch(() => undefined), [request])
  useEffect(() => {
    if (!isActive) return
    const timer = setInterval(() => void request('GET').catch(() => undefined), POLL_MS)
    return () => clearInterval(timer)
  }, [isActive, request])

  const change = useCallback(
    async (method: 'POST' | 'DELETE', asked: Asked) =>
      setProblem(await request(method, asked).catch(() => NO_RESPONSE)),
    [request],
  )
  return { status, problem, change }
}
