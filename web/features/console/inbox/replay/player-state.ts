/** State of the replay player. Times are in milliseconds since the start of the replay. */

import type { Problem, Report } from './messages.ts'

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
