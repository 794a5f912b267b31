/** Inventory of recent SDK names, bounded in number and length. */

import { describe, expect } from 'vitest'
import { parseDsn } from '../../../contract/dsn.ts'
import { SdkInventory } from '../../../tunnel/src/observe/sdk-inventory.ts'
import { createProjects } from '../../../tunnel/src/pipeline/projects.ts'
import { errorOf } from '../../support/envelopes.ts'
import { post } from '../../support/post.ts'
import { captureFor } from '../../support/sdk-captures.ts'
import { it } from '../../support/tunnel/fixtures.ts'

const DSN = 'https://abc@sentry.example/1'
const PROJECT = 'sentry.example/1'

const newSeen = () => new SdkInventory(createProjects([DSN].flatMap((dsn) => parseDsn(dsn) ?? [])))

describe('The SDKs and releases of a project', () => {
  it('are those that the headers of real SDKs name', async ({ sentry, tunnel }) => {
    sentry.allowUnexpected() // what the capture holds is of another project
    const named = { sdk: { name: 'mine', version: '2' }, trace: { release: 'shop@2' } }
    await post(tunnel.url, { body: errorOf(sentry.dsn(), named) })
    await post(tunnel.url, { body: captureFor(sentry.dsn(), 'browser-11.12.0-error-unhandled') })
    await post(tunnel.url, { body: errorOf('https://abc@elsewhere.example/9', { sdk: { name: 'strange' } }) })
    const last = expect.any(Number)
    const { projects } = await (await tunnel.admin('/projects')).json()
    const [{ project, sdks, releases }] = projects
    expect([projects.length, project]).toEqual([1, `127.0.0.1:${sentry.port}/456`])
    expect(sdks).toContainEqual({ name: 'sentry.javascript.browser/11.12.0', last })
    expect(sdks).toContainEqual({ name: 'mine/2', last })
    expect(sdks).toHaveLength(2)
    expect(releases).toContainEqual({ name: 'shop@1.0.0', last })
    expect(releases).toContainEqual({ name: 'shop@2', last })
    expect(releases).toHaveLength(2)
  })

  it('include SDKs that name themselves only in X-Sentry-Auth', async ({ sentry, tunnel }) => {
    const auth = 'Sentry sentry_version=7,sentry_client=sentry.java/8.63.0,sentry_key=abc'
    await post(tunnel.url, { body: errorOf(sentry.dsn()), headers: { 'x-sentry-auth': auth } })
    const { projects } = await (await tunnel.admin('/projects')).json()
    expect(projects[0].sdks).toMatchObject([{ name: 'sentry.java/8.63.0' }])
  })

  it('are the last 50, newest first, truncated to the length that Sentry accepts', () => {
    const seen = newSeen()
    seen.note(PROJECT, 'kept', 'kept', 0)
    for (let n = 1; n <= 1_000; n++) {
      seen.note(PROJECT, `sdk-${n}`, `${n}${'x'.repeat(60_000)}`, n)
      seen.note(PROJECT, 'kept', 'kept', n)
    }
    const [{ sdks, releases } = { sdks: [], releases: [] }] = seen.all()
    for (const names of [sdks, releases]) {
      expect(names).toHaveLength(50)
      expect(names.map(({ last }) => last)).toEqual(names.map(({ last }) => last).sort((a, b) => b - a))
      expect(names.map(({ name }) => name)).toContain('kept')
      expect(Math.min(...names.map(({ last }) => last))).toBe(1_000 - 48)
      expect(Math.max(...names.map(({ name }) => name.length))).toBeLessThanOrEqual(200)
    }
  })

  it.each([undefined, null, 7, ''])('are empty when the header has %j as its release', (release) => {
    const seen = newSeen()
    seen.note(PROJECT, undefined, release, 1)
    seen.note('elsewhere.example/1', 'sdk', { release: 'r' }, 1)
    expect(seen.all()).toEqual([{ project: PROJECT, sdks: [], releases: [], unknown_types: [] }])
  })
})
