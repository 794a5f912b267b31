/** Connection to the frame that plays a replay. */
'use client'

import { type RefObject, useLayoutEffect, useRef, useState } from 'react'
import { loadRecording } from './load-recording.ts'
import { type Command, type Report, readReport } from './messages.ts'
import { INITIAL, type PlayerAction, type PlayerState, reducePlayer } from './player-state.ts'
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
