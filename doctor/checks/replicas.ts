/** What only the tunnels know, asked of them by the receipts of the doctor's own posts. */

import type { Receipt, RequestFlag } from '../../tunnel/src/contract.ts'
import type { AdminPorts } from '../admin-client.ts'
import { type Check, type Finding, fail, pass, type Result, unknown, warn } from '../check.ts'
import { type Deployment, dsnText, receiptToken } from '../deployment.ts'
import { reportEnvelope } from '../envelopes.ts'
import { withDsn, withInside } from '../runner.ts'

// One that nobody has (RFC 5737), and secrets that open nothing.
const SPOOFED = '192.0.2.77'
const FORGED = {
  'x-forwarded-for': SPOOFED,
  'x-real-ip': SPOOFED,
  forwarded: `for=${SPOOFED}`,
  'cf-connecting-ip': SPOOFED,
  'x-sentry-forwarded-for': SPOOFED,
  cookie: 'culvert-doctor=1',
  authorization: 'Bearer culvert-doctor',
}

/** Another tunnel took it, as far as one can tell: that nobody has the receipt says nothing of the deployment. */
const NOT_ASKED = unknown(
  'Not checkable from these: none of the tunnels asked has the receipt; name every one with --admin.',
)
const NO_TOKEN = fail('An answer bears no receipt: something on the way takes x-culvert-receipt away.')

export const addresses: Check = {
  name: 'addresses',
  after: ['tunnel', 'error'],
  title: 'Visitors’ addresses cannot be made up',
  proves:
    'The tunnel is told one address, that of the connection: Sentry shows the visitor’s, and limits hit who sends.',
  remedy:
    'Overwrite X-Forwarded-For with $remote_addr in the front, name in TRUSTED_PROXIES your own proxies and nobody else, and in EDGE the address from which nginx comes.',
  examine: withDsn(
    withInside(async (inside, deployment) => {
      const remarks = await remarksOnForgery(inside, deployment)
      if ('result' in remarks) return remarks
      const wrong = remarks.flatMap((remark) => WRONG_ADDRESS[remark] ?? [])
      return wrong[0] === undefined ? pass('It is told one, and not the one made up.') : fail(wrong[0])
    }),
  ),
}

const WRONG_ADDRESS: Partial<Record<RequestFlag, string>> = {
  'address-made-up': `It believes ${SPOOFED}, which the doctor made up.`,
  'address-list': 'It is told several addresses, what the sender wrote among them, and can take none.',
  'address-missing': 'It is told no address: Sentry sees the tunnel’s for every visitor.',
  'peer-unknown': 'It does not know nginx, and takes its address for that of every visitor.',
}

export const secrets: Check = {
  name: 'secrets',
  after: ['tunnel', 'error'],
  title: 'Visitors’ secrets stay in the front',
  proves: 'The tunnel never sees a cookie or an Authorization of your site.',
  remedy: 'Empty both in the front (nginx: proxy_set_header Cookie ""; proxy_set_header Authorization "";).',
  examine: withDsn(
    withInside(async (inside, deployment) => {
      const remarks = await remarksOnForgery(inside, deployment)
      if ('result' in remarks) return remarks
      const handed = remarks.filter((remark) => remark === 'cookie' || remark === 'authorization')
      return handed.length > 0
        ? fail(`It was handed ${handed.join(' and ')}.`)
        : pass('It was handed neither.')
    }),
  ),
}

/** What the tunnel says of a post with forged headers, made the first time this is asked; a finding where no receipt is found. */
async function remarksOnForgery(
  inside: AdminPorts,
  { posted, post, run, ...deployment }: Deployment,
): Promise<readonly RequestFlag[] | Finding> {
  const made = posted.find(({ about }) => about === 'the forgery')?.answer
  const body = () => reportEnvelope(dsnText(deployment), run)
  const token = receiptToken(made ?? (await post(body(), { about: 'the forgery', headers: FORGED })))
  if (token === undefined) return NO_TOKEN
  const receipt = await inside.receipt(token)
  return receipt ? (receipt.flags ?? []) : NOT_ASKED
}

export const arrival: Check = {
  name: 'arrival',
  after: ['tunnel', 'error'],
  title: 'The error and the replay have arrived',
  proves: 'Sentry itself has answered for both, and every byte that was sent came to the tunnel.',
  remedy:
    'Look at the receipt in the tunnel’s log, and at /status: what waits, and whether Sentry is reached.',
  examine: withDsn(
    withInside(async (inside, { posted }) => {
      const findings: Finding[] = []
      for (const { about, bytes, answer } of posted) {
        if (about !== 'the error' && about !== 'the replay') continue
        const token = receiptToken(answer)
        findings.push(token === undefined ? NO_TOKEN : judge(about, bytes, await inside.receipt(token)))
      }
      return (
        WORST_FIRST.flatMap((worst) => findings.find(({ result }) => result === worst) ?? [])[0] ??
        pass(findings.map(({ says }) => says).join(' '))
      )
    }),
  ),
}

const WORST_FIRST: readonly Result[] = ['fail', 'warn', 'unknown']

function judge(about: string, bytes: number, receipt: Receipt | undefined): Finding {
  if (!receipt) return NOT_ASKED
  if (receipt.bytes !== bytes) return fail(`${about} had ${bytes} bytes, and ${receipt.bytes} came.`)
  if (receipt.outcome === 'spooled') return warn(`${about} waits on disk.`)
  if (receipt.outcome !== 'delivered')
    return fail(`${about} was ${receipt.outcome} (${receipt.reason ?? receipt.upstream_status}).`)
  return pass(
    receipt.upstream_status
      ? `Sentry answered ${receipt.upstream_status} to ${about}.`
      : `The inbox has ${about}.`,
  )
}

export const replicas: Check = {
  name: 'replicas',
  after: ['tunnel', 'error'],
  title: 'More than one tunnel takes posts',
  proves: 'One may die, or be replaced, and nobody notices.',
  remedy: 'Run two at least: docker compose up --scale tunnel=2.',
  examine: withInside(async (inside, { posted }) => {
    const tokens = posted.flatMap(({ answer }) => receiptToken(answer) ?? [])
    const receipts = (await Promise.all(tokens.map(inside.receipt))).flatMap((receipt) => receipt ?? [])
    const took = new Set(receipts.map(({ replica }) => replica))
    const all = new Set([...inside.statuses.map(({ replica }) => replica), ...took])
    const others = tokens.length - receipts.length
    const says = `${all.size} asked, of which ${took.size} took ${receipts.length} posts${others > 0 ? `; others took ${others}` : ''}.`
    return all.size > 1 || others > 0 ? pass(says) : warn(says)
  }),
}

export const state: Check = {
  name: 'state',
  title: 'The tunnels are well',
  proves: 'None warns, every Sentry is asked, and the spool takes what it is given.',
  remedy:
    'Do as it says; docs/runbook.md has an entry for an open breaker, a paused spool, and one that cannot be written.',
  examine: withInside(({ statuses }) => {
    if (statuses.length === 0) return unknown('No tunnel was asked.')
    for (const { replica, warnings, upstreams, spool } of statuses) {
      if (spool?.problem !== undefined)
        return fail(`${replica} has trouble with its spool: ${spool.problem}.`)
      if (spool?.paused?.length) return warn('What waits is not delivered: an operator has paused it.')
      const open = upstreams.find(({ breaker }) => breaker.open)
      if (open) return warn(`${replica} does not ask ${open.origin}, which fails or is slow.`)
      const [warning] = warnings
      if (warning !== undefined) return warn(warning)
    }
    return pass(`${statuses.length} asked.`)
  }),
}
