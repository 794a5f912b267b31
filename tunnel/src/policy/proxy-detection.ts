/** Detection of proxies that hide the visitors' addresses, or that forward cookies or credentials. */

import { isIP } from 'node:net'
import type { RequestFlag } from 'contract/admin-api'
import { isPrivate, networkOf } from 'contract/networks'
import { isOwnName, nameOfHost } from '../pipeline/hosts.ts'

function isPublicName(host = ''): boolean {
  const name = nameOfHost(host)
  return isIP(name) === 0 ? !isOwnName(name) : !isPrivate(name)
}

const SPAN_MS = 10 * 60_000
const MIN_HIDDEN = 5

/** Flags of which one is enough for a warning. From a peer that is not trusted they say nothing: it may be a client. */
const CREDENTIALS: Partial<Record<RequestFlag, string>> = {
  cookie: 'Cookie',
  authorization: 'Authorization',
}

/** Flags for a warning when most requests have them: single ones come from clients that write the header themselves. */
const OF_MOST: Partial<Record<RequestFlag, string>> = {
  'address-missing':
    'Most requests have no X-Forwarded-For, and Sentry sees the address of Culvert for all visitors. Let the proxy in front of Culvert set the header.',
  'address-list':
    'Most requests have several addresses in X-Forwarded-For that TRUSTED_PROXIES does not explain. Either a proxy is missing in TRUSTED_PROXIES, and Sentry gets its address, or the proxy in front of Culvert keeps what clients write: let it overwrite the header.',
  'peer-unknown':
    'Most requests come from a proxy that is not trusted, and Sentry gets its address for all visitors. Add it to TRUSTED_PROXIES, or to EDGE where that is set.',
}

type Peer = { flags: readonly RequestFlag[]; isPeerTrusted: boolean; address?: string | undefined }

/** `visible` requests have a public address. `hidden` ones ask for a public name from a private address, the first one from `hiddenBehind`. */
type Span = {
  start: number
  requests: number
  counts: Map<RequestFlag, number>
  visible: number
  hidden: number
  hiddenBehind?: string
}

/** Faults of the proxy in front, from the requests of the last ten to twenty minutes: a repaired proxy is soon forgotten. */
export class ProxyFaults {
  readonly #clock: () => number
  #present: Span
  #past: Span

  /** `clock` is in milliseconds. */
  constructor(clock: () => number) {
    this.#clock = clock
    this.#present = this.#newSpan()
    this.#past = this.#newSpan()
  }

  /** Counts a request for the name `host`. */
  note({ flags, isPeerTrusted, address }: Peer, host: string | undefined): void {
    this.#advance()
    if (address !== undefined) this.#noteAddress(address, host)
    const { counts } = this.#present
    this.#present.requests++
    for (const flag of flags)
      if (isPeerTrusted || !(flag in CREDENTIALS)) counts.set(flag, (counts.get(flag) ?? 0) + 1)
  }

  warnings(): string[] {
    this.#advance()
    const spans = [this.#present, this.#past]
    const requests = sum(spans.map((span) => span.requests))
    const count = (flag: RequestFlag) => sum(spans.map(({ counts }) => counts.get(flag) ?? 0))
    const hidden = sum(spans.map((span) => span.hidden))
    const visible = sum(spans.map((span) => span.visible))
    return [
      ...textsOf(CREDENTIALS, (flag) => count(flag) > 0).map(
        (header) =>
          `The proxy in front of Culvert passes the header ${header} of visitors on. The tunnel does not forward it. Remove it in the proxy.`,
      ),
      ...textsOf(OF_MOST, (flag) => count(flag) * 2 > requests),
      ...(hidden >= MIN_HIDDEN && hidden > visible
        ? [
            `Most requests have a private address, such as ${this.#past.hiddenBehind ?? this.#present.hiddenBehind}: if they are of visitors, a proxy hides theirs. Limits by address do not apply, and Sentry gets this address. Add the network of the proxy to TRUSTED_PROXIES. If your visitors, or servers of your own, are on this network themselves, ignore this warning.`,
          ]
        : []),
    ]
  }

  /**
   * A site with a public name is visited from the internet. Tests on one's own machine or network ask for `localhost` or a private address,
   * and fewer than five requests in ten to twenty minutes are no sign either: the site's own machine may have sent them.
   */
  #noteAddress(address: string, host: string | undefined): void {
    if (networkOf(address) !== '') this.#present.visible++
    else if (isPublicName(host)) {
      this.#present.hidden++
      this.#present.hiddenBehind ??= address
    }
  }

  #newSpan(): Span {
    return { start: this.#clock(), requests: 0, counts: new Map(), visible: 0, hidden: 0 }
  }

  #advance(): void {
    if (this.#clock() - this.#present.start < SPAN_MS) return
    const isRecent = this.#clock() - this.#present.start < 2 * SPAN_MS
    this.#past = isRecent ? this.#present : this.#newSpan()
    this.#present = this.#newSpan()
  }
}

function textsOf(
  texts: Partial<Record<RequestFlag, string>>,
  applies: (flag: RequestFlag) => boolean,
): string[] {
  return Object.entries(texts).flatMap(([flag, text]) => (applies(flag as RequestFlag) ? text : []))
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0)
}
