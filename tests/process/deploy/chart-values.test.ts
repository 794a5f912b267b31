/** Values of the Helm chart, as helm renders them. */

import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { IHorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2'
import type { IIngress, INetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1'
import type { IPodDisruptionBudget } from 'kubernetes-models/policy/v1'
import type { IContainer, IPersistentVolumeClaim, IPod, ISecret } from 'kubernetes-models/v1'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { readNginxConfig } from '../../../deploy/nginx/render.ts'
import { readConfig } from '../../../tunnel/src/config/config.ts'
import { readConfig as readWebConfig } from '../../../web/lib/config.ts'
import { startApiServer } from '../../support/kubernetes/api-server.ts'
import {
  CHART,
  helm,
  helmInCluster,
  renderChart,
  renderProblem,
  type Values,
} from '../../support/kubernetes/chart.ts'
import {
  componentIn,
  componentOf,
  containersOf,
  environmentOf,
  initContainersOf,
  labelsOf,
  type Manifest,
  matches,
  named,
  parseDocuments,
  podOf,
  servicesOf,
  workloadsOf,
} from '../../support/kubernetes/manifests.ts'
import { ROOT } from '../../support/node.ts'
import { requires } from '../../support/requirements.ts'
import { makeFolder } from '../../support/temporary-folder.ts'

const SECRETS = {
  SENTRY_DSN: 'https://key@o1.ingest.us.sentry.io/2',
  OPERATOR_PASSWORD: 'a password of twelve',
}
const WITHOUT_NGINX = { nginx: { enabled: false }, settings: { TRUSTED_PROXIES: '10.0.0.0/8' } }
const INGRESS_PODS = { podSelector: { matchLabels: { app: 'ingress' } } }
const TUNNEL_ONLY = { ...WITHOUT_NGINX, web: { enabled: false } }
type Kinds = {
  HorizontalPodAutoscaler: IHorizontalPodAutoscaler
  HTTPRoute: { spec: { rules: { matches: [{ path: { value: string } }]; backendRefs: [object] }[] } }
  Ingress: IIngress
  NetworkPolicy: INetworkPolicy
  PersistentVolumeClaim: IPersistentVolumeClaim
  Pod: IPod
  PodDisruptionBudget: IPodDisruptionBudget
  Secret: ISecret
}

const render = (values: Values = {}) => partsOf(renderChart(values))

/** Returns functions that find parts of the manifests by kind, name or component. */
function partsOf(all: Manifest[]) {
  const workloads = workloadsOf(all)
  const workload = (component: string) => componentIn(workloads, component)
  const ofKind = <K extends keyof Kinds>(kind: K) =>
    all.filter((each) => each.kind === kind) as (Kinds[K] & Manifest)[]
  return {
    all,
    workloads,
    workload,
    ofKind,
    kinds: all.map(({ kind }) => kind),
    pod: (component: string) => podOf(workload(component)),
    container: (component: string) => containersOf(workload(component))[0] as IContainer,
    env: (component: string, secrets = {}) => environmentOf(workload(component), { ...SECRETS, ...secrets }),
    policy: (component: string) => componentIn(ofKind('NetworkPolicy'), component).spec,
    service: named(servicesOf(all), 'culvert').spec,
    paths: ofKind('Ingress')[0]?.spec?.rules?.[0]?.http?.paths.map(({ path, backend }) => [
      path,
      backend.service?.name,
    ]),
    /** Returns what a Secret holds, decoded. */
    secret: (name: string) =>
      Object.fromEntries(
        Object.entries(named(ofKind('Secret'), name).data ?? {}).map(([key, value]) => [key, atob(value)]),
      ),
  }
}

/** Returns the template of the pods that read settings, by component. */
function templatesOf(values: Values) {
  const workloads = render(values).workloads.filter((each) => componentOf(each) !== 'nats')
  return new Map(workloads.map((each) => [componentOf(each), each.spec?.template]))
}

describe('The chart', requires('helm'), () => {
  it.each<[string, Values]>([
    ['Set image.prefix', { image: { prefix: '' } }],
    ['Set secrets.SENTRY_DSN, or existingSecret', { secrets: { SENTRY_DSN: '' } }],
    ['Set spool.url, or nats.enabled', { nats: { enabled: false } }],
    ['Set either nats.enabled or spool.url', { spool: { url: 'nats://nats.example:4222' } }],
    ['Set ingress.hosts', { ingress: { enabled: true } }],
    ['Set settings.TRUSTED_PROXIES', { nginx: { enabled: false } }],
    ['Set networkPolicy.ingressFrom', WITHOUT_NGINX],
    [
      'settings.DERIVED_PATHS needs nginx.enabled',
      {
        ...TUNNEL_ONLY,
        ingress: { enabled: true, hosts: ['a.example'] },
        settings: { ...WITHOUT_NGINX.settings, DERIVED_PATHS: 'on' },
      },
    ],
    ['Set app.podLabels', { app: { url: 'http://shop:3000' } }],
    ['Set web.enabled or app.url', { web: { enabled: false } }],
    ['app.url needs nginx.enabled', { app: { url: 'http://shop:3000' }, nginx: { enabled: false } }],
    ['TUNEL_PATHS', { settings: { TUNEL_PATHS: '/monitoring' } }],
    ['existingSecret is the name', { existingSecret: 'culvert' }],
    ['existingSecret is the name', { nats: { existingSecret: 'culvert-nats' } }],
    ['Set settings.SPOOL_BYTES to at most 5261334937', { spool: { storageGiB: 7 } }],
    [
      'Set settings.SPOOL_BYTES to at most 7516192768',
      { spool: { storageGiB: 10 }, settings: { SPOOL_BYTES: '7516192769' } },
    ],
    [
      'Set settings.SPOOL_BYTES to at most 1503238553',
      { size: 'small', spool: { storageGiB: 2 }, settings: { SPOOL_BYTES: '1503238554' } },
    ],
    ['tunnel.replicas is above 1', { size: 'small', tunnel: { replicas: 2 } }],
    [
      'Set the certificate at the listener of your Gateway',
      { httpRoute: { enabled: true, parentRefs: [{ name: 'shop' }] }, nginx: { tlsSecret: 'shop-tls' } },
    ],
    [
      'Set either settings.HTTPS_PROXY or secrets.HTTPS_PROXY',
      {
        settings: { HTTPS_PROXY: 'http://proxy.example:3128' },
        secrets: { SENTRY_DSN: SECRETS.SENTRY_DSN, HTTPS_PROXY: 'http://user:password@proxy.example:3128' },
      },
    ],
    ['TUNNEL_PATHS of tunnel is set twice', { extraEnv: [{ name: 'TUNNEL_PATHS', value: '/a' }] }],
    ['SPOOL_URL of tunnel is set twice', { tunnel: { extraEnv: [{ name: 'SPOOL_URL', value: 'a' }] } }],
    ['POD_IP of nats is set twice', { nats: { extraEnv: [{ name: 'POD_IP', value: '::1' }] } }],
    [
      'tunnel.resources: the request of memory is 384Mi, above the limit of 256Mi',
      { tunnel: { resources: { limits: { memory: '256Mi' } } } },
    ],
    [
      'web.resources: the request of cpu is 2, above the limit of 1',
      { web: { resources: { requests: { cpu: 2 } } } },
    ],
    [
      'Set service.ports.https to 443',
      { nginx: { tlsSecret: 'shop-tls' }, service: { ports: { http: 80, https: 8443 } } },
    ],
    ['minReplicas is above', { tunnel: { autoscaling: { minReplicas: 5, maxReplicas: 4 } } }],
    ['Set ingress.tls', { ingress: { enabled: true, hosts: ['a.example'] }, nginx: { tlsSecret: 'tls' } }],
    ...['LoadBalancer', 'NodePort'].flatMap((type): [string, Values][] => [
      ['Set nginx.tlsSecret', { service: { type } }],
      ['Set nginx.tlsSecret', { service: { type }, settings: { TRUSTED_PROXIES: '203.0.113.0/24' } }],
      ['Set nginx.tlsSecret', { service: { type, ports: { http: 443 } } }],
    ]),
  ])('is refused by helm with "%s"', (problem, values) => {
    expect(renderProblem(values)).toContain(problem)
  })

  it('lets reports of servers in by names of the cluster, whatever its domain is', () => {
    const values = { settings: { ALLOWED_HOSTS: 'shop.example' }, clusterDomain: 'k8s.example' }
    const hosts = render(values)
      .workloads.flatMap((each) => [...initContainersOf(each), ...containersOf(each)])
      .flatMap(({ env }) => env?.find(({ name }) => name === 'ALLOWED_HOSTS')?.value ?? [])
    expect(new Set(hosts)).toEqual(new Set(['shop.example *.svc.k8s.example']))
  })

  it('gives the pod of helm test the labels and annotations of pods, as a mesh or an admission policy asks for', () => {
    const values = { podLabels: { team: 'shop' }, podAnnotations: { 'sidecar.istio.io/inject': 'false' } }
    const [test] = render(values).ofKind('Pod')
    expect(test?.metadata).toMatchObject({
      labels: { team: 'shop', 'app.kubernetes.io/component': 'test' },
      annotations: { 'sidecar.istio.io/inject': 'false', 'helm.sh/hook': 'test' },
    })
  })

  it('names all objects after the release, so that two releases can share a namespace', () => {
    const all = renderChart({}, 'shop')
    expect(
      all.map(({ metadata }) => metadata.name).filter((name) => !/^shop-culvert(-|$)/.test(name)),
    ).toEqual([])
    for (const { spec } of servicesOf(all))
      for (const { metadata } of render().workloads)
        expect(matches(spec?.selector, metadata.labels ?? {})).toBe(false)
    const { SPOOL_URL } = environmentOf(componentIn(workloadsOf(all), 'tunnel'), SECRETS)
    expect(SPOOL_URL).toContain('nats://shop-culvert-nats-0.shop-culvert-nats.culvert.svc.cluster.local,')
  })
})

describe('docs/kubernetes.md', requires('helm'), () => {
  it('shows values that the chart accepts', () => {
    const page = readFileSync(resolve(ROOT, 'docs/kubernetes.md'), 'utf8')
    const [, example = ''] = /```yaml\n# culvert-values.yaml\n(.*?)```/s.exec(page) ?? []
    expect(render(parse(example)).env('tunnel')).toMatchObject({ TRUSTED_PROXIES: '203.0.113.0/24' })
  })
})

describe('Secrets of the chart', requires('helm'), () => {
  it('hold the DSN, and generated passwords', () => {
    const { secret } = render()
    expect(secret('culvert')).toMatchObject({
      SENTRY_DSN: SECRETS.SENTRY_DSN,
      OPERATOR_PASSWORD: expect.stringMatching(/^\w{32}$/),
    })
    expect(secret('culvert-nats')).toMatchObject({
      NATS_USER: 'culvert',
      NATS_PASSWORD: expect.stringMatching(/^\w{48}$/),
      CLUSTER_PASSWORD: expect.stringMatching(/^\w{48}$/),
    })
  })

  it('keep generated passwords in an upgrade', async () => {
    const { SENTRY_DSN } = SECRETS
    const ofNats = { NATS_USER: 'two', NATS_PASSWORD: 'three', CLUSTER_PASSWORD: 'four' }
    const kept = { OPERATOR_PASSWORD: 'one', ...ofNats }
    const secretOf = (name: string) => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name,
        labels: { 'app.kubernetes.io/managed-by': 'Helm' },
        annotations: { 'meta.helm.sh/release-name': 'culvert', 'meta.helm.sh/release-namespace': 'culvert' },
      },
      data: Object.fromEntries(Object.entries(kept).map(([key, value]) => [key, btoa(value)])),
    })
    const folder = '/api/v1/namespaces/culvert/secrets'
    await using cluster = await startApiServer(renderChart(), {
      [`${folder}/culvert`]: secretOf('culvert'),
      [`${folder}/culvert-nats`]: secretOf('culvert-nats'),
    })
    const upgraded = await helmInCluster(cluster.url, ['template', 'culvert', CHART, '--dry-run=server'])
    const { secret } = partsOf(parseDocuments(upgraded))
    expect(secret('culvert')).toEqual({ SENTRY_DSN, OPERATOR_PASSWORD: kept.OPERATOR_PASSWORD })
    expect(secret('culvert-nats')).toEqual(ofNats)
  })

  it('are not created with existing ones, which the pods use', () => {
    const { kinds, workloads } = render({ existingSecret: 'mine', nats: { existingSecret: 'mine-nats' } })
    expect(kinds).not.toContain('Secret')
    const names = workloads
      .flatMap(containersOf)
      .flatMap(({ env = [] }) => env.flatMap(({ valueFrom }) => valueFrom?.secretKeyRef?.name ?? []))
    expect(new Set(names)).toEqual(new Set(['mine', 'mine-nats']))
  })

  it('and settings replace the pods that read them when they change, except for passwords', () => {
    const before = templatesOf({})
    expect([...before.keys()].sort()).toEqual(['nginx', 'tunnel', 'web'])
    const passwords = {
      OPERATOR_PASSWORD: 'a password of twelve',
      ADMIN_TOKEN: 'token',
      SPOOL_CREDENTIALS: 'user:password',
    }
    const secrets = { SENTRY_DSN: SECRETS.SENTRY_DSN, ...passwords }
    expect(templatesOf({ secrets })).toEqual(before) // who reads a pod cannot guess passwords by their hash
    for (const values of [
      { settings: { LAB: 'on' } },
      { secrets: { SENTRY_DSN: 'https://other@o1.ingest.us.sentry.io/2' } },
      { scrubRules: '{}' },
    ])
      for (const [name, template] of templatesOf(values)) expect(template, name).not.toEqual(before.get(name))
  })

  it('and settings replace the tunnels when nginx is switched off, which changes EDGE', () => {
    const { settings } = WITHOUT_NGINX
    const before = templatesOf({ settings }).get('tunnel')
    expect(templatesOf(TUNNEL_ONLY).get('tunnel')).not.toEqual(before)
  })
})

describe('An upgrade to another version of the chart', requires('helm'), () => {
  it('replaces no pods when the images stay', async () => {
    await using folder = await makeFolder()
    cpSync(CHART, folder.path, { recursive: true, dereference: true })
    const file = join(folder.path, 'Chart.yaml')
    writeFileSync(file, readFileSync(file, 'utf8').replace(/^(version|appVersion): .*$/gm, '$1: 99.0.0'))
    const podsOf = (chart: string) => {
      const { stdout } = helm(['template', 'culvert', chart], {
        image: { prefix: 'registry.example/culvert', tag: '1.2.3' },
      })
      return workloadsOf(parseDocuments(stdout)).map(({ metadata, spec }) => [metadata.name, spec?.template])
    }
    const pods = podsOf(CHART)
    expect(pods).toHaveLength(4)
    expect(podsOf(folder.path)).toEqual(pods)
  })
})

describe('Tunnels only', requires('helm'), () => {
  it('run without nginx and web, and are reached on their paths', () => {
    const values = { ...TUNNEL_ONLY, ingress: { enabled: true, hosts: ['a.example'] } }
    const { workloads, workload, paths, service, policy, env } = render(values)
    expect(workloads.map(componentOf).sort()).toEqual(['nats', 'tunnel'])
    expect(paths).toEqual([['/monitoring', 'culvert']])
    expect(service?.ports).toEqual([{ name: 'http', port: 80, targetPort: 'envelopes' }])
    expect(matches(service?.selector, labelsOf(workload('tunnel')))).toBe(true)
    expect(policy('tunnel')?.ingress?.[0]).toEqual({ ports: [{ port: 'envelopes' }] })
    expect(readConfig(env('tunnel'))).toMatchObject({ forward: true })
    expect(env('tunnel')).not.toHaveProperty('EDGE') // any pod can reach it: only TRUSTED_PROXIES count
  })

  it('get a console from web', () => {
    const { paths, env, policy } = render({
      ...WITHOUT_NGINX,
      ingress: { enabled: true, hosts: ['a.example'] },
      settings: { ...WITHOUT_NGINX.settings, TUNNEL_PATHS: '| /a || /b|' },
      networkPolicy: { ingressFrom: [INGRESS_PODS] },
    })
    expect(paths).toEqual([
      ['/a', 'culvert'],
      ['/b', 'culvert'],
      ['/console', 'culvert-web'],
    ])
    expect(env('web').TUNNEL_ORIGIN).toBe('http://culvert-tunnel.culvert.svc.cluster.local:9090')
    const from = [INGRESS_PODS]
    expect(policy('web')?.ingress).toEqual([{ ports: [{ port: 'http' }], from }])
    expect(policy('tunnel')?.ingress?.[0]).toEqual({ ports: [{ port: 'envelopes' }], from })
    expect(policy('web')?.egress?.[0]?.ports).toEqual([{ port: 'admin' }, { port: 'envelopes' }])
  })
})

describe('Disruption budgets', requires('helm'), () => {
  it('let a node drop pods that are not ready, except for NATS servers, which may have to catch up', () => {
    const budgets = render().ofKind('PodDisruptionBudget')
    const policies = budgets.map((each) => [componentOf(each), each.spec?.unhealthyPodEvictionPolicy])
    expect(Object.fromEntries(policies)).toEqual({
      nginx: 'AlwaysAllow',
      tunnel: 'AlwaysAllow',
      web: 'AlwaysAllow',
      nats: undefined,
    })
  })
})

describe('The PriorityClass', requires('helm'), () => {
  it('is created on demand only, since a namespace admin may not create it', () => {
    const { kinds, workloads } = render()
    expect(kinds).not.toContain('PriorityClass')
    for (const each of workloads) expect(podOf(each)).not.toHaveProperty('priorityClassName')
  })

  it('has a name that no release of another namespace can have', () => {
    const { all, workloads } = render({ priorityClass: { create: true } })
    const name = 'culvert.culvert' // namespace and release: a namespace has no dot
    expect(all.filter(({ kind }) => kind === 'PriorityClass')).toMatchObject([{ metadata: { name } }])
    const classes = workloads.map((each) => [componentOf(each), podOf(each).priorityClassName])
    expect(Object.fromEntries(classes)).toEqual({
      nginx: name,
      tunnel: name,
      web: undefined, // envelopes are served while ordinary pods are evicted; pages may wait
      nats: name,
    })
  })
})

describe('Fields of the pods', requires('helm'), () => {
  it('come from the values of all pods, with those of a component before them', () => {
    const { workloads, workload, pod } = render({
      podAnnotations: { a: 'all', b: 'all' },
      podLabels: { team: 'payments', 'app.kubernetes.io/component': 'other' },
      nodeSelector: { disk: 'ssd' },
      tolerations: [{ key: 'all' }],
      affinity: { podAntiAffinity: {} },
      tunnel: {
        podAnnotations: { b: 'tunnel' },
        tolerations: [{ key: 'tunnel' }],
        nodeSelector: { zone: 'a' },
        priorityClassName: 'high',
        terminationGracePeriodSeconds: 120,
      },
    })
    const annotationsOf = (name: string) => workload(name).spec?.template.metadata?.annotations
    expect(annotationsOf('web')).toMatchObject({ a: 'all', b: 'all' })
    expect(annotationsOf('tunnel')).toMatchObject({ a: 'all', b: 'tunnel' })
    expect(labelsOf(workload('nats'))).toMatchObject({ team: 'payments' })
    for (const each of workloads) expect(matches(each.spec?.selector.matchLabels, labelsOf(each))).toBe(true)
    expect(pod('nginx')).toMatchObject({ tolerations: [{ key: 'all' }], nodeSelector: { disk: 'ssd' } })
    expect(pod('nginx')).not.toHaveProperty('priorityClassName')
    expect(pod('tunnel')).toMatchObject({
      tolerations: [{ key: 'tunnel' }],
      nodeSelector: { disk: 'ssd', zone: 'a' },
      affinity: { podAntiAffinity: {} },
      priorityClassName: 'high',
      terminationGracePeriodSeconds: 120,
    })
  })

  it('take more environment, other spread constraints, and other pauses before a stop', () => {
    const spread = { maxSkew: 2, topologyKey: 'rack', whenUnsatisfiable: 'DoNotSchedule' }
    const inUtc = { name: 'TZ', value: 'UTC' }
    const inBerlin = { name: 'TZ', value: 'Europe/Berlin' }
    const envFrom = [{ secretRef: { name: 'more' } }]
    const lifecycle = { preStop: { exec: { command: ['sleep', '60'] } } }
    const { pod, container } = render({
      extraEnv: [inUtc],
      web: { extraEnv: [inBerlin], envFrom },
      nginx: { topologySpreadConstraints: [spread], lifecycle, terminationGracePeriodSeconds: 90 },
    })
    expect(container('nginx').lifecycle).toEqual(lifecycle)
    expect(pod('nginx').terminationGracePeriodSeconds).toBe(90)
    for (const name of ['nginx', 'tunnel', 'nats']) expect(container(name).env, name).toContainEqual(inUtc)
    expect(container('web').env).toContainEqual(inBerlin)
    expect(container('web').envFrom).toEqual(envFrom)
    expect(pod('nginx').topologySpreadConstraints).toEqual([spread])
    expect(pod('tunnel').topologySpreadConstraints).toHaveLength(2)
  })

  it('leave out lists and amounts that a component empties, and replace hooks', () => {
    const tolerations = [{ operator: 'Exists' }]
    const lifecycle = { preStop: { sleep: { seconds: 35 } } }
    const { pod, container } = render({
      tolerations,
      extraEnv: [{ name: 'TZ', value: 'UTC' }],
      nats: { tolerations: [], extraEnv: [] },
      tunnel: { resources: { limits: JSON.parse('{"cpu":null}') }, lifecycle },
    })
    expect(pod('tunnel').tolerations).toEqual(tolerations)
    expect(pod('nats')).not.toHaveProperty('tolerations')
    expect(container('nats').env?.map(({ name }) => name)).not.toContain('TZ')
    expect(container('nats').lifecycle?.preStop).toMatchObject({ exec: { command: expect.any(Array) } })
    const limits = container('tunnel').resources?.limits ?? {}
    expect(Object.keys(limits).sort()).toEqual(['ephemeral-storage', 'memory'])
    expect(container('tunnel').lifecycle).toEqual(lifecycle)
  })

  it('keep the labels of the chart, and name each once', () => {
    const labels = { 'app.kubernetes.io/name': 'other', 'helm.sh/chart': 'other', team: 'payments' }
    const { all } = render({
      commonLabels: labels,
      service: { labels: { ...labels, team: 'web' } },
      monitoring: { labels, serviceMonitor: { enabled: true }, dashboard: { enabled: true } },
    }) // two keys of one name are no YAML
    for (const { metadata } of all)
      expect(metadata.labels).toMatchObject({
        'app.kubernetes.io/name': 'culvert',
        'helm.sh/chart': expect.stringContaining('culvert-'),
        team: expect.stringMatching(/payments|web/),
      })
    expect(named(servicesOf(all), 'culvert').metadata.labels?.team).toBe('web')
    expect(named(all, 'culvert-dashboard').metadata.labels).toMatchObject({ grafana_dashboard: '1' })
  })

  it('have no user on OpenShift, which chooses one', () => {
    const file = readFileSync(resolve(ROOT, 'deploy/helm/values/openshift.yaml'), 'utf8')
    for (const each of render(parse(file)).workloads)
      expect(podOf(each).securityContext).toEqual({
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      })
  })
})

describe('Values of the chart', requires('helm'), () => {
  it('put an Ingress in front of nginx, in place of a load balancer', () => {
    const tls = [{ hosts: ['shop.example'], secretName: 'shop-tls' }]
    const ingress = { enabled: true, hosts: ['shop.example', '*.shop.example'], tls }
    const { ofKind, paths, service } = render({ ingress })
    expect(paths).toEqual([['/', 'culvert']])
    const [{ spec, metadata } = {}] = ofKind('Ingress')
    expect(spec?.tls).toEqual(tls)
    expect(metadata).toMatchObject({ annotations: { 'nginx.ingress.kubernetes.io/proxy-body-size': '100m' } })
    expect(service).toMatchObject({ type: 'ClusterIP' })
  })

  it('serve HTTPS with the certificate of a Secret, and redirect HTTP to it', () => {
    const { service, env, container, pod, policy } = render({
      nginx: { tlsSecret: 'shop-tls' },
      service: { nodePorts: { https: 30443 } },
      settings: { CLIENT_ADDRESS: 'omit' },
    })
    expect(service).toMatchObject({ type: 'LoadBalancer', externalTrafficPolicy: 'Local' })
    expect(service?.ports).toEqual([
      { name: 'http', port: 80, targetPort: 'http' },
      { name: 'https', port: 443, targetPort: 'https', nodePort: 30443 },
    ])
    const problems: string[] = []
    const config = readNginxConfig(env('nginx'), problems)
    expect([config, problems]).toMatchObject([
      {
        listen: [],
        listenTls: ['8443', '[::]:8443'],
        listenRedirect: ['8080', '[::]:8080'],
        innerListen: ['8081', '[::]:8081'],
        tlsFolder: '/culvert/tls',
        clientAddress: 'omit',
      },
      [],
    ])
    const mount = { name: 'tls', mountPath: '/culvert/tls', readOnly: true }
    expect(container('nginx').volumeMounts).toContainEqual(mount)
    const files = pod('nginx').volumes?.find(({ name }) => name === 'tls')?.secret?.items
    expect(files?.map(({ path }) => path)).toEqual(['fullchain.pem', 'privkey.pem'])
    expect(policy('nginx')?.ingress?.[0]?.ports).toEqual([{ port: 'http' }, { port: 'https' }])
  })

  it.each(['LoadBalancer', 'NodePort'])(
    'publish the console by a %s without TLS on port 443 behind a proxy that is named',
    (type) => {
      const settings = { TRUSTED_PROXIES: '203.0.113.0/24' }
      expect(render({ service: { type, ports: { http: 443 } }, settings }).service?.type).toBe(type)
    },
  )

  it('publish nothing by default', () => {
    expect(render().service?.type).toBe('ClusterIP')
  })

  it('fit a small installation on one node: 0.5 CPU, 512 MiB, one volume', () => {
    const { workloads, workload, kinds, ofKind, pod, env } = render({ size: 'small' })
    expect(workloads.map((each) => [componentOf(each), each.spec?.replicas])).toEqual([
      ['nginx', 1],
      ['tunnel', 1],
      ['web', 1],
    ])
    expect(kinds).not.toContain('HorizontalPodAutoscaler')
    const requested = (resource: 'cpu' | 'memory') =>
      workloads
        .map((each) =>
          [...initContainersOf(each), ...containersOf(each)].map(({ resources }) =>
            Number.parseInt(String(resources?.requests?.[resource]), 10),
          ),
        )
        .reduce((sum, amounts) => sum + Math.max(...amounts), 0)
    expect([requested('cpu'), requested('memory')]).toEqual([500, 512])
    expect(readConfig(env('tunnel')).spool.place).toEqual({ file: '/spool/spool.db' })
    const [claim] = ofKind('PersistentVolumeClaim')
    expect(claim?.metadata).toMatchObject({ annotations: { 'helm.sh/resource-policy': 'keep' } })
    const { volumes, affinity } = pod('tunnel')
    expect(volumes?.map(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName)).toEqual([
      claim?.metadata.name,
    ])
    const [beside] = affinity?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []
    expect(matches(beside?.labelSelector?.matchLabels, labelsOf(workload('tunnel')))).toBe(true) // the volume is on one node
    const other = { topologyKey: 'zone', labelSelector: { matchLabels: { app: 'shop' } } }
    const own = {
      podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [other] },
      nodeAffinity: {},
    }
    expect(render({ size: 'small', affinity: own }).pod('tunnel').affinity).toEqual({
      nodeAffinity: {},
      podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [other, beside] },
    })
  })

  it('listen on IPv6, too', () => {
    const { env, container } = render()
    const { listen, innerListen } = readNginxConfig(env('nginx'), [])
    expect([listen, innerListen]).toEqual([
      ['8080', '[::]:8080'],
      ['8081', '[::]:8081'],
    ])
    expect(readConfig(env('tunnel'))).toMatchObject({ host: '::', adminHost: '::' })
    const address = { valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } }
    expect(container('web').env).toContainEqual({ name: 'HOSTNAME', ...address })
    expect(container('nats').env).toContainEqual({ name: 'POD_IP', ...address })
  })

  it('route a Gateway to nginx, or to tunnels and console without it', () => {
    const routesOf = (values: Values) =>
      render(values)
        .ofKind('HTTPRoute')[0]
        ?.spec.rules.map(({ matches: [match], backendRefs: [to] }) => [match.path.value, to])
    const httpRoute = { enabled: true, parentRefs: [{ name: 'shop' }], hostnames: ['shop.example'] }
    expect(routesOf({ httpRoute, service: { ports: { http: 8080 } } })).toEqual([
      ['/', { name: 'culvert', port: 8080 }],
    ])
    const networkPolicy = { ingressFrom: [INGRESS_PODS] }
    expect(routesOf({ ...WITHOUT_NGINX, httpRoute, networkPolicy })).toEqual([
      ['/monitoring', { name: 'culvert', port: 80 }],
      ['/console', { name: 'culvert-web', port: 3000 }],
    ])
    expect(render({ httpRoute }).service?.type).toBe('ClusterIP')
  })

  it('scale the tunnels by CPU, and also by envelopes in flight', () => {
    const metricsOf = (values: Values) =>
      render(values)
        .ofKind('HorizontalPodAutoscaler')[0]
        ?.spec?.metrics?.map(({ resource, pods }) => resource?.name ?? pods?.metric.name)
    expect(metricsOf({})).toEqual(['cpu'])
    const metrics = metricsOf({ tunnel: { autoscaling: { envelopesInFlight: 64 } } })
    expect(metrics).toEqual(['cpu', 'culvert_envelopes_in_flight'])
    const source = readFileSync(resolve(ROOT, 'tunnel/src/observe/metrics.ts'), 'utf8')
    expect(source).toContain("'culvert_envelopes_in_flight'")
    const fixed = render({ tunnel: { replicas: 3, autoscaling: { enabled: false } } })
    expect(fixed.kinds).not.toContain('HorizontalPodAutoscaler')
    expect(fixed.workload('tunnel').spec).toMatchObject({ replicas: 3 })
  })

  it('choose the images by prefix, tag and digest', () => {
    const prefix = 'registry.example:5000/team/culvert'
    const digest = { tunnel: `sha256:${'a'.repeat(64)}` }
    const { container } = render({ image: { prefix, tag: '1.2.3', digest } })
    expect(container('tunnel').image).toBe(`${prefix}-tunnel:1.2.3@${digest.tunnel}`)
    expect(container('web').image).toBe(`${prefix}-web:1.2.3`)
    const { workloads, ofKind } = render({
      image: { prefix, tag: '1.2.3', pullPolicy: 'Always' },
      global: { image: { registry: 'mirror.example' } },
    })
    const containers = workloads.flatMap(containersOf)
    expect(containers.map(({ image }) => image?.replace(/:[^:]+$/, '')).sort()).toEqual([
      'mirror.example/nats',
      'mirror.example/nginx',
      'mirror.example/team/culvert-tunnel',
      'mirror.example/team/culvert-web',
    ])
    const [test] = ofKind('Pod')
    const others = [...workloads.flatMap(initContainersOf), ...(test?.spec?.containers ?? [])]
    expect(others).toHaveLength(2)
    for (const { imagePullPolicy } of [...containers, ...others]) expect(imagePullPolicy).toBe('Always')
  })

  it('use a NATS of the operator', () => {
    const url = 'nats://nats.example:4222?replicas=3'
    const secrets = { SENTRY_DSN: SECRETS.SENTRY_DSN, SPOOL_CREDENTIALS: 'culvert:secret' }
    const { all, env } = render({ nats: { enabled: false }, spool: { url }, secrets })
    expect(all.filter((each) => componentOf(each) === 'nats')).toEqual([])
    expect(env('tunnel', secrets)).toMatchObject({ SPOOL_URL: url })
    expect(readConfig(env('tunnel', secrets)).spool.place).toMatchObject({
      nats: { credentials: { user: 'culvert', pass: 'secret' } },
    })
  })

  it('keep a proxy with a login in the Secret', () => {
    const HTTPS_PROXY = 'http://user:password@proxy.example:3128'
    const { all, secret, env } = render({ secrets: { SENTRY_DSN: SECRETS.SENTRY_DSN, HTTPS_PROXY } })
    expect(secret('culvert')).toMatchObject({ HTTPS_PROXY })
    expect(env('tunnel', { HTTPS_PROXY })).toMatchObject({ HTTPS_PROXY })
    expect(JSON.stringify(all.filter(({ kind }) => kind !== 'Secret'))).not.toContain('user:password')
  })

  it('put nginx in front of an app that may send reports to it', () => {
    const url = 'http://shop.default.svc.cluster.local:3000'
    const { env, policy } = render({ app: { url, podLabels: { app: 'shop' }, podPort: 8000 } })
    const problems: string[] = []
    expect(readNginxConfig(env('nginx'), problems).app).toBe('shop.default.svc.cluster.local:3000')
    expect(problems).toEqual([])
    const peer = {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'default' } },
      podSelector: { matchLabels: { app: 'shop' } },
    }
    expect(policy('nginx')?.ingress).toContainEqual({ from: [peer], ports: [{ port: 'inner' }] })
    expect(policy('nginx')?.egress).toContainEqual({ to: [peer], ports: [{ protocol: 'TCP', port: 8000 }] })
  })

  it('allow only networkPolicy.ingressFrom to reach nginx', () => {
    const { policy } = render({ networkPolicy: { ingressFrom: [INGRESS_PODS] } })
    const rule = { ports: [{ port: 'http' }], from: [INGRESS_PODS] }
    expect(policy('nginx')?.ingress).toContainEqual(rule)
    expect(policy('web')?.ingress).not.toContainEqual(rule) // only nginx
  })

  it('allow the tunnels one address and port of a private Sentry', () => {
    const { policy } = render({ networkPolicy: { egress: [{ cidr: '10.1.2.3/32', port: 9000 }] } })
    expect(policy('tunnel')?.egress).toContainEqual({
      to: [{ ipBlock: { cidr: '10.1.2.3/32' } }],
      ports: [{ protocol: 'TCP', port: 9000 }],
    })
  })

  it('mount certificate authorities and rules for scrubbing, which are part of the pods', () => {
    const caFile = readFileSync(resolve(ROOT, 'tests/fixtures/tls/cert.pem'), 'utf8')
    const scrubRules = '{"applications":{}}'
    const { all, workload, env, container, pod } = render({ caFile, scrubRules })
    const maps = all.filter(({ kind }) => kind === 'ConfigMap')
    expect(maps.map(({ metadata }) => metadata.name)).toEqual(['culvert-nats'])
    for (const [name, files] of [
      ['tunnel', { CA_FILE: '/etc/culvert/ca.pem', SCRUB_RULES: '/etc/culvert/scrub-rules.json' }],
      ['web', { CA_FILE: '/etc/culvert/ca.pem' }],
    ] as const) {
      expect(env(name)).toMatchObject(files)
      const mount = { name: 'files', mountPath: '/etc/culvert', readOnly: true }
      expect(container(name).volumeMounts).toContainEqual(mount)
      const { metadata } = workload(name).spec?.template ?? {}
      const items = pod(name).volumes?.find((volume) => volume.name === 'files')?.downwardAPI?.items
      const contents = items?.map(({ path, fieldRef }) => {
        const [, key = ''] = /^metadata\.annotations\['(.+)'\]$/.exec(fieldRef?.fieldPath ?? '') ?? []
        return [path, metadata?.annotations?.[key]]
      })
      expect(contents).toEqual([
        ['ca.pem', caFile],
        ['scrub-rules.json', scrubRules],
      ])
    }
  })

  it('mount a volume with source maps into web, which cannot write to it', () => {
    const persistentVolumeClaim = { claimName: 'shop-maps' }
    const { env, container, pod } = render({ web: { sourceMaps: { persistentVolumeClaim } } })
    expect(env('web')).toMatchObject({ SOURCE_MAPS: '/source-maps' })
    const mount = { name: 'source-maps', mountPath: '/source-maps', readOnly: true }
    expect(container('web').volumeMounts).toEqual([mount])
    expect(pod('web').volumes).toEqual([{ name: 'source-maps', persistentVolumeClaim }])
  })

  it('pass settings on unmodified, also those that look like references', () => {
    const settings = { ALLOWED_HOSTS: 'a.example', SENTRY_RELEASE: '$(SENTRY_DSN) $$' }
    expect(render({ settings }).env('tunnel')).toMatchObject({ SENTRY_RELEASE: '$(SENTRY_DSN) $$' })
  })

  it('start web with the settings of its pod', () => {
    const settings = { SENTRY_ENVIRONMENT: 'staging', MAX_ENVELOPE_BYTES: '104857600' }
    const problems: string[] = []
    const { browser } = readWebConfig(render({ settings }).env('web'), problems)
    expect([browser.environment, problems]).toEqual(['staging', []])
  })

  it('are explained after the installation', async () => {
    await using cluster = await startApiServer(renderChart(), {})
    const output = await helmInCluster(cluster.url, ['install', 'culvert', CHART, '--dry-run=client'])
    const notes = output.slice(output.indexOf('\nNOTES:'))
    expect(notes).toContain('Nothing reaches it from outside yet.')
    expect(notes).toContain('helm test culvert')
    expect(notes).toContain('npm run doctor')
  })

  it('are explained with the scheme of the Ingress', async () => {
    const ingress = { enabled: true, hosts: ['shop.example'] }
    await using cluster = await startApiServer(renderChart({ ingress }), {})
    const notesFor = (...values: string[]) =>
      helmInCluster(cluster.url, [
        ...['install', 'culvert', CHART, '--dry-run=client', '--set', 'ingress.enabled=true'],
        ...['--set', 'ingress.hosts={shop.example}', ...values],
      ])
    expect(await notesFor()).toContain('- Open http://shop.example/.')
    const alone = ['--set', 'nginx.enabled=false,web.enabled=false,settings.TRUSTED_PROXIES=10.0.0.0/8']
    const notes = await notesFor(...alone)
    expect(notes).toContain('- Culvert accepts envelopes at https://shop.example/monitoring.') // the app's certificate
    expect(await notesFor('--set', 'ingress.tls[0].secretName=tls')).toContain(
      '- Open https://shop.example/.',
    )
  })
})
