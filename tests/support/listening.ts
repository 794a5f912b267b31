/** Waits for a program to listen. */

import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Program } from './program.ts'

const STARTS_WITHIN = 90_000 // ms: the machine may be busy

/** Resolves when `program` accepts connections on `port` of 127.0.0.1. Rejects with its output when it ends, or after 30 s. */
export async function untilListening(name: string, port: number, program: Program): Promise<void> {
  const ended = new AbortController()
  program.exited.then(() => ended.abort())
  await untilAccepted(port, AbortSignal.any([ended.signal, AbortSignal.timeout(STARTS_WITHIN)])).catch(() => {
    throw new Error(`${name} does not listen:\n${[...program.stdout, ...program.stderr].join('\n')}`)
  })
}

/** Resolves when the port accepts connections; rejects when `signal` aborts before. */
async function untilAccepted(port: number, signal: AbortSignal): Promise<void> {
  for (;;) {
    const socket = connect(port, '127.0.0.1')
    const accepted = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    socket.destroy()
    if (accepted) return
    await sleep(20, undefined, { signal })
  }
}
