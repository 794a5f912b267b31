/** Values of the Helm chart, as helm renders them. */

import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { IHorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2'
import type { IIngress, INetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1'
import type { IPodDisruptionBudget } from 'kubernetes-models/policy/v1'
import type { IPersistentVolumeClaim, IPod, ISecret } from 'kubernetes-models/v1'
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
  type Workload,
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
type HttpRoute = {
  spec: { rules: { matches: [{ path: { value: string } }]; backendRefs: [object] }[] }
}
/** Returns the template of the pods that read settings, by component. */
const templatesOf = (values: Values) => {
  const workloads = workloadsOf(renderChart(values)).filter((each) => componentOf(each) !== 'nats')
  return new Map(workloads.map((each) => [componentOf(each), each.spec?.template]))
}
const ofKind = <T>(all: Manifest[], kind: string) =>
  all.filter((each) => each.kind === kind) as (T & Manifest)[]
const policyOf = (all: Manifest[], component: string) =>
  componentIn(ofKind<INetworkPolicy>(all, 'NetworkPolicy'), component)
const pathsOf = (all: Manifest[]) =>
  ofKind<IIngress>(all, 'Ingress')[0]?.spec?.rules?.[0]?.http?.paths.map(({ path, backend }) => [
    path,
    backend.service?.name,
  ])

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
  ])('is refused by helm with "%s"', (problem, values) => {
    expect(renderProblem(values)).toContain(problem)
  })

  it('lets reports of servers in by names of the cluster, whatever its domain is', () => {
    const all = renderChart({ settings: { ALLOWED_HOSTS: 'shop.example' }, clusterDomain: 'k8s.example' })
    const values = workloadsOf(all)
      .flatMap(({ spec }) => [
        ...(spec?.template.spec?.initContainers ?? []),
        ...(spec?.template.spec?.containers ?? []),
      ])
      .flatMap(({ env }) => env?.find(({ name }) => name === 'ALLOWED_HOSTS')?.value ?? [])
    expect(new Set(values)).toEqual(new Set(['shop.example *.svc.k8s.example']))
  })

  it('gives the pod of helm test the labels and annotations of pods, as a mesh or an admission policy asks for', () => {
    const values = { podLabels: { team: 'shop' }, podAnnotations: { 'sidecar.istio.io/inject': 'false' } }
    const test = renderChart(values).find(({ kind }) => kind === 'Pod')
    expect(test?.metadata.labels).toMatchObject({ team: 'shop', 'app.kubernetes.io/component': 'test' })
    expect(test?.metadata).toMatchObject({
      annotations: { 'sidecar.istio.io/inject': 'false', 'helm.sh/hook': 'test' },
    })
  })

  it('names all objects after the release, so that two releases can share a namespace', () => {
    const all = renderChart({}, 'shop')
    expect(
      all.map(({ metadata }) => metadata.name).filter((name) => !/^shop-culvert(-|$)/.test(name)),
    ).toEqual([])
    const others = workloadsOf(renderChart())
    for (const { spec } of servicesOf(all))
      for (const other of others) expect(matches(spec?.selector, other.metadata.labels ?? {})).toBe(false)
    const { SPOOL_URL } = environmentOf(componentIn(workloadsOf(all), 'tunnel'), SECRETS)
    expect(SPOOL_URL).toContain('nats://shop-culvert-nats-0.shop-culvert-nats.culvert.svc.cluster.local,')
  })
})

describe('docs/kubernetes.md', requires('helm'), () => {
  it('shows values that the chart accepts', () => {
    const page = readFileSync(resolve(ROOT, 'docs/kubernetes.md'), 'utf8')
    const [, example = ''] = /```yaml\n# culvert-values.yaml\n(.*?)```/s.exec(page) ?? []
    const tunnel = componentIn(workloadsOf(renderChart(parse(example))), 'tunnel')
    expect(environmentOf(tunnel, SECRETS)).toMatchObject({ TRUSTED_PROXIES: '203.0.113.0/24' })
  })
})

describe('Secrets of the chart', requires('helm'), () => {
  it('hold the DSN, and generated passwords', () => {
    const secrets = ofKind<ISecret>(renderChart(), 'Secret')
    const { SENTRY_DSN = '', OPERATOR_PASSWORD = '' } = named(secrets, 'culvert').data ?? {}
    expect(atob(SENTRY_DSN)).toBe(SECRETS.SENTRY_DSN)
    expect(atob(OPERATOR_PASSWORD)).toMatch(/^\w{32}$/)
    const {
      NATS_USER = '',
      NATS_PASSWORD = '',
      CLUSTER_PASSWORD = '',
    } = named(secrets, 'culvert-nats').data ?? {}
    expect([NATS_USER, NATS_PASSWORD, CLUSTER_PASSWORD].map(atob)).toEqual([
      'culvert',
      expect.stringMatching(/^\w{48}$/),
      expect.stringMatching(/^\w{48}$/),
    ])
  })

  it('keep generated passwords in an upgrade', async () => {
    const kept = {
      OPERATOR_PASSWORD: 'b25l',
      NATS_USER: 'dHdv',
      NATS_PASSWORD: 'dGhyZWU=',
      CLUSTER_PASSWORD: 'Zm91cg==',
    }
    const owner = {
      labels: { 'app.kubernetes.io/managed-by': 'Helm' },
      annotations: { 'meta.helm.sh/release-name': 'culvert', 'meta.helm.sh/release-namespace': 'culvert' },
    }
    const secretOf = (name: string) => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, ...owner },
      data: kept,
    })
    const folder = '/api/v1/namespaces/culvert/secrets'
    await using cluster = await startApiServer(renderChart(), {
      [`${folder}/culvert`]: secretOf('culvert'),
      [`${folder}/culvert-nats`]: secretOf('culvert-nats'),
    })
    const upgraded = await helmInCluster(cluster.url, ['template', 'culvert', CHART, '--dry-run=server'])
    const secrets = ofKind<ISecret>(parseDocuments(upgraded), 'Secret')
    expect(named(secrets, 'culvert').data).toEqual({
      SENTRY_DSN: btoa(SECRETS.SENTRY_DSN),
      OPERATOR_PASSWORD: kept.OPERATOR_PASSWORD,
    })
    const { OPERATOR_PASSWORD: _, ...ofNats } = kept
    expect(named(secrets, 'culvert-nats').data).toEqual(ofNats)
  })

  it('are not created with existing ones, which the pods use', () => {
    const all = renderChart({ existingSecret: 'mine', nats: { existingSecret: 'mine-nats' } })
    expect(ofKind(all, 'Secret')).toEqual([])
    const names = workloadsOf(all).flatMap((each) =>
      podOf(each).containers.flatMap(({ env = [] }) =>
        env.flatMap(({ valueFrom }) => valueFrom?.secretKeyRef?.name ?? []),
      ),
    )
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
  const all = () => renderChart({ ...TUNNEL_ONLY, ingress: { enabled: true, hosts: ['a.example'] } })

  it('run without nginx and web, and are reached on their paths', () => {
    const manifests = all()
    expect(workloadsOf(manifests).map(componentOf).sort()).toEqual(['nats', 'tunnel'])
    expect(pathsOf(manifests)).toEqual([['/monitoring', 'culvert']])
    const { spec } = named(servicesOf(manifests), 'culvert')
    expect(spec?.ports).toEqual([{ name: 'http', port: 80, targetPort: 'envelopes' }])
    const tunnel = componentIn(workloadsOf(manifests), 'tunnel')
    expect(matches(spec?.selector, tunnel.spec?.template.metadata?.labels ?? {})).toBe(true)
    expect(policyOf(manifests, 'tunnel').spec?.ingress?.[0]).toEqual({ ports: [{ port: 'envelopes' }] })
    const env = environmentOf(tunnel, SECRETS)
    expect(readConfig(env)).toMatchObject({ forward: true })
    expect(env).not.toHaveProperty('EDGE') // any pod can reach it: only TRUSTED_PROXIES count
  })

  it('get a console from web', () => {
    const manifests = renderChart({
      ...WITHOUT_NGINX,
      ingress: { enabled: true, hosts: ['a.example'] },
      settings: { ...WITHOUT_NGINX.settings, TUNNEL_PATHS: '| /a || /b|' },
      networkPolicy: { ingressFrom: [INGRESS_PODS] },
    })
    expect(pathsOf(manifests)).toEqual([
      ['/a', 'culvert'],
      ['/b', 'culvert'],
      ['/console', 'culvert-web'],
    ])
    const web = componentIn(workloadsOf(manifests), 'web')
    const { TUNNEL_ORIGIN } = environmentOf(web, SECRETS)
    expect(TUNNEL_ORIGIN).toBe('http://culvert-tunnel.culvert.svc.cluster.local:9090')
    const from = [INGRESS_PODS]
    expect(policyOf(manifests, 'web').spec?.ingress).toEqual([{ ports: [{ port: 'http' }], from }])
    expect(policyOf(manifests, 'tunnel').spec?.ingress?.[0]).toEqual({ ports: [{ port: 'envelopes' }], from })
    expect(policyOf(manifests, 'web').spec?.egress?.[0]?.ports).toEqual([
      { port: 'admin' },
      { port: 'envelopes' },
    ])
  })
})

describe('Disruption budgets', requires('helm'), () => {
  it('let a node drop pods that are not ready, except for NATS servers, which may have to catch up', () => {
    const budgets = ofKind<IPodDisruptionBudget>(renderChart(), 'PodDisruptionBudget')
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
    const all = renderChart()
    expect(ofKind(all, 'PriorityClass')).toEqual([])
    for (const each of workloadsOf(all)) expect(podOf(each)).not.toHaveProperty('priorityClassName')
  })

  it('has a name that no release of another namespace can have', () => {
    const all = renderChart({ priorityClass: { create: true } })
    expect(ofKind(all, 'PriorityClass').map(({ metadata }) => metadata)).toMatchObject([
      { name: 'culvert.culvert' }, // namespace and release: a namespace has no dot
    ])
    const classes = workloadsOf(all).map((each) => [componentOf(each), podOf(each).priorityClassName])
    expect(Object.fromEntries(classes)).toEqual({
      nginx: 'culvert.culvert',
      tunnel: 'culvert.culvert',
      web: undefined, // envelopes are served while ordinary pods are evicted; pages may wait
      nats: 'culvert.culvert',
    })
  })
})

describe('Fields of the pods', requires('helm'), () => {
  const render = (values: Values) => workloadsOf(renderChart(values))
  const podIn = (workloads: Workload[], name: string) => podOf(componentIn(workloads, name))

  it('come from the values of all pods, with those of a component before them', () => {
    const all = render({
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
    const annotationsOf = (name: string) => componentIn(all, name).spec?.template.metadata?.annotations
    expect(annotationsOf('web')).toMatchObject({ a: 'all', b: 'all' })
    expect(annotationsOf('tunnel')).toMatchObject({ a: 'all', b: 'tunnel' })
    expect(labelsOf(componentIn(all, 'nats'))).toMatchObject({ team: 'payments' })
    for (const each of all) expect(matches(each.spec?.selector.matchLabels, labelsOf(each))).toBe(true)
    expect(podIn(all, 'nginx')).toMatchObject({
      tolerations: [{ key: 'all' }],
      nodeSelector: { disk: 'ssd' },
    })
    expect(podIn(all, 'nginx')).not.toHaveProperty('priorityClassName')
    expect(podIn(all, 'tunnel')).toMatchObject({
      tolerations: [{ key: 'tunnel' }],
      nodeSelector: { disk: 'ssd', zone: 'a' },
      affinity: { podAntiAffinity: {} },
      priorityClassName: 'high',
      terminationGracePeriodSeconds: 120,
    })
  })

  it('take more environment, other spread constraints, and other pauses before a stop', () => {
    const spread = { maxSkew: 2, topologyKey: 'rack', whenUnsatisfiable: 'DoNotSchedule' }
    const all = render({
      extraEnv: [{ name: 'TZ', value: 'UTC' }],
      web: { extraEnv: [{ name: 'TZ', value: 'Europe/Berlin' }], envFrom: [{ secretRef: { name: 'more' } }] },
      nginx: {
        topologySpreadConstraints: [spread],
        lifecycle: { preStop: { exec: { command: ['sleep', '60'] } } },
        terminationGracePeriodSeconds: 90,
      },
    })
    expect(containersOf(componentIn(all, 'nginx'))[0]?.lifecycle?.preStop?.exec?.command).toEqual([
      'sleep',
      '60',
    ])
    expect(podIn(all, 'nginx').terminationGracePeriodSeconds).toBe(90)
    const containerOf = (name: string) => containersOf(componentIn(all, name))[0]
    for (const name of ['nginx', 'tunnel', 'nats'])
      expect(containerOf(name)?.env, name).toContainEqual({ name: 'TZ', value: 'UTC' })
    expect(containerOf('web')?.env).toContainEqual({ name: 'TZ', value: 'Europe/Berlin' })
    expect(containerOf('web')?.envFrom).toEqual([{ secretRef: { name: 'more' } }])
    expect(podIn(all, 'nginx').topologySpreadConstraints).toEqual([spread])
    expect(podIn(all, 'tunnel').topologySpreadConstraints).toHaveLength(2)
  })

  it('leave out lists and amounts that a component empties, and replace hooks', () => {
    const lists = { tolerations: [{ operator: 'Exists' }], extraEnv: [{ name: 'TZ', value: 'UTC' }] }
    const { status, stdout } = helm(['template', 'culvert', CHART], {
      ...lists,
      nats: { tolerations: [], extraEnv: [] },
      tunnel: {
        resources: { limits: JSON.parse('{"cpu":null}') },
        lifecycle: { preStop: { sleep: { seconds: 35 } } },
      },
    })
    expect(status).toBe(0)
    const all = workloadsOf(parseDocuments(stdout))
    expect(podIn(all, 'tunnel').tolerations).toEqual(lists.tolerations)
    expect(podIn(all, 'nats')).not.toHaveProperty('tolerations')
    const [nats] = containersOf(componentIn(all, 'nats'))
    expect(nats?.env?.map(({ name }) => name)).not.toContain('TZ')
    expect(nats?.lifecycle?.preStop).toMatchObject({ exec: { command: expect.any(Array) } })
    const [tunnel] = containersOf(componentIn(all, 'tunnel'))
    expect(Object.keys(tunnel?.resources?.limits ?? {}).sort()).toEqual(['ephemeral-storage', 'memory'])
    expect(tunnel?.lifecycle).toEqual({ preStop: { sleep: { seconds: 35 } } })
  })

  it('keep the labels of the chart, and name each once', () => {
    const labels = { 'app.kubernetes.io/name': 'other', 'helm.sh/chart': 'other', team: 'payments' }
    const all = renderChart({
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
    for (const each of render(parse(file)))
      expect(podOf(each).securityContext).toEqual({
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      })
  })
})

describe('Values of the chart', requires('helm'), () => {
  it('put an Ingress in front of nginx, in place of a load balancer', () => {
    const ingress = {
      enabled: true,
      hosts: ['shop.example', '*.shop.example'],
      tls: [{ hosts: ['shop.example'], secretName: 'shop-tls' }],
    }
    const all = renderChart({ ingress })
    expect(pathsOf(all)).toEqual([['/', 'culvert']])
    const [{ spec, metadata } = {}] = ofKind<IIngress>(all, 'Ingress')
    expect(spec?.tls).toEqual([{ hosts: ['shop.example'], secretName: 'shop-tls' }])
    expect(metadata).toMatchObject({ annotations: { 'nginx.ingress.kubernetes.io/proxy-body-size': '100m' } })
    expect(named(servicesOf(all), 'culvert').spec).toMatchObject({ type: 'ClusterIP' })
  })

  it('serve HTTPS with the certificate of a Secret, and redirect HTTP to it', () => {
    const all = renderChart({
      nginx: { tlsSecret: 'shop-tls' },
      service: { nodePorts: { https: 30443 } },
      settings: { CLIENT_ADDRESS: 'omit' },
    })
    const { spec } = named(servicesOf(all), 'culvert')
    expect(spec).toMatchObject({ type: 'LoadBalancer', externalTrafficPolicy: 'Local' })
    expect(spec?.ports).toEqual([
      { name: 'http', port: 80, targetPort: 'http' },
      { name: 'https', port: 443, targetPort: 'https', nodePort: 30443 },
    ])
    const nginx = componentIn(workloadsOf(all), 'nginx')
    const problems: string[] = []
    const config = readNginxConfig(environmentOf(nginx, SECRETS), problems)
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
    const [container] = containersOf(nginx)
    expect(container?.volumeMounts).toContainEqual({ name: 'tls', mountPath: '/culvert/tls', readOnly: true })
    const files = podOf(nginx).volumes?.find(({ name }) => name === 'tls')?.secret?.items
    expect(files?.map(({ path }) => path)).toEqual(['fullchain.pem', 'privkey.pem'])
    const ports = policyOf(all, 'nginx').spec?.ingress?.[0]?.ports
    expect(ports).toEqual([{ port: 'http' }, { port: 'https' }])
  })

  it('publish the console without TLS only on port 443 behind a proxy that is named', () => {
    expect(named(servicesOf(renderChart()), 'culvert').spec?.type).toBe('ClusterIP')
    for (const type of ['LoadBalancer', 'NodePort']) {
      expect(renderProblem({ service: { type } })).toContain('Set nginx.tlsSecret')
      const settings = { TRUSTED_PROXIES: '203.0.113.0/24' }
      expect(renderProblem({ service: { type }, settings })).toContain('Set nginx.tlsSecret')
      const service = { type, ports: { http: 443 } }
      expect(renderProblem({ service })).toContain('Set nginx.tlsSecret')
      expect(named(servicesOf(renderChart({ service, settings })), 'culvert').spec?.type).toBe(type)
    }
    const ingress = { enabled: true, hosts: ['shop.example'] }
    expect(renderProblem({ ingress, nginx: { tlsSecret: 'shop-tls' } })).toContain('Set ingress.tls')
  })

  it('fit a small installation on one node: 0.5 CPU, 512 MiB, one volume', () => {
    const all = renderChart({ size: 'small' })
    const workloads = workloadsOf(all)
    expect(workloads.map((each) => [componentOf(each), each.spec?.replicas])).toEqual([
      ['nginx', 1],
      ['tunnel', 1],
      ['web', 1],
    ])
    expect(ofKind(all, 'HorizontalPodAutoscaler')).toEqual([])
    const requested = (resource: 'cpu' | 'memory') =>
      workloads.flatMap((each) => {
        const amounts = [...initContainersOf(each), ...containersOf(each)].map(({ resources }) =>
          Number.parseInt(String(resources?.requests?.[resource]), 10),
        )
        return Math.max(...amounts)
      })
    const sum = (amounts: number[]) => amounts.reduce((a, b) => a + b)
    expect([sum(requested('cpu')), sum(requested('memory'))]).toEqual([500, 512])
    const tunnel = componentIn(workloads, 'tunnel')
    expect(readConfig(environmentOf(tunnel, SECRETS)).spool.place).toEqual({ file: '/spool/spool.db' })
    const [claim] = ofKind<IPersistentVolumeClaim>(all, 'PersistentVolumeClaim')
    expect(claim?.metadata).toMatchObject({ annotations: { 'helm.sh/resource-policy': 'keep' } })
    expect(
      podOf(tunnel).volumes?.map(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName),
    ).toEqual([claim?.metadata.name])
    const [beside] = podOf(tunnel).affinity?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []
    expect(matches(beside?.labelSelector?.matchLabels, labelsOf(tunnel))).toBe(true) // the volume is on one node
    const other = { topologyKey: 'zone', labelSelector: { matchLabels: { app: 'shop' } } }
    const affinity = {
      podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [other] },
      nodeAffinity: {},
    }
    const own = componentIn(workloadsOf(renderChart({ size: 'small', affinity })), 'tunnel')
    expect(podOf(own).affinity).toEqual({
      nodeAffinity: {},
      podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [other, beside] },
    })
  })

  it('listen on IPv6, too', () => {
    const all = renderChart()
    const workload = (name: string) => componentIn(workloadsOf(all), name)
    const { listen, innerListen } = readNginxConfig(environmentOf(workload('nginx'), SECRETS), [])
    expect([listen, innerListen]).toEqual([
      ['8080', '[::]:8080'],
      ['8081', '[::]:8081'],
    ])
    expect(readConfig(environmentOf(workload('tunnel'), SECRETS))).toMatchObject({
      host: '::',
      adminHost: '::',
    })
    const address = { valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } }
    expect(containersOf(workload('web'))[0]?.env).toContainEqual({ name: 'HOSTNAME', ...address })
    expect(containersOf(workload('nats'))[0]?.env).toContainEqual({ name: 'POD_IP', ...address })
  })

  it('route a Gateway to nginx, or to tunnels and console without it', () => {
    const routesOf = (values: Values) =>
      ofKind<HttpRoute>(renderChart(values), 'HTTPRoute')[0]?.spec.rules.map(
        ({ matches: [match], backendRefs: [to] }) => [match.path.value, to],
      )
    const httpRoute = { enabled: true, parentRefs: [{ name: 'shop' }], hostnames: ['shop.example'] }
    expect(routesOf({ httpRoute, service: { ports: { http: 8080 } } })).toEqual([
      ['/', { name: 'culvert', port: 8080 }],
    ])
    const networkPolicy = { ingressFrom: [INGRESS_PODS] }
    expect(routesOf({ ...WITHOUT_NGINX, httpRoute, networkPolicy })).toEqual([
      ['/monitoring', { name: 'culvert', port: 80 }],
      ['/console', { name: 'culvert-web', port: 3000 }],
    ])
    expect(named(servicesOf(renderChart({ httpRoute })), 'culvert').spec?.type).toBe('ClusterIP')
  })

  it('scale the tunnels by CPU, and also by envelopes in flight', () => {
    const metricsOf = (values: Values) =>
      ofKind<IHorizontalPodAutoscaler>(renderChart(values), 'HorizontalPodAutoscaler')[0]?.spec?.metrics?.map(
        ({ resource, pods }) => resource?.name ?? pods?.metric.name,
      )
    expect(metricsOf({})).toEqual(['cpu'])
    const metrics = metricsOf({ tunnel: { autoscaling: { envelopesInFlight: 64 } } })
    expect(metrics).toEqual(['cpu', 'culvert_envelopes_in_flight'])
    const source = readFileSync(resolve(ROOT, 'tunnel/src/observe/metrics.ts'), 'utf8')
    expect(source).toContain("'culvert_envelopes_in_flight'")
    const fixed = renderChart({ tunnel: { replicas: 3, autoscaling: { enabled: false } } })
    expect(ofKind(fixed, 'HorizontalPodAutoscaler')).toEqual([])
    expect(componentIn(workloadsOf(fixed), 'tunnel').spec).toMatchObject({ replicas: 3 })
  })

  it('choose the images by prefix, tag and digest', () => {
    const prefix = 'registry.example:5000/team/culvert'
    const digest = { tunnel: `sha256:${'a'.repeat(64)}` }
    const all = renderChart({ image: { prefix, tag: '1.2.3', digest } })
    const imageOf = (name: string) => containersOf(componentIn(workloadsOf(all), name))[0]?.image
    expect(imageOf('tunnel')).toBe(`${prefix}-tunnel:1.2.3@${digest.tunnel}`)
    expect(imageOf('web')).toBe(`${prefix}-web:1.2.3`)
    const mirrored = renderChart({
      image: { prefix, tag: '1.2.3', pullPolicy: 'Always' },
      global: { image: { registry: 'mirror.example' } },
    })
    const containers = workloadsOf(mirrored).flatMap((each) => containersOf(each))
    expect(containers.map(({ image }) => image?.replace(/:[^:]+$/, '')).sort()).toEqual([
      'mirror.example/nats',
      'mirror.example/nginx',
      'mirror.example/team/culvert-tunnel',
      'mirror.example/team/culvert-web',
    ])
    const [test] = ofKind<IPod>(mirrored, 'Pod')
    const others = [...workloadsOf(mirrored).flatMap(initContainersOf), ...(test?.spec?.containers ?? [])]
    expect(others).toHaveLength(2)
    for (const { imagePullPolicy } of [...containers, ...others]) expect(imagePullPolicy).toBe('Always')
  })

  it('use a NATS of the operator', () => {
    const url = 'nats://nats.example:4222?replicas=3'
    const all = renderChart({
      nats: { enabled: false },
      spool: { url },
      secrets: { SENTRY_DSN: SECRETS.SENTRY_DSN, SPOOL_CREDENTIALS: 'culvert:secret' },
    })
    expect(all.filter((each) => componentOf(each) === 'nats')).toEqual([])
    const env = environmentOf(componentIn(workloadsOf(all), 'tunnel'), {
      ...SECRETS,
      SPOOL_CREDENTIALS: 'culvert:secret',
    })
    expect(env).toMatchObject({ SPOOL_URL: url })
    expect(readConfig(env).spool.place).toMatchObject({
      nats: { credentials: { user: 'culvert', pass: 'secret' } },
    })
  })

  it('keep a proxy with a login in the Secret', () => {
    const HTTPS_PROXY = 'http://user:password@proxy.example:3128'
    const all = renderChart({ secrets: { SENTRY_DSN: SECRETS.SENTRY_DSN, HTTPS_PROXY } })
    const { data } = named(ofKind<ISecret>(all, 'Secret'), 'culvert')
    expect(atob(data?.HTTPS_PROXY ?? '')).toBe(HTTPS_PROXY)
    const tunnel = componentIn(workloadsOf(all), 'tunnel')
    expect(environmentOf(tunnel, { ...SECRETS, HTTPS_PROXY })).toMatchObject({ HTTPS_PROXY })
    expect(JSON.stringify(all.filter(({ kind }) => kind !== 'Secret'))).not.toContain('user:password')
  })

  it('put nginx in front of an app that may send reports to it', () => {
    const app = {
      url: 'http://shop.default.svc.cluster.local:3000',
      podLabels: { app: 'shop' },
      podPort: 8000,
    }
    const all = renderChart({ app })
    const problems: string[] = []
    const env = environmentOf(componentIn(workloadsOf(all), 'nginx'), SECRETS)
    expect(readNginxConfig(env, problems).app).toBe('shop.default.svc.cluster.local:3000')
    expect(problems).toEqual([])
    const peer = {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'default' } },
      podSelector: { matchLabels: { app: 'shop' } },
    }
    const { ingress, egress } = policyOf(all, 'nginx').spec ?? {}
    expect(ingress).toContainEqual({ from: [peer], ports: [{ port: 'inner' }] })
    expect(egress).toContainEqual({ to: [peer], ports: [{ protocol: 'TCP', port: 8000 }] })
  })

  it('allow only networkPolicy.ingressFrom to reach nginx', () => {
    const all = renderChart({ networkPolicy: { ingressFrom: [INGRESS_PODS] } })
    const rule = { ports: [{ port: 'http' }], from: [INGRESS_PODS] }
    expect(policyOf(all, 'nginx').spec?.ingress).toContainEqual(rule)
    expect(policyOf(all, 'web').spec?.ingress).not.toContainEqual(rule) // only nginx
  })

  it('allow the tunnels one address and port of a private Sentry', () => {
    const all = renderChart({
      networkPolicy: { egress: [{ cidr: '10.1.2.3/32', port: 9000 }] },
    })
    expect(policyOf(all, 'tunnel').spec?.egress).toContainEqual({
      to: [{ ipBlock: { cidr: '10.1.2.3/32' } }],
      ports: [{ protocol: 'TCP', port: 9000 }],
    })
  })

  it('mount certificate authorities and rules for scrubbing, which are part of the pods', () => {
    const caFile = readFileSync(resolve(ROOT, 'tests/fixtures/tls/cert.pem'), 'utf8')
    const all = renderChart({ caFile, scrubRules: '{"applications":{}}' })
    expect(ofKind(all, 'ConfigMap').map(({ metadata }) => metadata.name)).toEqual(['culvert-nats'])
    for (const [name, files] of [
      ['tunnel', { CA_FILE: '/etc/culvert/ca.pem', SCRUB_RULES: '/etc/culvert/scrub-rules.json' }],
      ['web', { CA_FILE: '/etc/culvert/ca.pem' }],
    ] as const) {
      const workload = componentIn(workloadsOf(all), name)
      expect(environmentOf(workload, SECRETS)).toMatchObject(files)
      const [container] = containersOf(workload)
      expect(container?.volumeMounts).toContainEqual({
        name: 'files',
        mountPath: '/etc/culvert',
        readOnly: true,
      })
      const { metadata } = workload.spec?.template ?? {}
      const items = podOf(workload).volumes?.find((volume) => volume.name === 'files')?.downwardAPI?.items
      const contents = items?.map(({ path, fieldRef }) => {
        const [, key = ''] = /^metadata\.annotations\['(.+)'\]$/.exec(fieldRef?.fieldPath ?? '') ?? []
        return [path, metadata?.annotations?.[key]]
      })
      expect(contents).toEqual([
        ['ca.pem', caFile],
        ['scrub-rules.json', '{"applications":{}}'],
      ])
    }
  })

  it('mount a volume with source maps into web, which cannot write to it', () => {
    const persistentVolumeClaim = { claimName: 'shop-maps' }
    const all = renderChart({ web: { sourceMaps: { persistentVolumeClaim } } })
    const web = componentIn(workloadsOf(all), 'web')
    expect(environmentOf(web, SECRETS)).toMatchObject({ SOURCE_MAPS: '/source-maps' })
    const mount = { name: 'source-maps', mountPath: '/source-maps', readOnly: true }
    expect(containersOf(web)[0]?.volumeMounts).toEqual([mount])
    expect(podOf(web).volumes).toEqual([{ name: 'source-maps', persistentVolumeClaim }])
  })

  it('pass settings on unmodified, also those that look like references', () => {
    const all = renderChart({ settings: { ALLOWED_HOSTS: 'a.example', SENTRY_RELEASE: '$(SENTRY_DSN) $$' } })
    const tunnel = componentIn(workloadsOf(all), 'tunnel')
    expect(environmentOf(tunnel, SECRETS)).toMatchObject({ SENTRY_RELEASE: '$(SENTRY_DSN) $$' })
  })

  it('start web with the settings of its pod', () => {
    const all = renderChart({ settings: { SENTRY_ENVIRONMENT: 'staging', MAX_ENVELOPE_BYTES: '104857600' } })
    const problems: string[] = []
    const env = environmentOf(componentIn(workloadsOf(all), 'web'), SECRETS)
    expect(readWebConfig(env, problems).browser.environment).toBe('staging')
    expect(problems).toEqual([])
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
