/** Errors that the lab triggers on the server, and the single-use pass that each needs. */

import { useRouter } from 'next/navigation'
import { useEffect, useState } from 'react'
import type { LabReport } from '../../lib/sentry/lab-reports.ts'
import { fail } from './actions.ts'
import type { Outcome } from './outcome.ts'

export type Asked = { pass: string; reference: string }

const REPORT_TIMEOUT_MS = 6_000
const QUIET_TIMEOUT_MS = 2_000
const POLL_MS = 250

/** Requests a page or a route that fails. */
export async function ask(
  path: string,
  method: 'GET' | 'POST',
  asked: Asked,
  within = REPORT_TIMEOUT_MS,
): Promise<Outcome> {
  const response = await fetch(`${path}?${new URLSearchParams(asked)}`, { method })
  const rejected = /"?data-rejection"?[=:]"(\w+)"|"rejection":"(\w+)"/.exec(await response.text())
  return rejected
    ? { is: 'rejected', why: rejected[1] ?? rejected[2] ?? '' }
    : reportOf(asked.reference, within)
}

export async function callAction(asked: Asked): Promise<Outcome> {
  const response = await fail(asked).catch(() => undefined) // it throws on purpose
  return response ? { is: 'rejected', why: response.rejection } : reportOf(asked.reference, REPORT_TIMEOUT_MS)
}

/** Requests a page that Next.js ends with an internal error, which is not reported. */
export async function askWithoutReport(path: string, why: string, asked: Asked): Promise<Outcome> {
  const outcome = await ask(path, 'GET', asked, QUIET_TIMEOUT_MS)
  return outcome.is === 'unanswered' ? { is: 'not-reported', why } : outcome
}

/** Polls until the server has sent the report. */
async function reportOf(reference: string, within: number): Promise<Outcome> {
  const end = Date.now() + within
  while (Date.now() < end) {
    const response = await fetch(`/lab/report.json?reference=${reference}`)
    const { eventId, status }: Partial<LabReport> = await response.json()
    if (eventId && status !== undefined) return { is: 'answered', response: { status }, eventId }
    await new Promise((done) => setTimeout(done, POLL_MS))
  }
  return { is: 'unanswered' }
}

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
