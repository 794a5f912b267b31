/** TCP proxy in front of a NATS server: counts the bytes from the server, and withholds them or disconnects on request. */

import { createServer, connect as dial, type Socket } from 'node:net'
import { listen } from '../listen.ts'

/** Starts a proxy on a free port of 127.0.0.1. `await using` closes it and its connections. */
export async function startNatsProxy(server: string) {
  const sockets = new Set<Socket>()
  let sentBytes = 0
  let trigger = ''
  let deadlyText = ''
  let isWithholding = false
  let dropsAfter = ''
  let isDropping = false
  const proxy = createServer((client) => {
    const upstream = dial({ host: '127.0.0.1', port: Number(server.split(':')[1]) })
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => socket.destroy())
    }
    client.on('data', (data) => {
      if (isDropping || (dropsAfter && data.includes(dropsAfter))) return drop()
      if (deadlyText && data.includes(deadlyText)) return die()
      if (trigger && data.includes(trigger)) isWithholding = true
      upstream.write(data)
    })
    upstream.on('data', (data) => {
      sentBytes += data.length
      if (!isWithholding) client.write(data)
    })
    client.on('close', () => upstream.destroy())
    upstream.on('close', () => client.destroy())
  })
  function die(): void {
    proxy.close()
    for (const socket of sockets) socket.destroy()
  }

  function drop(): void {
    isDropping = true
    for (const socket of sockets) socket.destroy()
  }

  const { port } = await listen(proxy)
  return {
    server: `127.0.0.1:${port}`,
    /** Bytes that the server has sent. */
    sentBytes: () => sentBytes,
    /** Discards what the server sends after a client has sent `text`, as when the connection fails. */
    withholdAfter(text: string): void {
      trigger = text
    },
    /** Disconnects for good when a client sends `text`, as when the server dies. */
    dieAfter(text: string): void {
      deadlyText = text
    },
    /** Disconnects when a client sends `text`, and later ones when they send anything. */
    dropAfter(text: string): void {
      dropsAfter = text
    },
    /** Forwards everything again. */
    restore(): void {
      trigger = ''
      isWithholding = false
    },
    async [Symbol.asyncDispose]() {
      die()
    },
  }
}
