/** API server with the resources that helm looks up, for `helm template --dry-run=server`. */

import { createServer } from 'node:http'
import { listen } from '../listen.ts'
import type { Manifest } from './manifests.ts'

/** Starts a server that knows the kinds of `manifests`, and contains `objects` by path, such as `/api/v1/namespaces/a/secrets/b`. */
export async function startApiServer(manifests: Manifest[], objects: Readonly<Record<string, object>>) {
  const answers = { ...discoveryOf(manifests), ...objects }
  const server = createServer(({ url = '' }, response) => {
    const [path = ''] = url.split('?')
    const answer = Object.entries(answers).find(([known]) => known === path)?.[1]
    response.writeHead(answer ? 200 : 404, { 'content-type': 'application/json' })
    response.end(
      JSON.stringify(answer ?? { kind: 'Status', status: 'Failure', reason: 'NotFound', code: 404 }),
    )
  })
  const listening = await listen(server)
  return { ...listening, url: `http://127.0.0.1:${listening.port}` }
}

function discoveryOf(manifests: Manifest[]): Record<string, object> {
  const versions = [...new Set(manifests.map(({ apiVersion }) => apiVersion))]
  const lists = versions.map((groupVersion) => {
    const kinds = new Set(manifests.flatMap((each) => (each.apiVersion === groupVersion ? each.kind : [])))
    const resources = [...kinds].map((kind) => ({
      ...{ kind, name: pluralOf(kind), singularName: kind.toLowerCase() },
      ...{ namespaced: kind !== 'PriorityClass', verbs: ['get'] },
    }))
    const root = groupVersion === 'v1' ? '/api' : '/apis'
    return [`${root}/${groupVersion}`, { kind: 'APIResourceList', groupVersion, resources }]
  })
  const groups = versions
    .filter((each) => each.includes('/'))
    .map((groupVersion) => {
      const [name = '', version = ''] = groupVersion.split('/')
      return { name, versions: [{ groupVersion, version }], preferredVersion: { groupVersion, version } }
    })
  return {
    '/version': { major: '1', minor: '30', gitVersion: 'v1.30.0' },
    '/api': { kind: 'APIVersions', versions: ['v1'] },
    '/apis': { kind: 'APIGroupList', apiVersion: 'v1', groups },
    ...Object.fromEntries(lists),
  }
}

function pluralOf(kind: string): string {
  return `${kind.toLowerCase()}s`.replace(/ss$/, 'sses').replace(/ys$/, 'ies')
}
