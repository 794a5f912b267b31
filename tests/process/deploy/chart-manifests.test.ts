/** Manifests that the chart renders with its default values: valid, complete, and equal to compose. */

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { BlockList, isIP } from 'node:net'
import { dirname, join, resolve } from 'node:path'
import { jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import type { IStatefulSet } from 'kubernetes-models/apps/v1'
import type { IHorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2'
import type { IIPBlock, INetworkPolicy, INetworkPolicyPeer } from 'kubernetes-models/networking.k8s.io/v1'
import type { IPodDisruptionBudget } from 'kubernetes-models/policy/v1'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { parseNatsUrl } from '../../../contract/nats-url.ts'
import type { Process } from '../../../contract/settings/declarations.ts'
import { rowOf, SETTING_NAMES } from '../../../contract/settings.ts'
import { readConfig } from '../../../tunnel/src/config/config.ts'
import { readConfig as readWebConfig } from '../../../web/lib/config.ts'
import { renderChart } from '../../support/kubernetes/chart.ts'
import {
  componentIn,
  componentOf,
  configOf,
  configuredContainer,
  containersOf,
  environmentOf,
  initContainersOf,
  labelsOf,
  type Manifest,
  matches,
  named,
  podOf,
  servicesOf,
  type Workload,
  workloadsOf,
} from '../../support/kubernetes/manifests.ts'
import { ROOT } from '../../support/node.ts'
import { startProgram } from '../../support/program.ts'
import { HELM_PROGRAM, NATS_PROGRAM, requires } from '../../support/requirements.ts'
import { makeFolder } from '../../support/temporary-folder.ts'

const SECRETS = {
  SENTRY_DSN: 'https://key@o1.ingest.us.sentry.io/2',
  OPERATOR_PASSWORD: 'a password of twelve',
  NATS_USER: 'culvert',
  NATS_PASSWORD: '10k@/:#%, x',
  CLUSTER_PASSWORD: '20k',
}
const BOUNDED = { cpu: /\d/, memory: /\d/, 'ephemeral-storage': /\d/ }
/** Settings whose value a pod determines itself, or gets from another source. */
const ONLY_IN_COMPOSE = new Set(['SPOOL_CREDENTIALS_FILE'])
/** Variables that the chart sets for other programs. */
const INTERNAL = new Set(['HOSTNAME', 'NATS_USER', 'NATS_PASSWORD'])
const DOMAIN = '.culvert.svc.cluster.local'

type Composed = {
  environment?: Record<string, string>
  networks: string[] | Record<string, unknown>
  mem_limit: string
  cpus: number
  command?: string[]
}
const compose: {
  services: Record<string, Composed>
  networks: Record<string, { internal?: boolean } | null>
} = parse(readFileSync(resolve(ROOT, 'docker-compose.yml'), 'utf8'), { merge: true })

const manifests = HELM_PROGRAM ? renderChart() : []
const workloads = workloadsOf(manifests)
const services = servicesOf(manifests)
const workload = (component: string) => componentIn(workloads, component)
const ofKind = <T>(kind: string) => manifests.filter((manifest) => manifest.kind === kind) as (T & Manifest)[]

describe('The manifests of the chart', requires('helm'), () => {
  it('select existing pods, and target ports that these have', () => {
    for (const { spec, metadata } of services) {
      const targets = workloads.filter((each) => matches(spec?.selector, labelsOf(each)))
      expect(
        targets.map((each) => each.metadata.name),
        metadata.name,
      ).toHaveLength(1)
      for (const { port, targetPort } of spec?.ports ?? []) {
        const found = containersOf(targets[0] as Workload)[0]?.ports?.find(({ name }) => name === targetPort)
        expect(found, `${metadata.name} ${targetPort}`).toBeDefined()
        if (metadata.name !== 'culvert') expect(found?.containerPort).toBe(port)
      }
    }
    for (const budget of ofKind<IPodDisruptionBudget>('PodDisruptionBudget'))
      expect(matches(budget.spec?.selector?.matchLabels, labelsOf(workload(componentOf(budget))))).toBe(true)
    const [scaler] = ofKind<IHorizontalPodAutoscaler>('HorizontalPodAutoscaler')
    expect(scaler?.spec?.scaleTargetRef).toEqual({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      name: 'culvert-tunnel',
    })
    expect(workload('tunnel').spec).not.toHaveProperty('replicas')
  })

  it('run one replica of web, because it keeps sessions in memory', () => {
    expect(workload('web').spec).toMatchObject({
      replicas: 1,
      strategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
    })
  })

  it.each(['nginx', 'tunnel', 'web', 'nats'])(
    'run %s unprivileged, with limits and probes, spread over nodes',
    (name) => {
      const each = workload(name)
      const pod = podOf(each)
      expect(matches(each.spec?.selector.matchLabels, labelsOf(each))).toBe(true)
      expect(pod).toMatchObject({
        automountServiceAccountToken: false,
        securityContext: {
          runAsNonRoot: true,
          runAsUser: expect.any(Number),
          seccompProfile: { type: 'RuntimeDefault' },
        },
      })
      expect(pod.securityContext?.runAsUser).toBeGreaterThan(0)
      for (const { labelSelector } of pod.topologySpreadConstraints ?? [])
        expect(matches(labelSelector?.matchLabels, labelsOf(each))).toBe(true)
      expect(pod.topologySpreadConstraints?.map(({ topologyKey }) => topologyKey)).toContain(
        'kubernetes.io/hostname',
      )
      expect(ofKind('PodDisruptionBudget').map(componentOf)).toContain(name)

      const [container, ...more] = containersOf(each)
      expect(more).toEqual([])
      for (const { image, ...its } of [...initContainersOf(each), ...containersOf(each)]) {
        expect(image).toMatch(/^[^:]+:(?!latest)[\w.]+$/)
        expect(its).toMatchObject({
          securityContext: {
            readOnlyRootFilesystem: true,
            allowPrivilegeEscalation: false,
            capabilities: { drop: ['ALL'] },
          },
          resources: { requests: BOUNDED, limits: BOUNDED },
        })
      }
      const ports = (container?.ports ?? []).map(({ name }) => name)
      for (const probe of [container?.readinessProbe, container?.livenessProbe])
        expect(ports).toContain((probe?.httpGet ?? probe?.tcpSocket)?.port)
      const [program, argument] = container?.lifecycle?.preStop?.exec?.command ?? []
      const seconds = program === 'sleep' ? Number(argument) : 0
      expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(seconds + 20) // compose's stop_grace_period
      for (const { name, configMap, emptyDir } of pod.volumes ?? []) {
        if (configMap)
          expect(Object.keys(configOf(manifests, configMap.name ?? '')).length).toBeGreaterThan(0)
        if (emptyDir)
          expect([emptyDir.medium, emptyDir.sizeLimit], name).toEqual([
            undefined,
            expect.stringMatching(/[GM]i$/),
          ]) // on disk, not in memory
      }
      const mounted = container?.volumeMounts?.map(({ name }) => name).sort() ?? []
      const claimed = 'volumeClaimTemplates' in (each.spec ?? {}) ? ['data'] : []
      expect(mounted).toEqual([...(pod.volumes ?? []).map(({ name }) => name), ...claimed].sort())
    },
  )

  it('allow only the connections between services that compose allows', () => {
    const networks = (name: string) => {
      const { networks = [] } = compose.services[name] ?? {}
      return Array.isArray(networks) ? networks : Object.keys(networks)
    }
    const share = (a: string, b: string) => networks(a).some((network) => networks(b).includes(network))
    const names = workloads.map(componentOf)
    const ways = names.flatMap((from) =>
      names.flatMap((to) => portsBetween(from, to).map((port) => `${from} → ${to}:${port}`)),
    )
    expect(ways.sort()).toEqual([
      'nats → nats:cluster',
      'nginx → tunnel:envelopes',
      'nginx → web:http',
      'tunnel → nats:client',
      'web → nginx:inner',
      'web → tunnel:admin',
    ])
    for (const way of ways) {
      const [, from = '', to = ''] = /^(\w+) → (\w+)/.exec(way) ?? []
      expect(from === to || share(from, to), way).toBe(true)
    }
  })

  it('allow only the tunnel to reach the internet, and other pods only one port of nginx', () => {
    const out = (name: string) =>
      policiesOf(name).some(({ spec }) =>
        spec?.egress?.some(({ to = [] }) => to.some(({ ipBlock }) => ipBlock?.cidr === '0.0.0.0/0')),
      )
    const composedOut = (name: string) => {
      const { networks = [] } = compose.services[name] ?? {}
      const all = Array.isArray(networks) ? networks : Object.keys(networks)
      return all.some((network) => network !== 'edge' && !compose.networks[network]?.internal)
    }
    for (const name of workloads.map(componentOf))
      expect([name, out(name)]).toEqual([name, composedOut(name)])
    const open = workloads
      .map(componentOf)
      .flatMap((name) =>
        policiesOf(name).flatMap(({ spec }) =>
          (spec?.ingress ?? [])
            .filter(({ from }) => from === undefined)
            .flatMap(({ ports = [] }) => ports.map(({ port }) => `${name}:${port}`)),
        ),
      )
    expect(open).toEqual(['nginx:http'])
  })

  it.each([
    ['Sentry', '34.160.81.0', true],
    ['Sentry over IPv6', '2600:1901:0:94b6::', true],
    ['the metadata service', '169.254.169.254', false],
    ['the metadata service of AWS over IPv6', 'fd00:ec2::254', false],
    ['the platform service of Azure', '168.63.129.16', false],
    ['a private network', '10.96.0.1', false],
    ['a private network', '172.31.255.255', false],
    ['a private network', '192.168.1.1', false],
    ['carrier-grade NAT', '100.100.100.200', false],
    ['loopback', '127.0.0.1', false],
    ['loopback over IPv6', '::1', false],
    ['a link-local address', 'fe80::1', false],
  ])('allow the tunnel to reach %s (%s): %s', (_, address, reachable) => {
    expect(blocksOf('tunnel').some((block) => contains(block, address))).toBe(reachable)
  })

  it('allow the tunnel only port 443 of the internet', () => {
    const rules = policiesOf('tunnel')
      .filter((policy) => componentOf(policy) === 'tunnel') // not that for DNS
      .flatMap(({ spec }) => spec?.egress ?? [])
    const outward = rules.filter(({ to = [] }) => to.some(({ ipBlock }) => ipBlock))
    expect(outward.map(({ ports }) => ports)).toEqual([[{ protocol: 'TCP', port: 443 }]])
  })

  it('equal compose in settings, limits and the start of nginx', () => {
    for (const name of ['nginx', 'tunnel', 'web']) {
      const known = new Set([
        ...Object.keys(compose.services[name === 'nginx' ? 'nginx-config' : name]?.environment ?? {}),
        ...Object.keys(compose.services.tunnel?.environment ?? {}),
        'HOST',
        'HOSTNAME',
        'TLS_FOLDER',
        'NATS_USER', // parts of SPOOL_URL
        'NATS_PASSWORD',
      ])
      expect(Object.keys(environmentOf(workload(name), SECRETS)).filter((key) => !known.has(key))).toEqual([])
    }
    for (const { name, resources } of workloads.flatMap((each) => [
      ...initContainersOf(each),
      ...containersOf(each),
    ])) {
      const { mem_limit = '', cpus } = compose.services[name] ?? {}
      const limits = { memory: mem_limit.replace('m', 'Mi'), cpu: String(cpus) }
      expect(resources?.limits, name).toMatchObject(limits)
    }
    const [container] = containersOf(workload('nginx'))
    expect(container?.args).toEqual(compose.services.nginx?.command)
    const [renderer] = initContainersOf(workload('nginx'))
    const [flag, ...command] = compose.services['nginx-config']?.command?.toReversed() ?? []
    expect([flag, renderer?.command]).toEqual(['--check-all', command.toReversed()]) // each pod checks its own settings
  })

  it.each(['nginx', 'tunnel', 'web'])('set for %s every setting that compose sets', (name) => {
    const given = Object.entries(compose.services[name]?.environment ?? {})
      .filter(([, value]) => value !== null && !String(value).startsWith('${'))
      .map(([key]) => key)
    const missing = given.filter((key) => !(key in environmentOf(workload(name), SECRETS)))
    expect(missing.filter((key) => !ONLY_IN_COMPOSE.has(key))).toEqual([])
  })

  it.each<Process>(['nginx', 'tunnel', 'web'])('pass to %s each setting that it reads', (process) => {
    const container = configuredContainer(workload(process))
    const given = container?.env?.map(({ name }) => name).filter((name) => !INTERNAL.has(name)) ?? []
    expect(given).toContain('TUNNEL_PATHS') // of the value settings
    const known = SETTING_NAMES.filter((name) => rowOf(name).readBy.includes(process))
    expect(given.filter((name) => !known.some((each) => each === name))).toEqual([])
    const secrets = known.filter((name) => rowOf(name).hasFile)
    expect(secrets.filter((name) => !given.includes(name))).toEqual([])
  })

  it('give tunnel and web settings with which they start', () => {
    const tunnel = readConfig(environmentOf(workload('tunnel'), SECRETS))
    expect(tunnel).toMatchObject({
      forward: true,
      host: '::',
      adminHost: '::',
      adminToken: expect.any(String),
    })
    const problems: string[] = []
    readWebConfig(environmentOf(workload('web'), SECRETS), problems)
    expect(problems).toEqual([])
  })

  it('let the tunnel trust client addresses from private networks, where only nginx reaches it', () => {
    const { edge } = readConfig(environmentOf(workload('tunnel'), SECRETS))
    expect(edge).toEqual(['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', 'fc00::/7'])
  })

  it('use fully qualified names of existing services', () => {
    const places = ['nginx', 'web'].flatMap((name) =>
      Object.values(environmentOf(workload(name), SECRETS)).flatMap((value) => [
        ...value.matchAll(/([\w-]+)\.culvert\.svc\.cluster\.local:(\d+)/g),
      ]),
    )
    expect(places.map(([place]) => place)).toHaveLength(4)
    for (const [place, name = '', port] of places)
      expect(
        named(services, name).spec?.ports?.map((each) => String(each.port)),
        place,
      ).toContain(port)
    for (const name of ['tunnel', 'web', 'tunnel-admin', 'nats'])
      expect(named(services, `culvert-${name}`).spec?.clusterIP, name).toBe('None')
  })

  it('run as many NATS servers as the spool has copies, by their host names', () => {
    const { SPOOL_URL = '' } = environmentOf(workload('tunnel'), SECRETS)
    const nats = workload('nats')
    const count = nats.spec?.replicas ?? 0
    const names = Array.from({ length: count }, (_, i) => `culvert-nats-${i}.culvert-nats${DOMAIN}`)
    expect(parseNatsUrl(SPOOL_URL)).toMatchObject({
      servers: names.map((name) => `${name}:4222`),
      replicas: 3,
    })
    expect(nats.spec).toMatchObject({ serviceName: 'culvert-nats', replicas: 3 })
    const [byNode] = podOf(nats).topologySpreadConstraints ?? []
    expect(byNode).toMatchObject({ minDomains: count, whenUnsatisfiable: 'DoNotSchedule' }) // never two on a node
    const { CLUSTER_ROUTES = '' } = environmentOf(nats, SECRETS)
    expect(JSON.parse(CLUSTER_ROUTES)).toEqual(names.map((name) => `nats://cluster:20k@${name}:6222`))
    expect(configOf(manifests, 'culvert-nats')['nats.conf']).toMatch(/^ {2}sync_interval: always$/m)
  })

  it('remove a tunnel from service after three failed probes in a row', () => {
    const { readinessProbe } = containersOf(workload('tunnel'))[0] ?? {}
    expect(readinessProbe).toMatchObject({ failureThreshold: 3, timeoutSeconds: 2 })
  })

  it('start the next NATS server only after one has caught up, with a fixed version', () => {
    const [container] = containersOf(workload('nats'))
    expect(container?.startupProbe?.httpGet?.path).toBe('/healthz')
    expect(container?.image).toMatch(/^nats:\d+\.\d+\.\d+$/)
  })

  it('let a NATS server transfer its leaders before it stops, within its grace period', () => {
    const nats = workload('nats')
    const conf = configOf(manifests, 'culvert-nats')['nats.conf'] ?? ''
    const value = (name: string) => new RegExp(`^ *${name}: (\\S+)`, 'm').exec(conf)?.[1] ?? ''
    const [container] = containersOf(nats)
    const command = ['nats-server', '--signal', `ldm=${value('pid_file')}`]
    expect(container?.lifecycle?.preStop?.exec?.command).toEqual(command)
    expect(container?.volumeMounts?.map(({ mountPath }) => mountPath)).toContain(dirname(value('pid_file')))
    const seconds = Number.parseInt(value('lame_duck_duration'), 10)
    expect(podOf(nats).terminationGracePeriodSeconds).toBeGreaterThan(seconds + 10)
  })

  it('make NATS reject messages before its volume is full', () => {
    const conf = configOf(manifests, 'culvert-nats')['nats.conf'] ?? ''
    expect(conf).toMatch(/^ {2}max_file_store: \$MAX_FILE_STORE$/m)
    const gigabytes = Number.parseInt(environmentOf(workload('nats'), SECRETS).MAX_FILE_STORE ?? '', 10)
    const { volumeClaimTemplates } = workload('nats').spec as IStatefulSet['spec'] & object
    const volume = volumeClaimTemplates?.[0]?.spec?.resources?.requests?.storage
    expect(gigabytes).toBeLessThan(Number.parseInt(String(volume), 10))
  })

  it('contain a configuration that NATS accepts, with credentials', requires('nats-server'), async () => {
    await using folder = await makeFolder()
    const config = join(folder.path, 'nats.conf')
    await writeFile(config, configOf(manifests, 'culvert-nats')['nats.conf'] ?? '')
    const check = (env: Record<string, string>) =>
      spawnSync(NATS_PROGRAM ?? '', ['-t', '-c', config], {
        env: { POD_NAME: 'culvert-nats-0', ...env },
        encoding: 'utf8',
      })
    const { status, stderr } = check(environmentOf(workload('nats'), SECRETS))
    expect([status, stderr]).toEqual([0, expect.stringContaining('is valid')])
    const { LOGIN_PASSWORD: _, ...without } = environmentOf(workload('nats'), SECRETS)
    expect(check(without).stderr).toContain("variable reference for 'LOGIN_PASSWORD'")
  })

  it(
    'make the three NATS servers one cluster, with the credentials of the Secret',
    requires('nats-server'),
    async () => {
      await using scope = new AsyncDisposableStack()
      const folder = scope.use(await makeFolder())
      const conf = configOf(manifests, 'culvert-nats')['nats.conf'] ?? ''
      const env = environmentOf(workload('nats'), SECRETS)
      const places = ['127.0.0.11', '127.0.0.12', '127.0.0.13'] // with the ports of the chart
      const routes = places.reduce(
        (text, place, i) => text.replace(`culvert-nats-${i}.culvert-nats${DOMAIN}`, place),
        env.CLUSTER_ROUTES ?? '',
      )
      for (const [i, place] of places.entries()) {
        const own = join(folder.path, `${i}`)
        await writeFile(`${own}.conf`, conf.replace('/run/nats/nats.pid', `${own}.pid`).replace('/data', own))
        const program = startProgram(`Server ${i}`, NATS_PROGRAM ?? '', ['-c', `${own}.conf`], {
          ...{ ...env, POD_NAME: `culvert-nats-${i}` },
          ...{ ADDRESS: `"${place}"`, CLUSTER_ROUTES: routes },
        })
        scope.defer(program.kill)
      }
      const [user, pass] = [SECRETS.NATS_USER, SECRETS.NATS_PASSWORD]
      const copies = async () => {
        const nc = await connect({ servers: places, user, pass, reconnect: false })
        try {
          const jsm = await jetstreamManager(nc)
          const { config } = await jsm.streams.add({ name: 'SPOOL', subjects: ['spool'], num_replicas: 3 })
          return config.num_replicas
        } finally {
          await nc.close()
        }
      }
      await expect.poll(() => copies().catch(String)).toBe(3) // first, the servers elect a leader
    },
  )

  it('require the credentials of the Secret from tunnels and other NATS servers', () => {
    for (const name of ['tunnel', 'nats']) {
      const { env = [] } = containersOf(workload(name))[0] ?? {}
      for (const key of ['NATS_USER', 'NATS_PASSWORD'])
        expect(env.find((each) => each.name === key)?.valueFrom, name).toEqual({
          secretKeyRef: { name: 'culvert-nats', key },
        })
    }
    const { place } = readConfig(environmentOf(workload('tunnel'), SECRETS)).spool
    expect(place).toMatchObject({ nats: { credentials: { user: 'culvert', pass: SECRETS.NATS_PASSWORD } } })
    const login = 'authorization { user: $LOGIN_USER, password: $LOGIN_PASSWORD }'
    const lines = (configOf(manifests, 'culvert-nats')['nats.conf'] ?? '').split('\n')
    expect(lines.filter((line) => line.startsWith(login))).toHaveLength(1) // credentials of clients
    const routes = '  authorization { user: cluster, password: $ROUTES_PASSWORD }'
    expect(lines.filter((line) => line.startsWith(routes))).toHaveLength(1)
  })
})

/** Returns the ports that the policies of both sides allow. */
function portsBetween(from: string, to: string): string[] {
  const out = policiesOf(from)
    .flatMap(({ spec }) => spec?.egress ?? [])
    .filter(({ to: peers = [] }) => peers.some((peer) => means(peer, to)))
  const into = policiesOf(to)
    .flatMap(({ spec }) => spec?.ingress ?? [])
    .filter(({ from: peers = [] }) => peers.some((peer) => means(peer, from)))
  const ports = (rules: { ports?: { port?: string | number }[] }[]) =>
    rules.flatMap(({ ports = [] }) => ports.map(({ port }) => String(port)))
  return ports(out).filter((port) => ports(into).includes(port))
}

/** Returns the networks outside the cluster that the policies of a workload allow. */
function blocksOf(name: string): IIPBlock[] {
  return policiesOf(name).flatMap(({ spec }) =>
    (spec?.egress ?? []).flatMap(({ to = [] }) => to.flatMap(({ ipBlock }) => ipBlock ?? [])),
  )
}

function contains({ cidr, except = [] }: IIPBlock, address: string): boolean {
  const within = (network: string) => {
    const [base = '', bits] = network.split('/')
    const list = new BlockList()
    list.addSubnet(base, Number(bits), familyOf(base))
    return familyOf(base) === familyOf(address) && list.check(address, familyOf(address))
  }
  return within(cidr) && !except.some(within)
}

const familyOf = (address: string) => (isIP(address) === 6 ? 'ipv6' : 'ipv4')

function policiesOf(name: string): (INetworkPolicy & Manifest)[] {
  const policies = ofKind<INetworkPolicy>('NetworkPolicy')
  return policies.filter(
    ({ spec }) =>
      spec?.podSelector?.matchLabels && matches(spec.podSelector.matchLabels, labelsOf(workload(name))),
  )
}

function means({ podSelector, namespaceSelector }: INetworkPolicyPeer, name: string): boolean {
  return (
    !namespaceSelector &&
    podSelector !== undefined &&
    matches(podSelector.matchLabels, labelsOf(workload(name)))
  )
}
