/** Player of a replay: a sandboxed frame, controls, and a timeline with its errors and breadcrumbs. */
'use client'

import { useEffect, useRef, useState } from 'react'
import { REPLAY_FRAME } from '../../../../lib/security-headers.ts'
import { Button } from '../../../../ui/button.tsx'
import type { Problem } from './messages.ts'
import type { Replay } from './replay.ts'
import { formatPosition, type PlayerAction, type PlayerState, useReplay } from './use-replay.ts'

/** Moment on the timeline; `time` in milliseconds since 1970. */
export type Mark = {
  time: number
  text: string
  isError: boolean
  /** Set for the error that the page shows. */
  isThis?: boolean
  /** Page of another error. */
  href?: string
}

export type PlayerProps = { segments: Replay['segments']; marks: readonly Mark[] }

const PROBLEMS: Record<Problem, string> = {
  unreadable:
    'The recording is damaged, or of an unknown version, and cannot be played. The raw envelope contains it.',
  'no-snapshot':
    'The segment with the whole page is not in the inbox. Without it the changes in the other segments cannot be shown.',
  'too-large': 'The recording has more than 20 MiB or 100,000 events, and is not played here.',
  failed: 'The player failed on this recording. The raw envelope contains it.',
}

const SPEEDS = [1, 2, 4, 8]
const MAX_HEIGHT = 480 // pixels of the frame on the page

export function ReplayPlayer({ segments, marks }: PlayerProps) {
  const frame = useRef<HTMLIFrameElement>(null)
  const { state, act, connect } = useReplay(segments, frame)
  const { phase, problem, size } = state
  const [stage, width] = useWidth()
  const scale = Math.min(1, width / size.width, MAX_HEIGHT / size.height)
  return (
    <div className="grid grid-cols-1 gap-4 desk:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]">
      <div className="min-w-0">
        <p role="status" className="text-note">
          {phase === 'loading' && 'Loading the replay …'}
          {problem && PROBLEMS[problem]}
        </p>
        <div ref={stage} className={phase === 'ready' ? '' : 'h-0 overflow-hidden'}>
          <div
            className="overflow-hidden rounded-part border border-line bg-white"
            style={{ width: size.width * scale, height: size.height * scale }}
          >
            {phase !== 'failed' && (
              <iframe
                ref={frame}
                src={REPLAY_FRAME}
                title="Replay"
                sandbox="allow-scripts"
                inert
                tabIndex={-1}
                onLoad={connect}
                width={size.width}
                height={size.height}
                className="pointer-events-none max-w-none origin-top-left"
                style={{ transform: `scale(${scale})` }}
              />
            )}
          </div>
        </div>
        {phase === 'ready' && <Controls {...{ state, act, marks }} />}
      </div>
      {phase === 'ready' && <Marks {...{ state, act, marks }} />}
    </div>
  )
}

type PartProps = { state: PlayerState; act: (action: PlayerAction) => void; marks: readonly Mark[] }

function Controls({ state, act, marks }: PartProps) {
  const { at, duration, isPlaying, speed, start } = state
  const raised = marks.find(({ isThis }) => isThis)
  return (
    <div className="mt-2 grid gap-2 text-note">
      <div className="relative">
        <input
          type="range"
          aria-label="Position"
          aria-valuetext={`${formatPosition(at)} of ${formatPosition(duration)}`}
          min={0}
          max={Math.max(1, duration)}
          step={Math.max(1, Math.round(duration / 200))}
          value={at}
          onChange={(event) => act({ type: 'seek', at: Number(event.target.value) })}
          className="h-6 w-full accent-accent"
        />
        <span aria-hidden="true" className="pointer-events-none absolute inset-x-2 top-0 h-6">
          {marks
            .filter(({ isError }) => isError)
            .map(({ time }, index) => (
              <span
                // biome-ignore lint/suspicious/noArrayIndexKey: marks never move
                key={index}
                className="absolute top-0 h-full w-0.5 bg-bad"
                style={{ left: `${(100 * positionOf(time, state)) / Math.max(1, duration)}%` }}
              />
            ))}
        </span>
      </div>
      <div className="flex flex-wrap items-center gap-3">
        <Button onClick={() => act({ type: isPlaying ? 'pause' : 'play' })}>
          {isPlaying ? 'Pause' : 'Play'}
        </Button>
        {raised && (
          <Button weight="quiet" onClick={() => act({ type: 'seek', at: raised.time - start })}>
            Jump to the error
          </Button>
        )}
        <label className="flex items-center gap-2 text-quiet">
          Speed
          <select
            value={speed}
            onChange={(event) => act({ type: 'speed', factor: Number(event.target.value) })}
            className="min-h-10 rounded-part border border-quiet/60 bg-surface px-2 text-ink"
          >
            {SPEEDS.map((factor) => (
              <option key={factor} value={factor}>
                {factor}×
              </option>
            ))}
          </select>
        </label>
        <span className="tabular-nums">
          {formatPosition(at)} / {formatPosition(duration)}
        </span>
      </div>
    </div>
  )
}

/** Errors and breadcrumbs in order; each moves the replay there. */
function Marks({ state, act, marks }: PartProps) {
  const { at, start, duration } = state
  const shown = marks.filter(({ time, isError }) => isError || (time >= start && time <= start + duration))
  const current = shown.findLastIndex(({ time }) => time - start <= at)
  if (shown.length === 0) return null
  return (
    <ol
      aria-label="Timeline of the replay"
      className="grid max-h-128 content-start overflow-y-auto text-note"
    >
      {shown.map(({ time, text, isError, isThis, href }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: marks never move
        <li key={index} className="flex items-baseline gap-2 border-t border-line first:border-t-0">
          <button
            type="button"
            aria-current={index === current ? 'step' : undefined}
            onClick={() => act({ type: 'seek', at: positionOf(time, state) })}
            className="flex min-h-8 min-w-0 flex-1 cursor-pointer items-baseline gap-3 px-1 text-left -outline-offset-3 hover:bg-sunken aria-[current]:bg-sunken"
          >
            <span className="text-quiet tabular-nums">{formatPosition(positionOf(time, state))}</span>
            <span className={`min-w-0 truncate ${isError ? 'font-semibold text-bad' : ''}`}>
              {isThis && 'This error: '}
              {text}
            </span>
          </button>
          {href && (
            <a href={href} className="link inline-flex min-h-6 items-center">
              Open
            </a>
          )}
        </li>
      ))}
    </ol>
  )
}

/** Returns the position of a moment, within the replay. */
function positionOf(time: number, { start, duration }: PlayerState): number {
  return Math.min(duration, Math.max(0, time - start))
}

/** Width of an element, in pixels. */
function useWidth() {
  const [width, setWidth] = useState(0)
  const [element, setElement] = useState<HTMLElement | null>(null)
  useEffect(() => {
    if (!element) return
    const observer = new ResizeObserver(() => setWidth(element.clientWidth))
    observer.observe(element)
    return () => observer.disconnect()
  }, [element])
  return [setElement, width] as const
}
