/** Reads the selection of a request to the routes of the store: one entry, or some. */

import { CATEGORY_NAMES } from 'contract/categories'
import { formatDsn, parseDsn } from 'contract/dsn'
import type { Context } from 'hono'
import { readCategory } from '../forward/spool-status.ts'
import { mirrorKeyOf, type Projects } from '../pipeline/projects.ts'
import type { EntryFilter, EntryRef, Position, Spool } from '../pipeline/spool.ts'
import { RequestError } from './responses.ts'

/** Selected entries; `named` is the selection as the operator wrote it, with `host/project` for a DSN. */
type Selection = {
  filter: Omit<EntryFilter, 'entry'>
  named: { project?: string; category?: string }
}

const ID = /^(\d{1,15})-([0-9a-f]{32})$/
const CURSOR = /^(\d{1,15})-(\d{1,15})$/

export const SELECTION = ['project', 'category']

export class SpoolQueries {
  readonly #spool: Spool
  readonly #projects: Projects

  constructor(spool: Spool, projects: Projects) {
    this.#spool = spool
    this.#projects = projects
  }

  async readSelection(c: Context): Promise<Selection> {
    const { project, category } = c.req.query()
    return {
      filter: {
        ...(project !== undefined && { projects: await this.keysOf(project) }),
        ...(category !== undefined && { category: await this.categoryOf(category) }),
      },
      named: {
        ...(project !== undefined && { project: this.showName(project) }),
        ...(category !== undefined && { category }),
      },
    }
  }

  /** Reads the selection of a change, which has to name everything explicitly. */
  async readSelectionForChange(c: Context): Promise<Selection> {
    const selection = await this.readSelection(c)
    const isAll = c.req.query('all') !== undefined
    if (isAll === Object.keys(selection.named).length > 0)
      throw new RequestError(
        400,
        'Select entries with ?project= or ?category= or both, or everything with ?all.',
      )
    return selection
  }

  /** Returns `host/project` of a DSN, for logs and pages: it may have a secret. Other names are as the operator wrote them. */
  showName(name: string): string {
    const dsn = parseDsn(name)
    return dsn ? this.#projects.nameOf(formatDsn(dsn)) : name
  }

  /** Reads a DSN, or the name of a project. Includes projects that are not configured any more, but paused or with entries. */
  async keysOf(name: string): Promise<string[]> {
    const dsn = parseDsn(name)
    if (dsn) return [formatDsn(dsn)]
    const { partitions, paused } = await this.#spool.totals()
    const stored = [...partitions, ...paused].flatMap(({ project }) => project ?? [])
    const hasName = (key: string) => this.#projects.nameOf(key) === name
    const keys = [...this.#projects.destinations.map(({ key }) => key), ...stored].filter(hasName)
    const found = keys.length > 0 ? keys : (await this.#spool.entries.count({})).projects.filter(hasName)
    if (found.length > 0) return [...new Set(found)]
    throw new RequestError(
      404,
      'No such project is configured, and the spool has no entries of it. /status lists the projects.',
    )
  }

  /** Returns the keys of a project and of its mirrors. */
  async storedKeysOf(name: string): Promise<string[]> {
    const keys = await this.keysOf(name)
    return [...new Set(keys.flatMap((key) => [key, mirrorKeyOf(key)]))]
  }

  /** Accepts categories of pending entries that only another release knows. */
  async categoryOf(shown: string): Promise<string> {
    const category = readCategory(shown)
    if (category === '' || CATEGORY_NAMES.has(category)) return category
    const { partitions } = await this.#spool.totals()
    if (partitions.some((partition) => partition.category === category)) return category
    const known = [...CATEGORY_NAMES].sort().join(', ')
    throw new RequestError(400, `There is no category of this name. Categories: ${known}, none.`)
  }
}

export function readRef(value: unknown): EntryRef {
  const [, id, key] = ID.exec(String(value)) ?? []
  if (id !== undefined && key !== undefined) return { id: Number(id), key }
  throw new RequestError(
    400,
    'An id is a number, a hyphen and 32 hexadecimal digits. GET /spool lists them, and GET /store/entries.',
  )
}

export function readCursor(cursor: string | undefined): Position | undefined {
  if (cursor === undefined) return undefined
  const [, received, place] = CURSOR.exec(cursor) ?? []
  if (received !== undefined && place !== undefined)
    return { received: Number(received), place: Number(place) }
  throw new RequestError(400, 'after is the "next" of the previous page.')
}
