/** Panel with the replay of an error, or of a segment. */

import { formatCount, formatQuantity } from '../../../../lib/format.ts'
import { Panel } from '../../../../ui/panel.tsx'
import { cutText, TEXT } from '../../bounds.ts'
import type { EventModel } from '../event-model.ts'
import { INBOX } from '../inbox-query.ts'
import type { Replay } from './replay.ts'
import { ReplayLoader } from './replay-loader.tsx'
import type { Mark } from './replay-player.tsx'

const NAMED_MISSING = 20

/** `id` is the envelope that the page shows; `event` is its event, if there is one. */
type Props = { id: string; replay: Replay; event: EventModel | undefined }

export function ReplayPanel({ id, replay, event }: Props) {
  const { segments, missing } = replay
  return (
    <Panel title="Replay" note={formatQuantity(segments.length, 'segment')}>
      {segments.length === 0 ? (
        <p className="text-note text-quiet">
          No segment of this replay is in the inbox. The browser may still be recording, or keeps it until an
          error is sent.
        </p>
      ) : (
        <ReplayLoader segments={segments} marks={marksOf(id, replay, event)} />
      )}
      {missing.length > 0 && (
        <p className="mt-3 text-note">
          {missing.length === 1 ? 'Segment' : 'Segments'} {namesOf(missing)} of the replay{' '}
          {missing.length === 1 ? 'is' : 'are'} not in the inbox. The page may differ from what the visitor
          saw.
        </p>
      )}
      <p className="mt-3 text-note text-quiet">
        Unless the app says otherwise, the SDK records texts as asterisks, and no images. Stylesheets, images
        and fonts of the site are not loaded here.
      </p>
    </Panel>
  )
}

function namesOf(missing: readonly number[]): string {
  const named = missing.slice(0, NAMED_MISSING).join(', ')
  const more = missing.length - NAMED_MISSING
  return more > 0 ? `${named} and ${formatCount(more)} more` : named
}

function marksOf(id: string, { errors }: Replay, event: EventModel | undefined): Mark[] {
  const ofErrors = errors.map(({ envelope, title, time }) => {
    const isThis = envelope === id
    return { time, text: title, isError: true, isThis, ...(!isThis && { href: `${INBOX}/${envelope}` }) }
  })
  const ofBreadcrumbs = (event?.breadcrumbs.shown ?? []).flatMap(({ timestamp, label, text }) => {
    const named = cutText([label, text].filter(Boolean).join(': '), TEXT.name)
    return timestamp === undefined ? [] : [{ time: timestamp, text: named, isError: false }]
  })
  return [...ofErrors, ...ofBreadcrumbs].sort((a, b) => a.time - b.time)
}
