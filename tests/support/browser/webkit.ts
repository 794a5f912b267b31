/** Real WebKit (WebKitGTK), which stands for Safari. Its driver speaks WebDriver (https://w3c.github.io/webdriver/) over HTTP. */

import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream'
import { freePort } from '../../../scripts/start/free-port.ts'
import { startProgram } from '../program.ts'
import { WEBKIT_DRIVER_PROGRAM, XVFB_PROGRAM } from '../requirements.ts'
import { makeFolder } from '../temporary-folder.ts'
import { until } from '../until.ts'
import { type Engine, type Tab, type TabVisitor, waitFor } from './tab.ts'

const START_TIMEOUT_MS = 60_000 // the machine may be busy
const SCRIPT_TIMEOUT_MS = 90_000
const END_TIMEOUT_MS = 30_000

/** Returns WebKit; each visitor has a browser, which is all that there is to stop. */
export async function startWebKit(): Promise<Engine> {
  return { visitor: enter, [Symbol.asyncDispose]: async () => {} }
}

/** Starts a browser of its own: a driver has one session, whose data is gone at its end. */
async function enter(): Promise<TabVisitor> {
  await using starting = new AsyncDisposableStack()
  // WebKit has no mode without a display.
  const args = ['-displayfd', '1', '-screen', '0', '1280x1024x24', '-nolisten', 'tcp']
  const display = startProgram('Xvfb', XVFB_PROGRAM ?? 'Xvfb', args, {})
  starting.defer(display.kill)
  const number = await display.line((line) => /^\d+$/.test(line), START_TIMEOUT_MS)
  const folder = starting.use(await makeFolder())
  const proxy = starting.use(await startProxy())
  const port = await freePort()
  const driver = startProgram(
    'WebKitWebDriver',
    WEBKIT_DRIVER_PROGRAM ?? 'WebKitWebDriver',
    [`--port=${port}`],
    {
      DISPLAY: `:${number}`,
      GDK_BACKEND: 'x11',
      HOME: folder.path,
      LANG: 'en_US.UTF-8',
      GST_PLUGIN_SYSTEM_PATH_1_0: folder.path, // has none: to read the plugins for media takes half of the start
      NO_AT_BRIDGE: '1',
    },
  )
  // A browser that its driver has not ended keeps the output of the driver open, and ends with its display.
  starting.defer(async () => void (await Promise.all([display.kill(), driver.kill()])))
  const url = `http://127.0.0.1:${port}`
  await until(
    () =>
      fetch(`${url}/status`).then(
        (response) => response.ok,
        () => false,
      ),
    START_TIMEOUT_MS,
  )
  const session = await Session.start(url, proxy.address)
  starting.defer(() => session.end())
  const started = starting.move()
  return {
    requests: proxy.requests,
    newTab: () => session.newTab(),
    setOffline: async (state) => proxy.setOffline(state),
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

class Session {
  readonly #url: string
  /** Tab that stays open: commands need a current one. */
  readonly #first: string
  /** Ends with the commands so far: the driver has one current tab. */
  #last: Promise<unknown> = Promise.resolve()

  private constructor(url: string, first: string) {
    this.#url = url
    this.#first = first
  }

  /** Starts the browser, which sends all its requests to the proxy. */
  static async start(driver: string, proxy: string): Promise<Session> {
    const alwaysMatch = {
      acceptInsecureCerts: true,
      proxy: { proxyType: 'manual', httpProxy: proxy },
      timeouts: { script: SCRIPT_TIMEOUT_MS },
    }
    const { sessionId } = (await send(`${driver}/session`, { capabilities: { alwaysMatch } })) as {
      sessionId: string
    }
    const url = `${driver}/session/${sessionId}`
    const { value } = (await (await fetch(`${url}/window`)).json()) as { value: string }
    return new Session(url, value)
  }

  async end(): Promise<void> {
    const signal = AbortSignal.timeout(END_TIMEOUT_MS)
    await fetch(this.#url, { method: 'DELETE', signal }).catch(() => undefined)
  }

  async newTab(): Promise<Tab> {
    const { handle } = (await this.#in(this.#first, () => this.#send('window/new', { type: 'tab' }))) as {
      handle: string
    }
    const inTab = (path: string, body: object) => this.#in(handle, () => this.#send(path, body))

    async function evaluate(expression: string): Promise<unknown> {
      const script = `const done = arguments[0]
        Promise.resolve(${expression}).then(
          (value) => done([JSON.stringify(value) ?? 'null']),
          (error) => done([null, String(error)]))`
      const [json, error] = (await inTab('execute/async', { script, args: [] })) as [string | null, string]
      if (json === null) throw new Error(`${expression}: ${error}`)
      return JSON.parse(json)
    }

    return {
      evaluate,
      open: async (url) => void (await inTab('url', { url })),
      waitFor: (expression) => waitFor(evaluate, expression),
      close: async () =>
        void (await this.#in(handle, () => fetch(`${this.#url}/window`, { method: 'DELETE' }))),
    }
  }

  #send(path: string, body: object): Promise<unknown> {
    return send(`${this.#url}/${path}`, body)
  }

  /** Acts in a tab, after the commands before. */
  #in<T>(handle: string, act: () => Promise<T>): Promise<T> {
    const acting = this.#last.then(() => this.#send('window', { handle })).then(act)
    this.#last = acting.catch(() => {})
    return acting
  }
}

/** Sends a command. Rejects with the driver's error. */
async function send(url: string, body: object): Promise<unknown> {
  const response = await fetch(url, { method: 'POST', body: JSON.stringify(body) })
  const { value } = (await response.json()) as { value: { message?: string } }
  if (!response.ok) throw new Error(`${new URL(url).pathname}: ${value.message}`)
  return value
}

/** Starts a proxy that finds every host on this machine. It records the requests, and ends connections while the browser is to be offline. */
async function startProxy() {
  const requests: string[] = []
  let isOffline = false
  const server = createServer((incoming, response) => {
    if (isOffline) return void response.destroy()
    const { url = '', method, headers } = incoming
    requests.push(url)
    const { port, pathname, search } = new URL(url)
    const options = { host: '127.0.0.1', port: port || 80, path: pathname + search, method, headers }
    const outgoing = request(options, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.rawHeaders)
      pipeline(answer, response, () => {})
    })
    outgoing.on('error', () => response.destroy())
    response.on('close', () => outgoing.destroy())
    pipeline(incoming, outgoing, () => {})
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    setOffline(state: 'offline' | 'online'): void {
      isOffline = state === 'offline'
      if (isOffline) server.closeAllConnections()
    },
    async [Symbol.asyncDispose](): Promise<void> {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
