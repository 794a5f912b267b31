/** Host outside of all networks of Docker, as Sentry is: a network namespace, one hop from this machine. */

import { spawn, spawnSync } from 'node:child_process'
import { randomBytes, randomInt } from 'node:crypto'
import { once } from 'node:events'
import { NODE } from '../node.ts'

const PORT = 80
const LISTEN = `require('node:net').createServer((s) => s.end()).listen(${PORT}, () => console.log('listening'))`

/** Times that a host must be reached: Docker lifts its rules between networks for milliseconds while it makes another network. */
const CONNECTIONS = 3

/** Returns JavaScript that prints "connected", or the reason why it could not connect. */
export function connecting(host: string, port: number): string {
  return `const say = (what) => { console.log(what); process.exit() };
    function connect(left) {
      if (left === 0) say('connected');
      const s = require('node:net').connect({ host: '${host}', port: ${port}, timeout: 3000 });
      s.on('connect', () => { s.destroy(); setTimeout(connect, 200, left - 1) });
      s.on('error', (e) => say(e.code)).on('timeout', () => say('no answer'));
    }
    connect(${CONNECTIONS})`
}

/** Creates the namespace with a listening server. `await using` removes it. */
export async function startOutside() {
  await using starting = new AsyncDisposableStack()
  const name = `culvert-${randomBytes(3).toString('hex')}`
  const [here, there] = [`${name}h`, `${name}t`]
  const net = `198.18.${randomInt(256)}` // 198.18.0.0/15 is reserved for tests of networks
  const host = `${net}.2`
  ip('netns', 'add', name)
  starting.defer(() => ip('netns', 'delete', name)) // and with it both ends of the virtual cable
  ip('link', 'add', here, 'type', 'veth', 'peer', 'name', there, 'netns', name)
  ip('addr', 'add', `${net}.1/24`, 'dev', here)
  ip('link', 'set', here, 'up')
  ip('-netns', name, 'addr', 'add', `${host}/24`, 'dev', there)
  ip('-netns', name, 'link', 'set', there, 'up')
  ip('-netns', name, 'route', 'add', 'default', 'via', `${net}.1`)

  const listener = spawn('ip', ['netns', 'exec', name, NODE, '-e', LISTEN], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const closed = once(listener, 'close')
  starting.defer(async () => {
    listener.kill()
    await closed
  })
  await once(listener.stdout, 'data')
  const started = starting.move()
  return { host, port: PORT, [Symbol.asyncDispose]: () => started.disposeAsync() }
}

function ip(...args: string[]): void {
  const { status, stderr } = spawnSync('ip', args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`ip ${args.join(' ')}: ${stderr}`)
}
