/** The plain way: what Compose would run, as processes of this machine. */

import { once } from 'node:events'
import { buildWeb } from './build-web.ts'
import { type Clock, within } from './clock.ts'
import type { Config } from './environment.ts'
import { siteOf, untilAnswers } from './healthcheck.ts'
import { findNginx, renderNginx } from './nginx.ts'
import { checkPort } from './ports.ts'
import { addressesOf, choosePorts, partsOf } from './processes.ts'
import type { Session } from './run-context.ts'
import { type Supervised, supervise } from './supervisor.ts'

const ANSWER_TIMEOUT = 30 * 1000 // 30 s
const STOP_TIMEOUT = 15 * 1000 // 15 s for all of them together
const HEADSTART = 3 * 1000 // 3 s that each has before the next is asked as well

/** Runs the site until `stopped`. Then, or when it cannot go on, ends every process it started. */
export async function runPlain(config: Config, { clock, report, stopped, onUp }: Session): Promise<void> {
  await checkPort(config.httpHost, config.httpPort)
  const program = await findNginx(config, stopped)
  const ports = await choosePorts(config)
  const configFile = renderNginx(config, addressesOf(config, ports))
  await buildWeb(config.root, config.env, stopped)
  if (stopped.aborted) return
  const running = partsOf(config, ports, { program, configFile }).map((part) =>
    supervise(part, clock, report),
  )
  try {
    const aborted = once(stopped, 'abort')
    const ready = Promise.all(running.map((each) => each.ready))
    const up = ready.then(() => untilAnswers(siteOf(config), ANSWER_TIMEOUT, clock, stopped))
    await Promise.race([up, aborted])
    if (!stopped.aborted) onUp()
    await aborted
  } finally {
    await stopAll(running, clock)
  }
}

/** In the reverse order of their start: first nobody new is let in, and who is asked by others goes last. */
async function stopAll(running: Supervised[], clock: Clock): Promise<void> {
  const deadline = clock.now() + STOP_TIMEOUT
  const ends: Promise<void>[] = []
  for (const each of running.toReversed()) {
    const end = each.stop(deadline - clock.now())
    ends.push(end)
    await within(HEADSTART, end, clock)
  }
  await Promise.all(ends)
}
