/** nginx with the shipped routing table, rendered as for every other deployment. */

import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { writeNginxConfig } from '../../../deploy/nginx/render.ts'
import { freePort } from '../../../scripts/start/free-port.ts'
import { untilListening } from '../listening.ts'
import { ROOT } from '../node.ts'
import { type Program, startProgram } from '../program.ts'
import { NGINX_PROGRAM } from '../requirements.ts'
import { makeFolder } from '../temporary-folder.ts'

export type NginxOptions = {
  /** Addresses like `127.0.0.1:9090`. They need not respond. */
  tunnels: string[]
  web: string
  /** Address for reports of web's server; a free port by default. */
  innerPort?: number
  /** Port of HTTPS, with the certificate of the tests. */
  tlsPort?: number
  /** Settings of the renderer in addition to the default ones of the tests. */
  env?: Record<string, string>
  /** Words before the command, for example to tie it to a core. */
  prefix?: readonly string[]
  /** Changes the configuration, to insert an error. */
  change?: (config: string) => string
}

export type Nginx = Awaited<ReturnType<typeof startNginx>>

/** Starts nginx on a free port of 127.0.0.1 and waits until it listens. `await using` stops it. */
export async function startNginx({ tunnels, web, innerPort, tlsPort, env, prefix, change }: NginxOptions) {
  await using starting = new AsyncDisposableStack()
  const folder = starting.use(await makeFolder())
  const port = await freePort()
  const inner = innerPort ?? (await freePort())
  const accessLog = join(folder.path, 'access.log')
  const file = render(folder.path, {
    LISTEN: `127.0.0.1:${port} 127.0.0.1:${inner}/inner${tlsPort ? ` 127.0.0.1:${tlsPort}/tls` : ''}`,
    TLS_FOLDER: join(ROOT, 'tests/fixtures/tls'),
    TUNNELS: tunnels.join(' '),
    WEB: web,
    ...env,
  })
  if (change) writeFileSync(file, change(readFileSync(file, 'utf8')))
  const program = await runNginx(file, port, prefix)
  starting.defer(program.kill)
  const started = starting.move()

  async function stop(): Promise<void> {
    await program.stop().finally(() => started.disposeAsync())
  }

  return {
    pid: program.pid,
    port,
    url: `http://127.0.0.1:${port}`,
    innerUrl: `http://127.0.0.1:${inner}`,
    stderr: program.stderr,
    /** Returns the lines of the access log so far. */
    logged: () => parseLines(readFileSync(accessLog, 'utf8')),
    accessLog,
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

/** Runs the configuration `file`, beside which nginx writes, and waits until it listens on `port`. */
export async function runNginx(file: string, port: number, prefix: readonly string[] = []): Promise<Program> {
  const [command = '', ...args] = [
    ...[...prefix, NGINX_PROGRAM ?? 'nginx'],
    ...['-p', dirname(file), '-e', 'stderr', '-c', file],
  ]
  const program = startProgram('nginx', command, args, {})
  try {
    await untilListening('nginx', port, program)
    return program
  } catch (error) {
    await program.kill()
    throw error
  }
}

function parseLines(text: string): Record<string, unknown>[] {
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
}

/** Returns the file that nginx reads. */
function render(folder: string, settings: Record<string, string>): string {
  const file = join(folder, 'nginx.conf')
  const problems = writeNginxConfig(settings, file)
  if (problems.length > 0) throw new Error(problems.join('\n'))
  return file
}
