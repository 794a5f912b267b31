/** Query of the page that finds an event. */

import { CONSOLE, withQuery } from './routes.ts'

export const FIND = `${CONSOLE}/find`

const EVENT_ID = /^[0-9a-f]{32}$/
const RECEIPT_ID = /^[\w.-]{1,100}-\d{1,15}$/

/** Returns the address of the page for an event ID. */
export function findPath(eventId: string): string {
  return withQuery(FIND, { id: eventId })
}

/** Returns an event ID as receipts have it: people copy it in capitals, with dashes or with spaces. `undefined` for another text. */
export function readEventId(text: string): string | undefined {
  const id = text.replaceAll(/[\s-]/g, '').toLowerCase()
  return EVENT_ID.test(id) ? id : undefined
}

export function isReceiptId(text: string): boolean {
  return RECEIPT_ID.test(text)
}
