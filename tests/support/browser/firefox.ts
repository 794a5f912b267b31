/** Real Firefox, whose visitors record every request. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startProgram } from '../program.ts'
import { FIREFOX_PROGRAM } from '../requirements.ts'
import { makeFolder } from '../temporary-folder.ts'
import { until } from '../until.ts'
import { BidiClient } from './bidi.ts'
import { SITE_HOST } from './chromium.ts'
import { type Tab, type TabVisitor, waitFor } from './tab.ts'

const START_TIMEOUT_MS = 60_000 // the machine may be busy

/** Settings of the profile: no first-run pages, and no traffic beside that of the page. */
const PREFERENCES: Record<string, string | number | boolean> = {
  'app.normandy.enabled': false,
  'app.update.enabled': false,
  'browser.aboutwelcome.enabled': false,
  'browser.safebrowsing.downloads.remote.enabled': false,
  'browser.safebrowsing.malware.enabled': false,
  'browser.safebrowsing.phishing.enabled': false,
  'browser.shell.checkDefaultBrowser': false,
  'datareporting.policy.dataSubmissionEnabled': false,
  'dom.security.https_first': false,
  'extensions.systemAddon.update.enabled': false,
  'extensions.update.enabled': false,
  'network.captive-portal-service.enabled': false,
  'network.connectivity-service.enabled': false,
  'network.dns.localDomains': SITE_HOST,
  'network.notify.changed': false, // containers that start meanwhile change nothing for it
  // Everything else goes to a proxy that does not exist.
  'network.proxy.http': '127.0.0.1',
  'network.proxy.http_port': 9,
  'network.proxy.no_proxies_on': SITE_HOST,
  'network.proxy.ssl': '127.0.0.1',
  'network.proxy.ssl_port': 9,
  'network.proxy.type': 1,
  'services.settings.server': 'http://127.0.0.1:9',
  'toolkit.telemetry.server': 'http://127.0.0.1:9',
}

export type Firefox = Awaited<ReturnType<typeof startFirefox>>

/** Starts Firefox with a profile of its own; each visitor has cookies, cache and storage of their own. `await using` stops it. */
export async function startFirefox() {
  await using starting = new AsyncDisposableStack()
  const folder = starting.use(await makeFolder())
  const lines = Object.entries(PREFERENCES).map(
    ([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});`,
  )
  writeFileSync(join(folder.path, 'user.js'), lines.join('\n'))
  const args = [
    '--headless',
    '--no-remote',
    '--profile',
    folder.path,
    '--remote-debugging-port=0',
    'about:blank',
  ]
  const program = startProgram('Firefox', FIREFOX_PROGRAM ?? 'firefox', args, { HOME: folder.path })
  starting.defer(program.kill)
  const client = await BidiClient.connect(await listeningUrl(program))
  starting.defer(() => client.close())
  await client.send('session.subscribe', { events: ['network.beforeRequestSent'] })
  const started = starting.move()
  return { visitor: () => enter(client), [Symbol.asyncDispose]: () => started.disposeAsync() }
}

/** Returns the URL that Firefox writes to stderr. */
async function listeningUrl({ stderr }: ReturnType<typeof startProgram>): Promise<string> {
  const find = () => stderr.flatMap((line) => /listening on (ws:\S+)/.exec(line)?.[1] ?? [])[0]
  await until(async () => find() !== undefined, START_TIMEOUT_MS)
  return find() ?? ''
}

async function enter(client: BidiClient): Promise<TabVisitor> {
  const { userContext } = await client.send('browser.createUserContext', {})
  const requests: string[] = []
  const tabs = new Set<unknown>()
  client.events.on('network.beforeRequestSent', ({ context, request }) => {
    if (tabs.has(context)) requests.push((request as { url: string }).url)
  })
  return {
    requests,
    async newTab() {
      const { context } = await client.send('browsingContext.create', { type: 'tab', userContext })
      tabs.add(context)
      return openTab(client, context)
    },
    async setOffline(state) {
      const networkConditions = state === 'offline' ? { type: 'offline' } : null
      await client.send('emulation.setNetworkConditions', { networkConditions, userContexts: [userContext] })
    },
    async [Symbol.asyncDispose]() {
      await client.send('browser.removeUserContext', { userContext })
    },
  }
}

function openTab(client: BidiClient, context: unknown): Tab {
  async function evaluate(expression: string): Promise<unknown> {
    const evaluation = await client.send('script.evaluate', {
      expression: `Promise.resolve(${expression}).then((value) => JSON.stringify(value) ?? 'null')`,
      target: { context },
      awaitPromise: true,
    })
    const { result, exceptionDetails } = evaluation as {
      result?: { value: string }
      exceptionDetails?: { text: string }
    }
    if (!result) throw new Error(`${expression}: ${exceptionDetails?.text}`)
    return JSON.parse(result.value)
  }

  return {
    evaluate,
    open: async (url) =>
      void (await client.send('browsingContext.navigate', { context, url, wait: 'complete' })),
    waitFor: (expression) => waitFor(evaluate, expression),
    close: async () => void (await client.send('browsingContext.close', { context })),
  }
}
