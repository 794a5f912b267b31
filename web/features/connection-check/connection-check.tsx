/** Connection check: runs when the page opens and on each click, and shows the results. */
'use client'

import { type ReactNode, useCallback, useEffect, useRef, useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { CodeBlock } from '../../ui/code-block.tsx'
import { OutcomeBadge } from '../../ui/outcome-badge.tsx'
import { StateMark } from '../../ui/status-badge.tsx'
import { fetchReceipt } from '../receipt.ts'
import { describeDirect, describeTunnel, type Findings, judge, summarise } from './check-results.ts'
import { type Plan, probe } from './probe.ts'
import { RoutesDiagram } from './routes-diagram.tsx'
import { StatusRow } from './status-row.tsx'

/** `children` are shown below the results. */
type Props = { plan: Plan; end: string; children: ReactNode }

export function ConnectionCheck({ plan, end, children }: Props) {
  const { findings, result, run } = useConnectionCheck(plan)
  const direct = describeDirect(plan, findings.direct)
  const tunnel = describeTunnel(plan, findings)
  const verdict = judge(plan, findings)
  const { receipt } = findings
  const done = receipt !== undefined
  return (
    <Card aria-labelledby="check">
      <div className={`flex gap-3 wide:min-h-24 ${plan.direct ? 'min-h-49' : 'min-h-36'}`}>
        <StateMark state={verdict?.state ?? 'busy'} className="mt-1 size-6" />
        <div role="status">
          <h2 id="check" className="text-title">
            {verdict?.headline ?? 'Checking what this browser can reach …'}
          </h2>
          <p className="mt-1 text-quiet">{verdict?.text ?? 'This takes a second or two.'}</p>
        </div>
      </div>
      <div className="mx-auto mt-4 mb-6 max-w-2xl">
        <RoutesDiagram road={direct.state} pipe={tunnel.state} end={end} />
      </div>
      <ul aria-label="Routes tested">
        <StatusRow state={direct.state} title="Directly to Sentry" figure={direct.figure}>
          <p>{direct.text}</p>
        </StatusRow>
        <StatusRow state={tunnel.state} title="Through this site" figure={tunnel.figure}>
          <p>{tunnel.text}</p>
        </StatusRow>
      </ul>
      <div className="mt-2 flex flex-wrap gap-3">
        <Button onClick={run} aria-disabled={!done}>
          Check again
        </Button>
      </div>
      <div className="mt-6 border-t border-line pt-3">
        <details>
          <summary className="min-h-11 content-center font-semibold">Receipt</summary>
          <div className="mt-1 mb-4">
            <ReceiptText {...findings} />
          </div>
        </details>
        <details>
          <summary className="min-h-11 content-center font-semibold">Result to copy for support</summary>
          <div className="mt-1 mb-4">
            <CodeBlock text={result} label="Result of the connection check" copy="Copy the result" />
          </div>
        </details>
        {children}
      </div>
    </Card>
  )
}

function ReceiptText({ tunnel, receipt }: Findings) {
  const token = tunnel?.outcome === 'answered' ? tunnel.token : undefined
  return (
    <>
      <p className="flex min-h-14 flex-wrap content-start items-center gap-x-3 gap-y-1 wide:min-h-7">
        {receipt === undefined && 'Looking it up …'}
        {receipt === 'none' && (token ? 'The receipt is not available.' : 'There is no receipt.')}
        {token && receipt && receipt !== 'none' && (
          <>
            <OutcomeBadge outcome={receipt.outcome} />
            <span className="text-note text-quiet">
              <code>{token}</code>
            </span>
          </>
        )}
      </p>
      <p className="text-quiet">
        A receipt shows the outcome of a report. The people who run this site can look it up with its token
        for at most 10 minutes.
      </p>
    </>
  )
}

/** `run` does nothing while a check is running. */
function useConnectionCheck(plan: Plan) {
  const [findings, setFindings] = useState<Findings>({})
  const [result, setResult] = useState('The check is running.')
  const running = useRef(false)

  const run = useCallback(async () => {
    if (running.current) return
    running.current = true
    const found: Findings = {}
    const add = (news: Findings) => setFindings({ ...Object.assign(found, news) })
    add({})
    await Promise.all([
      plan.direct && probe(plan.direct, plan.dsn).then((direct) => add({ direct })),
      probe(plan.tunnel, plan.dsn).then(async (tunnel) => {
        add({ tunnel })
        const token = tunnel.outcome === 'answered' ? tunnel.token : undefined
        add({ receipt: (token && (await fetchReceipt(token))) || 'none' })
      }),
    ])
    setResult(summarise(plan, found, { url: location.href, time: new Date(), agent: navigator.userAgent }))
    running.current = false
  }, [plan])

  useEffect(() => void run(), [run])
  return { findings, result, run }
}
