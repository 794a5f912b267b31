/** Feedback integration, in a file of its own for the bundler. */

import { feedbackIntegration } from '@sentry/react'

/** Colours of the page, for both colour schemes. */
const THEME = { accentBackground: 'var(--color-accent)', accentForeground: 'var(--color-on-accent)' }

export function feedbackButton() {
  const nonce = document.querySelector('script')?.nonce
  return feedbackIntegration({
    colorScheme: 'system',
    showBranding: false,
    triggerLabel: 'Report a problem',
    formTitle: 'Report a problem',
    submitButtonLabel: 'Send report',
    themeLight: THEME,
    themeDark: THEME,
    ...(nonce && { styleNonce: nonce, scriptNonce: nonce }),
  })
}
