/** Messages as the servers of their destinations get them. */

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { afterAll, describe, expect, it } from 'vitest'
import { alertTargets } from '../../../../contract/alerts.ts'
import { trustCertificates } from '../../../../contract/certificates.ts'
import type { Alert } from '../../../../tunnel/src/admin/alerts/alert.ts'
import { Senders } from '../../../../tunnel/src/admin/alerts/senders.ts'
import { ROOT } from '../../../support/node.ts'
import { startUpstream } from '../../../support/recording-server.ts'

const fixture = (name: string) => readFileSync(join(ROOT, 'tests/fixtures/tls', name), 'utf8')
const CERTIFICATE = fixture('cert.pem')
const ALERT: Alert = {
  ...{ state: 'outage', since: 5, title: 'Culvert: Outage', text: 'Culvert: Outage. <!here> & more.' },
  problems: [{ kind: 'upstream', since: 5, text: 'Sentry is unreachable.' }],
}

const senders = new Senders(undefined)
afterAll(() => senders.close())

async function send(url: string): Promise<void> {
  const [target] = alertTargets.parse(url, 'ALERT_URL', []) ?? []
  if (!target) throw new Error(`"${url}" is no destination`)
  await senders.send(target, ALERT)
}

describe('A webhook', () => {
  it.each([
    ['', ALERT],
    ['slack+', { text: 'Culvert: Outage. &lt;!here&gt; &amp; more.' }],
    ['discord+', { content: ALERT.text, allowed_mentions: { parse: [] } }],
  ])('with the prefix "%s" gets its format', async (prefix, body) => {
    await using server = await startUpstream('ok')
    await send(`${prefix}http://ops:pass%20word@${server.address}/hook?key=1`)
    expect(server.asked).toMatchObject([
      {
        ...{ method: 'POST', url: '/hook?key=1' },
        headers: {
          'content-type': 'application/json',
          authorization: `Basic ${Buffer.from('ops:pass word').toString('base64')}`,
        },
      },
    ])
    expect(JSON.parse(String(server.asked[0]?.body))).toEqual(body)
  })

  it.each([
    [302, 'write the URL to which it leads'],
    [400, 'check its kind'],
    [404, 'copy the URL again'],
    [429, 'too many messages'],
    [500, 'HTTP 500.'],
  ])('that responds with %i is an error with a remedy, and is not followed', async (status, remedy) => {
    await using server = await startUpstream('no', (_, response) => {
      response.writeHead(status, { location: '/elsewhere' }).end('hush')
    })
    await expect(send(`http://${server.address}/hush`)).rejects.toThrow(remedy)
    await expect(send(`http://${server.address}/hush`)).rejects.not.toThrow('hush')
    expect(server.asked.map(({ url }) => url)).toEqual(['/hush', '/hush'])
  })

  it('that cannot be reached is an error with its cause', async () => {
    const server = await startUpstream('gone')
    await server[Symbol.asyncDispose]()
    await expect(send(`http://${server.address}/hush`)).rejects.toThrow(
      'The server cannot be reached (no connection: ECONNREFUSED).',
    )
  })

  it('is reached through the proxy of the settings', async () => {
    await using proxy = await startUpstream('proxy')
    const proxied = new Senders({
      ...{ httpProxy: `http://${proxy.address}`, httpsProxy: undefined, noProxy: undefined },
    })
    await proxied.beat(new URL('http://watch.example/ping'))
    await proxied.close()
    expect(proxy.asked).toMatchObject([{ url: 'http://watch.example/ping' }])
  })
})

/** Trusts a certificate as CA_FILE does, until the end of the block. */
function trusting(certificate: string): Disposable {
  const before = getCACertificates('default')
  trustCertificates({ path: '', certificates: [certificate] })
  return { [Symbol.dispose]: () => setDefaultCACertificates(before) }
}

describe('A mail server', () => {
  const QUERY = '?from=culvert@shop.example&to=a%2Bb@shop.example,c@shop.example'

  it('without a login gets the message in plain text', async () => {
    await using server = await startMailServer({ disabledCommands: ['STARTTLS'] })
    await send(`smtp://127.0.0.1:${server.port}/${QUERY}`)
    expect(server.mails).toMatchObject([
      {
        ...{ from: 'culvert@shop.example', to: ['a+b@shop.example', 'c@shop.example'], isSecure: false },
        text: expect.stringMatching(/^Subject: Culvert: Outage\r$/m),
      },
    ])
    expect(server.mails[0]?.text).toContain(ALERT.text)
  })

  it('does not get a password without TLS', async () => {
    await using server = await startMailServer({ disabledCommands: ['STARTTLS'] })
    await expect(send(`smtp://ops:pass%20word@127.0.0.1:${server.port}/${QUERY}`)).rejects.toThrow(
      'offers no valid TLS',
    )
    expect(server.mails).toEqual([])
  })

  it('with an unknown certificate gets nothing', async () => {
    await using server = await startMailServer()
    await expect(send(`smtp://ops:pass%20word@127.0.0.1:${server.port}/${QUERY}`)).rejects.toThrow(
      /offers no valid TLS|cannot be reached/,
    )
    expect(server.mails).toEqual([])
  })

  it.each([
    ['smtp', false],
    ['smtps', true],
  ])('with a trusted certificate gets the password of %s over TLS', async (scheme, secure) => {
    using _ = trusting(CERTIFICATE)
    await using server = await startMailServer({ secure })
    await send(`${scheme}://ops:pass%20word@127.0.0.1:${server.port}/${QUERY}`)
    expect(server.mails).toMatchObject([{ user: 'ops', isSecure: true }])
    await expect(send(`${scheme}://ops:hush@127.0.0.1:${server.port}/${QUERY}`)).rejects.toThrow(
      'The mail server refuses the user name or password (535).',
    )
  })

  it('that refuses a recipient is an error', async () => {
    await using server = await startMailServer({
      disabledCommands: ['STARTTLS'],
      onRcptTo: (_, __, done) => done(Object.assign(new Error('who?'), { responseCode: 550 })),
    })
    await expect(send(`smtp://127.0.0.1:${server.port}/${QUERY}`)).rejects.toThrow(
      'refuses the sender or a recipient (550)',
    )
  })

  it('that cannot be reached is an error with its cause', async () => {
    const server = await startMailServer()
    await server[Symbol.asyncDispose]()
    await expect(send(`smtps://127.0.0.1:${server.port}/${QUERY}`)).rejects.toThrow(
      'The mail server cannot be reached (ECONNREFUSED).',
    )
  })
})

type Mail = { from: string; to: string[]; user: string | undefined; isSecure: boolean; text: string }

/** Starts a mail server on a free port of 127.0.0.1, which knows the user `ops` with the password `pass word`. */
async function startMailServer(options: SMTPServerOptions = {}) {
  const mails: Mail[] = []
  const server = new SMTPServer({
    ...{ key: fixture('key.pem'), cert: CERTIFICATE, authOptional: true, logger: false },
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
