/** The large parts of the browser's SDK, fetched only when there is use for them: no page waits for them. */

import { addIntegration } from '@sentry/nextjs'

/** Records visits, as many as `replaysSessionSampleRate` and `replaysOnErrorSampleRate` say; all text is masked. */
export async function addReplay(): Promise<void> {
  const { replayIntegration } = await import('./replay.ts')
  addIntegration(replayIntegration())
}

/** The page's own colours, which know light from dark themselves. */
const THEME = { accentBackground: 'var(--color-accent)', accentForeground: 'var(--color-on-accent)' }

/** Shows a button that takes in what visitors have to say, with a screenshot where their browser makes one. */
export async function addFeedback(): Promise<void> {
  const { feedbackIntegration } = await import('./feedback.ts')
  const nonce = document.querySelector('script')?.nonce
  addIntegration(
    feedbackIntegration({
      colorScheme: 'system',
      showBranding: false,
      triggerLabel: 'Report a problem',
      formTitle: 'Report a problem',
      submitButtonLabel: 'Send report',
      themeLight: THEME,
      themeDark: THEME,
      ...(nonce && { styleNonce: nonce, scriptNonce: nonce }),
    }),
  )
}
