/** Everything one lane needs, and shares with no other: a Sentry, the ways to it, and a Chromium with visitors. */

import { startChromium } from '../../tests/support/browser/chromium.ts'
import { freePort } from '../../tests/support/ports.ts'
import { type Recorder, startRecorder } from './recorder.ts'
import type { App } from './subjects/app.ts'
import { PROJECTS, startWay, type Way, type WayName } from './subjects/ways.ts'
import { letIn, type Visit } from './visitors/visits.ts'

export type Scene = {
  recorder: Recorder
  ways: Way[]
  visits: Visit[]
  [Symbol.asyncDispose](): Promise<void>
}

export async function startScene(app: App, names: readonly WayName[], org: number): Promise<Scene> {
  await using starting = new AsyncDisposableStack()
  const recorder = starting.use(
    await startRecorder(
      org,
      names.map((name) => PROJECTS[name]),
    ),
  )
  const appPort = await freePort()
  const server = await app.start({ port: appPort, reroute: recorder.reroute })
  starting.defer(server.stop)
  const parts = { app, appPort, recorder }
  const ways = []
  for (const name of names) ways.push(starting.use(await startWay(name, parts)))
  const chromium = starting.use(await startChromium({ leads: { [recorder.host]: recorder.address } }))
  const visits = await Promise.all(
    ways.flatMap((way) => app.pages.map((kind) => letIn(starting, chromium, way, kind))),
  )
  const started = starting.move()
  return { recorder, ways, visits, [Symbol.asyncDispose]: () => started.disposeAsync() }
}
