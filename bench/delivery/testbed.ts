/** Environment of one sequence: a Sentry, the subjects, and a Chromium with visitors. */

import { freePort } from '../../scripts/start/free-port.ts'
import { startChromium } from '../../tests/support/browser/chromium.ts'
import { type Recorder, startRecorder } from './recorder.ts'
import type { App } from './subjects/app.ts'
import { PROJECTS, type Subject, type SubjectName, startSubject } from './subjects/subjects.ts'
import { addVisitor, type Visitor } from './visitors/visitors.ts'

export type Testbed = {
  recorder: Recorder
  subjects: Subject[]
  visitors: Visitor[]
  [Symbol.asyncDispose](): Promise<void>
}

export async function startTestbed(app: App, names: readonly SubjectName[], org: number): Promise<Testbed> {
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
  const subjects = []
  for (const name of names) subjects.push(starting.use(await startSubject(name, parts)))
  const chromium = starting.use(await startChromium({ leads: { [recorder.host]: recorder.address } }))
  const visitors = await Promise.all(
    subjects.flatMap((subject) => app.pages.map((kind) => addVisitor(starting, chromium, subject, kind))),
  )
  const started = starting.move()
  return { recorder, subjects, visitors, [Symbol.asyncDispose]: () => started.disposeAsync() }
}
