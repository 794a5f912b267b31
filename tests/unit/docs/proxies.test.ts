/** Files of `deploy/proxies/` that no program of the tests reads. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type IIngress, Ingress } from 'kubernetes-models/networking.k8s.io/v1'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { renderChart } from '../../support/kubernetes/chart.ts'
import { named, servicesOf } from '../../support/kubernetes/manifests.ts'
import { ROOT } from '../../support/node.ts'
import { HELM_PROGRAM, requires } from '../../support/requirements.ts'

const FOLDER = join(ROOT, 'deploy/proxies')
const read = (file: string) => readFileSync(join(FOLDER, file), 'utf8')

type Backend = { name: string; port: number }

describe('deploy/proxies', () => {
  // The tests of the recipe run nginx 1.22, which asks for it by default.
  it('has a file for nginx that closes connections to tunnels also with nginx 1.29.7 and newer', () => {
    const [, location] =
      /location ~ \^\/monitoring\(.+? \{\n([\s\S]+?)\n {2}\}/.exec(read('nginx.conf')) ?? []
    expect(location).toMatch(/^ *proxy_set_header Connection close;$/m)
  })

  it('has a Compose file whose tunnels trust the network that they share with Traefik', () => {
    const { services, networks } = parse(read('traefik.yml'))
    expect(services.tunnel.environment.EDGE).toBe(networks.ingest.ipam.config[0].subnet)
    expect(services.traefik.networks).toContain('ingest')
    expect(services.tunnel.labels['traefik.docker.network']).toBe(networks.ingest.name)
  })
})

describe('For Kubernetes, deploy/proxies', requires('helm'), () => {
  const service = HELM_PROGRAM ? named(servicesOf(renderChart()), 'culvert') : undefined

  it('has an Ingress that matches the schema of Kubernetes and leads to the Service of the chart', () => {
    const ingress: IIngress = parse(read('kubernetes-ingress.yaml'))
    expect(() => new Ingress(ingress).validate()).not.toThrow()
    const backend = ingress.spec?.rules?.[0]?.http?.paths[0]?.backend.service
    expect(backend?.name).toBe(service?.metadata.name)
    expect(service?.spec?.ports?.map(({ name }) => name)).toContain(backend?.port?.name)
  })

  it('has an HTTPRoute that leads to the Service of the chart', () => {
    const { spec }: { spec: { rules: { backendRefs: Backend[] }[] } } = parse(read('kubernetes-gateway.yaml'))
    const [port] = service?.spec?.ports ?? []
    expect(spec.rules[0]?.backendRefs).toEqual([{ name: service?.metadata.name, port: port?.port }])
  })
})
