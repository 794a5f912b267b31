/** `docs/openapi.yaml` describes the admin API as it is: every route, and real responses of two tunnels. */

import { globSync, readFileSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { INBOX_DSN } from '../../../contract/dsn.ts'
import { envelopeOf, errorOf } from '../../support/envelopes.ts'
import { ROOT } from '../../support/node.ts'
import { post } from '../../support/post.ts'
import { startSentry } from '../../support/sentry/sentry.ts'
import { startTunnel, type Tunnel } from '../../support/tunnel/tunnel.ts'

type Content = Record<string, { schema: object }>
type DocumentedResponse = { $ref?: string; content?: Content }
type Operation = { summary: string; responses: Record<string, DocumentedResponse> }
type Document = {
  paths: Record<string, Record<string, Operation>>
  components: { responses: Record<string, DocumentedResponse>; schemas: Record<string, object> }
}

const document: Document = parse(readFileSync(resolve(ROOT, 'docs/openapi.yaml'), 'utf8'))
const ajv = new Ajv2020({ strict: false, allErrors: true })
ajv.addSchema(closeObjects({ $id: 'openapi', ...document }) as object)

const documented = Object.entries(document.paths).flatMap(([path, operations]) =>
  Object.keys(operations).flatMap((method) =>
    method === 'parameters' ? [] : `${method.toUpperCase()} ${path}`,
  ),
)

/** Forbids properties that a schema does not name, so that an undocumented field fails here. */
function closeObjects(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closeObjects)
  if (typeof value !== 'object' || value === null) return value
  const closed = Object.fromEntries(Object.entries(value).map(([key, each]) => [key, closeObjects(each)]))
  const isOpen = closed.type === 'object' && 'properties' in closed && !('additionalProperties' in closed)
  return isOpen ? { ...closed, additionalProperties: false } : closed
}

describe('docs/openapi.yaml', () => {
  const started = new AsyncDisposableStack()
  const answered = new Set<string>()
  let spooling: Tunnel
  let inbox: Tunnel

  beforeAll(async () => {
    const sentry = started.use(await startSentry())
    await sentry.away()
    spooling = started.use(await startTunnel({ env: { SENTRY_DSN: sentry.dsn(), QUOTA: 'error=50000/day' } }))
    inbox = started.use(await startTunnel({ env: { SCRUB: 'default observe' } }))
    for (let n = 0; n < 3; n++)
      await post(spooling.url, { body: errorOf(sentry.dsn(), { event_id: String(n).repeat(32) }) })
    await post(spooling.url, { body: errorOf('https://stranger@elsewhere.example/1') })
    for (let n = 0; n < 3; n++) await post(inbox.url, { body: errorOf(INBOX_DSN, { sdk: { name: 'sdk' } }) })
  })

  afterAll(() => started.disposeAsync())

  /** Sends a request, checks the response against its description, and returns the body. */
  async function ask(
    tunnel: Tunnel,
    operation: string,
    status: number,
    query = '',
    id = '',
    body: string | null = null,
  ) {
    const [method = '', template = ''] = operation.split(' ')
    const path = template.replace(/\{\w+\}/, id)
    const aborting = new AbortController()
    const headers = { authorization: `Bearer ${tunnel.token}` }
    const url = `${tunnel.adminUrl}${path}${query}`
    const response = await fetch(url, { method, headers, body, signal: aborting.signal })
    expect({ operation, query, status: response.status }).toEqual({ operation, query, status })
    const described = document.paths[template]?.[method.toLowerCase()]?.responses[status]
    const content = contentOf(described)
    const [type = ''] = (response.headers.get('content-type') ?? '').split(';')
    expect(Object.keys(content), `${operation} ${status}`).toContain(type)
    answered.add(operation)
    if (type === 'text/event-stream') return aborting.abort()
    const text = await response.text()
    if (type !== 'application/json') return text
    const json = JSON.parse(text)
    const validate = ajv.compile(closeObjects(absolute(content[type]?.schema)) as object)
    expect(validate(json) ? [] : validate.errors, `${operation} ${status}`).toEqual([])
    return json
  }

  it('describes exactly the routes of the code', () => {
    const routes = globSync('tunnel/src/admin/*.ts', { cwd: ROOT }).flatMap((file) => {
      const [, name] = /^(\w+)-routes\.ts$/.exec(basename(file)) ?? []
      const hasWholePaths = name === undefined || name === 'store' // the store has routes at two paths
      const prefix = hasWholePaths ? '' : `/${name}`
      return routesIn(readFileSync(resolve(ROOT, file), 'utf8')).map(
        ([method, path]) =>
          `${method} ${(prefix + path).replace(/(?<=.)\/$/, '').replace(/:(\w+)/g, '{$1}')}`,
      )
    })
    expect(routes.length).toBeGreaterThan(15)
    expect([...documented].sort()).toEqual(routes.sort())
  })

  it('describes the health routes, metrics and state', async () => {
    for (const path of ['/livez', '/readyz', '/metrics']) await ask(inbox, `GET ${path}`, 200)
    for (const tunnel of [inbox, spooling])
      for (const path of ['/status', '/projects', '/rejections', '/receipts'])
        await ask(tunnel, `GET ${path}`, 200)
    const now = Date.now()
    const query = `?from=${now - 3_600_000}&to=${now + 60_000}&step=600000`
    for (const tunnel of [inbox, spooling]) await ask(tunnel, 'GET /figures', 200, query)
    await ask(inbox, 'GET /figures', 400)
    await ask(inbox, 'GET /receipts', 400, '?newest=x')
    await ask(inbox, 'PUT /log-level', 200, '?level=info')
    await ask(inbox, 'PUT /log-level', 400, '?level=loud')
    await ask(inbox, 'PUT /doctor-findings', 200, '', '', '["The proxy limits bodies to 1 MB."]')
    await ask(inbox, 'PUT /doctor-findings', 400, '', '', '{}')
    const hash = 'a'.repeat(43)
    for (const [method, open] of [
      ['PUT', true],
      ['GET', true],
      ['DELETE', false],
      ['GET', false],
    ] as const)
      expect(await ask(inbox, `${method} /sessions/{hash}`, 200, '', hash)).toEqual({ open })
    await ask(inbox, 'GET /sessions/{hash}', 400, '', 'short')
  })

  it('describes the state of a tunnel with a mirror', async () => {
    const dsn = 'http://key@127.0.0.1:9/1'
    const mirror = 'http://key@127.0.0.1:9/2'
    await using mirroring = await startTunnel({
      env: { SENTRY_DSN: dsn, MIRROR_DSN: `${dsn}->${mirror}`, UPSTREAM_LATE_MS: '500' },
    })
    await post(mirroring.url, { body: errorOf(dsn) })
    const { mirrors, spool } = await ask(mirroring, 'GET /status', 200)
    expect([mirrors.length, spool.mirrors.length]).toEqual([1, 1])
  })

  it('describes a test of alerts', async () => {
    await using alerting = await startTunnel({ env: { ALERT_URL: 'http://127.0.0.1:9/' } })
    const { results } = await ask(alerting, 'POST /alerts/test', 200)
    expect(results).toHaveLength(1)
    await ask(inbox, 'POST /alerts/test', 404)
  })

  it('describes a receipt', async () => {
    const { headers } = await post(inbox.url, { body: errorOf(INBOX_DSN) })
    await ask(inbox, 'GET /receipts/{token}', 200, '', String(headers['x-culvert-receipt']))
    await ask(inbox, 'GET /receipts/{token}', 404, '', 'none')
  })

  it('describes the inbox', async () => {
    const { entries } = await ask(inbox, 'GET /inbox', 200, '?limit=2')
    await ask(inbox, 'GET /inbox', 400, '?limit=0')
    await ask(spooling, 'GET /inbox', 404)
    await ask(inbox, 'GET /inbox/groups', 200, '?search=hello')
    await ask(inbox, 'GET /inbox/groups', 400, '?type=7')
    await ask(spooling, 'GET /inbox/groups', 404)
    await ask(inbox, 'GET /inbox/{id}', 200, '?first=10', entries[0].id)
    await ask(inbox, 'GET /inbox/{id}', 404, '', 'none')
    await ask(inbox, 'DELETE /inbox/{id}', 200, '', entries[0].id)
    await ask(inbox, 'DELETE /inbox', 400)
    await ask(inbox, 'DELETE /inbox', 200, '?all')
  })

  it('describes what scrubbing would change', async () => {
    const payload = '{"message":"jane@mail.example"}'
    await post(inbox.url, {
      body: envelopeOf({ dsn: INBOX_DSN }, [{ header: { type: 'event' }, payload }]),
    })
    const { changes } = await ask(inbox, 'GET /policies/example', 200)
    expect(changes).toHaveLength(1)
    await ask(spooling, 'GET /policies/example', 404)
  })

  it('describes the simulated outage', async () => {
    await ask(inbox, 'POST /inbox/outage', 200, '?seconds=60')
    await ask(inbox, 'POST /inbox/outage', 400, '?seconds=181')
    await ask(inbox, 'GET /inbox/outage', 200)
    await ask(inbox, 'DELETE /inbox/outage', 200)
    await ask(inbox, 'POST /inbox/outage', 409)
    await ask(spooling, 'POST /inbox/outage', 404)
  })

  it('describes the store', async () => {
    await ask(spooling, 'POST /spool/pause', 200)
    const { entries } = await ask(spooling, 'GET /store/entries', 200, '?state=pending&limit=1')
    await ask(spooling, 'GET /store/entries', 200)
    await ask(spooling, 'GET /store/entries', 400, '?state=lost')
    await ask(spooling, 'DELETE /store/entries', 200, '?state=declined')
    await ask(spooling, 'DELETE /store/entries', 400)
    await ask(spooling, 'GET /store/events/{event_id}', 200, '', entries[0].event_id)
    await ask(spooling, 'GET /store/events/{event_id}', 400, '', 'x')
    await ask(spooling, 'GET /store/resend', 200)
    await ask(spooling, 'POST /store/resend', 200, '', '', '{"state":"declined"}')
    await ask(spooling, 'POST /store/resend', 400, '', '', '{"state":"lost"}')
    await ask(spooling, 'POST /store/resend', 404, '', '', `{"id":"7-${'0'.repeat(32)}"}`)
    await ask(spooling, 'DELETE /store/resend', 409)
    await ask(spooling, 'POST /store/erase', 200, '', '', '{"user":"nobody@shop.example"}')
    await ask(spooling, 'POST /store/erase', 400, '', '', '{"user":""}')
  })

  it('describes the spool', async () => {
    await ask(spooling, 'POST /spool/pause', 200)
    const { entries } = await ask(spooling, 'GET /spool', 200, '?limit=2')
    const [{ id, project }] = entries
    await ask(spooling, 'GET /spool', 400, '?limit=0')
    await ask(spooling, 'GET /spool/{id}', 200, '', id)
    await ask(spooling, 'GET /spool/{id}', 400, '', 'x')
    await ask(spooling, 'GET /spool/{id}/envelope', 200, '', id)
    await ask(spooling, 'POST /spool/{id}/retry', 200, '', id)
    await ask(spooling, 'POST /spool/retry', 200, `?project=${project}`)
    await ask(spooling, 'POST /spool/retry', 400)
    await ask(spooling, 'POST /spool/pause', 404, '?project=none/1')
    await ask(spooling, 'DELETE /spool/{id}', 200, '', id)
    await ask(spooling, 'DELETE /spool/{id}', 404, '', id)
    await ask(spooling, 'DELETE /spool', 400)
    await ask(spooling, 'DELETE /spool', 200, '?category=error')
    await ask(spooling, 'POST /spool/resume', 200)
  })

  it('was compared with a response of every operation', () => {
    expect(documented.filter((operation) => !answered.has(operation))).toEqual([])
  })
})

/** Returns method and path of each route that the source adds, by `app.get(…)` or by `addRoute(app, …, { GET: … })`. */
function routesIn(source: string): [method: string, path: string][] {
  const direct = [...source.matchAll(/\bapp\.(get|post|put|delete)\('([^']+)'/g)]
  const calls = source.split(/\baddRoute\(app, /).slice(1)
  return [
    ...direct.map(([, method = '', path = '']): [string, string] => [method.toUpperCase(), path]),
    ...calls.flatMap((call) => {
      const [, path = ''] = /^'([^']+)'/.exec(call) ?? []
      const methods = [...call.matchAll(/\b(GET|POST|PUT|DELETE): \{/g)]
      return methods.map(([, method = '']): [string, string] => [method, path])
    }),
  ]
}

function contentOf(response: DocumentedResponse | undefined): Content {
  const name = response?.$ref?.split('/').at(-1)
  return (name === undefined ? response : document.components.responses[name])?.content ?? {}
}

/** Returns a schema whose references point into the document. */
function absolute(schema: object | undefined): object {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"openapi#/'))
}
