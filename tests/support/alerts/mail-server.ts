/** Mail server that keeps what it gets. */

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { ROOT } from '../node.ts'

export type Mail = { from: string; to: string[]; user: string | undefined; isSecure: boolean; text: string }

const fixture = (name: string) => readFileSync(join(ROOT, 'tests/fixtures/tls', name))

/** Starts a server on a free port of 127.0.0.1, which knows the user `ops` with the password `pass word`. */
export async function startMailServer(options: SMTPServerOptions = {}) {
  const mails: Mail[] = []
  const server = new SMTPServer({
    ...{ key: fixture('key.pem'), cert: fixture('cert.pem'), authOptional: true, logger: false },
    onAuth({ username, password }, _, done) {
      const isKnown = username === 'ops' && password === 'pass word'
      done(isKnown ? null : new Error('unknown user'), { user: username })
    },
    onData(stream, { envelope, user, secure }, done) {
      void text(stream).then((mail) => {
        const { mailFrom, rcptTo } = envelope
        mails.push({
          ...{ from: mailFrom === false ? '' : mailFrom.address, to: rcptTo.map(({ address }) => address) },
          ...{ user: user === undefined ? undefined : String(user), isSecure: secure, text: mail },
        })
        done()
      })
    },
    ...options,
  })
  const listening = server.listen(0, '127.0.0.1')
  await once(listening, 'listening')
  const { port } = listening.address() as AddressInfo
  return {
    port,
    mails,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(resolve)),
  }
}
