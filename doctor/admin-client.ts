/** The tunnels' admin ports: what they say of themselves, and what they made of the doctor's posts. */

import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { UserError } from '../scripts/environment.ts'
import type { Receipt, SpoolStatus } from '../tunnel/src/contract.ts'
import type { Inside } from './options.ts'
import { ask, jsonOf, NoAnswer } from './request.ts'

/** The part of `/status` that the doctor reads. */
export type ReplicaStatus = {
  replica: string
  warnings: string[]
  upstreams: { origin: string; breaker: { open: boolean } }[]
  spool?: Pick<SpoolStatus, 'writable' | 'problem' | 'paused'>
}

export type AdminPorts = {
  statuses: ReplicaStatus[]
  /** Asks each of them; `undefined` when none knows the token. */
  receipt(token: string): Promise<Receipt | undefined>
}

/** Throws a `Rejection` where one does not answer, or takes the secret for a wrong one. */
export async function openAdminPorts({ urls, token }: Inside): Promise<AdminPorts> {
  const places = [...new Set((await Promise.all(urls.map(addressesOf))).flat())]
  const headers = { authorization: `Bearer ${token}` }
  const statuses = await Promise.all(places.map(readStatus))
  return { statuses, receipt }

  async function readStatus(place: string): Promise<ReplicaStatus> {
    const answer = await ask(`${place}/status`, { headers }).catch((error) => {
      throw error instanceof NoAnswer ? new UserError(`--admin: ${error.message}`) : error
    })
    if (answer.status !== 200)
      throw new UserError(
        `--admin: ${place} answers ${answer.status}: ${jsonOf(answer).detail ?? 'it is no admin port.'}`,
      )
    return jsonOf(answer) as ReplicaStatus
  }

  async function receipt(wanted: string): Promise<Receipt | undefined> {
    const answers = await Promise.all(places.map((place) => ask(`${place}/receipts/${wanted}`, { headers })))
    const found = answers.find(({ status }) => status === 200)
    return found && (jsonOf(found) as Receipt)
  }
}

/** A name stands for every address that it resolves to: the replicas behind one name of a network. */
async function addressesOf(url: string): Promise<string[]> {
  const { protocol, hostname, port } = new URL(url)
  if (protocol === 'https:' || isIP(hostname.replace(/[[\]]/g, ''))) return [url] // a certificate is for a name
  const all = await lookup(hostname, { all: true }).catch(() => {
    throw new UserError(`--admin: the name ${hostname} is not known here.`)
  })
  return all.map(
    ({ address, family }) => `http://${family === 6 ? `[${address}]` : address}${port && `:${port}`}`,
  )
}
