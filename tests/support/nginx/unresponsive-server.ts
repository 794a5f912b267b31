/** Address that does not respond, like that of a killed container: connections to it time out. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { NODE } from '../node.ts'

// Prints its port, and accepts no connections beyond its backlog. Once it wakes, it answers with the headers of the request.
const LISTEN = `const s = require('node:http').createServer((q, r) => r.end(JSON.stringify(q.headers))).listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => console.log(s.address().port))`
const HELD = 2 // Linux accepts one more than the backlog

/** Starts the server. `await using` stops it. */
export async function startSilent() {
  const listener = spawn(NODE, ['--eval', LISTEN], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(listener, 'exit')
  const [line] = await once(listener.stdout, 'data')
  const port = Number(line)
  listener.kill('SIGSTOP')
  const sockets = Array.from({ length: HELD }, () => connect(port, '127.0.0.1').on('error', () => {}))
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  return {
    address: `127.0.0.1:${port}`,
    wake: (): void => void listener.kill('SIGCONT'),
    async [Symbol.asyncDispose](): Promise<void> {
      for (const socket of sockets) socket.destroy()
      listener.kill('SIGKILL')
      await ended
    },
  }
}
