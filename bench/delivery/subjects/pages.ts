/** The pages that visitors open: each is made with one SDK, and does the same. */

import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { rolldown } from 'rolldown'

export type PageKind = {
  sdk: string
  path: string
  /** A build of Next.js can make its SDK post elsewhere; to others the tunnel is told. */
  madeByNext: boolean
}

const REPORTING = join(import.meta.dirname, '../peers/in-page.ts')

/** Bundles `sdk`, as a file of the project would import it, into a page `name`.html of `folder`. */
export async function bundlePage(folder: string, name: string, sdk: string, from: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  const entry = join(from, 'page-entry.js')
  const bundle = await rolldown({
    input: entry,
    platform: 'browser',
    plugins: [
      {
        name: 'entry',
        resolveId: (id) => (id === entry ? id : undefined),
        load: (id) =>
          id === entry
            ? `import * as Sentry from ${JSON.stringify(sdk)}
import { startReporting } from ${JSON.stringify(REPORTING)}
startReporting(Sentry)`
            : undefined,
      },
    ],
  })
  await bundle.write({ file: join(folder, `${name}.js`), format: 'iife', minify: true })
  await bundle.close()
  await writeFile(
    join(folder, `${name}.html`),
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>A shop</title><script src="/${name}.js"></script><h1>A shop</h1></html>\n`,
  )
}
