/** Items of an envelope: attachments to download, images, and each item raw. */

import type { ReactNode } from 'react'
import { formatBytes } from '../../../lib/format.ts'
import { Panel, Preformatted, Showing } from '../../../ui/panel.tsx'
import type { Listed } from '../bounds.ts'
import type { ShownItem } from './envelope-model.ts'

export function Attachments({ id, items: { shown, total } }: { id: string; items: Listed<ShownItem> }) {
  if (shown.length === 0) return null
  return (
    <Panel title="Attachments">
      <ul className="grid grid-cols-1 gap-4">
        {shown.map(({ number, filename, bytes, isImage }) => (
          <li key={number} className="grid justify-items-start gap-2">
            <a
              href={urlOf(id, number)}
              download
              className="link inline-flex min-h-6 items-center text-note wrap-anywhere"
            >
              {filename ?? `attachment ${number}`}
            </a>
            <span className="-mt-2 text-note text-quiet">{formatBytes(bytes)}</span>
            {isImage && (
              // biome-ignore lint/performance/noImgElement: a stranger's bytes are not to be worked on by an image library
              <img
                src={`${urlOf(id, number)}?show`}
                alt={`Attachment: ${filename ?? 'image'}`}
                loading="lazy"
                className="max-h-128 max-w-full rounded-part border border-line"
              />
            )}
          </li>
        ))}
      </ul>
      <Showing {...{ shown, total }} of="attachments" />
    </Panel>
  )
}

type RawProps = {
  id: string
  header: string
  items: ShownItem[]
  /** Links to further items. */
  children: ReactNode
}

export function RawItems({ id, header, items, children }: RawProps) {
  return (
    <Panel title="Raw items">
      <details className="mb-2 text-note">
        <summary className="min-h-7">Envelope header</summary>
        <Raw text={header} />
      </details>
      {items.map(({ number, type, header: itemHeader, bytes, text, part }) => (
        <details key={number} className="border-t border-line py-1 text-note">
          <summary className="min-h-7">
            {type || 'no type'} <span className="text-note text-quiet">{formatBytes(bytes)}</span>
          </summary>
          <Raw text={itemHeader} />
          {text === undefined ? (
            <p className="my-2 text-note text-quiet">Binary data, not shown.</p>
          ) : (
            <Raw text={text} />
          )}
          <a href={urlOf(id, number)} download className="link inline-flex min-h-6 items-center text-note">
            Download the item
          </a>
          {part && <span className="text-quiet"> {part}</span>}
        </details>
      ))}
      {children}
    </Panel>
  )
}

function urlOf(id: string, number: number): string {
  return `/console/inbox/${id}/items/${number}`
}

function Raw({ text }: { text: string }) {
  return (
    <Preformatted className="my-2 max-h-96 rounded-part bg-sunken p-3 whitespace-pre-wrap">
      {text}
    </Preformatted>
  )
}
