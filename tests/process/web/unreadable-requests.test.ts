/** Requests that Next.js cannot parse: they are not reported as errors. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { it as base } from '../../support/fixtures.ts'
import { perFile } from '../../support/lifetime.ts'
import { ROOT } from '../../support/node.ts'
import { requires } from '../../support/requirements.ts'
import { hasItem } from '../../support/sentry/received-request.ts'
import { readCertificate } from '../../support/sentry/sentry.ts'
import { cloud } from '../../support/site.ts'
import { BREAKABLE } from '../../support/web/web.ts'

const TEXT = { 'content-type': 'text/plain;charset=UTF-8' }
const FORM = { 'content-type': 'multipart/form-data; boundary=x' }

/** Returns the id of the lab's server action, which is public in the page. */
function actionId(): string {
  const manifest = join(ROOT, 'web/.next/server/server-reference-manifest.json')
  const [id = ''] = Object.keys(JSON.parse(readFileSync(manifest, 'utf8')).node)
  return id
}

function unreadable(): RequestInit[] {
  const call = { ...TEXT, 'next-action': actionId() }
  return [
    { method: 'POST', headers: call, body: 'garbled' },
    { method: 'POST', headers: call },
    { method: 'POST', headers: call, body: JSON.stringify(Array(2000).fill(0)) },
    { method: 'POST', headers: call, body: '["$Fff","$1:2:3"]' },
    { method: 'POST', headers: { ...call, origin: 'https://elsewhere.example' }, body: '[]' },
    { method: 'POST', headers: { ...call, origin: 'garbled' }, body: '[]' },
    { method: 'POST', headers: { ...call, ...FORM }, body: 'garbled' },
    { method: 'POST', headers: FORM, body: 'garbled' },
    { headers: { rsc: '1', 'next-router-state-tree': 'garbled' } },
  ]
}

const it = base
  .extend('sentryOptions', perFile, () => ({ tls: readCertificate() }))
  .extend('siteOptions', perFile, ({ sentry }) => cloud(sentry, { NODE_OPTIONS: BREAKABLE }))
describe('A request that Next.js cannot parse', requires('nginx'), () => {
  it('is not reported for any page, and an error after it is', async ({ sentry, site }) => {
    const url = `http://127.0.0.1:${site.port}`
    for (const path of ['/', '/lab', '/lab/server-component', '/no-such-page'])
      for (const request of unreadable()) await (await fetch(url + path, request)).text()
    const failures = site.web.said.stderr.match(/^⨯ /gm) ?? []
    expect(failures.length).toBeGreaterThan(20) // Next.js has failed on them
    await (await fetch(`${url}/?break`)).text()
    await sentry.next(hasItem('event')) // earlier reports would have arrived before it
    const events = sentry.requests
      .flatMap(({ items }) => items)
      .filter(({ header }) => header.type === 'event')
    expect(events.map(({ payload }) => JSON.parse(String(payload)).exception.values[0].value)).toEqual([
      'broken for a test',
    ])
  })
})
