/** Settings of web, and settings that it rejects at its start. */

import { describe, expect, it } from 'vitest'
import { readConfig } from '../../../../web/lib/config.ts'

const CLOUD_DSN = 'https://abc@o123.ingest.us.sentry.io/456'

function read(env: Record<string, string>) {
  const problems: string[] = []
  return { ...readConfig(env, problems), problems }
}

describe('The settings of web', () => {
  it('have defaults when nothing is set: inbox mode', () => {
    expect(read({})).toEqual({
      browser: {
        dsn: 'https://culvert@inbox.invalid/1',
        tunnel: '/monitoring?p=1',
        environment: 'production',
        replaysOnErrorSampleRate: 0,
        feedback: false,
      },
      privacySignal: 'errors',
      tunnelPath: '/monitoring',
      dsnPlace: '.env',
      reportsUrl: '/monitoring/reports?p=1',
      checkPath: '/',
      lab: true,
      tunnelAdmins: [],
      problems: [],
    })
  })

  it('give the first DSN and the first path to browsers, with the project first in the query', () => {
    const { browser, sentryHost } = read({
      SENTRY_DSN: `${CLOUD_DSN}, https://def@sentry.example:9000/sub/7`,
      TUNNEL_PATHS: '/reports|/monitoring',
    })
    expect(browser).toMatchObject({ dsn: CLOUD_DSN, tunnel: '/reports?p=456&o=123&r=us' })
    expect(sentryHost).toBe('o123.ingest.us.sentry.io')
  })

  it('ask browsers for reports without a Sentry, or with LAB=on', () => {
    expect(read({ SENTRY_DSN: CLOUD_DSN })).not.toHaveProperty('reportsUrl')
    expect(read({ LAB: 'off' })).not.toHaveProperty('reportsUrl')
    const { reportsUrl } = read({ SENTRY_DSN: CLOUD_DSN, LAB: 'on' })
    expect(reportsUrl).toBe('/monitoring/reports?p=456&o=123&r=us')
  })

  it('close the error lab when a Sentry is configured, unless LAB=on', () => {
    expect(read({ SENTRY_DSN: CLOUD_DSN }).lab).toBe(false)
    expect(read({ SENTRY_DSN: CLOUD_DSN, LAB: 'on' }).lab).toBe(true)
  })

  it.each([
    ['eleven char', 'it is too short; write 12 characters or more'],
    ['scrypt:1:2', 'it is not a hash; write what "npm run hash-password" prints'],
  ])("reject the operator's password %s without repeating it", (password, why) => {
    const { problems } = read({ OPERATOR_PASSWORD: password })
    expect(problems).toEqual([expect.stringContaining(`OPERATOR_PASSWORD: ${why}`)])
    expect(problems.join()).not.toContain(password)
  })

  it('do not give the secret of a legacy DSN to browsers', () => {
    expect(read({ SENTRY_DSN: 'https://abc:secret@sentry.example/7' }).browser.dsn).toBe(
      'https://abc@sentry.example/7',
    )
  })

  it('contain environment, release and sample rate', () => {
    const { browser, problems } = read({
      SENTRY_ENVIRONMENT: 'staging',
      SENTRY_RELEASE: 'shop@1.2.3+4',
      SENTRY_TRACES_SAMPLE_RATE: '0.25',
    })
    expect(browser).toMatchObject({ environment: 'staging', release: 'shop@1.2.3+4', tracesSampleRate: 0.25 })
    expect(problems).toEqual([])
  })

  it('move the connection check off the root when an app is there', () => {
    expect(read({ APP_URL: 'http://shop:3000' })).toMatchObject({ checkPath: '/console/check' })
  })

  it('give the server the same tunnel path as browsers, at the internal address', () => {
    expect(read({ SENTRY_DSN: CLOUD_DSN, TUNNEL_ORIGIN: 'http://nginx:8081' })).toMatchObject({
      serverTunnel: 'http://nginx:8081/monitoring?p=456&o=123&r=us',
      problems: [],
    })
  })

  it('enable replays and feedback', () => {
    const { browser, problems } = read({
      SENTRY_REPLAYS_ON_ERROR_SAMPLE_RATE: '1',
      SENTRY_FEEDBACK: 'on',
    })
    expect(browser).toMatchObject({ replaysOnErrorSampleRate: 1, feedback: true })
    expect(problems).toEqual([])
  })

  it.each(['0', '1', '0.5', '.5', '1.0'])('accept %s as a sample rate', (rate) => {
    expect(read({ SENTRY_TRACES_SAMPLE_RATE: rate })).toMatchObject({
      browser: { tracesSampleRate: Number(rate) },
      problems: [],
    })
  })

  it.each([
    ...['1.5', '20%', '1e-1'].map((value) => ['SENTRY_TRACES_SAMPLE_RATE', value, 'is not a share']),
    ...['all', '2'].map((value) => ['SENTRY_REPLAYS_ON_ERROR_SAMPLE_RATE', value, 'is not a share']),
    ['SENTRY_FEEDBACK', 'yes', 'is neither on nor off'],
    ['PRIVACY_SIGNAL', 'on', 'is not known'],
    ['TUNNEL_ADMIN', 'tunnel-admin', 'is not a host with a port'],
    ...['nginx:8081', 'http://nginx:8081/monitoring'].map((url) => [
      'TUNNEL_ORIGIN',
      url,
      'is not an origin',
    ]),
    ...['None', 'my shop', 'e'.repeat(65)].map((name) => [
      'SENTRY_ENVIRONMENT',
      name,
      'is not an environment',
    ]),
    ...['feature/one', '..', 'r'.repeat(201)].map((name) => ['SENTRY_RELEASE', name, 'is not a release']),
    ...['-1', 'http', '65536'].map((port) => ['PORT', port, 'is not a port']),
    ['TUNNEL_PATHS', '/lab/reports', 'is served by the web app'],
    ['SENTRY_DSN', 'https://abc@sentry.example', 'is not a DSN'],
  ])('reject %s=%s', (name = '', value = '', why = '') => {
    expect(read({ [name]: value }).problems).toEqual([expect.stringContaining(`${name}: "${value}" ${why}`)])
  })
})
