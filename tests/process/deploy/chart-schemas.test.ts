/** Manifests of the chart with each file of values, against the schemas of the oldest Kubernetes that it supports and of a new one. */

import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { CHART, helm, renderChart, type Values } from '../../support/kubernetes/chart.ts'
import type { Manifest } from '../../support/kubernetes/manifests.ts'
import { ROOT } from '../../support/node.ts'
import { requires } from '../../support/requirements.ts'

const FOLDER = resolve(ROOT, 'deploy/helm/values')
/** Packages with the schemas of a Kubernetes release: 1.27 and 1.34. */
const RELEASES = ['kubernetes-models-1.27', 'kubernetes-models']
/** API groups that come with operators. */
const FOREIGN = /^(monitoring\.coreos\.com|gateway\.networking\.k8s\.io)\//

const files: [string, Values][] = [
  ['values.yaml', {}],
  ...readdirSync(FOLDER).map((file): [string, Values] => [
    file,
    parse(readFileSync(join(FOLDER, file), 'utf8')),
  ]),
]

describe.each(files)('The chart with %s', { ...requires('helm'), concurrent: true }, (_, values) => {
  it('passes helm lint', () => {
    const { status, stdout } = helm(['lint', '--strict', CHART], values)
    expect([status, stdout]).toEqual([0, expect.stringContaining('0 chart(s) failed')])
  })

  it('matches the schemas of Kubernetes', async () => {
    for (const release of RELEASES)
      for (const manifest of builtIn(renderChart(values))) {
        const { apiVersion, kind } = manifest
        const Model = (await import(/* @vite-ignore */ `${release}/${apiVersion}/${kind}`))[kind]
        expect(() => new Model(manifest).validate(), `${kind} ${manifest.metadata.name}`).not.toThrow()
      }
  })
})

describe('The chart', requires('helm'), () => {
  it('sets only fields that Kubernetes knows', { timeout: 120_000 }, async () => {
    // The types of the schemas name every field, and the compiler rejects other fields in a literal.
    const manifests = files.flatMap(([, values]) => builtIn(renderChart(values)))
    const literals = RELEASES.flatMap((release, r) =>
      manifests.map((manifest, i) => {
        const { apiVersion, kind } = manifest
        const type = `import type { I${kind} as T${r}_${i} } from '${release}/${apiVersion}'`
        return `${type}\nexport const m${r}_${i}: T${r}_${i} = ${JSON.stringify(manifest)}\n`
      }),
    )
    const folder = await mkdtemp(join(ROOT, 'node_modules/.manifests-'))
    try {
      await writeFile(join(folder, 'manifests.ts'), literals.join(''))
      const options = ['--ignoreConfig', '--noEmit', '--strict', '--skipLibCheck', '--target', 'es2024']
      const args = [...options, '--module', 'nodenext', '--types', '', join(folder, 'manifests.ts')]
      const { stdout } = await promisify(execFile)(resolve(ROOT, 'node_modules/.bin/tsc'), args).catch(
        (error) => error,
      )
      expect(stdout).toBe('')
    } finally {
      await rm(folder, { recursive: true })
    }
  })
})

function builtIn(manifests: Manifest[]): Manifest[] {
  return manifests.filter(({ apiVersion }) => !FOREIGN.test(apiVersion))
}
