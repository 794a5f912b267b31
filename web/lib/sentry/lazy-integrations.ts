/** Large integrations of the browser's SDK, loaded after the page. */

import { addIntegration } from '@sentry/react'

let tracing: typeof import('./tracing.ts') | undefined

/** Adds tracing, at the rate `tracesSampleRate`. */
export async function addTracing(): Promise<void> {
  tracing ??= await import('./tracing.ts')
  addIntegration(tracing.tracePages())
}

/** Reports a navigation to tracing, if that is loaded. */
export function onRouterTransitionStart(href: string, type: string): void {
  tracing?.captureRouterTransitionStart(href, type)
}

/** Adds replays, at the configured rates. All text is masked. */
export async function addReplay(): Promise<void> {
  const { replayIntegration } = await import('./replay-integration.ts')
  addIntegration(replayIntegration())
}

/** Sends console output as logs. */
export async function addConsoleLogs(): Promise<void> {
  const { consoleLoggingIntegration } = await import('./console-logs.ts')
  addIntegration(consoleLoggingIntegration())
}

/** Adds a feedback button, with a screenshot where the browser supports it. */
export async function addFeedback(): Promise<void> {
  const { feedbackButton } = await import('./feedback.ts')
  addIntegration(feedbackButton())
}
