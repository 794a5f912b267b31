/** Whether what browsers send comes through whole, and what is too large is refused in words that help. */

import { gzipSync } from 'node:zlib'
import { type Check, type Finding, fail, pass, unknown, warn } from '../check.ts'
import { type Deployment, dsnText, receiptToken } from '../deployment.ts'
import { errorEnvelope, replayEnvelope, reportEnvelope } from '../envelopes.ts'
import { type Answer, ask, jsonOf, NoAnswer, nameOf } from '../request.ts'
import { withDsn } from '../runner.ts'

const KIB = 1024
const MIB = 1024 * KIB
const GIB = 1024 * MIB

export const error: Check = {
  name: 'error',
  after: ['tunnel'],
  title: 'An error is taken',
  proves: 'A report passes the front and the checks of the tunnel, and Sentry or the disk has it.',
  remedy:
    'Read the code of the rejection in README; dsn-unknown means that web and the tunnel have different SENTRY_DSN, 202 that Sentry is away or slow: look at /status.',
  examine: withDsn(async (deployment) =>
    taken(await deployment.post(errorEnvelope(dsnText(deployment), deployment.run), { about: 'the error' })),
  ),
}

export const replay: Check = {
  name: 'replay',
  after: ['tunnel', 'error'],
  title: 'A binary replay is taken',
  proves:
    'Bytes pass the front as they are; decoded as text on the way, they would not be an envelope any more.',
  remedy:
    'Let nothing between browser and tunnel read the body as text: no JSON middleware, no web application firewall that rewrites.',
  examine: withDsn(async (deployment) =>
    taken(
      await deployment.post(replayEnvelope(dsnText(deployment), deployment.run), { about: 'the replay' }),
    ),
  ),
}

export const keepalive: Check = {
  name: 'keepalive',
  after: ['tunnel', 'error'],
  title: 'A body of 64 KiB is taken',
  proves: 'The largest report that a browser sends while its page goes away passes.',
  remedy: 'Raise the body size that the front takes to MAX_ENVELOPE_BYTES.',
  examine: withDsn(async (deployment) =>
    taken(await deployment.post(reportEnvelope(dsnText(deployment), deployment.run, 64 * KIB))),
  ),
}

export const compression: Check = {
  name: 'compression',
  after: ['tunnel', 'error'],
  title: 'Compression passes both ways',
  proves: 'A compressed report is taken, and pages go out compressed.',
  remedy:
    'Let the front pass Content-Encoding of a request on untouched, and compress documents and scripts (gzip on in nginx.conf).',
  examine: withDsn(async (deployment) => {
    const packed = gzipSync(reportEnvelope(dsnText(deployment), deployment.run))
    const finding = taken(await deployment.post(packed, { headers: { 'content-encoding': 'gzip' } }))
    if (finding.result !== 'pass') return finding
    const { headers } = await ask(`${deployment.site}/`, {
      headers: { accept: 'text/html', 'accept-encoding': 'gzip' },
    })
    return headers['content-encoding'] === undefined
      ? warn('A report with gzip is taken, but the page comes uncompressed.')
      : pass(`A report with gzip is taken, and the page comes with ${headers['content-encoding']}.`)
  }),
}

/** An answer to an envelope that should pass. */
function taken(answer: Answer): Finding {
  if (answer.status >= 300) return fail(`It is answered ${nameOf(answer)}. ${detailOf(answer)}`)
  if (receiptToken(answer) === undefined)
    return fail(`${answer.status}, but by no tunnel: the answer has no receipt.`)
  if (answer.status === 202) return warn('202: it waits on disk, since Sentry did not take it at once.')
  return pass(`${answer.status} after ${answer.took.toFixed(0)} ms.`)
}

function detailOf(answer: Answer): string {
  const { detail } = jsonOf(answer)
  return typeof detail === 'string' ? detail.slice(0, 300) : ''
}

export const largeBody: Check = {
  name: 'large-body',
  after: ['tunnel', 'error'],
  title: 'A body of 2 MiB reaches the tunnel',
  proves:
    'The front has no smaller limit of its own: nginx takes 1 MB unless told otherwise, and replays are larger.',
  remedy: 'Set client_max_body_size, or what your front and CDN call it, to MAX_ENVELOPE_BYTES.',
  examine: withDsn(async (deployment) => {
    // A client report may have 100 KiB, so that the tunnel says no, and nothing goes to Sentry.
    const answer = await deployment.post(reportEnvelope(dsnText(deployment), deployment.run, 2 * MIB))
    if (jsonOf(answer).code === 'item-too-large') return pass('The tunnel has read it.')
    return fail(`It is answered ${nameOf(answer)} before a tunnel has read it.`)
  }),
}

export const bodyTooLarge: Check = {
  name: 'body-too-large',
  after: ['tunnel'],
  title: 'A body too large is refused at once, in JSON',
  proves: 'Nobody can send without end, and a developer who sends too much is told the limit.',
  remedy: 'Answer 413 in the front for more than MAX_ENVELOPE_BYTES, with the JSON of our nginx.conf.',
  examine: (deployment) =>
    refusedUnread(deployment).catch((error) => {
      if (error instanceof NoAnswer)
        return unknown('The front waits for the whole body before it says anything.')
      throw error
    }),
}

/** It is announced and never sent. */
async function refusedUnread({ site, target }: Deployment): Promise<Finding> {
  const headers = {
    'content-length': String(GIB + 1),
    'content-type': 'text/plain;charset=UTF-8',
    origin: site,
  }
  const answer = await ask(`${site}${target}`, { method: 'POST', headers, within: 5_000 })
  if (answer.status !== 413) return fail(`1 GiB is not refused but answered ${nameOf(answer)}.`)
  if (jsonOf(answer).code !== 'envelope-too-large') return warn(`It is refused, but as ${nameOf(answer)}.`)
  return pass('413 envelope-too-large, before any of it was sent.')
}
