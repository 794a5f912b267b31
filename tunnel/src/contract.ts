/** What the tunnel tells web and the operators. Types only: web imports these and nothing else that runs in the tunnel. */

/** How a post was answered. Exactly one per envelope (`DESIGN.md` §2.4). */
export type Answer = 'delivered' | 'spooled' | 'limited' | 'filtered' | 'refused' | 'declined' | 'aborted'

/** Items of one type: how many, when more than one, their bytes together, and `limited`, `shed` or a filter for what was taken out. */
export type ReceiptItem = { type: string; count?: number; bytes: number; out?: string }

/** One envelope as operators see it: that it came and what became of it, never what it says. */
export type Receipt = {
  /** Our own identity for it, unique over replicas. */
  id: string
  /** When its first byte was read, in milliseconds since 1970. */
  time: number
  /** `host/project` of the DSN it belongs to; absent while unproven. */
  project?: string
  /** The envelope's `event_id`, a label only: many envelopes have none and all segments of a replay share one. */
  eventId?: string
  /** SDK name and version, cut to 64 characters. */
  sdk?: string
  /** One entry for each type that Sentry knows (`other` for the rest) and each `out`: why items were taken out. */
  items: ReceiptItem[]
  /** Body bytes as they came over the wire. */
  bytes: number
  answer: Answer
  /** The code of the refusal, or why else it did not go through. */
  reason?: string
  /** Status the sender was answered with; 0 when it had gone. */
  status: number
  /** Status that Sentry answered with, where it did. */
  upstreamStatus?: number
  /** Milliseconds from its first byte to the answer, and the part spent on Sentry. */
  took: number
  upstreamTook?: number
  /** The process that took it. */
  replica: string
}

/** One envelope kept in the inbox, as the list shows it. */
export type InboxEntry = {
  id: string
  /** When it arrived, in milliseconds since 1970. */
  time: number
  eventId: string | null
  bytes: number
  /** Item types in their order. */
  types: string[]
}

/** What became of an envelope that waited in the spool (`DESIGN.md` §2.4). */
export type SpoolEnd = {
  /** The receipt it was answered with. */
  receipt: string
  end: 'delivered' | 'declined' | 'expired' | 'purged'
  /** When, in milliseconds since 1970, and after how many milliseconds of waiting. */
  time: number
  waited: number
  project: string
  category: string
  upstreamStatus?: number
  replica: string
}
