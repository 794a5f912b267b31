/** Bundles the pages that visitors open: one for each SDK, with the same behaviour. */

import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { rolldown } from 'rolldown'

export type PageKind = {
  sdk: string
  path: string
  /** Built by Next.js, whose build can set the SDK's tunnel; other pages read it from the URL. */
  madeByNext: boolean
}

const REPORTING = join(import.meta.dirname, '../peers/in-page.ts')

/** Bundles `sdk`, as a file of the project would import it, into the page `name`.html of `folder`. */
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
