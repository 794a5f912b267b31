/** Development servers of frameworks, with the recipes of `deploy/proxies/`. Only the address of the tunnel is replaced. */

import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '../../../scripts/start/free-port.ts'
import { NODE, ROOT } from '../node.ts'
import { startProgram } from '../program.ts'
import { readRecipe } from './recipes.ts'

export type DevelopmentServer = {
  /** Name of the file in `deploy/proxies/`. */
  file: string
  /** Files of an app, besides the recipe. */
  app: Record<string, string>
  command: (folder: string, port: number) => string[]
}

export const DEVELOPMENT_SERVERS: readonly DevelopmentServer[] = [
  {
    file: 'vite.config.ts',
    app: { 'index.html': '<title>Shop</title>' },
    command: (folder, port) => [
      ...[join(ROOT, 'node_modules/vite/bin/vite.js'), folder],
      ...['--host', '127.0.0.1', '--port', `${port}`, '--strictPort'],
    ],
  },
  {
    file: 'next.config.ts',
    app: {
      'app/layout.js': 'export default ({ children }) => <html lang="en"><body>{children}</body></html>',
      'app/page.js': 'export default () => <h1>Shop</h1>',
    },
    command: (folder, port) => [
      ...[join(ROOT, 'node_modules/next/dist/bin/next'), 'dev', folder],
      ...['--hostname', '127.0.0.1', '--port', `${port}`],
    ],
  },
]

const STARTS_WITHIN = 90_000 // ms: the machine may be busy

/** Starts the server on a free port of 127.0.0.1, and waits until it is ready. `await using` stops it. */
export async function startDevelopmentServer({ file, app, command }: DevelopmentServer, tunnel: string) {
  const folder = join(ROOT, '.culvert/recipes', file) // inside of the repository, where it finds packages
  await rm(folder, { recursive: true, force: true })
  await mkdir(join(folder, 'app'), { recursive: true })
  const recipe = readRecipe({ file }).replaceAll('127.0.0.1:9090', tunnel)
  for (const [name, text] of Object.entries({ ...app, [file]: recipe }))
    await writeFile(join(folder, name), text)
  const port = await freePort()
  const program = startProgram(file, NODE, command(folder, port), { NEXT_TELEMETRY_DISABLED: '1' })
  const stop = () => program.stop().catch(() => {}) // not every one ends with 0
  // Vite opens the port once before, to see whether it is free.
  await program
    .line((line) => /ready in/i.test(line), STARTS_WITHIN)
    .catch(async (error) => {
      await stop()
      throw error
    })
  return { url: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: stop }
}
