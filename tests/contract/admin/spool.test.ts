/** Actions of an operator on the spool of two tunnels: each one lists, retries, pauses and purges what the other has put. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { StoreEntry, StorePage } from '../../../contract/store.ts'
import { envelopeOf, errorOf } from '../../support/envelopes.ts'
import { checkQuietBooks, depthOf } from '../../support/outage/accounting.ts'
import { post } from '../../support/post.ts'
import type { Received } from '../../support/sentry/received-request.ts'
import { type Sentry, startSentry } from '../../support/sentry/sentry.ts'
import { STORE_NAMES, STORES } from '../../support/spool/shared-stores.ts'
import { openTunnel, type Tunnel } from '../../support/tunnel/in-process.ts'
import { until } from '../../support/until.ts'

const SECRET_WORD = 'payload-of-the-visitor'
const PROJECTS = { 1: 'a'.repeat(32), 2: 'b'.repeat(32) }

for (const [name, requirement] of STORE_NAMES) {
  describe(`Two tunnels on one ${name}`, requirement, () => {
    const started = new AsyncDisposableStack()
    let sentry: Sentry
    let env: Record<string, string>
    let tunnels: [Tunnel, Tunnel]
    let made = 0

    beforeAll(async () => {
      sentry = started.use(await startSentry({ projects: PROJECTS }))
      env = {
        SENTRY_DSN: `${sentry.dsn('1')} ${sentry.dsn('2')}`,
        SPOOL_URL: started.use(await STORES[name]()).url,
      }
      tunnels = [await openTunnel({ env }), await openTunnel({ env })]
      started.defer(async () => {
        await Promise.all(tunnels.map((tunnel) => tunnel.stop()))
      })
    })

    afterAll(() => started.disposeAsync())

    const nameOf = (project: string) => `127.0.0.1:${sentry.port}/${project}`
    const ask = async (path: string, method = 'GET', tunnel = tunnels[1]) => {
      const headers = { authorization: `Bearer ${tunnel.token}`, 'x-operator-address': '192.0.2.7' }
      return post(tunnel.adminUrl, { path, method: method as 'GET', headers })
    }
    const json = async (path: string, method = 'GET', tunnel = tunnels[1]) => {
      const { status, json } = await ask(path, method, tunnel)
      expect({ path, status }).toEqual({ path, status: 200 })
      return json as never
    }
    const list = async (query = ''): Promise<StoreEntry[]> =>
      ((await json(`/spool?limit=200${query}`)) as StorePage).entries
    /** Lists the entries of both replicas: with NATS, only the replica that postponed an entry knows its due time. */
    const listAll = async () =>
      (await Promise.all(tunnels.map((tunnel) => json('/spool?limit=200', 'GET', tunnel)))).flatMap(
        (page) => (page as StorePage).entries,
      )
    const metrics = async () => (await tunnels[1].admin('/metrics')).text()
    const errorIn = (project: string) =>
      errorOf(sentry.dsn(project), { number: ++made, sdk: { name: 'sdk' } })
    const sessionIn = (project: string) =>
      envelopeOf({ dsn: sentry.dsn(project), number: ++made }, [
        { header: { type: 'session' }, payload: JSON.stringify({ word: SECRET_WORD }) },
      ])
    const spool = async (body: Buffer) => {
      expect(await post(tunnels[0].url, { body })).toMatchObject({ status: 200, outcome: 'spooled' })
      return body
    }
    const arrivedOf = (project: string) =>
      sentry.requests.filter(({ url }) => url.startsWith(`/api/${project}/`))

    /** Posts until an envelope is delivered, so that the breaker closes without a delivery from the spool. */
    const goesThrough = (tunnel: Tunnel) =>
      expect
        .poll(async () => {
          tunnel.advanceClock(5_000) // the breaker allows a probe
          return (await post(tunnel.url, { body: errorIn('1') })).status
        })
        .toBe(200)

    it('list pending envelopes in pages, by project and category', async () => {
      await sentry.away()
      for (const project of ['1', '2']) {
        await spool(errorIn(project))
        await spool(errorIn(project))
        await spool(sessionIn(project))
      }
      const status = (await json('/status')) as { spool: { id: string } }
      const first = (await json('/spool?limit=4')) as StorePage
      const second = (await json(`/spool?limit=4&after=${first.next}`)) as StorePage
      expect(first.spool).toBe(status.spool.id)
      expect(second).not.toHaveProperty('next')
      const rows = [...first.entries, ...second.entries]
      expect(new Set(rows.map(({ id }) => id)).size).toBe(6)
      expect(rows[0]).toMatchObject({
        ...{ state: 'pending', stored: true, project: nameOf('2'), category: 'session' },
        attempts: expect.any(Number),
      })
      const { receipt, bytes, received } = rows[0] as StoreEntry
      const told = await tunnels[0].log((line) => (line.receipt as { id?: string })?.id === receipt)
      expect(told).toMatchObject({ receipt: { outcome: 'spooled', time: received } })
      expect(bytes).toBeGreaterThan(SECRET_WORD.length)
      expect((await list('&order=oldest')).map(({ id }) => id)).toEqual(rows.map(({ id }) => id).reverse())
      expect(await list(`&project=${nameOf('1')}`)).toHaveLength(3)
      expect(await list('&category=session')).toHaveLength(2)
      expect(await list(`&project=${nameOf('1')}&category=session`)).toHaveLength(1)
      expect(await list('&state=other')).toHaveLength(6) // /spool has no state
      expect(first).toMatchObject({ envelopes: first.entries })
    })

    it('show an envelope without its payload, return the payload at another path, and log that access', async () => {
      const body = await spool(sessionIn('1'))
      const [row] = await list()
      const shown = await ask(`/spool/${row?.id}`)
      expect(shown.json).toMatchObject({
        ...{ id: row?.id, receipt: row?.receipt, category: 'session', item_count: 1 },
        header: { dsn: sentry.dsn('1') },
        items: [{ header: { type: 'session' }, bytes: JSON.stringify({ word: SECRET_WORD }).length }],
      })
      expect(shown.text).not.toContain(SECRET_WORD)
      const handed = await tunnels[1].admin(`/spool/${row?.id}/envelope`)
      expect(Buffer.from(await handed.arrayBuffer())).toEqual(body)
      expect(handed.headers.get('content-disposition')).toBe('attachment')
      expect(handed.headers.get('x-content-type-options')).toBe('nosniff')
      const { audit: act } = await tunnels[1].log(({ msg }) => msg === 'audit')
      expect(act).toMatchObject({
        action: 'spool-read',
        id: row?.id,
        receipt: row?.receipt,
        client_address: '127.0.0.1',
      })
      expect(JSON.stringify(tunnels[1].logs)).not.toContain(SECRET_WORD)
    })

    it('name the error in a wrong request', async () => {
      const [row] = await list()
      const gone = `${row?.id.split('-')[0]}-${'0'.repeat(32)}`
      const wrong: [string, string, number, RegExp][] = [
        ['GET', '/spool?order=sideways', 400, /newest/],
        ['GET', '/spool?limit=201', 400, /1 to 200/],
        ['GET', '/spool?after=x', 400, /next/],
        ['GET', '/spool?category=%27', 400, /no category/],
        ['GET', '/spool?category=errors', 400, /no category .+ error, .+ none/],
        ['DELETE', '/spool?category=errors', 400, /no category/],
        ['POST', '/spool/retry?category=typo', 400, /no category/],
        ['DELETE', '/spool?project=elsewhere/9', 404, /No such project/],
        ['POST', '/spool/pause?project=elsewhere/9', 404, /No such project/],
        ['DELETE', '/spool?all&limit=3', 400, /"limit" is not a parameter/],
        ['DELETE', '/spool?category=error&category=session', 400, /category is given twice/],
        ['POST', '/spool/pause?all', 400, /"all" is not a parameter/],
        ['DELETE', `/spool/${row?.id}?category=session`, 400, /There are none here/],
        ['GET', '/spool?project=elsewhere/9', 404, /No such project/],
        ['GET', '/spool/x', 400, /GET \/spool/],
        ['GET', `/spool/${gone}`, 404, /no longer in the spool/],
        ['GET', `/spool/${gone}/envelope`, 404, /no longer in the spool/],
        ['DELETE', `/spool/${gone}`, 404, /no longer in the spool/],
        ['POST', `/spool/${gone}/retry`, 404, /no longer in the spool/],
        ['DELETE', '/spool', 400, /\?all/],
        ['DELETE', '/spool?all&category=error', 400, /\?all/],
        ['POST', '/spool/retry', 400, /\?all/],
        ['POST', '/spool/pause?category=error', 400, /category cannot/],
        ['PUT', '/spool', 405, /GET, DELETE/],
        ['GET', '/spool/retry', 405, /POST/],
        ['DELETE', '/spool/pause', 405, /POST/],
        ['POST', `/spool/${row?.id}/envelope`, 405, /GET/],
      ]
      const before = await list()
      for (const [method, path, status, words] of wrong)
        expect([path, await ask(path, method)]).toMatchObject([
          path,
          { status, json: { detail: expect.stringMatching(words) } },
        ])
      expect((await list()).map(({ id }) => id)).toEqual(before.map(({ id }) => id))
    })

    it('show pending envelopes, limits, attempts and pauses in status and metrics', async () => {
      await until(
        async () => /spool_delivery_attempts_total\{result="undecided"/.test(await metrics()),
        20_000,
      )
      await json(`/spool/pause?project=${nameOf('2')}`, 'POST')
      const { spool: told } = (await json('/status')) as { spool: Record<string, unknown> }
      expect(told).toMatchObject({
        ...{ writable: true, envelopes: 7, max_age_ms: 24 * 3_600_000, max_bytes: expect.any(Number) },
        ...{ oldest: expect.any(Number), paused: [{ project: nameOf('2'), since: expect.any(Number) }] },
        attempts: expect.arrayContaining([
          { project: expect.any(String), result: 'undecided', attempts: expect.any(Number) },
        ]),
      })
      expect(told.partitions).toContainEqual({
        ...{ project: nameOf('1'), category: 'error', envelopes: 2 },
        ...{ bytes: expect.any(Number), oldest: told.oldest },
      })
      const figures = await metrics()
      const labels = (project: string, category: string) =>
        `{spool_id="${told.id}",project="${nameOf(project)}",category="${category}"}`
      expect(figures).toContain(`culvert_spool_project_envelopes${labels('1', 'session')} 2\n`)
      expect(figures).toContain(`culvert_spool_project_bytes${labels('2', 'error')} `)
      expect(figures).toContain(`culvert_spool_project_oldest_entry_age_seconds${labels('2', 'error')} `)
      expect(figures).toContain(`culvert_spool_paused{spool_id="${told.id}",project="${nameOf('2')}"} 1\n`)
      expect(figures).toContain(`culvert_spool_paused{spool_id="${told.id}",project="${nameOf('1')}"} 0\n`)
      expect(figures).toContain(`culvert_spool_max_bytes{spool_id="${told.id}"} ${told.max_bytes}\n`)
      await json(`/spool/resume?project=${nameOf('2')}`, 'POST')
    })

    it('purge one envelope, a category and a project, each with its final outcome', async () => {
      const act = async (path: string) => json(path, 'DELETE')
      const [row] = await list(`&project=${nameOf('1')}&category=session`)
      expect(await act(`/spool/${row?.id}`)).toEqual({ purged: 1, left: 0 })
      expect((await ask(`/spool/${row?.id}`)).status).toBe(404)
      await tunnels[1].log(({ final_outcome }) => {
        const { final_outcome: how, receipt } = (final_outcome ?? {}) as {
          final_outcome?: string
          receipt?: string
        }
        return how === 'purged' && receipt === row?.receipt
      })
      expect(await act('/spool?category=session')).toEqual({ purged: 2, left: 0 })
      expect(await act(`/spool?project=${nameOf('2')}`)).toEqual({ purged: 2, left: 0 })
      expect(await list()).toHaveLength(2)
      expect(await metrics()).toContain(
        `culvert_spool_final_outcomes_total{final_outcome="purged",project="${nameOf('2')}"} 3\n`,
      )
      await checkQuietBooks(tunnels)
    })

    it('write each action to the audit log at every log level', async () => {
      const headers = { authorization: `Bearer ${tunnels[1].token}` }
      await tunnels[1].admin('/log-level?level=error', { method: 'PUT', headers })
      await json('/spool/retry?category=replay', 'POST')
      const { audit: act, at } = await tunnels[1].log(
        ({ audit: act }) => (act as { action?: string })?.action === 'spool-retry',
      )
      expect(act).toEqual({
        ...{ action: 'spool-retry', category: 'replay', envelopes: 0 },
        ...{ client_address: '127.0.0.1', operator: '192.0.2.7', replica: expect.any(String) },
      })
      expect(at).toEqual(expect.any(Number))
      await tunnels[1].admin('/log-level?level=info', { method: 'PUT', headers })
      const acts = tunnels[1].logs.flatMap(({ audit: act }) => (act as { action: string })?.action ?? [])
      expect(new Set(acts)).toEqual(
        new Set(['spool-read', 'spool-pause', 'spool-resume', 'spool-purge', 'spool-retry']),
      )
    })

    it('log actions that show no payload at the level debug', async () => {
      const headers = { authorization: `Bearer ${tunnels[1].token}` }
      await tunnels[1].admin('/log-level?level=debug', { method: 'PUT', headers })
      const [row] = await list('&category=error')
      await json(`/spool/${row?.id}`)
      const looked = (act: string) =>
        tunnels[1].log(
          (line) => line.level === 'debug' && (line.audit as { action?: string })?.action === act,
        )
      expect(await looked('store-list')).toMatchObject({ audit: { category: 'error', envelopes: 2 } })
      expect(await looked('spool-inspect')).toMatchObject({ audit: { id: row?.id, operator: '192.0.2.7' } })
      await tunnels[1].admin('/log-level?level=info', { method: 'PUT', headers })
    })

    it('deliver nothing while all projects are paused, also after a restart, but forward and spool new envelopes', async () => {
      await json('/spool/pause', 'POST', tunnels[0])
      await spool(errorIn('2'))
      await tunnels[1].stop()
      tunnels[1] = await openTunnel({ env })
      await sentry.back()
      expect(((await json('/status')) as { spool: object }).spool).toMatchObject({
        paused: [{ since: expect.any(Number) }],
      })
      const waits = await depthOf(tunnels)
      expect(waits).toBe(3)
      for (const tunnel of tunnels) await goesThrough(tunnel)
      expect(await depthOf(tunnels)).toBeGreaterThanOrEqual(waits) // envelopes were spooled while the breaker was open
      expect(arrivedOf('2')).toEqual([])
    })

    it('deliver the pending envelopes once after a resume', async () => {
      const waiting = (await list()).length
      const before = sentry.requests.length
      await json('/spool/resume', 'POST')
      await until(async () => (await list()).length === 0, 30_000)
      await sentry.idle()
      const numbers = sentry.requests.filter(isOurs).map(({ header }) => header.number)
      expect(sentry.requests.filter(isOurs).length - before).toBe(waiting)
      expect(new Set(numbers).size).toBe(numbers.length)
    })

    it('retry an envelope before its backoff ends', async () => {
      sentry.answer({ status: 429, headers: { 'x-sentry-rate-limits': '600:session:key' } })
      await json('/spool/pause', 'POST')
      await sentry.away()
      await spool(sessionIn('1'))
      await sentry.back()
      await json('/spool/resume', 'POST')
      const isLong = ({ due = 0, leased }: StoreEntry) => !leased && due > Date.now() + 60_000
      const long = async () => (await listAll()).filter(isLong)
      await until(async () => (await long()).length > 0, 30_000)
      const [row] = await long()
      expect(row?.attempts).toBeGreaterThanOrEqual(1)
      expect(await json('/spool/retry?category=session', 'POST')).toEqual({ retried: 1 })
      // A replica that has not learned the limit yet may try the entry once, and postpone it again.
      const isTried = ({ attempts = 0 }: StoreEntry) => attempts > (row?.attempts ?? 0)
      await until(async () => (await long()).every(isTried), 10_000)
      expect(await json('/spool?limit=1')).toMatchObject({ entries: [{ receipt: row?.receipt }] })
    })

    it('purge all pending envelopes', async () => {
      expect(await json('/spool?all', 'DELETE')).toEqual({ purged: 1, left: 0 })
      expect(await list()).toEqual([])
    })

    it('list and purge pending envelopes of a project that is no longer configured, which metrics count as unknown', async () => {
      await sentry.away()
      await spool(errorIn('2'))
      await using third = await openTunnel({ env: { ...env, SENTRY_DSN: sentry.dsn('1') } })
      const { entries } = (await json('/spool', 'GET', third)) as StorePage
      expect(entries).toMatchObject([{ project: nameOf('2'), category: 'error' }])
      const figures = await (await third.admin('/metrics')).text()
      expect(figures).toMatch(/^culvert_spool_project_envelopes\{.*project="unknown",category="error"\} 1$/m)
      expect(figures).not.toContain(nameOf('2'))
      expect(await json(`/spool?project=${nameOf('2')}`, 'DELETE', third)).toEqual({ purged: 1, left: 0 })
    })

    it('resume a paused project that is no longer configured and has no pending envelopes', async () => {
      await json(`/spool/pause?project=${nameOf('2')}`, 'POST')
      await using third = await openTunnel({ env: { ...env, SENTRY_DSN: sentry.dsn('1') } })
      expect(await json(`/spool/resume?project=${nameOf('2')}`, 'POST', third)).toEqual({ paused: [] })
    })
  })
}

/** Returns whether a request is no client report. */
function isOurs({ header }: Received): boolean {
  return header.number !== undefined
}
