/** Starts nginx with a common configuration for an app, and with its own defaults otherwise. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../../scripts/start/free-port.ts'
import { startProgram } from '../../../tests/support/program.ts'
import { NGINX_PROGRAM } from '../../../tests/support/requirements.ts'
import { makeFolder } from '../../../tests/support/temporary-folder.ts'
import { until } from '../../../tests/support/until.ts'

type PeerNginxOptions = {
  /** Ports of the app's processes, and of the processes for `/monitoring` where the app does not serve it. */
  apps: number[]
  tunnels?: number[]
}

/** Starts nginx on a free port of 127.0.0.1. `await using` stops it. */
export async function startPeerNginx(options: PeerNginxOptions) {
  await using starting = new AsyncDisposableStack()
  const folder = starting.use(await makeFolder())
  const port = await freePort()
  const file = join(folder.path, 'nginx.conf')
  writeFileSync(file, write(folder.path, port, options))
  const program = startProgram('nginx', NGINX_PROGRAM ?? 'nginx', ['-e', 'stderr', '-c', file], {})
  starting.defer(program.kill)
  const answers = () => fetch(`http://127.0.0.1:${port}/`).then(() => true)
  await until(() => answers().catch(() => false))
  const started = starting.move()
  return {
    port,
    async [Symbol.asyncDispose]() {
      await program.stop().finally(() => started.disposeAsync())
    },
  }
}

function write(folder: string, port: number, { apps, tunnels }: PeerNginxOptions): string {
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((kind) => `${kind}_temp_path ${folder}/${kind};`)
    .join(' ')
  return `daemon off;
${process.getuid?.() === 0 ? 'user root;' : ''}
pid ${folder}/nginx.pid;
error_log stderr crit;
events {}
http {
  access_log off;
  ${temp}
  client_max_body_size 100m;
  proxy_http_version 1.1;
  proxy_set_header Connection "";
  proxy_set_header Host $http_host;
  proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
  ${upstream('app', apps)}
  ${tunnels ? upstream('tunnel', tunnels) : ''}
  server {
    listen 127.0.0.1:${port};
    location / { proxy_pass http://app; }
    ${tunnels ? 'location = /monitoring { proxy_pass http://tunnel; }' : ''}
  }
}
`
}

/** Builds an upstream without `max_fails`: by default nginx avoids a failed server for 10 s, and both at once would fail all requests. */
function upstream(name: string, ports: number[]): string {
  const servers = ports.map((port) => `server 127.0.0.1:${port} max_fails=0;`).join(' ')
  return `upstream ${name} { ${servers} keepalive 16; keepalive_timeout 4s; }` // as in Culvert's nginx.conf: connections to a stopping server end soon
}
