/** Documentation of this version, as the build rendered it. */

import 'server-only'
import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { DocsPage } from './render.ts'

/** Beside the server, in whose folder it runs. */
const FOLDER = 'docs'

type Docs = { index: DocsPage; pages: Record<string, DocsPage> }

let docs: Docs | undefined

export function readDocs(): Docs {
  docs ??= JSON.parse(read('pages.json').toString()) as Docs // written by `build-standalone.ts`
  return docs
}

export function readPage(name: string): DocsPage | undefined {
  const { pages } = readDocs()
  return Object.hasOwn(pages, name) ? pages[name] : undefined
}

/** Reads an image that a page shows; `undefined` for all other names. */
export function readImage(name: string): Buffer | undefined {
  const images = Object.values(readDocs().pages).flatMap((page) => page.images)
  return images.some((image) => basename(image) === name) ? read(name) : undefined
}

function read(name: string): Buffer {
  return readFileSync(join(/* turbopackIgnore: true */ process.cwd(), FOLDER, name))
}
