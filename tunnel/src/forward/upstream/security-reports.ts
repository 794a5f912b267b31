/**
 * Delivery of CSP reports to servers that discard them in envelopes, such as Bugsink and GlitchTip. These accept them at
 * `/api/<project>/security/`, as the browser has sent them.
 */

import { joinAll } from '../../envelope/body/bodies.ts'
import type { OutgoingBody } from '../../envelope/body/outgoing.ts'
import { parseHeaderLine } from '../../envelope/header-parser.ts'
import type { Project } from '../../pipeline/projects.ts'
import type { UpstreamLimits } from '../limits/upstream-limits.ts'
import type { DeliveryAttempt, DeliveryResult } from './request.ts'

/** `auto`: endpoint for servers that have said that they store errors only. */
export type SecurityDelivery = 'auto' | 'envelope' | 'endpoint'

const MAX_BYTES = 64 * 1024 // as Bugsink, and Chromium cuts its reports to less
const MARK = '"raw_security"'
const NEWLINE = 0x0a

export class SecurityReports {
  readonly #delivery: SecurityDelivery
  readonly #limits: UpstreamLimits

  constructor(delivery: SecurityDelivery, limits: UpstreamLimits) {
    this.#delivery = delivery
    this.#limits = limits
  }

  /** Reports whether CSP reports of a project go to the endpoint. */
  usesEndpoint(project: Project): boolean {
    if (this.#delivery !== 'auto') return this.#delivery === 'endpoint'
    return this.#limits.hasStanding(project)
  }

  /** Returns the body for the endpoint, if the envelope is a CSP report and its server may discard it. */
  read(project: Project, outgoing: OutgoingBody): OutgoingBody | undefined {
    const { content, bytes, encoding } = outgoing
    if (this.#delivery === 'envelope' || (this.#delivery === 'auto' && project.identifiers.o))
      return undefined
    if (bytes > MAX_BYTES || encoding !== 'identity') return undefined
    const pieces = content()
    return Array.isArray(pieces) ? readSecurityReport(joinAll(pieces)) : undefined
  }
}

/** Path and query of the endpoint for CSP reports. */
export function securityEndpoint({ endpoint }: Project): string {
  return endpoint.replace('/envelope/?', '/security/?')
}

/** Sends a report once more after the first attempt has succeeded, if `next` then begins an attempt: its response has told that it discards the first one. */
export function sendAgain(first: DeliveryAttempt, next: () => DeliveryAttempt | undefined): DeliveryAttempt {
  let second: DeliveryAttempt | undefined
  const begin = (result: DeliveryResult | 'late') => {
    if (result !== 'late' && result.kind === 'answered' && result.reply.status < 300) second ??= next()
    return second
  }
  return {
    soon: first.soon.then((result) => begin(result)?.soon ?? result),
    final: first.final.then((result) => begin(result)?.final ?? result),
    drop() {
      first.drop()
      second?.drop()
    },
  }
}

/** Returns the payload of an envelope whose only item is a CSP report. */
function readSecurityReport(envelope: Buffer): OutgoingBody | undefined {
  const headerEnd = envelope.indexOf(NEWLINE)
  const itemEnd = envelope.indexOf(NEWLINE, headerEnd + 1)
  if (headerEnd < 0 || itemEnd < 0 || !envelope.subarray(headerEnd, itemEnd).includes(MARK)) return undefined
  const item = parseHeaderLine(envelope.subarray(headerEnd + 1, itemEnd))
  if (item?.value.type !== 'raw_security') return undefined
  const start = itemEnd + 1
  const length = item.value.length ?? envelope.subarray(start).indexOf(NEWLINE)
  const end = typeof length === 'number' && length >= 0 ? start + length : envelope.length
  if (envelope.subarray(end).some((byte) => byte !== NEWLINE)) return undefined
  const payload = envelope.subarray(start, end)
  if (!isCspReport(payload)) return undefined
  return { content: () => [payload], bytes: payload.length, encoding: 'identity' }
}

function isCspReport(payload: Buffer): boolean {
  try {
    return typeof JSON.parse(payload.toString())['csp-report'] === 'object'
  } catch {
    return false
  }
}
