/** Optional components of the Kubernetes manifests, as kustomize adds them. */

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { HorizontalPodAutoscaler, type IHorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2'
import {
  type IIngress,
  type INetworkPolicy,
  Ingress,
  NetworkPolicy,
} from 'kubernetes-models/networking.k8s.io/v1'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { readNginxConfig } from '../../../tunnel/src/config/render-nginx.ts'
import { build, kustomize } from '../../support/kubernetes/kustomize.ts'
import {
  configOf,
  environmentOf,
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

const SECRETS = {
  SENTRY_DSN: 'https://key@o1.ingest.us.sentry.io/2',
  NATS_USER: 'culvert',
  NATS_PASSWORD: '10k',
}

type ServiceMonitorSpec = {
  selector: { matchLabels: Record<string, string> }
  endpoints: { port: string; relabelings: { replacement: string }[] }[]
}

describe('The optional components', () => {
  it('send requests of the Ingress to nginx, which trusts the load balancer', requires('kubectl'), () => {
    const all = build({ secrets: SECRETS, components: ['ingress'] })
    const [ingress] = all.filter(({ kind }) => kind === 'Ingress')
    expect(() => new Ingress(ingress as IIngress).validate()).not.toThrow()
    const { spec } = ingress as IIngress & Manifest
    const backend = spec?.rules?.[0]?.http?.paths[0]?.backend.service
    const nginx = named(servicesOf(all), backend?.name ?? '')
    expect(nginx.spec?.type).toBe('ClusterIP')
    expect(nginx.spec?.ports?.map(({ name }) => name)).toEqual([backend?.port?.name])
    expect(spec?.tls?.[0]?.hosts).toEqual([spec?.rules?.[0]?.host])
  })

  it('give the Prometheus operator alerts, all tunnels and the dashboard', requires('kubectl'), () => {
    const all = build({ secrets: SECRETS, components: ['monitoring'] })
    const of = (kind: string) => all.filter((each) => each.kind === kind)
    const rules = parse(readFileSync(resolve(ROOT, 'deploy/prometheus/rules.yml'), 'utf8'))
    expect(of('PrometheusRule').map(({ spec }) => spec)).toEqual([rules])
    const [monitor] = of('ServiceMonitor') as (Manifest & { spec: ServiceMonitorSpec })[]
    const watched = servicesOf(all).filter(({ metadata, spec }) => {
      const { labels = {} } = metadata as { labels?: Record<string, string> }
      const ports = spec?.ports?.map(({ name }) => name)
      const { selector, endpoints } = monitor?.spec ?? {}
      return matches(selector?.matchLabels, labels) && ports?.includes(endpoints?.[0]?.port)
    })
    expect(watched.map(({ metadata }) => metadata.name)).toEqual(['tunnel-admin'])
    const job = monitor?.spec.endpoints[0]?.relabelings[0]?.replacement
    expect(JSON.stringify(rules)).toContain(`up{job=\\"${job}\\"}`)
    expect(JSON.parse(configOf(all, 'culvert-dashboard')['culvert.json'] ?? '')).toHaveProperty('panels')
  })

  it(
    'mount a certificate authority into tunnel and web, and restart the pods when it changes',
    requires('kubectl'),
    () => {
      const certificate = readFileSync(resolve(ROOT, 'tests/fixtures/tls/cert.pem'), 'utf8')
      const text = kustomize({
        secrets: SECRETS,
        components: ['ca-file'],
        files: { 'ca-file/ca.pem': certificate },
      })
      const all = parseDocuments(text)
      const map = all.find(
        ({ kind, metadata }) => kind === 'ConfigMap' && metadata.name.startsWith('culvert-ca-'),
      )
      expect(map).toMatchObject({ data: { 'ca.pem': certificate } })
      for (const name of ['tunnel', 'web']) {
        const pod = podOf(named(workloadsOf(all), name))
        const [container] = pod.containers
        const { CA_FILE = '' } = Object.fromEntries(
          container?.env?.map(({ name: key, value = '' }) => [key, value]) ?? [],
        )
        const mount = container?.volumeMounts?.find(({ mountPath }) => CA_FILE === `${mountPath}/ca.pem`)
        const volume = pod.volumes?.find((each) => each.name === mount?.name)
        expect(volume?.configMap?.name).toBe(map?.metadata.name)
        expect(mount?.readOnly).toBe(true)
      }
      expect(podOf(named(workloadsOf(all), 'tunnel')).containers[0]?.volumeMounts).toContainEqual({
        name: 'bodies',
        mountPath: '/spool',
      })
    },
  )

  it('scale the tunnels also by requests in flight', requires('kubectl'), () => {
    const all = build({ secrets: SECRETS, components: ['in-flight'] })
    const scalers = all.filter(({ kind }) => kind === 'HorizontalPodAutoscaler')
    const [scaler] = scalers as (IHorizontalPodAutoscaler & Manifest)[]
    expect(() => new HorizontalPodAutoscaler(scaler).validate()).not.toThrow()
    const names = scaler?.spec?.metrics?.map(({ resource, pods }) => resource?.name ?? pods?.metric.name)
    expect(names).toEqual(['cpu', 'culvert_envelopes_in_flight'])
    const source = readFileSync(resolve(ROOT, 'tunnel/src/telemetry/metrics.ts'), 'utf8')
    expect(source).toContain("'culvert_envelopes_in_flight'")
  })

  it('put nginx in front of an app that may send reports to it', requires('kubectl'), () => {
    const all = build({ secrets: SECRETS, components: ['app'] })
    const policy = named(all, 'nginx-and-app') as INetworkPolicy & Manifest
    expect(() => new NetworkPolicy(policy).validate()).not.toThrow()
    const nginx = named(workloadsOf(all), 'nginx')
    expect(matches(policy.spec?.podSelector?.matchLabels, labelsOf(nginx))).toBe(true)
    const problems: string[] = []
    const { app } = readNginxConfig(environmentOf(all, nginx, SECRETS), problems)
    expect(problems).toEqual([])
    expect(app).toBe(`shop.default.svc.cluster.local:${policy.spec?.egress?.[0]?.ports?.[0]?.port}`)
    expect(policy.spec?.ingress?.[0]?.ports).toEqual([{ port: 'inner' }])
  })

  it('allow the tunnels one address and port of a private Sentry', requires('kubectl'), () => {
    const all = build({ secrets: SECRETS, components: ['private-sentry'] })
    const policy = named(all, 'tunnel-to-private-sentry') as INetworkPolicy & Manifest
    expect(() => new NetworkPolicy(policy).validate()).not.toThrow()
    const tunnel = named(workloadsOf(all), 'tunnel')
    expect(matches(policy.spec?.podSelector?.matchLabels, labelsOf(tunnel))).toBe(true)
    for (const { to = [], ports = [] } of policy.spec?.egress ?? []) {
      expect(to.map(({ ipBlock }) => ipBlock?.cidr)).toEqual([expect.stringMatching(/\/32$/)])
      expect(ports).toHaveLength(1)
    }
  })
})
