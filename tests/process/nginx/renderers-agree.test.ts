/** Both renderers of nginx.conf, that in awk and that in TypeScript, write the same file. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { readNginxConfig, renderNginx } from '../../../tunnel/src/config/render-nginx.ts'
import { ADDRESSES, render } from '../../support/nginx/renderer.ts'
import { ROOT } from '../../support/node.ts'
import { makeFolder } from '../../support/temporary-folder.ts'

const TEMPLATE = readFileSync(join(ROOT, 'nginx.conf'), 'utf8')

let folder: Awaited<ReturnType<typeof makeFolder>>

beforeAll(async () => {
  folder = await makeFolder()
})

afterAll(() => folder[Symbol.asyncDispose]())

const dsns = [
  'https://public@o1.ingest.us.sentry.io/2',
  'HTTPS://Key:secret@O1.Ingest.Sentry.IO:443/2',
  'http://key@sentry.internal:80/a/b.c/99999999999999999999',
  'https://key_9:@[2001:DB8::1]:9000/pre~fix/7',
]
const list = (...values: string[]) => fc.subarray(values).map((some) => some.join(' '))
const settings = fc.record(
  {
    SENTRY_DSN: list(...dsns),
    TUNNEL_PATHS: fc.constantFrom('', '/a', '/a|/b/c_d-E9', ' \n/a|/b\t'),
    DERIVED_PATHS: fc.constantFrom('', 'on', 'off'),
    TRUSTED_PROXIES: list('10.0.0.0/8,192.0.2.1', '2001:db8::/32', '::ffff:192.0.2.0/120'),
    MAX_ENVELOPE_BYTES: fc.constantFrom('', '1024', '1073741824'),
    ADDRESS_RATE: fc.constantFrom('', '0', '7', '1000000'),
    ADDRESS_BURST: fc.constantFrom('', '1', '1000000'),
    LISTEN: fc.constantFrom('8080', '80 [::]:80', '127.0.0.1:8080'),
    INNER_LISTEN: fc.constantFrom('8081', '[::1]:8081'),
    LISTEN_TLS: fc.constantFrom('', '8443 [::]:8443'),
    TLS_CERTIFICATE: fc.constant('/a folder/cert.pem'),
    TLS_KEY: fc.constant('/a folder/key.pem'),
    HTTP2: fc.constantFrom('', 'on'),
    KEEPALIVE_MIN_TIMEOUT: fc.constantFrom('', '5s'),
    TUNNELS: fc.constantFrom('tunnel:9090', '127.0.0.1:9090 [::1]:9190'),
    WEB: fc.constantFrom('web:3000', '127.0.0.1:3000, 127.0.0.1:3001'),
    RESOLVER: fc.constantFrom('', '127.0.0.11', '[fd00::a]'),
    ACCESS_LOG: fc.constantFrom('', '/dev/stdout', '/logs/a & b\\\\1 $HOME `id` * #.log'),
  },
  { requiredKeys: ['TLS_CERTIFICATE', 'TLS_KEY'] },
)

it('the two renderers write the same for many settings', () => {
  fc.assert(
    fc.property(settings, (env) => {
      const problems: string[] = []
      const given = { ...ADDRESSES, ...env, NGINX_TEMP: folder.path }
      const text = renderNginx(TEMPLATE, readNginxConfig(given, problems))
      expect(problems).toEqual([])
      expect(text).toBe(render(folder.path, env).text)
    }),
    { numRuns: 300 },
  )
})
