/** Script of the frame that plays a replay. It has no network, no origin, and nothing of the console but a message port. */

import { type eventWithTime, Replayer, ReplayerEvents } from '@sentry-internal/rrweb'
import type { Command, Report } from './messages.ts'
import { type RecordedEvent, readRecording } from './recording.ts'

/** Styles of the visitor's pointer, which the player moves. */
const POINTER_STYLES = [
  '.replayer-wrapper { position: fixed; inset: 0; z-index: 2147483647; pointer-events: none }',
  '.replayer-mouse { position: absolute; width: 20px; height: 20px; margin: -10px; border: 3px solid #fff; border-radius: 50%; background: #0b6650 }',
]

// The player looks for a frame around the page. In a frame of its own origin, Chromium throws instead of returning null.
Object.defineProperty(window, 'frameElement', { value: null })

addEventListener('message', ({ source, ports: [port] }) => {
  if (source !== parent || !port) return
  const report = (message: Report) => port.postMessage(message)
  const playback: Playback = { isPlaying: false, isAtEnd: false, sequence: 0 }
  let replayer: Replayer | undefined
  port.onmessage = ({ data }: MessageEvent<Command>) => {
    try {
      if (data.type === 'load') replayer = load(data.segments, playback, report)
      else if (data.type === 'speed') replayer?.setConfig({ speed: data.factor })
      else {
        Object.assign(playback, { isPlaying: data.type === 'play', isAtEnd: false, sequence: data.sequence })
        if (data.type === 'play') replayer?.play(data.at)
        else replayer?.pause(data.at + 1) // events of that moment included
      }
    } catch {
      report({ type: 'failed', problem: 'failed' })
    }
  }
})

/** State since the last command to play or to pause; `sequence` is its number. */
type Playback = { isPlaying: boolean; isAtEnd: boolean; sequence: number }

function load(
  segments: readonly string[],
  playback: Playback,
  report: (message: Report) => void,
): Replayer | undefined {
  const recording = readRecording(segments)
  if ('problem' in recording) {
    report({ type: 'failed', problem: recording.problem })
    return undefined
  }
  const { events } = recording
  const replayer = createReplayer(events)
  replayer.on(ReplayerEvents.Resize, (size) => report({ type: 'size', ...readSize(size) }))
  replayer.on(ReplayerEvents.EventCast, (event) => {
    if (event === events.at(-1)) playback.isAtEnd = true
  })
  replayer.on(ReplayerEvents.Finish, () => {
    if (playback.isAtEnd) report({ type: 'ended', sequence: playback.sequence })
    else if (playback.isPlaying) replayer.play(replayer.getCurrentTime()) // the player stops 50 ms after the last event, wherever it is by then
  })
  replayer.on(ReplayerEvents.FullsnapshotRebuilded, () => document.documentElement.append(replayer.wrapper))
  const { startTime, totalTime } = replayer.getMetaData()
  report({ type: 'loaded', start: startTime, duration: totalTime })
  replayer.pause(1)
  reportTime(replayer, playback, report)
  return replayer
}

function readSize(given: unknown): { width: number; height: number } {
  const { width, height }: Record<string, unknown> = Object(given)
  return { width: Number(width), height: Number(height) }
}

/** Reports the time that is shown whenever it changes. */
function reportTime(replayer: Replayer, playback: Playback, report: (message: Report) => void): void {
  let last: number | undefined
  const step = () => {
    const at = Math.max(0, Math.round(replayer.getCurrentTime()) - 1)
    if (at !== last) report({ type: 'time', at, sequence: playback.sequence })
    last = at
    requestAnimationFrame(step)
  }
  step()
}

/**
 * Creates a player that rebuilds the page in the document of this frame. Its own way, a frame within, is not possible: in a sandbox
 * without `allow-same-origin`, each document has an origin of its own, and the player could not reach that frame.
 */
function createReplayer(events: RecordedEvent[]): Replayer {
  const create = document.createElement.bind(document)
  const createWithoutFrames = (name: string) => {
    if (name.toLowerCase() !== 'iframe') return create(name) // of a frame, the player expects a new element each time
    return Object.defineProperties(create('div'), {
      contentDocument: { get: () => document },
      contentWindow: { get: () => window },
    })
  }
  document.createElement = createWithoutFrames as typeof create
  return new Replayer(events as eventWithTime[], {
    ...{ root: document.body, mouseTail: false, showWarning: false, skipInactive: false },
    useVirtualDom: false, // it would compare the document with the recorded one, and remove the pointer
    insertStyleRules: POINTER_STYLES,
    logger: { log: () => {}, warn: () => {} },
  })
}
