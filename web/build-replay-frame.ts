/** Bundles the script of the frame that plays replays into the file that its route sends. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rolldown } from 'rolldown'

const [file = ''] = process.argv.slice(2)
const build = await rolldown({
  input: join(import.meta.dirname, 'features/console/inbox/replay/frame.ts'),
  platform: 'browser',
  transform: { target: 'es2022' },
})
const { output } = await build.generate({ format: 'iife', minify: true, comments: false })
await build.close()
writeFileSync(file, output[0].code)
