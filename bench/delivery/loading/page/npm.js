/** Script of a page that bundles the SDK. The attributes of its element have the DSN and the tunnel. */

import * as Sentry from '@sentry/browser'

const { dsn, tunnel } = document.currentScript.dataset

window.Sentry = Sentry
Sentry.init({ dsn, tunnel })
