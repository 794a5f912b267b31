/** Chart on a real API server: installation, upgrades, rollback, and what it refuses before anything changes. Containers need not run. */

import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { IDeployment, IStatefulSet } from 'kubernetes-models/apps/v1'
import type { IPersistentVolumeClaim, IPod, ISecret, IService } from 'kubernetes-models/v1'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { CHART, renderChart, type Values } from '../../support/kubernetes/chart.ts'
import { create, kubectl, makeNamespace, type Namespace } from '../../support/kubernetes/cluster.ts'
import { componentOf, type Manifest } from '../../support/kubernetes/manifests.ts'
import { ROOT } from '../../support/node.ts'
import { requires } from '../../support/requirements.ts'
import { until } from '../../support/until.ts'

const VALUES = resolve(ROOT, 'deploy/helm/values')
const CLUSTER = { ...requires('helm', 'cluster'), timeout: 180_000, concurrent: true }

/** Returns all objects of the release by kind and name, without what the server counts. */
async function snapshot({ list }: Namespace): Promise<string[]> {
  const kinds =
    'configmaps,secrets,services,deployments,statefulsets,persistentvolumeclaims,poddisruptionbudgets'
  const objects = await list<{ metadata: { generation?: number } }>(kinds)
  return objects
    .filter(({ metadata }) => !metadata.name.startsWith('sh.helm.release'))
    .map(({ kind, metadata, data, spec }) => JSON.stringify([kind, metadata.name, spec ?? data]))
}
const replicasOf = async ({ get }: Namespace) =>
  (await get<IDeployment>('deployment', 'culvert-tunnel')).spec?.replicas

describe('A server-side dry run', CLUSTER, () => {
  it.each(readdirSync(VALUES))('accepts %s', async (file) => {
    await using namespace = await makeNamespace()
    const manifests = renderChart(parse(readFileSync(join(VALUES, file), 'utf8')))
    const known = await kubectl(['api-resources', '--output', 'name', '--no-headers'])
    for (const manifest of manifests) {
      const isKnown = known.split('\n').some((name) => name.startsWith(`${manifest.kind.toLowerCase()}`))
      if (!isKnown || manifest.kind === 'Pod') continue // of an operator that is not installed, or with an account that must exist
      const { metadata } = manifest
      const object = {
        ...manifest,
        metadata: { ...metadata, ...('namespace' in metadata && { namespace: namespace.name }) },
      }
      await kubectl(['create', '--dry-run=server', '--filename', '-'], JSON.stringify(object))
    }
  })
})

describe('An installation', CLUSTER, () => {
  it('creates the pods of each component under the Pod Security Standard "restricted"', async () => {
    await using namespace = await makeNamespace()
    const { stderr } = await namespace.deploy()
    expect(stderr).not.toContain('PodSecurity')
    const test = renderChart().find(({ kind }) => kind === 'Pod')
    const pod = { ...test, metadata: { ...test?.metadata, namespace: namespace.name } }
    await kubectl(['create', '--dry-run=server', '--filename', '-'], JSON.stringify(pod))
    await until(async () => {
      const pods = await namespace.list<IPod>('pods')
      return new Set(pods.map(componentOf)).size === 4
    }, 60_000)
  })

  it('of the small size has one pod of each component, and keeps its volume', async () => {
    await using namespace = await makeNamespace()
    await namespace.deploy({ size: 'small', spool: { storageGiB: 2 } })
    await until(async () => (await namespace.list('pods')).length === 3, 60_000)
    const tooSmall = await namespace.helm(['upgrade', 'culvert', CHART], {
      size: 'small',
      spool: { storageGiB: 1 },
    })
    expect(tooSmall.stderr).toMatch(/storageGiB/)
    await namespace.uninstall()
    expect((await namespace.list('persistentvolumeclaims')).map(({ metadata }) => metadata.name)).toEqual([
      'culvert-spool',
    ])
    await namespace.deploy({ size: 'small', spool: { storageGiB: 2 } })
  })

  it('takes the address family of the cluster, and two where the cluster has them', async () => {
    await using namespace = await makeNamespace()
    await namespace.deploy({ service: { ipFamilyPolicy: 'PreferDualStack' } })
    const own = JSON.parse(await kubectl(['get', 'service', 'kubernetes', '--output', 'json'])) as IService
    const [family] = own.spec?.ipFamilies ?? []
    for (const { spec } of await namespace.list<IService>('services'))
      expect(spec?.ipFamilies?.[0]).toBe(family)
  })

  it('needs no rights outside of its namespace', async () => {
    await using namespace = await makeNamespace()
    const user = `admin-of-${namespace.name}`
    await namespace.kubectl('create', 'rolebinding', 'admin', '--clusterrole=admin', `--user=${user}`)
    await namespace.deploy({}, ['--kube-as-user', user])
    const refused = await namespace.helm(['upgrade', 'culvert', CHART, '--kube-as-user', user], {
      priorityClass: { create: true },
    })
    expect(refused.stderr).toContain('priorityclasses')
  })
})

describe('Upgrades', CLUSTER, () => {
  it('keep passwords, and a rollback returns to the settings before', async () => {
    await using namespace = await makeNamespace()
    await namespace.deploy()
    const secretOf = async (name: string) => (await namespace.get<ISecret>('secret', name)).data
    const before = [await secretOf('culvert'), await secretOf('culvert-nats')]
    const settingsOf = async () => {
      const { spec } = await namespace.get<IDeployment>('deployment', 'culvert-tunnel')
      return spec?.template.spec?.containers[0]?.env?.find(({ name }) => name === 'SENTRY_RELEASE')?.value
    }
    await namespace.deploy({ settings: { SENTRY_RELEASE: '1' }, scrubRules: '{}' })
    await namespace.deploy({ settings: { SENTRY_RELEASE: '2' }, web: { enabled: false }, app: APP })
    await namespace.deploy({ settings: { SENTRY_RELEASE: '3' }, podDisruptionBudget: { enabled: false } })
    expect(await settingsOf()).toBe('3')
    expect([await secretOf('culvert'), await secretOf('culvert-nats')]).toEqual(before)
    const { code } = await namespace.rollback(2)
    expect([code, await settingsOf()]).toEqual([0, '1'])
    expect([await secretOf('culvert'), await secretOf('culvert-nats')]).toEqual(before)
  })

  it('keep the number of tunnels when the autoscaler takes over', async () => {
    await using namespace = await makeNamespace()
    await namespace.deploy({ tunnel: { replicas: 5, autoscaling: { enabled: false } } })
    expect(await replicasOf(namespace)).toBe(5)
    const autoscaling = { enabled: true, minReplicas: 2 }
    await namespace.deploy({ tunnel: { autoscaling } })
    expect(await replicasOf(namespace)).toBe(5)
    await namespace.kubectl('scale', 'deployment', 'culvert-tunnel', '--replicas=7') // as the autoscaler does
    await namespace.deploy({ tunnel: { autoscaling }, settings: { SENTRY_RELEASE: '2' } })
    expect(await replicasOf(namespace)).toBe(7)
  })

  it('do not delete the Secret that pods use', async () => {
    await using namespace = await makeNamespace()
    await namespace.deploy()
    const values = { existingSecret: 'culvert' }
    expect((await namespace.helm(['upgrade', 'culvert', CHART], values)).stderr).toContain(
      'existingSecret is',
    )
    expect(await namespace.get<ISecret>('secret', 'culvert')).toMatchObject({ kind: 'Secret' })
  })

  it('keep the settings of the pods of the revision before', async () => {
    await using namespace = await makeNamespace()
    await namespace.deploy({ settings: { SENTRY_RELEASE: 'works' }, scrubRules: '{}' })
    const podsOf = async () =>
      (await namespace.list<IPod>('pods')).filter((pod) => componentOf(pod) === 'tunnel')
    await until(async () => (await podsOf()).length > 0, 60_000)
    const [old] = await podsOf()
    await namespace.deploy({ settings: { SENTRY_RELEASE: 'wrong' }, scrubRules: '{"applications":{}}' })
    const { spec } = await namespace.get<IPod>('pod', old?.metadata.name ?? '')
    expect(JSON.stringify(spec?.containers)).toContain('"works"')
    const named = JSON.stringify(spec).match(/"configMap(Ref|KeyRef)?":\{[^}]*\}/g) ?? []
    expect(named).toEqual([])
  })
})

describe('A switch to another spool', CLUSTER, () => {
  it('is refused while the former one may hold envelopes', async () => {
    await using namespace = await makeNamespace()
    const upgrade = (values: Values) => namespace.helm(['upgrade', 'culvert', CHART], values)
    await namespace.deploy()
    expect((await upgrade({ size: 'small' })).stderr).toContain('delete the StatefulSet culvert-nats')
    await namespace.kubectl('delete', 'statefulset', 'culvert-nats')
    await namespace.deploy({ size: 'small' })
    expect((await upgrade({})).stderr).toContain('delete the PersistentVolumeClaim culvert-spool')
  })
})

const APP = { url: 'http://shop.default.svc.cluster.local:3000', podLabels: { app: 'shop' } }

describe('The size of the volumes', CLUSTER, () => {
  it('is refused before anything changes', async () => {
    await using namespace = await makeNamespace()
    const tunnel = { autoscaling: { enabled: false } } // it would change the number of tunnels
    await namespace.deploy({ tunnel })
    await until(async () => (await namespace.list('persistentvolumeclaims')).length === 3, 60_000)
    const before = await snapshot(namespace)
    for (const spool of [{ storageGiB: 20 }, { storageClass: 'fast' }]) {
      const { code, stderr } = await namespace.helm(['upgrade', 'culvert', CHART], {
        ...{ tunnel, spool },
        settings: { SENTRY_RELEASE: '2' },
      })
      expect(code).toBe(1)
      expect(stderr).toMatch(/spool\.storage(GiB|Class) is .*grow-the-spool/)
    }
    expect(await snapshot(namespace)).toEqual(before)

    await namespace.uninstall()
    const again = await namespace.helm(['install', 'culvert', CHART], { spool: { storageGiB: 20 } })
    expect(again.stderr).toContain('the volume data-culvert-nats-0 has 10Gi')
    await namespace.deploy()
  })

  it('can be grown by the steps of docs/kubernetes.md, and NATS is limited to what the volumes have', async () => {
    await using namespace = await makeNamespace()
    await using volumes = await makeVolumes()
    const spool = { storageGiB: 10, storageClass: volumes.storageClass }
    await namespace.deploy({ spool })
    const claimsOf = () => namespace.list<IPersistentVolumeClaim>('persistentvolumeclaims')
    await until(async () => {
      const claims = await claimsOf()
      return claims.length === 3 && claims.every(({ status }) => status?.capacity?.storage === '10Gi')
    }, 60_000)
    expect(await limitOf(namespace)).toBe('9GB')

    const names = (await claimsOf()).map(({ metadata }) => metadata.name)
    const grow = '{"spec":{"resources":{"requests":{"storage":"20Gi"}}}}'
    for (const name of names) await namespace.kubectl('patch', 'pvc', name, '--type=merge', `--patch=${grow}`)
    await namespace.kubectl('delete', 'statefulset', 'culvert-nats', '--cascade=orphan')
    await namespace.deploy({ spool: { ...spool, storageGiB: 20 } })
    expect(await limitOf(namespace)).toBe('9GB') // the volumes are not larger yet

    const grown = '{"status":{"capacity":{"storage":"20Gi"}}}'
    for (const name of names)
      await namespace.kubectl(
        'patch',
        'pvc',
        name,
        '--subresource=status',
        '--type=merge',
        `--patch=${grown}`,
      )
    await namespace.deploy({ spool: { ...spool, storageGiB: 20 } })
    expect(await limitOf(namespace)).toBe('19GB')
  })
})

async function limitOf({ get }: Namespace): Promise<string | undefined> {
  const { spec } = await get<IStatefulSet>('statefulset', 'culvert-nats')
  return spec?.template.spec?.containers[0]?.env?.find(({ name }) => name === 'MAX_FILE_STORE')?.value
}

/** Creates three volumes of 10 GiB of a class that can be expanded. */
async function makeVolumes() {
  const storageClass = `culvert-test-${randomBytes(4).toString('hex')}`
  await create({
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: storageClass },
    provisioner: 'kubernetes.io/no-provisioner',
    allowVolumeExpansion: true,
  })
  const names = [0, 1, 2].map((i) => `${storageClass}-${i}`)
  for (const name of names)
    await create({
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name },
      spec: {
        capacity: { storage: '10Gi' },
        accessModes: ['ReadWriteOnce'],
        storageClassName: storageClass,
        hostPath: { path: '/nowhere' },
      },
    } satisfies Manifest & object)
  return {
    storageClass,
    [Symbol.asyncDispose]: async () => {
      await kubectl(['delete', 'storageclass', storageClass])
      await kubectl(['delete', 'persistentvolume', '--wait=false', ...names])
    },
  }
}
