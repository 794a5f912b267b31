/** Loads the segments of a replay, as text that only the frame of the player parses. */

import { MAX_RECORDING_BYTES, type Problem } from './messages.ts'
import type { Replay } from './replay.ts'

class TooLargeError extends Error {}

/** Returns the segments in their order, or the reason why they cannot be played. */
export async function loadRecording(
  segments: Replay['segments'],
  signal: AbortSignal,
): Promise<string[] | Problem> {
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
