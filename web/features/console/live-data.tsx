/** Live data of a page: server-sent events that reconnect after a lost connection, a restart of web, sleep, or a time in a hidden tab. */
'use client'

import { useEffect, useEffectEvent, useRef, useState, useSyncExternalStore } from 'react'
import type { State } from '../../ui/states.ts'
import { Badge } from '../../ui/status-badge.tsx'
import { continueView, type LiveEvent, type LiveView } from './figures/live-view.ts'
import { SIGN_IN } from './routes.ts'

/** `broken`: reconnects in a moment. */
export type StreamState = 'opening' | 'open' | 'broken' | 'paused'

const AGAIN_MS = 2_000

/**
 * Connects to `url`, again after each break with `?after=` the last event ID. Redirects to the sign-in after a sign-out. A hidden tab has no
 * connection: over HTTP/1.1 a browser opens only six to an origin, for all tabs together.
 */
export function useEventStream<T>(
  url: string,
  onData: (data: T) => void,
  { isPaused }: { isPaused: boolean } = { isPaused: false },
): StreamState {
  const [state, setState] = useState<StreamState>('opening')
  const lastId = useRef('')
  const take = useEffectEvent(onData)
  const isHidden = useSyncExternalStore(onVisibility, readHidden, () => false)

  useEffect(() => {
    if (isPaused || isHidden) {
      setState(isPaused ? 'paused' : 'opening')
      return
    }
    let source: EventSource | undefined
    let timer: ReturnType<typeof setTimeout> | undefined
    let isLeft = false
    open()

    function open(): void {
      source = new EventSource(lastId.current ? `${url}?after=${encodeURIComponent(lastId.current)}` : url)
      source.onopen = () => setState('open')
      source.onmessage = ({ data, lastEventId }) => {
        lastId.current = lastEventId
        take(JSON.parse(data))
      }
      source.onerror = () => {
        source?.close()
        setState('broken')
        timer = setTimeout(openIfWelcome, AGAIN_MS)
      }
    }

    /** Checks the session first, since an EventSource does not report its status. */
    async function openIfWelcome(): Promise<void> {
      const response = await fetch('/console/session', { cache: 'no-store' }).catch(() => undefined)
      if (isLeft) return
      if (response?.status === 401)
        location.assign(`${SIGN_IN}?to=${encodeURIComponent(location.pathname + location.search)}`)
      else if (response?.ok) open()
      else timer = setTimeout(openIfWelcome, AGAIN_MS)
    }

    return () => {
      isLeft = true
      source?.close()
      clearTimeout(timer)
    }
  }, [url, isPaused, isHidden])

  return state
}

function onVisibility(onChange: () => void): () => void {
  document.addEventListener('visibilitychange', onChange)
  return () => document.removeEventListener('visibilitychange', onChange)
}

function readHidden(): boolean {
  return document.visibilityState === 'hidden'
}

/** Returns `first`, which the server has rendered, until the first event of its range. */
export function useLive(first: LiveView): LiveView & { state: StreamState } {
  const [known, setKnown] = useState(first)
  const state = useEventStream<LiveEvent>(`/console/live?range=${first.range}`, (event) =>
    setKnown((before) => continueView(before.range === event.range ? before : first, event)),
  )
  return { ...(known.range === first.range ? known : first), state }
}

const SHOWN: Record<StreamState, { state: State; word: string }> = {
  opening: { state: 'busy', word: 'connecting' },
  open: { state: 'live', word: 'live' }, // no green: it says nothing about the envelopes
  broken: { state: 'bad', word: 'connection lost, reconnecting' },
  paused: { state: 'hold', word: 'paused' },
}

export function LiveIndicator({ state }: { state: StreamState }) {
  const { state: shape, word } = SHOWN[state]
  return (
    <span role="status">
      <Badge state={shape}>{word}</Badge>
    </span>
  )
}
