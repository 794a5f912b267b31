/** Scrubbing: removes personal data and secrets from payloads before anything stores or forwards them. `docs/privacy.md` describes it. */

import type { ScrubReason } from 'contract/admin-api'
import type { PolicyMode } from 'contract/policies'
import { ITEM_TYPES, type Item, isContainer, isEventAttachment } from '../../envelope/items.ts'
import { ScrubBudget, threadCpuMs, Unscrubbable } from './budget.ts'
import { builtInRuleSet, type RuleSet } from './rules.ts'
import { type Scrubbed, Scrubber } from './scrubber.ts'
import type { Shape } from './walk.ts'

export type ScrubSettings = {
  level: RuleSet['level']
  /** Finds without changing anything. */
  mode: PolicyMode
  attachments: 'pass' | 'drop'
  /** Rules of the operator. */
  selected: RuleSet['selected']
  users: RuleSet['users']
}

/** Types whose payload is JSON. In `plain` ones Sentry reads no `_meta`. */
const SHAPES: ReadonlyMap<string, Shape> = new Map([
  ...shapes('event', 'event transaction feedback replay_event span'),
  ...shapes('plain', 'user_report security raw_security nel log trace_metric session sessions'),
  ...shapes('plain', 'otel_span otel_traces_data otel_log'),
])

function shapes(shape: Shape, types: string): [string, Shape][] {
  return types.split(' ').map((type) => [type, shape])
}

/** Attachments that hold fields of an event, in MessagePack: they are removed, since they cannot be scrubbed. */
const EVENT_FIELDS: ReadonlySet<unknown> = new Set(['event.payload', 'event.breadcrumbs'])

/** Types without texts of visitors. */
const EXEMPT = new Set(['client_report', 'check_in', 'statsd', 'metric_buckets'])

/** Types to which Sentry adds the client address, whatever they contain. */
const ADDRESSED = new Set(['security', 'raw_security', 'nel'])

/** Counts the values that a rule has found, or items that were removed for a reason. */
export type OnScrubbed = (rule: string, mode: ScrubSettings['mode'], count: number) => void

export class Scrubbing {
  readonly mode: ScrubSettings['mode']
  readonly #dropsAttachments: boolean
  readonly #isStrict: boolean
  readonly #scrubber: Scrubber
  readonly #onScrubbed: OnScrubbed
  readonly #clock: () => number

  /** `clock` is the CPU time in milliseconds. */
  constructor(
    { level, mode, attachments, selected, users }: ScrubSettings,
    onScrubbed: OnScrubbed,
    clock = threadCpuMs,
  ) {
    this.#clock = clock
    this.mode = mode
    this.#dropsAttachments = attachments === 'drop'
    this.#isStrict = level === 'strict'
    this.#scrubber = new Scrubber({ ...builtInRuleSet(level, users), selected })
    this.#onScrubbed = onScrubbed
  }

  /** Returns `true` if items of a type are scrubbed. */
  reads(type: string): boolean {
    return SHAPES.has(type)
  }

  /** Returns `true` if Sentry must not learn the client address, since it would add it to one of the items. */
  hidesAddressOf(items: readonly Item[]): boolean {
    return this.#isStrict && items.some(({ type }) => ADDRESSED.has(type))
  }

  /** Starts the budget of an envelope. */
  startBudget(): ScrubBudget {
    return new ScrubBudget(this.#clock)
  }

  /** Returns why an item must not pass, or its payload after scrubbing. */
  scrub(item: Item, budget = this.startBudget()): Scrubbed | ScrubReason | undefined {
    const shape = SHAPES.get(item.type)
    if (!shape) return this.#dropReasonOf(item)
    const payload = Buffer.concat(item.payload) // empty if it is too large to be kept: that is no JSON
    const scrubbed = this.#tryScrub(payload, item.type, isContainer(item) ? 'container' : shape, budget)
    if (!scrubbed) return this.#counted('unscrubbable')
    for (const [rule, count] of scrubbed.hits) this.#onScrubbed(rule, this.mode, count)
    return scrubbed
  }

  /** Returns why an item that cannot be scrubbed must not pass. Types of the future pass, unless `SCRUB` is `strict`. */
  #dropReasonOf(item: Item): ScrubReason | undefined {
    if (EXEMPT.has(item.type)) return undefined
    if (!ITEM_TYPES.has(item.type)) return this.#isStrict ? this.#counted('unscrubbable') : undefined
    if (this.#dropsAttachments) return this.#counted('attachments-dropped')
    const hasEventFields = isEventAttachment(item) && EVENT_FIELDS.has(item.header.attachment_type)
    return hasEventFields ? this.#counted('unscrubbable') : undefined
  }

  /** Returns the replacement of the dynamic sampling context, which names a user and a page; `undefined` if it stays. */
  scrubTrace(trace: Buffer, budget: ScrubBudget): Buffer | undefined {
    return this.#tryScrub(trace, 'trace', 'plain', budget)?.payload
  }

  /** Scrubs the URL of the page in a request header. */
  scrubPage(url: string): string {
    return this.#scrubber.scrubText(url)
  }

  #tryScrub(payload: Buffer, type: string, shape: Shape, budget: ScrubBudget): Scrubbed | undefined {
    try {
      return this.#scrubber.scrub(payload, type, shape, budget)
    } catch (error) {
      if (error instanceof Unscrubbable) return undefined
      throw error
    }
  }

  #counted(reason: ScrubReason): ScrubReason {
    this.#onScrubbed(reason, this.mode, 1)
    return reason
  }
}
