/** Starts the subjects of the comparison: Culvert, its alternatives, and lower bounds, of which only the prototype parses envelopes. */

import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '../../scripts/start/free-port.ts'
import { runNginx } from '../../tests/support/nginx/nginx.ts'
import { NODE, ROOT } from '../../tests/support/node.ts'
import { makeFolder } from '../../tests/support/temporary-folder.ts'
import type { Cores } from '../load/cores.ts'
import { envelopeUrl } from '../load/projects.ts'
import { type PathOf, plainPath } from '../load/requests.ts'
import { noCounts, type ServerStart, startProcess } from '../load/server.ts'
import { startBehindNginx, startCulvert, withWorkers } from './culvert.ts'
import { NEXT, PEERS } from './peers.ts'

export type Subject =
  | 'culvert'
  | 'behindNginx'
  | 'handler'
  | 'next'
  | 'prototype'
  | 'withoutLog'
  | 'nginx'
  | 'bare'
  | 'chain'

type WayKind = 'ours' | 'others' | 'floors'

export const SUBJECTS: Record<Subject, { title: string; kind: WayKind; start: ServerStart; pathOf: PathOf }> =
  {
    culvert: { title: 'Culvert', kind: 'ours', start: startCulvert, pathOf: plainPath },
    behindNginx: {
      title: 'Culvert behind its nginx',
      kind: 'ours',
      start: startBehindNginx(1),
      pathOf: plainPath,
    },
    handler: {
      title: 'handleTunnelRequest on Hono',
      kind: 'others',
      start: startPeer('handle-tunnel-request.ts'),
      pathOf: plainPath,
    },
    next: {
      title: 'Next.js rewrite',
      kind: 'others',
      start: startNext,
      pathOf: (project) => `/monitoring?o=1&p=${project}`,
    },
    prototype: {
      title: 'prototype with the main duties',
      kind: 'floors',
      start: startPeer('prototype.ts'),
      pathOf: plainPath,
    },
    withoutLog: {
      title: 'the prototype without its log',
      kind: 'floors',
      start: startPeer('prototype.ts', '--no-log'),
      pathOf: plainPath,
    },
    nginx: { title: 'nginx proxy_pass alone', kind: 'floors', start: startFloorNginx, pathOf: plainPath },
    bare: {
      title: 'bare node:http + undici',
      kind: 'floors',
      start: startBare,
      pathOf: plainPath,
    },
    chain: {
      title: 'bare node:http behind bare nginx',
      kind: 'floors',
      start: startChain,
      pathOf: plainPath,
    },
  }

export const SUBJECT_NAMES = Object.keys(SUBJECTS) as Subject[]

/** Subject that has to be built first. */
export const BUILT = 'next' satisfies Subject

function startBare(...[cores, dsns]: Parameters<ServerStart>) {
  return startPeer('bare.ts')(cores, dsns)
}

/** Starts a program around another handler, with its port and projects as arguments. */
function startPeer(file: string, ...options: string[]): ServerStart {
  return async (cores, dsns) => {
    const port = await freePort()
    const command = [NODE, join(PEERS, file), ...options, String(port), ...dsns]
    const process = await startProcess(cores, { command, cwd: ROOT, greeting: /listening/ })
    return { ...process, pids: () => [process.pid], port, counts: noCounts }
  }
}

/** Replaces the destination of the rewrite in the built app: Next.js fixes it at build time. */
async function startNext(...[cores, dsns]: Parameters<ServerStart>) {
  const port = await freePort()
  const { origin } = envelopeUrl(dsns[0] ?? '')
  const manifest = join(NEXT, '.next/routes-manifest.json')
  const text = await readFile(manifest, 'utf8')
  await writeFile(manifest, text.replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, origin))
  const process = await startProcess(cores, {
    command: [NODE, 'server.js'],
    cwd: NEXT,
    env: { HOSTNAME: '127.0.0.1', PORT: String(port), NODE_ENV: 'production', NEXT_TELEMETRY_DISABLED: '1' },
    greeting: /Ready/,
  })
  return { ...process, pids: () => [process.pid], port, counts: noCounts }
}

async function startFloorNginx(...[cores, dsns]: Parameters<ServerStart>) {
  return startPlainNginx(cores, envelopeUrl(dsns[0] ?? ''))
}

/** Starts what every path through nginx and Node.js costs at least, when both share a core. */
export async function startChain(...[cores, dsns]: Parameters<ServerStart>) {
  await using starting = new AsyncDisposableStack()
  const bare = starting.use(await startBare(cores, dsns))
  const upstream = { origin: `http://127.0.0.1:${bare.port}`, path: '/monitoring' }
  const nginx = starting.use(await startPlainNginx(cores, upstream))
  const started = starting.move()
  return {
    ...nginx,
    pids: () => [...bare.pids(), ...nginx.pids()],
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

type UpstreamUrl = { origin: string; path: string }

async function startPlainNginx(cores: Cores, upstream: UpstreamUrl) {
  await using starting = new AsyncDisposableStack()
  const folder = starting.use(await makeFolder())
  const port = await freePort()
  const file = join(folder.path, 'nginx.conf')
  await writeFile(file, floorConfig(folder.path, port, upstream))
  const nginx = await runNginx(file, port, cores.server)
  starting.defer(nginx.stop)
  const started = starting.move()
  return {
    pids: () => withWorkers(nginx.pid),
    port,
    counts: noCounts,
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

/** Returns a minimal configuration of nginx, with the same memory for bodies as Culvert's. */
function floorConfig(folder: string, port: number, { origin, path }: UpstreamUrl): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return `
    daemon off;
    ${process.getuid?.() === 0 ? 'user root root;' : ''}
    pid ${folder}/nginx.pid;
    worker_processes 1;
    error_log stderr crit;
    events { worker_connections 1024; }
    http {
      access_log off;
      ${temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')}
      client_body_buffer_size 32k;
      client_max_body_size 100m;
      upstream sentry { server ${new URL(origin).host}; keepalive 64; }
      server {
        listen 127.0.0.1:${port};
        location = /monitoring {
          proxy_pass http://sentry${path};
          proxy_http_version 1.1;
          proxy_set_header Connection "";
        }
      }
    }
  `
}
