/** Keeps a process running: starts it again when it dies, later each time. */

import { type Program, type Run, startRun } from './child-process.ts'
import type { Clock } from './clock.ts'
import type { Report } from './output.ts'
import { UserError } from './user-error.ts'

export type Part = Program & {
  name: string
  /** Whether it does its work by now. */
  isReady: () => Promise<boolean>
  /** Asks it to finish what it has in hand and leave. */
  stopSignal: NodeJS.Signals
}

export type Supervised = {
  /** Settles when it first does its work; rejects with a `Refusal`, which holds what it said, when that does not come. */
  ready: Promise<void>
  /** Ends it, by force after `grace` ms, and does not start it again. */
  stop: (grace: number) => Promise<void>
}

const FIRST_PAUSE = 500 // ms
const LONGEST_PAUSE = 10 * 1000 // 10 s
const STEADY = 60 * 1000 // 1 min: who ran that long begins again with the first pause
const START_TIMEOUT = 60 * 1000 // 1 min
const LOOK_AGAIN = 50 // ms

/** How long to wait before the next start, after a run of `ran` that itself came after a wait of `last`; all in ms. */
export function nextPause(last: number, ran: number): number {
  return last === 0 || ran >= STEADY ? FIRST_PAUSE : Math.min(last * 2, LONGEST_PAUSE)
}

/** Starts `part`; once it has done its work for the first time, starts it again whenever it ends, until it is stopped. */
export function supervise(part: Part, clock: Clock, report: Pick<Report, 'say' | 'line'>): Supervised {
  const stopping = new AbortController()
  const start = () => startRun(part, clock, (line, stream) => report.line(part.name, line, stream))
  let run = start()
  const ready = untilReady(part, run, clock)
  const kept = ready.then(keep, () => {})

  async function keep(): Promise<void> {
    for (let pause = 0, began = clock.now(); ; began = clock.now()) {
      const end = await run.ended
      if (stopping.signal.aborted) return
      pause = nextPause(pause, clock.now() - began)
      report.say(`${part.name} ended (${end}) and is started again in ${pause / 1000} s.`)
      await clock.wait(pause, stopping.signal)
      if (stopping.signal.aborted) return
      run = start()
    }
  }

  async function stop(grace: number): Promise<void> {
    stopping.abort()
    await run.end(part.stopSignal, grace)
    await kept
  }

  return { ready, stop }
}

async function untilReady({ name, isReady }: Part, run: Run, clock: Clock): Promise<void> {
  const deadline = clock.now() + START_TIMEOUT
  while (!(await isReady())) {
    if (run.state() !== 'running')
      throw new UserError(`${name} did not start (${await run.ended}).`, run.tail())
    if (clock.now() > deadline)
      throw new UserError(`${name} did not answer within ${START_TIMEOUT / 1000} s.`, run.tail())
    await clock.wait(LOOK_AGAIN)
  }
}
