/** The large parts of the browser's SDK, each fetched only when there is use for it: no page waits for them. */

import { addIntegration } from '@sentry/react'

let tracing: typeof import('./tracing.ts') | undefined

/** Traces this visit, as `tracesSampleRate` says. */
export async function addTracing(): Promise<void> {
  tracing ??= await import('./tracing.ts')
  addIntegration(tracing.tracePages())
}

/** Tells of a change of page, once there is somebody who traces it. */
export function onRouterTransitionStart(href: string, type: string): void {
  tracing?.captureRouterTransitionStart(href, type)
}

/** Records visits, as many as `replaysSessionSampleRate` and `replaysOnErrorSampleRate` say; all text is masked. */
export async function addReplay(): Promise<void> {
  const { replayIntegration } = await import('./replay.ts')
  addIntegration(replayIntegration())
}

/** Sends what is written to the console. */
export async function addConsoleLogs(): Promise<void> {
  const { consoleLoggingIntegration } = await import('./console-logs.ts')
  addIntegration(consoleLoggingIntegration())
}

/** Shows a button that takes in what visitors have to say, with a screenshot where their browser makes one. */
export async function addFeedback(): Promise<void> {
  const { feedbackButton } = await import('./feedback.ts')
  addIntegration(feedbackButton())
}
