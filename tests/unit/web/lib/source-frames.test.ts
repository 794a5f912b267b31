/** Frames of the server, by source maps beside the files of the build. */

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MAX_MAP_BYTES, mapFrames } from '../../../../web/lib/source-maps/source-frames.ts'
import { makeFolder } from '../../../support/temporary-folder.ts'

const SOURCE = ['one', 'two', 'three', 'four', 'five'].join('\n')

/** Maps the first column of line 1 to line 3 of `source`, and column 5 of it to line 1 of a package. */
const mapOf = (source: string) => ({
  ...{ version: 3, sources: [`../../../../${source}`, '../../../../node_modules/next/x.js'], names: [] },
  ...{ sourcesContent: [SOURCE, 'package'], mappings: 'AAEA,KCFA' },
})

const eventOf = (filename: string, colno = 1) => ({
  exception: { values: [{ stacktrace: { frames: [{ filename, lineno: 1, colno, function: 'f' }] } }] },
})

describe('mapFrames', () => {
  const started = new AsyncDisposableStack()
  let folder = ''

  beforeAll(async () => {
    folder = started.use(await makeFolder()).path
    mkdirSync(join(folder, 'server/chunks'), { recursive: true })
    const write = (name: string, text: string) => writeFileSync(join(folder, 'server/chunks', name), text)
    write('own.js.map', JSON.stringify(mapOf('web/lib/a.ts')))
    write(
      'parts.js.map',
      JSON.stringify({
        version: 3,
        sections: [{ offset: { line: 0, column: 0 }, map: mapOf('tunnel/src/b.ts') }],
      }),
    )
    write('large.js.map', JSON.stringify({ ...mapOf('web/lib/a.ts'), padding: 'x'.repeat(MAX_MAP_BYTES) }))
    write('damaged.js.map', '{')
    writeFileSync(join(folder, 'outside.js.map'), JSON.stringify(mapOf('web/lib/a.ts')))
  })

  afterAll(() => started.disposeAsync())

  const frameOf = (name: string, colno?: number) =>
    mapFrames(eventOf(name, colno), folder).exception.values[0]?.stacktrace.frames[0]

  it.each([
    ['own', 'app:///web/lib/a.ts'],
    ['parts', 'app:///tunnel/src/b.ts'],
  ])('maps a frame of %s.js, with the lines around it', (name, filename) => {
    expect(frameOf(`app:///_next/server/chunks/${name}.js`)).toEqual({
      ...{ filename, lineno: 3, colno: 1, function: 'f', in_app: true },
      ...{ pre_context: ['one', 'two'], context_line: 'three', post_context: ['four', 'five'] },
    })
  })

  it.each([
    ['app:///_next/server/chunks/own.js', 6],
    ['app:///_next/server/chunks/missing.js', 1],
    ['app:///_next/server/chunks/damaged.js', 1],
    ['app:///_next/server/chunks/large.js', 1],
    ['app:///_next/server/../outside.js', 1],
    ['node:internal/process', 1],
  ])('leaves a frame of %s, column %i, as it is', (filename, colno) => {
    expect(frameOf(filename, colno)).toEqual({ filename, lineno: 1, colno, function: 'f' })
  })
})
