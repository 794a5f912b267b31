/** Runs the renderer of nginx's routing table as the container and `npm start` run it. */

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../node.ts'

export type Rendering = {
  status: number | null
  /** Lines on stderr: empty where it went well. */
  rejection: string[]
  /** The rendered text; empty where it refused. */
  text: string
}

/** Addresses of nobody: enough to fill the template. */
export const ADDRESSES = {
  LISTEN: '127.0.0.1:8080',
  INNER_LISTEN: '127.0.0.1:8081',
  TUNNELS: '127.0.0.1:9090',
  WEB: '127.0.0.1:3000',
}

/** Renders into `folder`, with `env` over `ADDRESSES` and nothing else but the PATH. */
export function render(folder: string, env: Record<string, string>, template = 'nginx.conf'): Rendering {
  const file = join(folder, 'rendered.conf')
  const { status, stderr } = spawnSync('sh', ['scripts/render-nginx.sh', template, file], {
    cwd: ROOT,
    env: { PATH: process.env.PATH, NGINX_TEMP: folder, ...ADDRESSES, ...env },
    encoding: 'utf8',
  })
  const text = status === 0 ? readFileSync(file, 'utf8') : ''
  return { status, rejection: stderr === '' ? [] : stderr.replace(/\n$/, '').split('\n'), text }
}
