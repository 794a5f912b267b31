/** Samples of rejected requests, without secrets. */

import { describe, expect, it } from 'vitest'
import type { Rejections } from '../../../contract/admin-api.ts'
import { Rejection } from '../../../contract/rejections.ts'
import { SETTING_NAMES } from '../../../contract/settings.ts'
import { RejectionSamples } from '../../../tunnel/src/observe/rejection-samples.ts'
import { errorOf } from '../../support/envelopes.ts'
import { post } from '../../support/post.ts'
import { openTunnel } from '../../support/tunnel/in-process.ts'

describe('The last rejected request per code', () => {
  it.each([
    ['/reset/kJ8fQ2mZ', '/reset/…'],
    ['/verify/abcdefghijklmnopqrstuvwxyz', '/verify/…'],
    ['/users/jane@shop.example/edit', '/users/…/edit'],
    ['/users/jane%40shop.example', '/users/…'],
    ['/orders/42/My-Basket.html', '/orders/42/My-Basket.html'],
    ['/orders/1234567890', '/orders/…'],
  ])('names the page %s as %s', (path, shown) => {
    const samples = new RejectionSamples(() => 0)
    samples.note(new Rejection('dsn-unknown'), { headers: { referer: `https://shop.example${path}?a=b` } })
    expect(samples.all()).toMatchObject([{ page: `https://shop.example${shown}` }])
  })

  it('is shown to operators with its headers, and without values that may be secret', async () => {
    await using tunnel = await openTunnel()
    const headers = {
      'content-type': 'text/plain',
      cookie: 'session=secret-1',
      authorization: 'Bearer secret-2',
      'x-custom': 'secret-3',
      'user-agent': 'a browser',
      referer: 'https://shop.example/basket?token=secret-6#secret-7',
    }
    const path = '/monitoring?p=9&sentry_key=secret-4'
    await post(tunnel.url, {
      path: '/monitoring',
      headers,
      body: errorOf('https://abc:secret8@elsewhere.example/9'),
    })
    await post(tunnel.url, { path, headers, body: 'no envelope, secret-5' })
    const text = await (await tunnel.admin('/rejections')).text()
    expect(text).not.toMatch(/secret-?\d/)
    const { rejections } = JSON.parse(text)
    expect(rejections.map(({ code }: { code: string }) => code)).toEqual(['dsn-unknown', 'not-an-envelope'])
    const unknown = rejections.find(({ code }: { code: string }) => code === 'dsn-unknown')
    expect(rejections[1].request).toBe('POST /monitoring?p=9&sentry_key=…')
    expect(unknown).toMatchObject({
      ...{ request: 'POST /monitoring', last: expect.any(Number) },
      ...{ dsn: 'https://abc@elsewhere.example/9', page: 'https://shop.example/basket' },
    })
    expect(rejections[1]).not.toHaveProperty('dsn')
    expect(Object.fromEntries(unknown.headers)).toMatchObject({
      'content-type': 'text/plain',
      'user-agent': 'a browser',
      cookie: null,
      authorization: null,
      'x-custom': null,
    })
    expect((await fetch(`${tunnel.adminUrl}/rejections`)).status).toBe(401)
  })
})

describe('The settings that would have accepted a rejected envelope', () => {
  it('are listed by reason, with the names of docs/configuration.md and their values, without secrets', async () => {
    await using tunnel = await openTunnel({
      env: {
        SENTRY_DSN: 'https://key:hushhush@127.0.0.1/2',
        SPOOL_URL: 'nats://user:hush@127.0.0.1:1', // no server listens there
        SPOOL_HOURS: '5',
        FILTERS: 'localhost',
        MAX_ENVELOPE_BYTES: '7000',
      },
    })
    const text = await (await tunnel.admin('/rejections')).text()
    expect(text).not.toContain('hush')
    const { settings }: Rejections = JSON.parse(text)
    expect(settings).toMatchObject({
      'envelope-too-large': [{ name: 'MAX_ENVELOPE_BYTES', value: '7000' }],
      'dsn-unknown': [{ name: 'SENTRY_DSN', value: 'https://key@127.0.0.1/2' }],
      'origin-foreign': [{ name: 'ALLOWED_ORIGINS', value: '–' }],
      'next-noise': [{ name: 'DROP_NEXT_NOISE', value: 'on' }],
      localhost: [{ name: 'FILTERS', value: 'localhost' }],
      expired: [{ name: 'SPOOL_HOURS', value: '5' }],
      evicted: [{ name: 'SPOOL_BYTES' }],
    })
    const names = Object.values(settings).flatMap((all) => all.map(({ name }) => name))
    expect(names.filter((name) => !new Set<string>(SETTING_NAMES).has(name))).toEqual([])
  })
})
