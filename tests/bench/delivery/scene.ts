/** Everything one situation needs, and shares with no other: a Sentry, the ways to it, and a Chromium with visitors. */

import { type Chromium, startChromium } from '../../helpers/chromium.ts'
import { freePort } from '../../helpers/ports.ts'
import type { App } from './app.ts'
import { type Recorder, startRecorder } from './recorder.ts'
import { PROJECTS, startWay, type Way, type WayName } from './ways.ts'

export type Scene = {
  app: App
  recorder: Recorder
  ways: Way[]
  chromium: Chromium
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
  const ways = await Promise.all(names.map(async (name) => starting.use(await startWay(name, parts))))
  const chromium = starting.use(await startChromium({ leads: { [recorder.host]: recorder.address } }))
  const started = starting.move()
  return { app, recorder, ways, chromium, [Symbol.asyncDispose]: () => started.disposeAsync() }
}
