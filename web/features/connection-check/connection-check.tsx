/** Connection check: runs when the page opens and on each click, and shows the results. */
'use client'

import { type ReactNode, useCallback, useEffect, useRef, useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { CodeBlock } from '../../ui/code-block.tsx'
import type { State } from '../../ui/states.ts'
import { OutcomeBadge, STATE_TEXT, StateMark } from '../../ui/status-badge.tsx'
import { fetchReceipt } from '../receipt.ts'
import { describeDirect, describeTunnel, type Findings, judge, summarise } from './check-results.ts'
import { type Plan, probe } from './probe.ts'

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
    <section className="card" aria-labelledby="check">
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
    </section>
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

type RowProps = {
  state: State
  title: ReactNode
  /** Figure at the end, such as a duration. */
  figure?: ReactNode
  children: ReactNode
}

function StatusRow({ state, title, figure, children }: RowProps) {
  return (
    <li className="grid min-h-32 grid-cols-[auto_1fr_auto] content-start gap-x-3 border-t border-line py-4 first:border-t-0 wide:min-h-24">
      <StateMark state={state} className="mt-1 size-5" />
      <strong className="font-semibold">{title}</strong>
      <span className="font-mono text-note leading-7 text-quiet tabular-nums">{figure}</span>
      <div className="col-start-2 col-end-4">{children}</div>
    </li>
  )
}

type DiagramProps = { road: State; pipe: State; end: string }

const ROAD = 'M58 62C150 18 490 18 582 62'
const PIPE = 'M58 78c92 44 432 44 524 0'

/** Hidden from assistive technology: the list below has the same content as text. */
function RoutesDiagram({ road, pipe, end }: DiagramProps) {
  return (
    <figure aria-hidden="true" className="select-none">
      <svg aria-hidden="true" viewBox="0 0 640 142" className="block aspect-[640/142] w-full" fill="none">
        <g strokeWidth="10" strokeLinecap="round" className="stroke-line">
          <path d={ROAD} />
          <path d={PIPE} />
        </g>
        <Lane state={road} path={ROAD} />
        <Lane state={pipe} path={PIPE} />
        <Sign state={road} x={320} y={29} />
        <circle cx="320" cy="111" r="24" className="fill-surface stroke-accent" strokeWidth="5" />
        <Sign state={pipe} x={320} y={111} />
        <g className="fill-surface stroke-ink" strokeWidth="3.5">
          <rect x="14" y="48" width="50" height="38" rx="6" />
          <path d="M14 59h50" />
          <circle cx="600" cy="70" r="24" />
        </g>
        <path d="m590 70 7 7 13-14" className="stroke-ink" strokeWidth="3.5" strokeLinecap="round" />
      </svg>
      <figcaption className="grid grid-cols-3 text-note text-quiet">
        <span>Your browser</span>
        <span className="text-center">This site</span>
        <span className="text-right">{end}</span>
      </figcaption>
    </figure>
  )
}

/** Dash lengths: a completed route is drawn in full, a failed one in part. */
const LENGTHS: Record<State, string> = {
  idle: '0 100',
  live: '100 0',
  busy: '3 7',
  good: '100 0',
  wait: '50 100',
  hold: '50 100',
  drop: '50 100',
  bad: '34 100',
}

function Lane({ state, path }: { state: State; path: string }) {
  return (
    <path
      d={path}
      pathLength="100"
      strokeWidth="4"
      strokeDasharray={LENGTHS[state]}
      stroke="currentColor"
      className={`${STATE_TEXT[state]} ${state === 'idle' ? 'hidden' : ''}`}
    />
  )
}

const SIGNS: Partial<Record<State, string>> = {
  good: 'm-8 .5 5 5L8-5',
  wait: 'M0-7V0l5 3',
  hold: 'M-4-7V7M4-7V7',
  bad: 'M-6-6 6 6M6-6-6 6',
}

function Sign({ state, x, y }: { state: State; x: number; y: number }) {
  const sign = SIGNS[state]
  if (!sign) return null
  return (
    <g transform={`translate(${x} ${y})`} className={STATE_TEXT[state]}>
      <circle r="17" className="fill-surface" stroke="currentColor" strokeWidth="2" />
      <path d={sign} stroke="currentColor" strokeWidth="3.5" strokeLinecap="round" strokeLinejoin="round" />
    </g>
  )
}
