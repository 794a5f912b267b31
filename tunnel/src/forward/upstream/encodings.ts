/** Content encodings that the upstreams have refused or accepted, and the second attempt of a body whose encoding was refused. */

import { randomUUID } from 'node:crypto'
import { zstdCompressSync } from 'node:zlib'
import type { CompressionState } from 'contract/upstream'
import type { Encoding } from '../../envelope/body/decode.ts'
import type { OutgoingBody } from '../../envelope/body/outgoing.ts'
import type { Project } from '../../pipeline/projects.ts'
import type { UpstreamEncoding } from './compression.ts'
import { type DeliveryResult, NOT_SENT } from './request.ts'
import type { DeliveryAttempt, EnvelopeSender, Upstreams } from './upstream-client.ts'

const REFUSED_MS = 60 * 60 * 1000

/** Statuses of servers that do not know an encoding: 415 of RFC 9110 §15.5.16, and 400 of those that take the bytes for an envelope. */
const REFUSALS: readonly (number | undefined)[] = [400, 415]

/** Statuses that say nothing about an encoding: that of a rate limit, and none. */
const UNPROVEN: readonly (number | undefined)[] = [429, undefined]

const NOT_RESENT: DeliveryResult = { kind: 'undecided', reason: NOT_SENT, status: undefined }

/** Encodings of each upstream, by origin. A refused encoding is not used for an hour. */
export class UpstreamEncodings {
  readonly #upstreams: Upstreams
  readonly #clock: () => number
  /** Ends of refusals, and encodings in which an upstream has accepted an envelope, by origin and encoding. */
  readonly #refusedUntil = new Map<string, number>()
  readonly #accepted = new Set<string>()
  readonly #probed = new Set<string>()

  /** `clock` is monotonic, in milliseconds. */
  constructor(upstreams: Upstreams, clock: () => number) {
    this.#upstreams = upstreams
    this.#clock = clock
  }

  isRefused(origin: string, encoding: Encoding): boolean {
    return this.#clock() < (this.#refusedUntil.get(keyOf(origin, encoding)) ?? 0)
  }

  state(origin: string, encoding: UpstreamEncoding): CompressionState {
    if (this.isRefused(origin, encoding)) return 'refused'
    return this.#accepted.has(keyOf(origin, encoding)) ? 'accepted' : 'untested'
  }

  /** Returns `true` if envelopes that arrived uncompressed may leave in this encoding: every server reads gzip, but zstd must be proven. */
  mayCompress(origin: string, encoding: UpstreamEncoding): boolean {
    const state = this.state(origin, encoding)
    return state === 'accepted' || (state === 'untested' && encoding !== 'zstd')
  }

  /**
   * Tests an encoding that must be proven, with an empty client report. Some servers answer 200 to bytes that they cannot read, but only one
   * that could read the report knows its event ID. Without a response it is tested again. Called when the upstream has accepted an envelope.
   */
  prove(project: Project, encoding: UpstreamEncoding): void {
    const { origin } = project
    if (this.mayCompress(origin, encoding) || this.isRefused(origin, encoding) || this.#probed.has(origin))
      return
    this.#probed.add(origin)
    void this.#probe(project).finally(() => this.#probed.delete(origin))
  }

  /**
   * Posts a body, and once more uncompressed if the response is one of `REFUSALS`. `decompress` rejects if that body cannot be made now. The
   * result is undecided then.
   */
  post(
    project: Project,
    outgoing: OutgoingBody,
    headers: string[],
    sender: EnvelopeSender,
    decompress: () => Promise<OutgoingBody>,
  ): DeliveryAttempt {
    const { origin } = project
    const { encoding } = outgoing
    const first = this.#upstreams.post(project, outgoing, headers, sender)
    if (encoding === 'identity') return first
    let resending: Promise<DeliveryAttempt> | undefined
    const resend = () => {
      resending ??= decompress().then((plain) => this.#upstreams.send(project, plain, headers, sender))
      return resending
    }
    const settle = async <Result extends DeliveryResult | 'late'>(
      result: DeliveryResult,
      resultOf: (attempt: DeliveryAttempt) => Promise<Result>,
    ): Promise<Result | DeliveryResult> => {
      if (isAccepted(result)) this.#accepted.add(keyOf(origin, encoding))
      if (!REFUSALS.includes(statusOf(result))) return result
      try {
        const outcome = await resultOf(await resend())
        if (outcome !== 'late' && isAccepted(outcome)) this.#refuse(origin, encoding)
        return outcome
      } catch {
        return NOT_RESENT
      }
    }
    return {
      soon: first.soon.then((result) => (result === 'late' ? result : settle(result, ({ soon }) => soon))),
      get final() {
        return first.final.then((result) => settle(result, ({ final }) => final))
      },
      drop() {
        first.drop()
        void resending?.then((second) => second.drop()).catch(() => undefined)
      },
      ...(first.isConnecting && { isConnecting: first.isConnecting }),
    }
  }

  #refuse(origin: string, encoding: Encoding): void {
    const key = keyOf(origin, encoding)
    this.#accepted.delete(key)
    this.#refusedUntil.set(key, this.#clock() + REFUSED_MS)
  }

  async #probe(project: Project): Promise<void> {
    const { origin } = project
    const eventId = randomUUID().replaceAll('-', '')
    const report = { timestamp: Math.floor(Date.now() / 1000), discarded_events: [] }
    const lines = [{ event_id: eventId, dsn: project.key }, { type: 'client_report' }, report]
    const bytes = zstdCompressSync(lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    const outgoing: OutgoingBody = { content: () => [bytes], bytes: bytes.length, encoding: 'zstd' }
    const result = await this.#upstreams.post(project, outgoing, [], { network: '' }).final
    if (isAccepted(result) && idIn(result) === eventId) this.#accepted.add(keyOf(origin, 'zstd'))
    else if (!UNPROVEN.includes(statusOf(result))) this.#refuse(origin, 'zstd')
  }
}

function keyOf(origin: string, encoding: Encoding): string {
  return `${encoding} ${origin}`
}

function statusOf(result: DeliveryResult): number | undefined {
  return result.kind === 'answered' ? result.reply.status : result.status
}

function isAccepted(result: DeliveryResult): boolean {
  return result.kind === 'answered' && result.reply.status < 300
}

function idIn(result: DeliveryResult): unknown {
  if (result.kind !== 'answered') return undefined
  try {
    return JSON.parse(result.reply.body.toString()).id
  } catch {
    return undefined
  }
}
