/**
 * Pauses, each a message with a subject of its own, in a small stream beside the spool's: what two operators pause at one moment is both kept,
 * whatever the server makes first, and a spool that is full takes them.
 */

import {
  DiscardPolicy,
  type JetStreamClient,
  type JetStreamManager,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from '@nats-io/jetstream'
import type { Pause } from '../spool.ts'
import { projectOf, tokenOf } from './codec.ts'
import { insist } from './messages.ts'
import { codeOf, findOrMake, NO_STREAM, refuse, unmet, weaknessesOfAny } from './stream.ts'

export type Pauses = {
  /** One that is there stays as it began. */
  begin(project: string | undefined, since: number): Promise<void>
  end(project: string | undefined): Promise<void>
  all(): Promise<Pause[]>
}

const PAUSES = 'CULVERT_PAUSES'
const SUBJECTS = 'culvert-pause.>'
const EVERYTHING = 'culvert-pause.all'
const PROJECT = 'culvert-pause.project.'
const BYTES = 1024 * 1024 // 1 MiB
const IS_THERE = 10071 // another sequence than the one expected of its subject

/** Makes their stream when there is none. */
export async function openPauses(
  js: JetStreamClient,
  jsm: JetStreamManager,
  replicas: number,
): Promise<Pauses> {
  await openStreamOfPauses()
  return { begin, end, all }

  async function begin(project: string | undefined, since: number): Promise<void> {
    await onStream(() => insist(() => jsm.streams.info(PAUSES), NO_STREAM))
    const first = { expect: { lastSubjectSequence: 0 } }
    try {
      await insist((timeout) => js.publish(subjectOf(project), `${since}`, { ...first, timeout }), IS_THERE)
    } catch (error) {
      if (codeOf(error) !== IS_THERE) throw error
    }
  }

  async function end(project: string | undefined): Promise<void> {
    await onStream(() => insist(() => jsm.streams.purge(PAUSES, { filter: subjectOf(project) }), NO_STREAM))
  }

  function all(): Promise<Pause[]> {
    return onStream(allOnStream)
  }

  async function allOnStream(): Promise<Pause[]> {
    const pauses: Pause[] = []
    for (let seq = 1; ; ) {
      const query = { seq, next_by_subj: SUBJECTS }
      const message = await insist(() => jsm.streams.getMessage(PAUSES, query), NO_STREAM)
      if (!message) return pauses
      pauses.push({ ...projectIn(message.subject), since: Number(message.string()) })
      seq = message.seq + 1
    }
  }

  /** Where somebody has deleted it meanwhile it is made anew: nothing is paused any more. */
  async function onStream<T>(ask: () => Promise<T>): Promise<T> {
    try {
      return await ask()
    } catch (error) {
      if (codeOf(error) !== NO_STREAM) throw error
      await openStreamOfPauses()
      return ask()
    }
  }

  async function openStreamOfPauses(): Promise<void> {
    const { config } = await insist(() =>
      findOrMake(jsm, {
        name: PAUSES,
        description: 'What operators have paused of the spool',
        subjects: [SUBJECTS],
        storage: StorageType.File,
        retention: RetentionPolicy.Limits,
        discard: DiscardPolicy.New,
        max_bytes: BYTES,
        num_replicas: replicas,
      }),
    )
    refuse(PAUSES, 'would lose what is paused', weaknesses(config))
  }
}

function weaknesses(config: StreamConfig): string[] {
  return [
    ...weaknessesOfAny(config, [SUBJECTS]),
    ...unmet([
      [config.discard === DiscardPolicy.New, 'when full it drops the oldest (discard must be new)'],
      [
        config.retention === RetentionPolicy.Limits,
        'it forgets what somebody read (retention must be limits)',
      ],
      [config.max_age <= 0, 'it forgets what is old (max_age must be 0)'],
    ]),
  ]
}

function subjectOf(project: string | undefined): string {
  return project === undefined ? EVERYTHING : PROJECT + tokenOf(project)
}

function projectIn(subject: string): Pick<Pause, 'project'> {
  return subject === EVERYTHING ? {} : { project: projectOf(subject.slice(PROJECT.length)) }
}
