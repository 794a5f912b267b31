/** Whether what is for operators can be reached from where the doctor stands. */

import { type Check, fail, pass } from '../check.ts'
import { type Answer, ask, NoAnswer } from '../request.ts'

const WITHIN = 3_000 // ms: a firewall that drops says nothing

export const adminPort: Check = {
  name: 'admin-port',
  title: 'The admin port is closed from outside',
  proves: 'Neither the ports of the tunnels nor their figures can be reached from where the doctor stands.',
  remedy:
    'Publish nginx and nothing else (no ports: of the tunnel in compose, no Service of type LoadBalancer), bind ADMIN_HOST to the admin network, and route no path there.',
  async examine({ site, host, closed }) {
    for (const port of closed)
      if (await listens(`http://${host}:${port}`))
        return fail(`Port ${port} of ${host} is open, and a tunnel answers.`)
    for (const path of ['/metrics', '/status', '/receipts'])
      if (isAdmin(await ask(`${site}${path}`))) return fail(`${site}${path} leads to the admin port.`)
    return pass(`${closed.join(' and ')} do not answer as a tunnel, and no path leads there.`)
  },
}

async function listens(url: string): Promise<boolean> {
  const answers = await Promise.all([
    ask(`${url}/metrics`, { within: WITHIN }).catch(none),
    ask(`${url}/`, { within: WITHIN }).catch(none),
  ])
  return answers.some((answer) => answer !== undefined && (isAdmin(answer) || isTunnel(answer)))
}

function none(error: unknown): undefined {
  if (!(error instanceof NoAnswer)) throw error
}

function isAdmin({ text }: Answer): boolean {
  return /^culvert_|This needs the admin token|This port is closed/m.test(text)
}

function isTunnel({ text }: Answer): boolean {
  return text.includes('"path-unknown"')
}
