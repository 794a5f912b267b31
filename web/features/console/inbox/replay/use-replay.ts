/** Connection to the frame that plays a replay. */
'use client'

import { type RefObject, useLayoutEffect, useRef, useState } from 'react'
import { type Command, MAX_RECORDING_BYTES, type Problem, type Report, readReport } from './messages.ts'
import type { Replay } from './replay.ts'

type Player = {
  state: PlayerState
  act: (action: PlayerAction) => void
  /** Called when the document of the frame is there. */
  connect: () => void
}

/** Plays the segments in the document of `frame`. */
export function useReplay(segments: Replay['segments'], frame: RefObject<HTMLIFrameElement | null>): Player {
  const [state, setState] = useState(INITIAL)
  const latest = useRef(INITIAL)
  const port = useRef<MessagePort>(undefined)
  const leaving = useRef<AbortController>(undefined)
  const lastSequence = useRef(0)

  // A layout effect: the document of the frame may be there before other effects run, and would then never be connected.
  useLayoutEffect(() => {
    const controller = new AbortController()
    leaving.current = controller
    return () => {
      controller.abort()
      port.current?.close()
    }
  }, [])

  // An event may come before React has rendered the one before: `state` is out of date then.
  function apply(event: PlayerAction | Report): PlayerState {
    latest.current = reducePlayer(latest.current, event)
    setState(latest.current)
    return latest.current
  }

  const send = (command: Command) => port.current?.postMessage(command)

  async function connect(): Promise<void> {
    const { signal } = leaving.current ?? {}
    const target = frame.current?.contentWindow
    if (!target || !signal || port.current) return // the frame loads its document once
    const channel = new MessageChannel()
    port.current = channel.port1
    channel.port1.onmessage = ({ data }) => {
      const report = readReport(data)
      if (!report) return
      const isLate = 'sequence' in report && report.sequence !== lastSequence.current
      if (!isLate) apply(report) // the frame sends a late report before it has received the last command
    }
    target.postMessage('connect', '*', [channel.port2]) // its origin is unique: it has no name
    const loaded = await loadRecording(segments, signal)
    if (signal.aborted) return
    if (typeof loaded === 'string') apply({ type: 'failed', problem: loaded })
    else send({ type: 'load', segments: loaded })
  }

  function act(action: PlayerAction): void {
    const next = apply(action)
    if (action.type === 'speed') send(action)
    else {
      lastSequence.current += 1
      send({ type: next.isPlaying ? 'play' : 'pause', at: next.at, sequence: lastSequence.current })
    }
  }

  return { state, act, connect: () => void connect() }
}

export type PlayerState = {
  phase: 'loading' | 'ready' | 'failed'
  problem: Problem | undefined
  /** Start of the replay, in milliseconds since 1970. */
  start: number
  duration: number
  at: number
  isPlaying: boolean
  speed: number
  /** Size of the recorded page, in pixels. */
  size: { width: number; height: number }
}

/** Actions of the operator. */
export type PlayerAction =
  | { type: 'play' }
  | { type: 'pause' }
  | { type: 'seek'; at: number }
  | { type: 'speed'; factor: number }

export const INITIAL: PlayerState = {
  ...{ phase: 'loading', problem: undefined, start: 0, duration: 0, at: 0, isPlaying: false, speed: 1 },
  size: { width: 1_280, height: 720 },
}

/** The player rounds times, so the end may be reported as slightly earlier. */
const END_MS = 100

export function reducePlayer(state: PlayerState, event: PlayerAction | Report): PlayerState {
  switch (event.type) {
    case 'failed':
      return { ...state, phase: 'failed', problem: event.problem, isPlaying: false }
    case 'loaded':
      return { ...state, phase: 'ready', start: event.start, duration: event.duration }
    case 'size':
      return { ...state, size: { width: event.width, height: event.height } }
    case 'play':
      return { ...state, isPlaying: true, at: state.at >= state.duration - END_MS ? 0 : state.at }
    case 'pause':
      return { ...state, isPlaying: false }
    case 'ended':
      return state.isPlaying ? { ...state, isPlaying: false, at: state.duration } : state
    case 'time':
    case 'seek':
      return { ...state, at: Math.min(state.duration, Math.max(0, event.at)) }
    case 'speed':
      return { ...state, speed: event.factor }
  }
}

/** Formats a position: 0:07, 12:30. */
export function formatPosition(ms: number): string {
  const seconds = Math.floor(ms / 1_000)
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}

class TooLargeError extends Error {}

/** Returns the segments in their order, or the reason why they cannot be played. */
async function loadRecording(segments: Replay['segments'], signal: AbortSignal): Promise<string[] | Problem> {
  const texts: string[] = []
  let left = MAX_RECORDING_BYTES
  try {
    for (const { envelope } of segments) {
      const response = await fetch(`/console/inbox/${encodeURIComponent(envelope)}/recording`, { signal })
      if (!response.ok) return 'unreadable'
      const { text, bytes } = await readText(response, left)
      left -= bytes
      texts.push(text)
    }
  } catch (error) {
    return error instanceof TooLargeError ? 'too-large' : 'unreadable'
  }
  return texts
}

async function readText(response: Response, maxBytes: number): Promise<{ text: string; bytes: number }> {
  const decoder = new TextDecoder()
  const reader = response.body?.getReader()
  let [text, bytes] = ['', 0]
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
    bytes += part.value.length
    if (bytes > maxBytes) {
      await reader?.cancel()
      throw new TooLargeError()
    }
    text += decoder.decode(part.value, { stream: true })
  }
  return { text: text + decoder.decode(), bytes }
}
