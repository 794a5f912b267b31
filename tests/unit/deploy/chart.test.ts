/** Values of the Helm chart: schema and documentation. */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { readValues, settingsOfChart } from '../../../scripts/docs/chart.ts'
import { ROOT } from '../../support/node.ts'

const read = (file: string) => readFileSync(join(ROOT, 'deploy/helm/culvert', file), 'utf8')
const DEFAULTS = parse(read('values.yaml'))
const validate = new Ajv({ allErrors: true, allowUnionTypes: true }).compile(
  JSON.parse(read('values.schema.json')),
)

type Tree = { [name: string]: unknown }

describe('The schema of the values', () => {
  it('accepts the defaults', () => {
    expect([validate(DEFAULTS), validate.errors]).toEqual([true, null])
  })

  it('has every default value, and a default for every value', () => {
    const schema: Tree = JSON.parse(read('values.schema.json'))
    const defaults = pathsOf(DEFAULTS).filter((path) => !path.startsWith('settings'))
    /** Fields of the pods of one component, in place of those of all pods. */
    const isOfPods = (path: string) => {
      const [, field = ''] = /^(?:nginx|tunnel|web|nats)\.(\w+)$/.exec(path) ?? []
      return field in DEFAULTS
    }
    expect(
      pathsOfSchema(schema).filter(
        (path) => !path.startsWith('settings') && (defaults.includes(path) || !isOfPods(path)),
      ),
    ).toEqual(defaults)
  })

  it.each([
    ['/image/prefix', { image: { prefix: 'culvert' } }],
    ['/secrets/SENTRY_DSN', { secrets: { SENTRY_DSN: 'o1.ingest.us.sentry.io/2' } }],
    ['/secrets/OPERATOR_PASSWORD', { secrets: { OPERATOR_PASSWORD: 'short' } }],
    ['/settings', { settings: { TUNEL_PATHS: '/monitoring' } }],
    ['/settings', { settings: { SENTRY_DSN: 'https://key@o1.ingest.us.sentry.io/2' } }],
    ['/settings/MAX_ENVELOPE_BYTES', { settings: { MAX_ENVELOPE_BYTES: 1000 } }],
    ['/caFile', { caFile: '/etc/ssl/ca.pem' }],
    ['/tunnel/replicas', { tunnel: { replicas: 0 } }],
    ['/tunnel/autoscaling/cpuPercent', { tunnel: { autoscaling: { cpuPercent: 170 } } }],
    ['/tunnel/resources/limits', { tunnel: { resources: { limits: { ram: '1Gi' } } } }],
    ['/spool/storageGiB', { spool: { storageGiB: '10Gi' } }],
    ['/spool/url', { spool: { url: 'file:///spool/spool.db' } }],
    ['/spool/url', { spool: { url: 'nats://culvert:password@nats.example:4222' } }],
    ['/settings/HTTPS_PROXY', { settings: { HTTPS_PROXY: 'http://user:password@proxy.example:3128' } }],
    ['/settings/HTTP_PROXY', { settings: { HTTP_PROXY: 'http://user:password@proxy.example:3128' } }],
    ['/app/url', { app: { url: 'https://shop.example' } }],
    ['/service/type', { service: { type: 'ExternalName' } }],
    ['/networkPolicy/egress/0/cidr', { networkPolicy: { egress: [{ cidr: '10.1.2.3', port: 9000 }] } }],
    ['/networkPolicy/egress/0/cidr', { networkPolicy: { egress: [{ cidr: '10.1.2.300/32', port: 9000 }] } }],
    ['/networkPolicy/egress/0/cidr', { networkPolicy: { egress: [{ cidr: '10.1.2.3/33', port: 9000 }] } }],
    ['/networkPolicy/privateNetworks/0', { networkPolicy: { privateNetworks: ['2001:db8::/129'] } }],
    ['/networkPolicy/privateNetworks/0', { networkPolicy: { privateNetworks: [':::::::/64'] } }],
    ['/service/loadBalancerSourceRanges/0', { service: { loadBalancerSourceRanges: ['1:2:3/64'] } }],
    [
      '/networkPolicy/ingressFrom/0/ipBlock/cidr',
      { networkPolicy: { ingressFrom: [{ ipBlock: { cidr: '10.1.2.3' } }] } },
    ],
    ['/settings', { settings: { TLS_FOLDER: '/tls' } }],
    ['/tunnel/resources/limits/memory', { tunnel: { resources: { limits: { memory: '384 MB' } } } }],
    ['/nats/resources/requests/cpu', { nats: { resources: { requests: { cpu: 'one' } } } }],
    ['/web', { web: { podAnotations: {} } }],
    ['/networkPolicy/egress/0', { networkPolicy: { egress: [{ cidr: '10.1.2.3/32' }] } }],
    ['', { replicas: 3 }],
  ])('refuses a wrong value at %j: %j', (path, values) => {
    expect(validate(values)).toBe(false)
    expect(validate.errors?.map(({ instancePath }) => instancePath)).toContain(path)
  })

  it.each([
    { secrets: { SENTRY_DSN: 'https://a@o1.ingest.us.sentry.io/2, https://b@sentry.example/path/3' } },
    { image: { prefix: 'registry.example:5000/team/culvert' } },
    { nginx: { image: 'registry.example:5000/nginx:1.30' } },
    {
      nginx: {
        resources: { requests: { cpu: 0.5, memory: '1.5Gi' }, limits: { 'ephemeral-storage': '1e9' } },
      },
    },
    { web: { podAnnotations: { a: 'b' }, podSecurityContext: { runAsUser: null } } },
    { spool: { url: 'nats://nats-0.example:4222,nats-1.example:4222?replicas=3' } },
    { app: { url: 'http://shop.default.svc.cluster.local:3000' } },
    { settings: { HTTPS_PROXY: 'http://proxy.example:3128' } },
    { secrets: { HTTPS_PROXY: 'http://user:password@proxy.example:3128' } },
    { networkPolicy: { egress: [{ cidr: 'fd00::1/128', port: 9000 }] } },
    {
      networkPolicy: {
        privateNetworks: ['::/0', '1:2:3:4:5:6:7:8/128', '2001:db8::/32', '::1/128', '1:2:3:4:5:6:7::/112'],
      },
    },
    { tunnel: { resources: { limits: { cpu: null } } } },
  ])('accepts %j', (values) => {
    expect([validate(values), validate.errors]).toEqual([true, null])
  })
})

describe('The value "settings"', () => {
  it('excludes secrets, settings of single processes, and those that other values set', () => {
    const names = settingsOfChart()
    expect(names).toEqual(expect.arrayContaining(['TUNNEL_PATHS', 'SPOOL_HOURS', 'LAB', 'EDGE']))
    for (const name of ['SENTRY_DSN', 'ADMIN_TOKEN', 'OPERATOR_PASSWORD', 'LISTEN', 'APP_URL', 'HTTP_PORT'])
      expect(names).not.toContain(name)
  })
})

describe('values.yaml', () => {
  it('documents every value', () => {
    const documented = readValues(read('values.yaml')).map(({ path }) => path)
    const missing = pathsOf(DEFAULTS).filter(
      (path) => !documented.some((each) => `${path}.`.startsWith(`${each}.`)),
    )
    expect(missing).toEqual([])
  })
})

describe('readValues', () => {
  it('returns path, default and comment of each documented value', () => {
    const text =
      'a:\n  # -- First.\n  b: 1\n  # -- Second.\n  # @default -- many\n  c: [x]\nd: 2\n# -- Third.\ne: ""\n'
    expect(readValues(text)).toEqual([
      { path: 'a.b', default: '`1`', help: 'First.' },
      { path: 'a.c', default: 'many', help: 'Second.' },
      { path: 'e', default: '`""`', help: 'Third.' },
    ])
  })
})

describe('The folder of the chart', () => {
  it('has no symbolic links, which some tools drop', () => {
    const folder = join(ROOT, 'deploy/helm/culvert')
    const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
    expect(entries.length).toBeGreaterThan(10)
    expect(entries.filter((entry) => entry.isSymbolicLink())).toEqual([])
  })
})

/** Returns the paths of all values that are not objects with values of their own. */
function pathsOf(tree: Tree, prefix = ''): string[] {
  return Object.entries(tree).flatMap(([name, value]) =>
    isTree(value) &&
    Object.keys(value).length > 0 &&
    !/^(resources|annotations|lifecycle|\w+SecurityContext)$/.test(name)
      ? pathsOf(value, `${prefix}${name}.`)
      : [`${prefix}${name}`],
  )
}

function pathsOfSchema({ properties }: Tree, prefix = ''): string[] {
  return Object.entries(isTree(properties) ? properties : {}).flatMap(([name, value]) =>
    isTree(value) && isTree(value.properties) && Object.keys(value.properties).length > 0
      ? pathsOfSchema(value, `${prefix}${name}.`)
      : [`${prefix}${name}`],
  )
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
