/** Reason why an entry is not pending, and the remedy. */

import type { Rejections, SettingInForce } from 'contract/admin-api'
import { parseDsn } from 'contract/dsn'
import { isObject } from 'contract/json'
import { remedyOfStatus } from 'contract/situation/upstream-errors'
import type { StoreEntry } from 'contract/store'
import { cutText } from '../bounds.ts'
import { raisedLimit, settingLine, valuesOf } from '../env-line.ts'
import { projectName } from '../projects/snippets.ts'

export type Remedy = {
  sentence: string
  /** Line that changes the setting, where one helps and the current one is known. */
  line?: string
}

type Ended = Pick<StoreEntry, 'state' | 'status' | 'answer' | 'project' | 'mirror'>

const MAX_ANSWER = 300 // characters
const NEW_KEY = 'NEW-KEY'

/** Names the reason in a few words, with the server's answer if there is one. */
export function nameReason({ state, status, answer }: Ended): string {
  if (state === 'expired') return 'Too old'
  if (state === 'evicted') return 'Made room'
  if (state !== 'declined') return ''
  if (status === undefined) return 'Category not stored'
  const said = answer === undefined ? '' : readAnswer(answer)
  return `HTTP ${status}${said && `: ${said}`}`
}

/** Returns the remedy: the same one for all entries that it helps. `settings` are those in force, by reason. */
export function remedyOf(entry: Ended, settings: Rejections['settings'] | undefined): Remedy | undefined {
  const { state, status, project, mirror } = entry
  const limit = settings?.[state]?.[0]
  if (state === 'expired')
    return withLine(
      'No delivery succeeded in time. The overview shows why. Raise SPOOL_HOURS if outages can last longer, and send them again once Sentry accepts envelopes.',
      limit && raisedLimit(limit),
    )
  if (state === 'evicted')
    return withLine(
      'The spool was full, and more important envelopes took their place. Only these lines are left. Raise SPOOL_BYTES if outages can bring more, and the disk has room.',
      limit && raisedLimit(limit),
    )
  if (state !== 'declined') return undefined
  if (status === undefined)
    return { sentence: 'The server does not store this category. Send them again when it does.' }
  if ([401, 403, 404].includes(status) && mirror)
    return {
      sentence: `${DENIED[status]} Copy the DSN of project ${project} from the settings of the mirror’s server into MIRROR_DSN, start Culvert again, and send them again: they get the new key.`,
    }
  if ([401, 403, 404].includes(status))
    return withLine(
      `${DENIED[status]} Copy the DSN of project ${project} from Sentry’s settings (Client Keys) into SENTRY_DSN, start Culvert again, and send them again: they get the new key.`,
      newKeyLine(project, settings?.['dsn-unknown'] ?? []),
    )
  if (status === 413)
    return {
      sentence:
        'They are larger than the server accepts. Raise its limit (max_envelope_size of Relay, client_max_body_size of nginx), and send them again. The limits of sentry.io cannot be raised.',
    }
  if (status === 400)
    return {
      sentence:
        'The server cannot read them: its answer says why. They are declined again unless the server is updated.',
    }
  const remedy = remedyOfStatus(status)
  return {
    sentence: remedy
      ? `Before you send them again, ${remedy}`
      : 'The server failed. Send them again when it works.',
  }
}

const DENIED: Readonly<Record<number, string>> = {
  401: 'The server does not know the key.',
  403: 'The key or the project is disabled or deleted, or the project does not allow the domain of the page.',
  404: 'The server does not know the project.',
}

/** Returns the server's answer: the members of Sentry's JSON, or the beginning of another body. */
function readAnswer(answer: string): string {
  const { detail, causes } = parseAnswer(answer)
  const said = [detail, ...(Array.isArray(causes) ? causes : [])].filter((part) => typeof part === 'string')
  return cutText((said.length > 0 ? said.join(': ') : answer).trim(), MAX_ANSWER)
}

function parseAnswer(answer: string): Readonly<Record<string, unknown>> {
  try {
    const parsed: unknown = JSON.parse(answer)
    return isObject(parsed) ? parsed : {}
  } catch {
    return {} // of a proxy, or cut
  }
}

/** Returns the line of SENTRY_DSN with a place for the new key of a project. */
function newKeyLine(project: string, settings: readonly SettingInForce[]): string | undefined {
  const dsns = valuesOf('SENTRY_DSN', settings)
  const changed = dsns.map((text) => {
    const dsn = parseDsn(text)
    return dsn && projectName(dsn) === project ? text.replace(`//${dsn.publicKey}`, `//${NEW_KEY}`) : text
  })
  return changed.some((text) => text.includes(NEW_KEY))
    ? settingLine('SENTRY_DSN', changed, settings)
    : undefined
}

function withLine(sentence: string, line: string | undefined): Remedy {
  return { sentence, ...(line !== undefined && { line }) }
}
