/** Checks that the ports for operators are unreachable from this machine. */

import { type Check, fail, pass } from '../check.ts'
import { type HttpResponse, send, sendIfUp } from '../request.ts'

const TIMEOUT_MS = 3_000 // a firewall that drops packets never responds

export const adminPort: Check = {
  name: 'admin-port',
  title: 'The admin port is unreachable from outside',
  verifies: 'This machine reaches neither the ports of the tunnels nor their metrics.',
  remedy:
    'Publish nginx, or your own proxy, only: remove `ports` from the service tunnel of Compose, publish a container at 127.0.0.1, and use no Service of type LoadBalancer for it. Name an address of the admin network in ADMIN_PORT, such as ADMIN_PORT=tunnel-admin:9091, and route no path to the admin port.',
  async run({ site, host, closedPorts }) {
    for (const port of closedPorts.filter((each) => String(each) !== new URL(site).port))
      if (await isTunnelPort(`http://${host}:${port}`))
        return fail(`Port ${port} of ${host} is open, and a tunnel responds.`)
    for (const path of ['/metrics', '/status', '/receipts'])
      if (isAdmin(await send(`${site}${path}`))) return fail(`${site}${path} leads to the admin port.`)
    return pass(
      closedPorts.length === 0
        ? 'No path leads to an admin port. Ports of this machine are checked from another one.'
        : `No tunnel responds on ${closedPorts.join(' and ')}, and no path leads to an admin port.`,
    )
  },
}

async function isTunnelPort(url: string): Promise<boolean> {
  const paths = ['/metrics', '/']
  const responses = await Promise.all(paths.map((path) => sendIfUp(url + path, { timeoutMs: TIMEOUT_MS })))
  return responses.some((response) => response !== undefined && (isAdmin(response) || isPublic(response)))
}

function isAdmin({ text }: HttpResponse): boolean {
  return /^culvert_|This needs the admin token|This port is closed/m.test(text)
}

function isPublic({ text }: HttpResponse): boolean {
  return text.includes('"path-unknown"')
}
