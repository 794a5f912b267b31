/** Mirrors: second destinations of the envelopes of a project. Each gets a spool entry of its own, which the deliverer sends. Loaded with `MIRROR_DSN`. */

import type { Bodies } from '../envelope/body/bodies.ts'
import type { OutgoingBody } from '../envelope/body/outgoing.ts'
import type { ClientReports } from '../pipeline/client-reports.ts'
import type { Context, Parts, Stage } from '../pipeline/pipeline.ts'
import type { Project, Projects } from '../pipeline/projects.ts'
import { within } from '../pipeline/within.ts'
import type { Forwarding } from './forwarding.ts'
import { buildSpoolBody, createSpoolEntry, describeEntry, type EntryDescription } from './spool-entry.ts'
import { senderHeaders } from './upstream/upstream-client.ts'

type MirrorDeps = {
  projects: Projects
  forwarding: Pick<Forwarding, 'spool' | 'deliverer'>
  bodies: Bodies
  counters: { countMirrored(mirror: string, result: 'lost'): void }
  reports: Pick<ClientReports, 'noteLost'>
  /** Milliseconds that a sender waits for the response of Sentry. */
  lateMs: number
}

/** Parts of the context that describe the entries, and their body. */
type Mirrored = Parts<
  | 'incoming'
  | 'client'
  | 'receipt'
  | 'project'
  | 'envelope'
  | 'body'
  | 'scrubPage'
  | 'remaining'
  | 'outgoingRanges'
> &
  Pick<Context, 'addDerivedBody' | 'releaseAfter'>

/** Evicted first: an envelope that only its mirror misses makes room for one that its project would miss. */
const LEAST_PRIORITY = 3
/** Longest time that a response waits for the spool after the project's own outcome. */
const WAIT_MS = 1_000
const MAX_PUTS = 256 // each holds the body of its envelope

export class Mirrors {
  readonly #deps: MirrorDeps
  readonly #targets: ReadonlyMap<Project, Project[]>
  #puts = 0

  constructor(deps: MirrorDeps) {
    this.#deps = deps
    const bySource = Map.groupBy(deps.projects.mirrors, ({ source }) => source)
    this.#targets = new Map(
      Array.from(bySource, ([source, pairs]) => [source, pairs.map(({ target }) => target)]),
    )
  }

  /**
   * Begins to put the envelope into the spool for each mirror of its project. While 256 puts wait for a slow disk, no more are begun: those
   * envelopes are lost for their mirrors.
   */
  stage(): Stage<keyof Mirrored, 'mirrored'> {
    return (ctx) => {
      const targets = this.#targets.get(ctx.project)
      if (!targets || ctx.remaining().items.length === 0) return undefined
      const { client, incoming, scrubPage } = ctx
      const described = describeEntry(ctx, senderHeaders(incoming.headers, client.address, scrubPage))
      if (this.#puts < MAX_PUTS) {
        ctx.mirrored = this.#putAll(ctx, targets, described)
        ctx.releaseAfter(ctx.mirrored) // it may read the body after the response
      } else for (const target of targets) this.#noteLost(target, described)
      return undefined
    }
  }

  /** Lets `forward` end, and its outcome wait for the spool, so that the mirrors, too, survive a crash after the response. */
  waitAfter(forward: Stage): Stage {
    return async (ctx) => {
      const outcome = await forward(ctx)
      if (ctx.mirrored) await within(WAIT_MS, ctx.mirrored).catch(() => undefined)
      return outcome
    }
  }

  /** Never rejects. */
  async #putAll(ctx: Mirrored, targets: readonly Project[], described: EntryDescription): Promise<void> {
    this.#puts++
    try {
      const outgoing = await buildSpoolBody(ctx, this.#deps.bodies, ctx.outgoingRanges()) // before more items are removed
      await Promise.all(targets.map((target) => this.#put(target, described, outgoing)))
    } catch {
      for (const target of targets) this.#noteLost(target, described)
    } finally {
      this.#puts--
    }
  }

  /**
   * The entry has a lease until nginx may have sent the request to another replica, which then finds it: delivered before, it would come
   * twice. Its network is not that of the sender: entries for mirrors must not use up the sender's share of the spool.
   */
  async #put(target: Project, described: EntryDescription, outgoing: OutgoingBody): Promise<void> {
    const { forwarding, lateMs } = this.#deps
    const network = described.network && `mirror ${described.network}`
    const its = { ...described, project: target.key, priority: LEAST_PRIORITY, network }
    try {
      const { entry, body } = await createSpoolEntry(its, outgoing)
      const result = await forwarding.spool.put(entry, body, lateMs + WAIT_MS)
      if (result.kind === 'full') this.#noteLost(target, described)
      if (result.kind === 'stored') for (const victim of result.evicted) forwarding.deliverer.evicted(victim)
    } catch {
      this.#noteLost(target, described) // the health of the spool has the error
    }
  }

  #noteLost(target: Project, { category }: EntryDescription): void {
    this.#deps.counters.countMirrored(target.name, 'lost')
    this.#deps.reports.noteLost(target, 'queue_overflow', category)
  }
}
