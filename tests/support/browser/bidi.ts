/** Client of WebDriver BiDi (https://w3c.github.io/webdriver-bidi/), which Firefox speaks over a WebSocket. */

import { EventEmitter, once } from 'node:events'

type Result = Record<string, unknown>
type Waiting = { resolve: (result: Result) => void; reject: (error: Error) => void }
type Message = {
  id?: number
  method?: string
  params?: Result
  result?: Result
  error?: string
  message?: string
}

export class BidiClient {
  /** Events of the browser by their method. */
  readonly events = new EventEmitter<Record<string, [Result]>>()
  readonly #socket: WebSocket
  readonly #waiting = new Map<number, Waiting>()
  #lastId = 0

  private constructor(socket: WebSocket) {
    this.#socket = socket
    socket.addEventListener('message', ({ data }) => this.#receive(JSON.parse(String(data))))
    socket.addEventListener('close', () => {
      for (const { reject } of this.#waiting.values())
        reject(new Error('the browser has closed the connection'))
    })
  }

  /** Connects to the port that the browser names, such as `ws://127.0.0.1:41234`, and starts a session. */
  static async connect(url: string): Promise<BidiClient> {
    const socket = new WebSocket(`${url}/session`)
    await once(socket, 'open')
    const client = new BidiClient(socket)
    // Test certificates have no authority that a browser knows.
    await client.send('session.new', { capabilities: { alwaysMatch: { acceptInsecureCerts: true } } })
    return client
  }

  /** Sends a command. Resolves with its result, and rejects with the browser's error. */
  send(method: string, params: object): Promise<Result> {
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, {
        resolve,
        reject: (error) => reject(new Error(`${method}: ${error.message}`)),
      })
      this.#socket.send(JSON.stringify({ id, method, params }))
    })
  }

  close(): void {
    this.#socket.close()
  }

  #receive({ id, method, params = {}, result, error, message }: Message): void {
    if (id === undefined) {
      if (method) this.events.emit(method, params)
      return
    }
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    if (result) waiting?.resolve(result)
    else waiting?.reject(new Error(`${error} ${message}`))
  }
}
