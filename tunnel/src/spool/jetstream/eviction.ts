/** Makes room in the stream: what is less important than a newcomer is given up for it, the oldest first. */

import type { JetStreamManager } from '@nats-io/jetstream'
import type { SpoolBounds, SpoolEntry } from '../spool.ts'
import { entryOf, STREAM, subjectsRanked } from './codec.ts'
import type { Partitions } from './consumers.ts'
import type { Messages, Stored } from './messages.ts'
import type { Shares } from './usage.ts'

export type Room = {
  /** Whether the newcomer, which is in the shares already, is within that of its project, or what was in its way could be given up. */
  inShare(newcomer: SpoolEntry): Promise<boolean>
  /** The same for the bound of all. */
  inBound(newcomer: SpoolEntry): Promise<boolean>
  /** What was given up since this was last asked: whoever asks tells of it. */
  givenUp(): SpoolEntry[]
}

export type RoomParts = {
  jsm: JetStreamManager
  bounds: SpoolBounds
  shares: Shares
  messages: Messages
  partitions: Pick<Partitions, 'held'>
  /** What one takes of the stream. */
  weigh: (entry: SpoolEntry) => number
  /** Removes messages with their parts, and gives those that nobody had removed before. */
  removeAll: (all: readonly Stored[]) => Promise<SpoolEntry[]>
}

const PRIORITIES_DOWN = [3, 2, 1, 0]

export function openRoom({ jsm, bounds, shares, messages, partitions, weigh, removeAll }: RoomParts): Room {
  let making: Promise<unknown> = Promise.resolve()
  const untold: SpoolEntry[] = []
  return { inShare, inBound, givenUp: () => untold.splice(0) }

  async function inShare(newcomer: SpoolEntry): Promise<boolean> {
    const { project } = newcomer
    return overShare(project) <= 0 || make(newcomer, () => overShare(project), project)
  }

  function inBound(newcomer: SpoolEntry): Promise<boolean> {
    return make(newcomer, () => overBound(weigh(newcomer)))
  }

  /** How many bytes have to go until a project is within its share. */
  function overShare(project: string): number {
    return bounds.projectShare < 1 ? shares.ofProject(project) - bounds.bytes * bounds.projectShare : 0
  }

  /** How many bytes have to go until there is room for `more`. */
  async function overBound(more: number): Promise<number> {
    const { state } = await jsm.streams.info(STREAM)
    return state.bytes + more - bounds.bytes
  }

  /** Whether as many bytes as `over` gives were there to be given up, of one project or of all. One at a time, lest two give up twice as much. */
  function make(
    newcomer: SpoolEntry,
    over: () => number | Promise<number>,
    project?: string,
  ): Promise<boolean> {
    const made = making.then(async () => giveUp(newcomer.priority, await over(), project))
    making = made.catch(() => undefined)
    return made
  }

  /** None as important as the newcomer, and nothing in vain. */
  async function giveUp(priority: number, many: number, project: string | undefined): Promise<boolean> {
    let left = many
    const victims: Stored[] = []
    for (const lower of PRIORITIES_DOWN.filter((rank) => rank > priority))
      for await (const victim of messages.walk(subjectsRanked(lower, project))) {
        if (left <= 0) break
        if (partitions.held(victim.seq)) continue
        victims.push(victim)
        left -= weigh(entryOf(victim.entry))
      }
    if (left <= 0) untold.push(...(await removeAll(victims)))
    return left <= 0
  }
}
